// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The records of a span are read into an agent, as bezeld's is: it is given them in their order, and a step at each
 * sampling instant.
 *
 * The attempt counters are the numbers of records so far. That is true only if none was lost, so a loss near a gap
 * leaves the gap as it is. A process begins when its bezeld saw it begin, or with its first record. A program that the
 * run waited for ends when it did; any other process with its last record: from there on until its streams were closed
 * it may have been silent, or gone. Then only a violation by another process is certain.
 */
#include "run/verdict/rejudge_replay_internal.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/saturate.h"
#include "resmgr/agent/agent.h"
#include "run/read/run_reader.h"
#include "run/verdict/rejudge.h"
#include "run/verdict/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MOST = 20000000 };

static const char lasted[] = "between two instants it may have been broken for longer than 'for'";

void replay_give_up(struct replay *r, const char *why)
{
    r->gave_up = true;
    for (size_t i = r->first; i < r->last; i++)
        r->gaps[i].gap->why = why;
}

/* Time `at` of the clock of node `node`, as times are compared here. */
int64_t replay_time(const struct replay *r, uint32_t node, int64_t at)
{
    return r->all ? saturate_sub(run_clock_at(&r->s->nodes[node].run_clock, at).ns, r->s->nodes[0].ahead) : at;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b)
{
    int64_t x = ((const struct replay_process *)a)->p->row, y = ((const struct replay_process *)b)->p->row;
    return (x > y) - (x < y);
}

static struct replay_process *replay_process(struct replay *r, int64_t row)
{
    size_t low = 0, high = r->process_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->processes[middle].p->row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->process_count && r->processes[low].p->row == row ? &r->processes[low] : NULL;
}

/* Until when it is in the agent. */
static int64_t replay_until(const struct replay_process *p)
{
    return p->ended < INT64_MAX ? p->ended : p->end;
}

/* Its aspects as bezeld watches them: those of samplers of daemons alone (bezeld/node/observer.c). */
static void replay_watch(struct replay *r, struct replay_process *p, const struct dict *d)
{
    for (uint32_t i = 0; i < d->aspect_count && !r->err; i++) {
        bool of_sampler = experiment_sampler_of(d->aspects[i].name) != EXPERIMENT_SAMPLERS;
        int watch =
            (p->p->role == ROLE_DAEMON) == of_sampler ? agent_watch(r->agent, p->slot, &d->aspects[i]) : BEZEL_ENOENT;
        p->watch[i + 1] = watch < 0 ? -1 : watch;
        if (watch == BEZEL_ENOMEM)
            r->err = watch;
    }
}

/*
 * Since when the counters of process `p` are read, from 0 on: a node that is there already sees it begin
 * (bezeld/node/observer.c). 0: its first reading shows no growth.
 */
static int64_t replay_began(const struct replay *r, const struct replay_process *p)
{
    if (p->begin <= r->from || p->there == p->begin)
        return r->looks ? p->begin - 1 : 0; /* as if it had been seen, so that its first record counts */
    return p->there > r->from ? p->there : r->from;
}

static void replay_begin_process(struct replay *r, struct replay_process *p, const struct dict *d)
{
    memset(p->attempts, 0, sizeof p->attempts);
    p->records = 0;
    for (size_t i = 0; i <= DICT_ASPECTS_MAX; i++)
        p->watch[i] = -1;
    p->slot = d ? agent_process_add(r->agent, p->p->name) : BEZEL_ENOENT;
    if (p->slot == BEZEL_EFULL)
        replay_give_up(r, "too many processes were there at once");
    if (p->slot == BEZEL_ENOMEM)
        r->err = p->slot;
    if (p->slot < 0)
        return;
    bool counted = false; /* before: how far does not matter, but a node's counters grow by it too */
    for (size_t i = 0; i < p->p->book_count; i++)
        if (p->p->books[i].stored && replay_time(r, p->p->node, p->p->books[i].first_ns) < r->from &&
            p->p->books[i].aspect <= DICT_ASPECTS_MAX) {
            p->attempts[p->p->books[i].aspect] = 1;
            counted = true;
        }
    int64_t began = counted ? r->from : replay_began(r, p);
    if (began > 0)
        agent_process_began(r->agent, p->slot, began);
    replay_watch(r, p, d);
}

/* Those that are there at `now`. With its first record each is there at the latest. */
static void replay_begin_processes(struct replay *r, int64_t now)
{
    const struct model *m = run_reader_model(r->reader, NULL);
    for (const struct model_node *n = m->nodes; n; n = n->next)
        for (const struct model_process *p = n->processes; p && !r->err; p = p->next) {
            struct replay_process *is = replay_process(r, p->row);
            if (is && is->slot < 0 && is->there <= now && replay_until(is) >= now)
                replay_begin_process(r, is, p->dict);
        }
}

/* Those that began since the instant before `now`, and have recorded nothing yet. */
static void replay_begin_silent(struct replay *r, int64_t now)
{
    bool any = false;
    for (size_t i = 0; i < r->process_count; i++)
        any = any || (r->processes[i].there > r->stepped && r->processes[i].there <= now && r->processes[i].slot < 0);
    if (any)
        replay_begin_processes(r, now);
}

int replay_find_processes(struct replay *r)
{
    r->process_count = 0;
    r->processes = calloc(r->s->process_count + 1, sizeof *r->processes);
    if (!r->processes)
        return BEZEL_ENOMEM;
    for (size_t i = 0; i < r->s->process_count; i++) {
        const struct summary_process *p = &r->s->processes[i];
        struct replay_process is = {.p = p,
                                    .begin = INT64_MAX,
                                    .end = INT64_MIN,
                                    .closed = INT64_MIN,
                                    .slot = -1,
                                    .lossy = p->discarded > p->reduced};
        for (size_t b = 0; b < p->book_count; b++) {
            if (p->books[b].stored == 0)
                continue;
            int64_t first = replay_time(r, p->node, p->books[b].first_ns);
            int64_t last = replay_time(r, p->node, p->books[b].last_ns);
            is.begin = first < is.begin ? first : is.begin;
            is.end = last > is.end ? last : is.end;
        }
        if ((!r->all && p->node != r->node) || (r->of && p != r->of) || is.begin == INT64_MAX)
            continue;
        is.there = is.begin;
        if (rejudge_saw_begin(r->s, p))
            is.there = saturate_least(replay_time(r, p->node, p->started), is.begin - 1);
        is.ended = verdict_ended(r->s, p, 5 * r->e.adapt.every / 4); /* bezeld looks in each period, or a bit later */
        is.ended = is.ended < INT64_MAX ? replay_time(r, p->node, is.ended) : INT64_MAX;
        r->processes[r->process_count++] = is;
    }
    qsort(r->processes, r->process_count, sizeof *r->processes, by_row);
    return 0;
}

/* When a process's streams were closed, as far as it had not ended before; bezeld may have been stopped meanwhile. */
static void replay_close(void *context, const struct model_process *p, int64_t closed)
{
    struct replay_process *is = replay_process(context, p->row);
    if (!is)
        return;
    closed = closed != INT64_MAX ? replay_time(context, is->p->node, closed) : closed;
    closed = is->ended < closed ? is->ended : closed;
    is->closed = closed > is->closed ? closed : is->closed;
}

/* The last record up to `since` that a metric has of the node; INT64_MIN: it has none. */
static int64_t replay_last(const struct replay *r, const struct experiment_metric *m, int64_t since)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < r->process_count; i++) {
        const struct replay_process *p = &r->processes[i];
        int64_t end = p->end < since ? p->end : since;
        if (p->begin <= since && end > last && summary_book_of(p->p, m->aspect))
            last = end;
    }
    return last;
}

/*
 * Whether what process `p` lost before its first stored record may count after `since`, for a rate or count, or where
 * the window in which it began has no value: then it was seen longer than the replay knows, and had a value earlier.
 */
static bool replay_began_unseen(const struct replay *r, const struct replay_process *p,
                                const struct experiment_metric *m, int64_t since)
{
    int64_t full = saturate_add(p->begin, 2 * (m->window + r->e.adapt.every));
    bool may_be_there = p->slot >= 0 || (since < p->begin && replay_time(r, p->p->node, p->p->started) <= since);
    return (experiment_metric_is_counted(m) || m->tumbles) && p->lossy && may_be_there && p->begin > r->from &&
           since < full && summary_book_of(p->p, m->aspect);
}

/*
 * Whether a process that is not in the agent any more may still have been there after `since`, and its silence, or its
 * last values, counted for `limit`. A metric of the node has the values of all processes for as long as one of them is
 * there: so a silent one matters as long as the last value of any. No window behind a last record is whole, so in short
 * ones nothing is missed.
 */
static bool replay_doubts(const struct replay *r, const struct history_gap *g, int64_t since)
{
    uint32_t limit = g->limit;
    const struct experiment_metric *m = &r->e.metrics[r->e.limits[limit].metric];
    int64_t last = m->per_process ? INT64_MIN : replay_last(r, m, since);
    for (size_t i = 0; i < r->process_count && !g->sparse && !g->brief; i++) {
        const struct replay_process *p = &r->processes[i];
        if (replay_began_unseen(r, p, m, since))
            return true;
        int64_t until = saturate_add(p->end > last ? p->end : last, 2 * (m->window + r->e.adapt.every));
        until = experiment_metric_is_counted(m) || experiment_metric_is_of_arrivals(m) ? INT64_MAX : until;
        until = p->closed < until ? p->closed : until;
        if (p->slot < 0 && p->end <= since && since < until && summary_book_of(p->p, m->aspect))
            return true;
    }
    return false;
}

/* ---- instants ---------------------------------------------------------------------------------------------------- */

double replay_worse(const struct experiment_limit *l, double a, double b)
{
    return l->compare == COMPARE_AT_LEAST ? fmin(a, b) : fmax(a, b); /* both pass over NaN */
}

static struct history_violation *replay_open(struct replay_found *f, struct replay_gap *g, int64_t at)
{
    if (g->open)
        return &f->violations[g->open - 1];
    if (!grow_list(&f->violations, &f->capacity, f->count, sizeof *f->violations))
        return NULL;
    f->violations[f->count] = (struct history_violation){
        .node = g->gap->node, .limit = g->gap->limit, .begin = at - g->ahead, .min = NAN, .max = NAN};
    g->open = ++f->count;
    return &f->violations[g->open - 1];
}

int replay_take(struct replay_found *f, struct replay_gap *g, const struct experiment_limit *l, struct replay_time t)
{
    struct history_gap *gap = g->gap;
    int64_t begin = g->begin > t.from ? g->begin : t.from, end = g->end < t.until ? g->end : t.until;
    bool counts = !t.doubtful && !t.settles, violated = t.state == LIMIT_VIOLATED && counts,
         held = t.state == LIMIT_HELD && counts;
    if (begin >= end)
        return 0;
    gap->doubtful += t.doubtful ? end - begin : 0;
    gap->settling += t.settles && !t.doubtful ? end - begin : 0;
    *(violated ? &gap->violated : held ? &gap->held : &gap->unknown) += end - begin;
    if (held)
        gap->worst = replay_worse(l, gap->worst, t.value);
    struct history_violation *v = violated ? replay_open(f, g, begin) : NULL;
    if (!violated)
        g->open = 0;
    if (!v)
        return violated ? BEZEL_ENOMEM : 0;
    v->end = end - g->ahead;
    v->min = fmin(v->min, t.value);
    v->max = fmax(v->max, t.value);
    return 0;
}

/*
 * A process ended without a further record: its silence was no violation, or that is not known. The agent has taken
 * back the latest violated time that it had counted, and `after` is left. Time behind the gap goes first, time before
 * the gap last.
 */
static void replay_take_back(struct replay *r, struct replay_gap *g, int64_t after)
{
    struct history_gap *gap = g->gap;
    int64_t of_gap = g->violated - after, back = of_gap < gap->violated ? of_gap : gap->violated;
    if (of_gap <= 0)
        return;
    g->violated = after;
    gap->violated -= back;
    gap->unknown += back;
    gap->doubtful += replay_doubts(r, gap, r->stepped) ? back : 0;
    if (back > 0 && g->open) {
        struct history_violation *v = &r->found->violations[g->open - 1];
        v->end = v->end - back > v->begin ? v->end - back : v->begin;
    }
}

/* Why a value of metric `m` is not known though there is one: the agent has all records, and none came late. */
static const char *replay_why_open(const struct replay *r, int m)
{
    bool is_open = agent_is_open(r->agent, (uint32_t)m, -1);
    for (size_t i = 0; i < r->process_count; i++)
        is_open = is_open || agent_is_open(r->agent, (uint32_t)m, r->processes[i].slot);
    return is_open ? "records have no known value in the field of 'where'"
                   : "a process began when the one before had ended, and what both made in a window is not known";
}

/* The time since the instant before, as far as it is in the gap, was as this instant found it. */
static void replay_account(struct replay *r, struct replay_gap *g, const struct agent_limit *l, int64_t now)
{
    uint32_t limit = g->gap->limit;
    if (g->begin >= now || g->end <= r->stepped)
        return;
    bool settles = l->settling > r->was[limit].settling;
    bool lasts = l->state != LIMIT_VIOLATED && l->unjudged > r->was[limit].unjudged; /* too long, or not; or open */
    if (lasts && !g->why_open)
        g->why_open = l->state == LIMIT_UNKNOWN ? replay_why_open(r, r->e.limits[limit].metric) : lasted;
    bool doubtful = lasts || replay_is_in_hole(g, r->stepped, now) ||
                    ((settles || l->state != LIMIT_VIOLATED) && replay_doubts(r, g->gap, r->stepped));
    g->violated = l->violated;
    int err = replay_take(r->found, g, &r->e.limits[limit],
                          (struct replay_time){r->stepped, now, l->state, settles, doubtful, l->value});
    r->err = err ? err : r->err;
}

static void replay_end_processes(struct replay *r)
{
    for (size_t i = 0; i < r->process_count; i++) {
        struct replay_process *p = &r->processes[i];
        if (p->slot < 0 || replay_until(p) > r->stepped)
            continue;
        agent_count_all(r->agent, p->slot, p->records);
        agent_process_remove(r->agent, p->slot);
        p->slot = -1;
    }
    for (size_t i = r->first; i < r->last && r->out; i++) {
        uint32_t limit = r->gaps[i].gap->limit;
        replay_take_back(r, &r->gaps[i], r->out->limits[limit].violated);
    }
}

void replay_count(struct replay *r, int64_t now)
{
    for (size_t i = 0; i < r->process_count; i++) {
        const struct replay_process *p = &r->processes[i];
        agent_count_all(r->agent, p->slot, p->records);
        for (uint32_t id = 1; p->slot >= 0 && id <= DICT_ASPECTS_MAX; id++)
            if (p->watch[id] >= 0)
                agent_count(r->agent, p->watch[id], p->attempts[id], now);
    }
}

/* All records before `time` have been read. Behind r->told, the counters do not show that a process goes on. */
static void replay_tell(struct replay *r, int64_t time)
{
    for (size_t i = 0; i < r->process_count && time > r->told && !r->ends; i++)
        agent_count_all(r->agent, r->processes[i].slot, r->processes[i].records);
    r->ends = r->ends || time > r->told;
    if (r->ends)
        agent_processes_end(r->agent);
}

static void replay_step(struct replay *r, int64_t now)
{
    replay_tell(r, now);
    replay_end_processes(r);
    replay_begin_silent(r, now);
    replay_count(r, now);
    r->out = agent_step(r->agent, now, &(struct policy_measure){.cpu = NAN, .polls = NAN, .records = NAN});
    for (size_t i = r->first; i < r->last; i++)
        replay_account(r, &r->gaps[i], &r->out->limits[r->gaps[i].gap->limit], now);
    memcpy(r->was, r->out->limits, r->out->limit_count * sizeof *r->was);
    r->stepped = now;
}

/* All instants before `time`. */
static void replay_advance(struct replay *r, int64_t time)
{
    int64_t every = r->e.adapt.every;
    while (!r->err && r->stepped < r->until && saturate_add(r->stepped, every) < time)
        replay_step(r, r->stepped + every);
    replay_tell(r, time);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

int64_t replay_lead(const struct experiment *e, const struct experiment_limit *l)
{
    int64_t least = saturate_add(saturate_add(2 * experiment_limit_window(e, l), agent_settling(e, l)), l->persistence);
    int64_t past = least % e->adapt.every;
    return saturate_add(least, (past > 0 ? 3 : 2) * e->adapt.every - past);
}

/* From when on a lost record can change what is found in gap `g`: the span may begin earlier for another limit. */
static int64_t replay_matters_from(const struct replay *r, const struct replay_gap *g)
{
    const struct experiment_limit *l = &r->e.limits[g->gap->limit];
    int64_t from = saturate_add(g->begin, -replay_lead(&r->e, l));
    return replay_looks_further(r, l) || from < r->from ? r->from : from;
}

/* Whether records of `aspect` may be among those that process `p` has lost: its books tell, once they are closed. */
static bool replay_may_lack(const struct summary_process *p, const char *aspect)
{
    const struct summary_book *book = summary_book_of(p, aspect);
    bool is_closed = (p->state == PROCESS_ENDED || p->state == PROCESS_DETACHED) && p->unfinished == 0;
    return book && !(is_closed && book->attempts == book->stored + book->reduced);
}

/*
 * A loss lies behind the packet before it of its stream, or the begin of its process, and before the end of its own.
 * All of a gap stays as it is, or a part of one that is all of the limit's time.
 */
static void replay_lose(struct replay *r, const struct replay_process *p, int64_t begin, int64_t end)
{
    static const char why[] = "records were lost";
    int64_t started = replay_time(r, p->p->node, p->p->started);
    begin = started > begin ? started : begin;
    begin = r->begun > begin ? r->begun : begin;
    end = p->ended < end ? p->ended : end;
    for (size_t i = r->first; i < r->last && !r->err; i++) {
        struct replay_gap *g = &r->gaps[i];
        if (!replay_may_lack(p->p, r->e.metrics[r->e.limits[g->gap->limit].metric].aspect))
            continue;
        if (rejudge_is_all(r->s, g->gap))
            r->err = r->again ? 0 : replay_add_hole(r, g, begin, end, why);
        else if (begin < g->end && end > replay_matters_from(r, g))
            g->gap->why = why;
    }
}

/* Returns the end of the packet before this one of its stream, as far as one was seen. */
static int64_t replay_packet(struct replay *r, const struct record_item *item)
{
    if (item->stream >= r->stream_count) {
        size_t count = 2 * item->stream + 16;
        if (!grow_to(&r->stream_ends, count, sizeof *r->stream_ends)) {
            r->err = BEZEL_ENOMEM;
            return 0;
        }
        while (r->stream_count < count)
            r->stream_ends[r->stream_count++] = 0;
    }
    int64_t before = r->stream_ends[item->stream];
    r->stream_ends[item->stream] = (int64_t)item->packet->timestamp_end;
    return before;
}

static void replay_item(struct replay *r, const struct record_item *item)
{
    struct replay_process *p = replay_process(r, item->process->row);
    if (!p)
        return;
    int64_t time = replay_time(r, p->p->node, saturate_ns((int64_t)item->time));
    if (p->lossy) {
        int64_t before = replay_time(r, p->p->node, replay_packet(r, item));
        if (!item->r && item->lost)
            replay_lose(r, p, before, time);
    }
    if (!item->r || time <= r->from || time > (r->looks ? r->until : saturate_add(r->until, r->e.adapt.every)))
        return;
    replay_advance(r, time);
    if (p->slot < 0 && time < p->end + 1 && !r->err)
        replay_begin_process(r, p, item->process->dict);
    int watch = p->slot < 0 || r->err ? -1 : p->watch[item->r->aspect];
    p->records++;
    if (watch < 0)
        return;
    p->attempts[item->r->aspect]++;
    struct packet_run run = record_item_run(item);
    uint8_t record[PACKET_RECORD_MAX_BYTES]; /* at this time */
    if (r->all) {
        memcpy(record, run.first, run.stride);
        packet_put_record(record, run.aspect, (uint64_t)time);
        run.first = record;
    }
    agent_records(r->agent, watch, &run, time);
}

static int64_t run_time(const struct replay *r, int64_t at, int64_t more)
{
    const struct summary_node *n = &r->s->nodes[r->node];
    return saturate_add(r->all ? saturate_add(at, n->ahead) : run_clock_at(&n->run_clock, at).ns, more);
}

/* A loss may be reported long after it: behind one, all of the run is read; and before it, where all may be lost. */
struct record_filter replay_filter(const struct replay *r)
{
    struct record_filter f = RECORD_FILTER_ALL;
    bool lossy = false, all = false;
    for (size_t i = r->first; i < r->last; i++)
        all = all || rejudge_is_all(r->s, r->gaps[i].gap);
    for (size_t i = 0; i < r->process_count; i++)
        lossy = lossy || (r->processes[i].lossy && !r->looks);
    f.process = r->of ? r->of->name : NULL;
    f.node = r->all ? NULL : r->s->nodes[r->node].name;
    if (!lossy || !all)
        f.from = run_time(r, r->from, -CLOCK_S);
    if (!lossy)
        f.until = run_time(r, r->until, CLOCK_S);
    return f;
}

void replay_read(struct replay *r, struct run_reader *reader)
{
    struct record_item item;
    int more = 1;
    uint64_t records = 0;
    if (r->process_count > 0 && r->processes[0].closed == INT64_MIN)
        run_reader_closed(reader, replay_close, r);
    r->reader = reader;
    for (size_t i = 0; i < r->process_count; i++)
        r->processes[i].slot = -1;
    replay_begin_processes(r, r->from);
    while (!r->err && records <= RECORDS_MOST && (more = run_reader_next(reader, &item)) == 1) {
        replay_item(r, &item);
        records++;
    }
    replay_advance(r, INT64_MAX);
    if (!r->err && !r->looks)
        replay_end_processes(r);
    if (records > RECORDS_MOST)
        replay_give_up(r, "too many records would have to be read");
    if (more < 0 || run_reader_totals(reader).cut > 0)
        replay_give_up(r, "the trace is damaged");
}
