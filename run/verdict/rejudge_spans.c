// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The gaps of a node are judged in spans, each in one reading. Those of limits on all nodes together are judged with
 * the processes of all of them, at times of the first one's clock. A span begins so long before a gap that the windows
 * of the metrics are full there. Where values were known so long before that adaptation had settled, the agent is told;
 * where that is not certain, the span begins before the first value.
 */
#include "run/verdict/rejudge_replay_internal.h"

#include "base/saturate.h"
#include "resmgr/agent/agent.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"
#include "run/verdict/rejudge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPANS_MOST = 64 };

static const char went_on[] = "a process may have gone on silently behind its last record";

/* By then a limit's value was known, if the node has records for it; INT64_MAX: it has none. */
static int64_t replay_known(const struct replay *r, const struct experiment_limit *l)
{
    const struct experiment_metric *m = &r->e.metrics[l->metric];
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < r->process_count; i++)
        if (r->processes[i].begin < first && summary_book_of(r->processes[i].p, m->aspect))
            first = r->processes[i].begin;
    return first;
}

/* From that first record on, so long it takes at most until adaptation counts as settled. */
static int64_t replay_settling(const struct replay *r, const struct experiment_limit *l)
{
    return saturate_add(2 * (experiment_limit_window(&r->e, l) + r->e.adapt.every), agent_settling(&r->e, l));
}

/*
 * Whether limit `l`, known from the first record at `known` on, was past its settling before the span. When the first
 * record came that meets a condition, or the second one, is not known, nor how long a silence had lasted by then.
 */
static bool replay_is_settled(const struct replay *r, const struct experiment_limit *l, int64_t known)
{
    const struct experiment_metric *m = &r->e.metrics[l->metric];
    if (m->where || experiment_metric_is_of_arrivals(m))
        return false;
    return l->kind != LIMIT_HOLD || saturate_add(known, replay_settling(r, l)) < r->from;
}

/* Moves the begin of the span before the first record of limits whose adaptation may not have settled there. */
static void replay_begin_early(struct replay *r)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = r->first; i < r->last; i++) {
            const struct experiment_limit *l = &r->e.limits[r->gaps[i].gap->limit];
            int64_t known = replay_known(r, l);
            if (known >= r->from || replay_is_settled(r, l, known))
                continue;
            int64_t every = r->e.adapt.every, steps = (r->from - known) / every + 2; /* instants stay where they are */
            r->from = saturate_add(r->from, -steps * every);
            moved = true;
        }
    }
}

static void replay_settle(struct replay *r)
{
    for (size_t i = r->first; i < r->last; i++) {
        uint32_t limit = r->gaps[i].gap->limit;
        int64_t known = replay_known(r, &r->e.limits[limit]);
        if (known < r->from)
            agent_settled(r->agent, limit, known);
    }
}

/* Until when a process may have been there behind gap `g`, silent for so long that it would have violated its limit. */
static int64_t replay_hangs(const struct replay *r, const struct replay_gap *g)
{
    const struct experiment_limit *l = &r->e.limits[g->gap->limit];
    const struct experiment_metric *m = &r->e.metrics[l->metric];
    bool is_broken = l->compare == COMPARE_AT_LEAST ? experiment_metric_is_counted(m) /* by silence */
                                                    : experiment_metric_is_of_arrivals(m);
    int64_t until = g->end;
    for (size_t i = 0; i < r->process_count && is_broken; i++) {
        const struct replay_process *p = &r->processes[i];
        bool hangs = p->closed < INT64_MAX && saturate_sub(p->closed, p->end) > agent_settling(&r->e, l);
        if (hangs && p->closed > until && summary_book_of(p->p, m->aspect))
            until = p->closed;
    }
    return until;
}

/* Of a limit that nobody judged while the run went on, nobody has judged the time behind the last record either. */
static void replay_take_ends(struct replay *r)
{
    for (size_t i = r->first; i < r->last && !r->err; i++) {
        int64_t until = rejudge_is_all(r->s, r->gaps[i].gap) ? replay_hangs(r, &r->gaps[i]) : INT64_MIN;
        if (until > r->gaps[i].end)
            r->err = replay_add_hole(r, &r->gaps[i], r->gaps[i].end, until, went_on);
    }
    replay_sort_holes(r);
    for (size_t i = r->first; i < r->last && !r->err; i++)
        if (!r->gaps[i].gap->why)
            replay_lengthen(&r->gaps[i]);
}

static void replay_conclude(struct replay *r)
{
    replay_take_ends(r);
    for (size_t i = r->first; i < r->last; i++) {
        struct history_gap *g = r->gaps[i].gap;
        g->judged = !g->why && !r->err;
        if (!g->judged)
            g->held = g->violated = g->unknown = g->doubtful = g->settling = 0;
        else if (r->gaps[i].why_open)
            g->why = r->gaps[i].why_open;
        else if (g->doubtful && r->gaps[i].hole_count > 0)
            g->why = r->gaps[i].holes[0].why;
        else if (g->doubtful)
            g->why = went_on;
    }
}

/* Nothing is known of the span's gaps but their holes. */
static void replay_start(struct replay *r)
{
    r->stepped = r->from;
    r->ends = false;
    r->out = NULL;
    memset(r->was, 0, sizeof r->was);
    for (size_t i = r->first; i < r->last; i++) {
        struct replay_gap *g = &r->gaps[i];
        struct history_gap *gap = g->gap;
        gap->held = gap->violated = gap->unknown = gap->doubtful = gap->settling = 0;
        gap->worst = NAN;
        g->open = g->hole = 0;
        g->violated = 0;
        g->why_open = NULL;
    }
}

static void replay_once(struct replay *r)
{
    struct run_reader *reader = NULL;
    struct record_filter filter = replay_filter(r);
    replay_start(r);
    r->err = agent_new(&r->e, r->node < r->e.node_count ? r->node : 0, &r->agent); /* any: it judges as all do */
    if (r->err)
        return;
    agent_keep_ended(r->agent);
    replay_settle(r);
    int err = run_reader_open_all(r->run, &filter, &reader);
    if (err)
        replay_give_up(r, rundb_why(err));
    else
        replay_read(r, reader);
    run_reader_close(reader);
    agent_free(r->agent);
    free(r->stream_ends);
    r->stream_ends = NULL;
    r->stream_count = 0;
}

/* Holes may be found behind the time in which they are, so where there are any all is read once more. */
static void replay_span(struct replay *r)
{
    size_t before = r->found->count;
    replay_begin_early(r);
    if ((r->until - r->from) / r->e.adapt.every > REPLAY_STEPS_MOST) {
        replay_give_up(r, "it is too long");
        return;
    }
    r->err = replay_find_all_switched(r);
    r->again = false;
    if (!r->err)
        replay_once(r);
    r->again = !r->err && replay_sort_holes(r);
    if (r->again) {
        r->found->count = before;
        replay_once(r);
    }
    replay_conclude(r);
}

/* Violations in gaps that are not judged after all. */
static void replay_forget(struct replay *r, size_t before)
{
    size_t kept = before;
    for (size_t i = before; i < r->found->count; i++) {
        const struct history_violation *v = &r->found->violations[i];
        bool judged = false;
        for (size_t g = r->first; g < r->last; g++) {
            const struct history_gap *of = r->gaps[g].gap;
            judged = judged || (of->judged && of->limit == v->limit && v->begin >= of->begin && v->end <= of->end);
        }
        if (judged && v->end > v->begin)
            r->found->violations[kept++] = *v;
    }
    r->found->count = kept;
}

int replay_by_begin(const void *a, const void *b)
{
    const struct replay_gap *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/*
 * Where the replay for a gap begins: its instants are those at the gap's begin, or at the end where none is there, or
 * where windows end that follow one another and have one each.
 */
static int64_t replay_from(const struct replay *r, const struct replay_gap *g)
{
    int64_t every = r->e.adapt.every, lead = replay_lead(&r->e, &r->e.limits[g->gap->limit]);
    int64_t from = saturate_add(g->begin, -lead), past = 0;
    if (g->gap->early || g->gap->never)
        past = saturate_sub(g->end, from) % every;
    else if (g->gap->sparse || g->gap->brief)
        past = every - from % every;
    return past > 0 ? saturate_add(from, past - every) : from;
}

/*
 * Until when it is found that a silence in gap `g` was no violation, for its program ended: and those that were silent
 * when it did, as none of what several break is taken back before all of them have ended.
 */
static int64_t replay_until_known(const struct replay *r, const struct replay_gap *g)
{
    int64_t every = r->e.adapt.every, until = g->end, before;
    int64_t most = saturate_add(g->end, agent_settling(&r->e, &r->e.limits[g->gap->limit]) + 2 * every);
    do {
        before = until;
        for (size_t i = 0; i < r->process_count; i++) {
            const struct replay_process *p = &r->processes[i];
            int64_t gone = p->ended < INT64_MAX && p->end <= until ? saturate_add(p->ended, 2 * every) : 0;
            gone = gone < most ? gone : most;
            until = gone > until ? gone : until;
        }
    } while (until > before);
    return until;
}

/* Gaps that are near each other, or too many, are judged in one reading. */
static void replay_node(struct replay *r)
{
    size_t spans = 0;
    qsort(r->gaps, r->count, sizeof *r->gaps, replay_by_begin);
    for (r->first = 0; r->first < r->count && !r->err; r->first = r->last) {
        r->from = INT64_MAX;
        r->until = INT64_MIN;
        for (r->last = r->first; r->last < r->count; r->last++) {
            const struct replay_gap *g = &r->gaps[r->last];
            int64_t from = replay_from(r, g);
            if (r->last > r->first && from > r->until && spans < SPANS_MOST)
                break;
            r->from = from < r->from ? from : r->from;
            int64_t until = replay_until_known(r, g);
            r->until = until > r->until ? until : r->until;
        }
        size_t before = r->found->count;
        replay_span(r);
        replay_forget(r, before);
        spans++;
    }
}

/* The gaps of a node's limits, or of those on all nodes together. */
static void replay_some(struct replay *r)
{
    struct summary *s = r->s;
    r->count = 0;
    for (size_t i = 0; i < s->gap_count; i++) {
        struct history_gap *g = &s->gaps[i];
        if (g->why || r->file->limits[g->limit].global != r->all ||
            (r->all ? g->node >= s->node_count : g->node != r->node))
            continue;
        int64_t begin = replay_time(r, g->node, g->begin), ahead = begin - g->begin;
        r->gaps[r->count++] = (struct replay_gap){.gap = g, .begin = begin, .end = g->end + ahead, .ahead = ahead};
    }
    if (r->count == 0)
        return;
    r->begun = saturate_sub(summary_property_number(s, RUNDB_BEGUN), s->nodes[r->node].ahead);
    r->told = saturate_sub(summary_ended(s), s->nodes[r->node].ahead);
    r->err = replay_find_processes(r);
    if (!r->err)
        replay_node(r);
    for (size_t i = 0; i < r->count; i++)
        free(r->gaps[i].holes);
    free(r->processes);
    r->processes = NULL;
}

/* Limits on all nodes together as one node would have them, with all their processes. */
static void replay_all(struct replay *r)
{
    struct experiment_limit limits[EXPERIMENT_LIMITS_MAX];
    memcpy(limits, r->file->limits, r->e.limit_count * sizeof *limits);
    for (uint32_t i = 0; i < r->e.limit_count; i++)
        limits[i].global = false;
    r->e.limits = limits;
    r->all = true;
    r->node = 0;
    replay_some(r);
}

int replay_gaps(const char *run, struct summary *s, const struct experiment *e, struct replay_found *found)
{
    struct replay r = {.run = run, .s = s, .file = e, .e = *e, .found = found};
    r.e.adapt.policy = POLICY_NONE;
    r.e.adapt.knob_count = 0;
    r.gaps = calloc(s->gap_count + 1, sizeof *r.gaps);
    r.err = r.gaps ? 0 : BEZEL_ENOMEM;
    for (size_t i = 0; i < s->gap_count; i++)
        s->gaps[i].worst = NAN;
    for (; r.node < s->node_count && !r.err; r.node++)
        replay_some(&r);
    if (!r.err)
        replay_all(&r);
    free(r.gaps);
    return r.err;
}
