// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Limits on intervals, and what intervals came to, from the stored records of all nodes: read once, in the order of the
 * run's time. At each sampling instant the window that ends there is judged, as the manager does. Of a limit that
 * nobody judged while the run went on all of it counts; of others, what lies in gaps, and violations behind the last
 * judgement.
 */
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/saturate.h"
#include "mdr/builtin.h"
#include "resmgr/agent/agent.h"
#include "resmgr/agent/limit_judge.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"
#include "run/verdict/rejudge.h"
#include "run/verdict/rejudge_replay_internal.h"
#include "run/verdict/verdict_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MOST = 20000000, STEPS_MOST = 2000000, LOOK_EVERY = 1024 };

/* Why stored records may not tell whether limit `i` held. */
static const char *left_open(const struct experiment *e, uint32_t i)
{
    return e->metrics[e->limits[i].metric].interval.statistic == METRIC_QUANTILE
               ? "that a quantile is known to 1/32, lost records, those without a value to match, ends without a "
                 "beginning, or the bounds of the clocks leave it open"
               : "lost records, those without a value to match, ends without a beginning, or the bounds of the clocks "
                 "leave it open";
}

/* A limit that is judged. */
struct interval_judge {
    uint32_t limit;
    bool never;              /* nobody judged it, and it has no gaps */
    bool late;               /* never, in place of what was judged, if that is less: records came behind windows */
    struct replay_gap *gaps; /* in the order of their begins, by run's time */
    size_t gap_count, gap;   /* gap: the first that has not ended yet; the last one may be: */
    struct history_gap tail; /* the time behind the last observation, or all of it; end 0: there is none */
    struct limit_judge judge;
    struct agent_limit seen;
    struct limit_judge_run runs[INTERVAL_ENDS_MAX];
    struct replay_found found;
};

struct interval_replay {
    struct summary *s;
    const struct experiment *e;
    struct interval_reading *reading;
    struct interval_judge *judges;
    size_t count;
    int64_t began, stepped,
        latest; /* run's time: the first instant, the latest, the latest record; began 0: none yet */
    bool is_too_long;
    int err;
};

/* ---- losses ------------------------------------------------------------------------------------------------------ */

static const struct summary_process *process_of(const struct summary *s, int64_t row)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].row == row)
            return &s->processes[i];
    return NULL;
}

static uint64_t lost_of(const void *summary, int64_t row, const char *aspect, bool timed)
{
    const struct summary *s = summary;
    const struct summary_process *p = process_of(s, row);
    const struct summary_book *b = summary_book_of(p, aspect);
    if (!b)
        return 0;
    if (timed)
        return b->full + b->window + b->spool + (p->overwrites ? summary_rest(b) : 0);
    return b->off + b->no_ring + b->reduced + b->reducer + (p->overwrites ? 0 : summary_rest(b)) + p->expired.records +
           verdict_is_open(s, p);
}

/* ---- instants ---------------------------------------------------------------------------------------------------- */

/* Time of the run on the clock of the first node, which counts as the reporter. */
static int64_t node_time(const struct summary *s, int64_t at)
{
    return saturate_sub(at, s->node_count > 0 ? s->nodes[0].ahead : 0);
}

/* The time since the instant before, where it lies in a gap of the limit, as this instant found it. */
static void judge_gaps(struct interval_replay *r, struct interval_judge *j, const struct agent_limit *before,
                       int64_t now)
{
    const struct agent_limit *is = &j->seen;
    struct replay_time t = {
        .from = r->stepped, .until = now, .settles = is->settling > before->settling, .value = is->value};
    t.doubtful = is->unjudged > before->unjudged;
    t.state = is->held > before->held           ? LIMIT_HELD
              : is->violated > before->violated ? LIMIT_VIOLATED
                                                : LIMIT_UNKNOWN; /* while adaptation settles, none counts */
    while (j->gap < j->gap_count && j->gaps[j->gap].end <= r->stepped)
        j->gap++;
    for (size_t i = j->gap; i < j->gap_count && j->gaps[i].begin < now && !r->err; i++)
        r->err = replay_take(&j->found, &j->gaps[i], j->judge.limit, t);
}

static struct limit_judge_value judged_value(const struct experiment_limit *l, const struct interval_value *v)
{
    bool holds, decided = interval_decides(v, l->compare, l->bound, &holds);
    double unsure = l->compare == COMPARE_AT_LEAST ? v->high - v->value : v->value - v->low;
    return (struct limit_judge_value){
        .known = decided && v->count > 0, .open = !decided, .value = v->value, .resolution = unsure};
}

static void judge(struct interval_replay *r, struct interval_judge *j, int64_t now)
{
    const struct experiment_limit *l = &r->e->limits[j->limit];
    struct interval *in = interval_reading_of(r->reading, (uint32_t)l->metric);
    uint32_t count;
    const uint32_t *ends = interval_ends(in, &count);
    limit_judge_begin(&j->judge, now);
    for (uint32_t i = 0; i < count; i++) {
        struct interval_value v;
        struct limit_judge_value value = {.known = false};
        if (interval_value(in, ends[i], INTERVAL_WHOLE, 0, now, &v))
            value = judged_value(l, &v);
        limit_judge_value(&j->judge, &j->runs[i], (int)i, value);
    }
    struct agent_limit before = j->seen;
    (void)limit_judge_end(&j->judge);
    judge_gaps(r, j, &before, now);
}

static void step(struct interval_replay *r, int64_t now)
{
    for (size_t i = 0; i < r->count; i++)
        judge(r, &r->judges[i], now);
    r->stepped = now;
}

/* All instants before `time`. */
static void advance(struct interval_replay *r, int64_t time)
{
    int64_t every = r->e->adapt.every;
    if (!r->began) {
        r->began = time;
        r->stepped = time - every;
        step(r, r->stepped);
    }
    r->is_too_long = r->is_too_long || (time - r->stepped) / every > STEPS_MOST;
    while (!r->err && !r->is_too_long && r->stepped + every < time)
        step(r, r->stepped + every);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool wants(const void *reading, const struct dict_aspect *a)
{
    return interval_reading_wants(reading, a);
}

/* Returns whether all records were read. */
static bool read_items(struct interval_replay *r, struct run_reader *reader, int64_t deadline)
{
    struct record_item item;
    int more = 1;
    for (uint64_t n = 1; !r->err && (more = run_reader_next(reader, &item)) == 1; n++) {
        int64_t time = saturate_ns(item.at.ns);
        if (r->count > 0 && time > r->latest)
            advance(r, time);
        r->latest = time > r->latest ? time : r->latest;
        if (!interval_reading_take(r->reading, &item))
            r->err = BEZEL_ENOMEM;
        if (n >= RECORDS_MOST || (n % LOOK_EVERY == 0 && clock_now() >= deadline))
            return false;
    }
    if (!r->err && r->began && r->latest > r->stepped)
        step(r, r->latest);
    return more == 0 && !r->is_too_long && run_reader_totals(reader).cut == 0;
}

static bool read_run(struct interval_replay *r, const char *run, int64_t budget)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader = NULL;
    int64_t begun = clock_now();
    bool whole = false;
    filter.takes = wants;
    filter.of = r->reading;
    int err = run_reader_open_all(run, &filter, &reader);
    if (!err) {
        interval_reading_begin(r->reading, run_reader_model(reader, NULL));
        whole = read_items(r, reader, saturate_add(begun, budget));
    } else
        log_warn("BEZEL-REPORT-RECORDS", "the records cannot be read: %s: intervals are not evaluated", rundb_why(err));
    run_reader_close(reader);
    return whole;
}

/* ---- what was found ---------------------------------------------------------------------------------------------- */

static void add_gap(const struct summary *s, struct interval_judge *j, struct history_gap *g, int64_t length)
{
    int64_t begin = summary_run_time(s, g->node, g->begin);
    j->gaps[j->gap_count++] = (struct replay_gap){
        .gap = g, .begin = begin, .end = saturate_add(begin, length), .ahead = saturate_sub(begin, g->begin)};
}

/* Behind the last observation of a limit, by whichever node, where it was not violated then. */
static void add_tail(const struct summary *s, struct interval_judge *j)
{
    const struct history_series *last = NULL;
    for (size_t i = 0; i < s->series_count; i++) {
        const struct history_series *of = &s->series[i];
        bool is_its = of->limit == j->limit && of->node < s->node_count;
        if (is_its &&
            (!last || summary_run_time(s, of->node, of->last_at) > summary_run_time(s, last->node, last->last_at)))
            last = of;
    }
    if (!last || last->open)
        return;
    j->tail = (struct history_gap){.node = last->node, .limit = j->limit, .begin = last->last_at, .end = INT64_MAX};
    add_gap(s, j, &j->tail, INT64_MAX);
}

/* Of a limit that was judged at other times its gaps; else all of the time. */
static int find_gaps(const struct interval_replay *r, struct interval_judge *j)
{
    struct summary *s = r->s;
    j->gaps = calloc(s->gap_count + 2, sizeof *j->gaps);
    if (j->gaps && j->never) {
        j->tail = (struct history_gap){.limit = j->limit};
        j->gaps[j->gap_count++] =
            (struct replay_gap){.gap = &j->tail, .begin = INT64_MIN, .end = INT64_MAX, .ahead = -node_time(s, 0)};
        return 0;
    }
    for (size_t i = 0; j->gaps && i < s->gap_count; i++) {
        struct history_gap *g = &s->gaps[i];
        if (g->limit != j->limit || g->node >= s->node_count || g->begin >= g->end)
            continue;
        if (rejudge_is_recorded_elsewhere(s, g)) {
            g->why = "another node recorded it in the meantime";
            continue;
        }
        g->worst = NAN;
        add_gap(s, j, g, g->end - g->begin);
    }
    if (j->gaps)
        add_tail(s, j);
    if (j->gaps)
        qsort(j->gaps, j->gap_count, sizeof *j->gaps, replay_by_begin);
    return j->gaps ? 0 : BEZEL_ENOMEM;
}

static int begin_judge(struct interval_replay *r, struct interval_judge is)
{
    const struct experiment_limit *l = &r->e->limits[is.limit];
    struct interval_judge *j = &r->judges[r->count++];
    *j = is;
    limit_judge_start(&j->judge, l, agent_settling(r->e, l), INT64_MAX, &j->seen);
    return find_gaps(r, j);
}

static int begin_judges(struct interval_replay *r)
{
    int err = 0;
    r->judges = calloc(2 * (size_t)r->e->limit_count + 1, sizeof *r->judges);
    if (!r->judges)
        return BEZEL_ENOMEM;
    for (uint32_t i = 0; i < r->e->limit_count && !err; i++) {
        const struct experiment_limit *l = &r->e->limits[i];
        bool never = rejudge_is_unjudged(r->s, i);
        if (!experiment_limit_is_on_interval(r->e, l) || experiment_interval_is_reduced(r->e, (uint32_t)l->metric))
            continue;
        err = begin_judge(r, (struct interval_judge){.limit = i, .never = never});
        if (!err && !never)
            err = begin_judge(r, (struct interval_judge){.limit = i, .never = true, .late = true});
    }
    return err;
}

static bool is_beyond(const struct experiment_limit *l, int64_t violated, int64_t of)
{
    return of > 0 && (double)violated / (double)of > l->tolerance;
}

/* If all that is not judged were violated, besides `judged`. */
static bool may_be_beyond(const struct experiment_limit *l, int64_t violated, int64_t unjudged, int64_t judged)
{
    return is_beyond(l, saturate_add(violated, unjudged), saturate_add(judged, unjudged));
}

/*
 * Whether judge `j`, of all records, knows of much more time than was judged or is a gap, which is no matter of
 * instants; or finds the limit violated for longer than its tolerance, or leaves open whether it was, where what was
 * judged is within that; or finds it within that at all times, where it is not known when it was not judged.
 */
static bool tells_more(const struct interval_replay *r, const struct interval_judge *j)
{
    const struct experiment_limit *l = &r->e->limits[j->limit];
    const struct agent_limit *is = &j->seen;
    const struct builtin_limit rows = verdict_row_of_all(r->s, j->limit);
    int64_t instants = 4 * r->e->adapt.every, found = is->held + is->violated;
    int64_t judged = saturate_add(rows.held, rows.violated), known = saturate_add(judged, rows.unjudged);
    bool expects = l->kind == LIMIT_EXPECT, broken = is_beyond(l, rows.violated, known);
    bool may_be = may_be_beyond(l, rows.violated, rows.unjudged, judged);
    bool is_open = may_be_beyond(l, is->violated, is->unjudged, found);
    bool worse = expects && is_beyond(l, is->violated, found + is->unjudged) && !broken;
    bool opens = expects && is_open && !may_be && saturate_sub(is->unjudged, rows.unjudged) > instants;
    bool settles = !broken && may_be && !is_open && found > 0 && is->violated >= rows.violated;
    int64_t accounted = saturate_add(saturate_add(known, rows.settling), instants);
    return worse || opens || settles || found > saturate_add(accounted, accounted / 8);
}

static int add_row(struct interval_replay *r, const struct interval_judge *j)
{
    struct summary *s = r->s;
    const struct agent_limit *l = &j->seen;
    struct builtin_limit row = agent_limit_row(j->limit, l);
    row.at = node_time(s, r->stepped);
    row.last_violated = l->last_violated ? node_time(s, l->last_violated) : 0;
    row.epoch = 1;
    rejudge_drop(s, j->limit);
    return rejudge_add(s, &row,
                       &(struct history_gap){.limit = j->limit,
                                             .begin = node_time(s, r->began - r->e->adapt.every),
                                             .end = row.at,
                                             .never = !j->late,
                                             .late = j->late,
                                             .judged = true,
                                             .held = l->held,
                                             .violated = l->violated,
                                             .unknown = l->unknown,
                                             .doubtful = l->unjudged,
                                             .why = l->unjudged ? left_open(r->e, j->limit) : NULL});
}

/* What is violated behind the last observation, which found no violation: of the last records nobody judged it. */
static void take_tail(struct interval_replay *r, const struct interval_judge *j)
{
    struct builtin_limit *row = NULL;
    for (size_t i = 0; i < r->s->limit_count; i++)
        if (r->s->limits[i].limit == j->limit && r->s->limits[i].node == j->tail.node)
            row = &r->s->limits[i];
    if (!row || j->tail.violated == 0)
        return;
    row->violated = saturate_add(row->violated, j->tail.violated);
}

/* Of a time before the first record or behind the last one nothing is known. */
static void take_gaps(struct interval_replay *r, const struct interval_judge *j)
{
    if (j->tail.end)
        take_tail(r, j);
    for (size_t i = 0; i < j->gap_count; i++) {
        struct history_gap *g = j->gaps[i].gap;
        if (g == &j->tail)
            continue;
        int64_t rest = g->end - g->begin - g->held - g->violated - g->unknown;
        g->judged = true;
        g->unknown += rest;
        g->doubtful += rest;
        g->why = g->doubtful ? left_open(r->e, j->limit) : NULL;
        rejudge_take_gap(r->s, r->e, g);
    }
    rejudge_drop_rest(r->s, r->e, j->limit);
}

static void conclude(struct interval_replay *r)
{
    for (size_t i = 0; i < r->count && r->began; i++)
        if (!r->judges[i].never)
            take_gaps(r, &r->judges[i]); /* before rows and gaps are moved */
    for (size_t i = 0; i < r->count && !r->err && r->began; i++) {
        const struct interval_judge *j = &r->judges[i]; /* that of gaps before that of all records */
        if (j->late && !tells_more(r, j))
            continue;
        if (j->never)
            r->err = add_row(r, j);
        if (!r->err)
            r->err = rejudge_add_violations(r->s, r->e, j->found.violations, j->found.count);
    }
}

/* Up to when all that was recorded is known here: the end of the run; or now, less what may come late. */
static int64_t known_until(const struct summary *s, const struct experiment *e, int64_t ended)
{
    int64_t least = ended != 0 ? ended : s->now;
    for (uint32_t i = 0; i < s->node_count && ended == 0; i++) {
        int64_t at = summary_run_time(s, i, saturate_sub(s->nodes[i].last_at, verdict_unheard_after(e)));
        least = s->nodes[i].open && at < least ? at : least;
    }
    return least;
}

/* For how long an interval has had first records and no last one, ns, and `of` whom; NULL: of all. */
struct endless {
    int64_t open;
    const char *of;
};

/* A process that has ended waits for nothing, nor does one of several that share the first records out. */
static void look_for_end(const struct summary *s, const struct interval_waits *w, int64_t until, struct endless *is)
{
    const struct summary_process *p = process_of(s, w->end);
    if (!p || 2 * w->shared <= w->times)
        return;
    int64_t end = p->ending.at ? summary_run_time(s, p->node, p->ending.at) : until;
    int64_t last = end < until ? end : until;
    if (w->since < last && last - w->since > is->open)
        *is = (struct endless){last - w->since, p->name};
}

static struct endless endless_of(const struct interval_replay *r, uint32_t metric, int64_t until)
{
    const struct interval_waits *waits;
    int64_t since = interval_reading_since(r->reading, metric);
    struct endless is = {since < until ? until - since : 0, NULL};
    size_t n = r->e->metrics[metric].per_process ? interval_reading_waits(r->reading, metric, &waits) : 0;
    for (size_t i = 0; i < n; i++)
        look_for_end(r->s, &waits[i], until, &is);
    return is;
}

/*
 * What no window had at a sampling instant, as it was shorter than the time between two, is found by all times. While
 * the run goes on an instant may still find it, and only times that have no end count.
 */
static int take_extremes(struct summary *s, const struct experiment *e, const struct interval_table *t,
                         const struct endless *endless, int64_t ended)
{
    for (uint32_t i = 0; i < e->limit_count; i++) {
        struct summary_chosen c = {.limit = i, .min = NAN, .max = NAN};
        for (size_t k = 0; k < t->count; k++) {
            const struct interval_statistics *is = &t->rows[k];
            if ((int64_t)is->metric != e->limits[i].metric || is->part != INTERVAL_WHOLE || is->bound == INT64_MAX)
                continue;
            c.min = fmin(c.min, is->min + (double)is->bound); /* both pass over NaN */
            c.max = fmax(c.max, is->max - (double)is->bound);
        }
        if (isnan(c.max))
            continue;
        c.open = endless[e->limits[i].metric].open;
        c.open_of = endless[e->limits[i].metric].of;
        const struct interval_counts *counts = &t->counts[e->limits[i].metric];
        if (ended == 0)
            c.min = c.max = (double)NAN;
        else if (counts->records > 0)
            c.unclear =
                (double)interval_counts_unclear(counts, &e->metrics[e->limits[i].metric]) / (double)counts->records;
        if (!grow_by_one(&s->chosen, s->chosen_count, sizeof *s->chosen))
            return BEZEL_ENOMEM;
        s->chosen[s->chosen_count++] = c;
    }
    return 0;
}

static bool has_intervals(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->metric_count; i++)
        if (e->metrics[i].kind == METRIC_INTERVAL)
            return true;
    return false;
}

/* Whether stored times of a limit's metric were taken, and each is within its bound, whatever clocks leave open. */
static bool is_within(const struct experiment_limit *l, const struct interval_table *t)
{
    bool any = false;
    for (size_t k = 0; k < t->count; k++) {
        const struct interval_statistics *is = &t->rows[k];
        if ((int64_t)is->metric != l->metric || is->part != INTERVAL_WHOLE || is->count == 0)
            continue;
        any = true;
        if (is->bound == INT64_MAX || (l->compare == COMPARE_AT_LEAST ? is->min - (double)is->bound < l->bound
                                                                      : is->max + (double)is->bound > l->bound))
            return false;
    }
    return any;
}

static bool any_expired(const struct summary *s)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].expired.packets > 0)
            return true;
    return false;
}

/*
 * A limit that was violated while the run went on, as a last record that came before its first one was taken for the
 * end of an earlier one: where no stored time breaks the bound, it is judged by all of these. Where they leave
 * something open, it is not known, but for records that have expired since: these may have been what broke it.
 */
static int clear_contradicted(struct interval_replay *r, const struct interval_table *t)
{
    for (size_t i = 0; i < r->count && !r->err && r->began; i++) {
        const struct interval_judge *j = &r->judges[i];
        const struct experiment_limit *l = &r->e->limits[j->limit];
        bool is_clear = j->seen.unjudged == 0 ? j->seen.held > 0 : !any_expired(r->s);
        if (j->late && l->kind == LIMIT_EXPECT && j->seen.violated == 0 && is_clear && is_within(l, t) &&
            verdict_row_of_all(r->s, j->limit).violated > 0)
            r->err = add_row(r, j);
    }
    return r->err;
}

static const char *property_of(const void *summary, const char *key)
{
    return summary_property(summary, key);
}

/* What the collector has stored is of the run's own metrics, by their numbers. */
static const char *no_property(const void *of, const char *key)
{
    (void)of;
    (void)key;
    return NULL;
}

int rejudge_intervals(const char *run, struct summary *s, const struct experiment *e, int64_t budget,
                      struct interval_table *t)
{
    struct interval_losses losses = {lost_of, s};
    struct interval_replay r = {.s = s, .e = e, .latest = INT64_MIN};
    *t = (struct interval_table){0};
    if (!has_intervals(e))
        return 0;
    if (!(r.reading = interval_reading_new(e, &losses)))
        return BEZEL_ENOMEM;
    int64_t end = summary_ended(s);
    bool ended = end != 0 && !s->mirror.partial;
    if (ended)
        r.err = begin_judges(&r);
    bool whole = !r.err && read_run(&r, run, ended ? INT64_MAX : budget);
    if (whole)
        conclude(&r);
    struct endless *endless = calloc(e->metric_count + 1, sizeof *endless);
    int64_t until = known_until(s, e, end);
    for (uint32_t m = 0; endless && m < e->metric_count; m++)
        endless[m] = endless_of(&r, m, until);
    int err = interval_reading_end(r.reading, whole && ended ? end : INT64_MIN, t);
    err = err ? err : interval_table_take_stored(t, e, s->judged_anew ? no_property : property_of, s);
    t->cut = !whole;
    if (!err && whole && ended)
        err = clear_contradicted(&r, t);
    if (!err && whole && (ended || (end == 0 && s->now != 0)))
        err = endless ? take_extremes(s, e, t, endless, end) : BEZEL_ENOMEM;
    free(endless);
    for (size_t i = 0; i < r.count; i++) {
        free(r.judges[i].gaps);
        free(r.judges[i].found.violations);
    }
    free(r.judges);
    return r.err ? r.err : err;
}
