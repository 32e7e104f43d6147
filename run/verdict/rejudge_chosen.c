// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The extremes of records that meet the condition of a metric, last values, and what threads that wait recorded last,
 * read from an ended run, and what these recorded before and meanwhile also from one that goes on.
 */
#include "base/clock.h"
#include "base/grow.h"
#include "base/saturate.h"
#include "metric/evaluator.h"
#include "resmgr/agent/agent.h"
#include "run/read/run_reader.h"
#include "run/verdict/rejudge.h"
#include "run/verdict/rejudge_replay.h"
#include "run/verdict/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_CPU (200 * CLOCK_MS)
enum { RECORDS_MOST = 20000000, RECORDS_LIVE = 200000 }; /* at once; of a run that goes on, which is judged often */

/* The number in field `name` of a record; NaN: it has none. */
static double number_of(const struct record_item *item, const char *name)
{
    const struct dict_aspect *a = item->aspect;
    int f = dict_field_of(a, name);
    if (f < 0)
        return NAN;
    struct record_value v = record_item_value(item->process->dict, item->r, (uint32_t)f);
    bool unknown = statistic_unknown_below(a, (uint32_t)f) && v.as == RECORD_INT && v.integer < 0;
    return v.as == RECORD_FLOAT ? v.real : v.as == RECORD_INT && !unknown ? (double)v.integer : (double)NAN;
}

/* Whether record `item` meets the condition of `m`, or may: nobody knows. `*w` is of the aspect `*of`. */
static bool may_meet(const struct experiment_metric *m, const struct record_item *item, struct where *w,
                     const struct dict_aspect **of)
{
    struct packet_run run = record_item_run(item);
    if (!m->where)
        return true;
    if (*of != item->aspect) {
        *w = where_find(m->where, item->aspect);
        *of = item->aspect;
    }
    return w->at != WHERE_NONE && (where_seek(w, &run, 0, true) == 0 || where_seek_open(w, &run, 0) == 0);
}

/* The records of a process that are read. */
struct reading {
    struct run_reader *reader; /* NULL: they cannot be */
    const struct summary_process *p;
    struct record_item item;
    uint64_t count, most;
    int more; /* 1: there may be a next one; 0: all were read */
};

/* Begins to read the records of process `p` that metric `m` may have, of the run's time from `from` to `until`. */
static struct reading begin_reading(const char *run, const struct summary *s, const struct experiment_metric *m,
                                    const struct summary_process *p, int64_t from, int64_t until)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct reading r = {.p = p, .most = RECORDS_MOST, .more = BEZEL_EINVAL};
    const char *why;
    filter.node = s->nodes[p->node].name;
    filter.process = p->name;
    filter.aspect = m->aspect;
    filter.from = from;
    filter.until = until;
    if ((!m->where || !experiment_metric_is_of_arrivals(m) || condition_read(m->where, &filter.condition, &why) == 0) &&
        run_reader_open_all(run, &filter, &r.reader) == 0)
        r.more = 1;
    return r;
}

/* Reads the next one into r->item. */
static bool read_next(struct reading *r)
{
    while (r->more == 1 && r->count++ <= r->most && (r->more = run_reader_next(r->reader, &r->item)) == 1)
        if (r->item.r && r->item.process->row == r->p->row)
            return true;
    return false;
}

/* Returns whether all of them were read. */
static bool end_reading(struct reading *r)
{
    bool is_whole = r->more == 0 && run_reader_totals(r->reader).cut == 0;
    run_reader_close(r->reader);
    return is_whole;
}

static void read_extremes(struct reading *r, const struct experiment_metric *m, struct summary_chosen *c)
{
    struct where w;
    const struct dict_aspect *of = NULL;
    while (read_next(r)) {
        if (!may_meet(m, &r->item, &w, &of))
            continue;
        double value = m->field ? number_of(&r->item, m->field) : 1; /* of a number of records: that there is one */
        c->min = isfinite(value) ? fmin(c->min, value) : c->min;
        c->max = isfinite(value) ? fmax(c->max, value) : c->max;
    }
}

/* Of times between records: the value of the metric at each record, as an agent would have it. */
static void read_arrivals(struct reading *r, const struct experiment_metric *m, struct summary_chosen *c)
{
    struct experiment_metric all = *m;
    struct evaluator e = {0};
    struct arrivals arrivals = {0};
    all.where = NULL; /* the reader gives no others */
    int err = evaluator_start(&e, &all);
    r->more = err ? err : r->more;
    while (read_next(r)) {
        struct packet_run run = record_item_run(&r->item);
        evaluator_arrivals(&e, &arrivals, &run, NULL, NULL, (int64_t)packet_run_time(&run, 0));
        evaluator_take(&e, (int64_t)packet_run_time(&run, 0));
        c->min = e.known ? fmin(c->min, e.value) : c->min;
        c->max = e.known ? fmax(c->max, e.value) : c->max;
    }
    evaluator_end(&e);
    arrivals_end(&arrivals);
}

/* Returns whether all of them could be read. */
static bool read_chosen(const char *run, struct summary *s, const struct experiment *e, struct summary_chosen *c)
{
    const struct experiment_metric *m = &e->metrics[e->limits[c->limit].metric];
    if (verdict_has_end(e, c->limit))
        return replay_end(run, s, e, c);
    if (s->processes[c->process].expired.packets > 0)
        return false;
    struct reading r = begin_reading(run, s, m, &s->processes[c->process], INT64_MIN, INT64_MAX);
    if (experiment_metric_is_of_arrivals(m))
        read_arrivals(&r, m, c);
    else
        read_extremes(&r, m, c);
    return end_reading(&r);
}

/*
 * The last record of process c->process that meets the condition of `m`, from time `from` of its node on, becomes
 * c->last. Returns whether all of them could be read.
 */
static bool read_latest(const char *run, const struct summary *s, const struct experiment_metric *m, int64_t from,
                        struct summary_chosen *c)
{
    const struct summary_process *p = &s->processes[c->process];
    struct reading r = begin_reading(run, s, m, p, summary_run_time(s, p->node, from), INT64_MAX);
    while (read_next(&r))
        c->last = saturate_most(saturate_time(r.item.time), c->last);
    return end_reading(&r);
}

/*
 * When its process made the last record that meets the condition of limit c->limit, on times between such. Looked for
 * is as long before its last record of all as a silence may last; if there is none, in all of its records.
 */
static void find_last(const char *run, const struct summary *s, const struct experiment *e, struct summary_chosen *c)
{
    const struct experiment_limit *l = &e->limits[c->limit];
    const struct experiment_metric *m = l->metric < 0 ? NULL : &e->metrics[l->metric];
    const struct summary_process *p = &s->processes[c->process];
    const struct summary_book *b = m && m->where && m->aspect ? summary_book_of(p, m->aspect) : NULL;
    if (!b || b->stored == 0 || m->arrivals == ARRIVALS_NONE || l->compare != COMPARE_AT_MOST)
        return;
    int64_t silence = saturate_add(agent_settling(e, l), saturate_add(l->persistence, (int64_t)fmin(l->bound, 1e18)));
    int64_t far = saturate_sub(b->last_ns, saturate_add(silence, CLOCK_S));
    c->last = INT64_MIN;
    bool is_whole = read_latest(run, s, m, far, c);
    if (is_whole && c->last == INT64_MIN && far > b->first_ns)
        is_whole = b->stored <= RECORDS_MOST && read_latest(run, s, m, b->first_ns, c);
    bool is_none = c->last == INT64_MIN;
    c->unread = !is_whole || (is_none && (b->reduced > 0 || p->expired.packets > 0));
    if (c->unread && is_none)
        c->last = far > b->first_ns ? far : b->first_ns;
}

/* Adds what is known of chosen records, if that is anything. */
static int add_chosen(struct summary *s, const struct summary_chosen *c, bool any)
{
    if (!any)
        return 0;
    if (!grow_by_one(&s->chosen, s->chosen_count, sizeof *s->chosen))
        return BEZEL_ENOMEM;
    s->chosen[s->chosen_count++] = *c;
    return 0;
}

/* ---- threads that wait ---- */

/*
 * Finds what the threads of the waiters from number `first` on, all of `m` and process `p`, recorded last from `from`
 * to `until`, of at most `most` records. Returns whether all of them were read.
 */
static bool read_waiters(const char *run, struct summary *s, const struct summary_process *p,
                         const struct experiment_metric *m, size_t first, int64_t from, int64_t until, uint64_t most)
{
    struct reading r = begin_reading(run, s, m, p, from, until);
    r.most = most;
    while (read_next(&r))
        for (size_t w = first; w < s->waiter_count; w++) {
            struct summary_waiter *is = &s->waiters[w];
            if (s->open_spans[is->open].thread == (int64_t)r.item.packet->thread)
                is->last = saturate_most(saturate_time(r.item.time), is->last);
        }
    return end_reading(&r);
}

/*
 * The same while the run goes on: what threads recorded shortly before they began to wait, and whether they record
 * though they wait. Waits that began close to one another are read at once. Where there are too many records to tell,
 * or no CPU time is left by `stop`, it is as if they had recorded none.
 */
static void read_waiters_live(const char *run, struct summary *s, const struct experiment *e,
                              const struct summary_process *p, const struct experiment_limit *l, size_t first,
                              int64_t stop)
{
    const struct experiment_metric *m = &e->metrics[l->metric];
    double longest = m->kind == METRIC_MISSES ? l->bound * (double)m->period : l->bound;
    int64_t far = saturate_add(agent_settling(e, l), saturate_add((int64_t)fmin(longest, 1e18), CLOCK_S));
    int64_t now = summary_run_time(s, p->node, saturate_sub(s->nodes[p->node].last_at, verdict_unheard_after(e)));
    bool is_told = clock_process_cpu() < stop &&
                   read_waiters(run, s, p, m, first, saturate_sub(now, far), INT64_MAX, RECORDS_LIVE);
    for (size_t w = first, next; w < s->waiter_count; w = next) {
        int64_t since = summary_run_time(s, p->node, s->open_spans[s->waiters[w].open].since), until = since;
        for (next = w; next < s->waiter_count; next++) {
            int64_t begun = summary_run_time(s, p->node, s->open_spans[s->waiters[next].open].since);
            if (saturate_sub(begun, far) > until)
                break;
            until = saturate_most(begun, until);
        }
        bool is_read = is_told && clock_process_cpu() < stop &&
                       read_waiters(run, s, p, m, w, saturate_sub(since, far), until, RECORDS_LIVE);
        for (size_t k = w; k < next && !is_read; k++)
            s->waiters[k].last = INT64_MIN;
    }
}

/* The waits of process `p` in other aspects than that of limit `i`, but for those that broke no bound of a time. */
static int add_waiters(const char *run, struct summary *s, const struct experiment *e, uint32_t i,
                       const struct summary_process *p, int64_t stop)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    bool ended = summary_ended(s) != 0;
    size_t first = s->waiter_count;
    for (size_t o = 0; o < s->open_count; o++) {
        const struct builtin_open *is = &s->open_spans[o];
        bool is_its = is->node == p->node && (uint64_t)is->instance == p->instance;
        int64_t lasted = is->state != OPEN_NOW ? is->at - is->since : ended ? INT64_MAX : verdict_open_ns(s, is);
        bool is_short = m->arrivals != ARRIVALS_NONE && (double)lasted <= l->bound;
        if (!is_its || is_short || !is->reason[0] || strcmp(is->aspect, m->aspect) == 0)
            continue;
        if (!grow_by_one(&s->waiters, s->waiter_count, sizeof *s->waiters))
            return BEZEL_ENOMEM;
        s->waiters[s->waiter_count++] = (struct summary_waiter){.limit = i, .open = o, .last = INT64_MIN};
    }
    if (s->waiter_count > first && ended)
        (void)read_waiters(run, s, p, m, first, INT64_MIN, INT64_MAX, RECORDS_MOST);
    else if (s->waiter_count > first)
        read_waiters_live(run, s, e, p, l, first, stop);
    return 0;
}

static int find_waiters(const char *run, struct summary *s, const struct experiment *e, uint32_t limit, int64_t stop)
{
    const struct experiment_limit *l = &e->limits[limit];
    const struct experiment_metric *m = l->metric < 0 ? NULL : &e->metrics[l->metric];
    int err = 0;
    if (!m || l->compare != COMPARE_AT_MOST || !experiment_metric_is_of_arrivals(m))
        return 0;
    for (size_t p = 0; p < s->process_count && !err; p++)
        err = add_waiters(run, s, e, limit, &s->processes[p], stop);
    return err;
}

int rejudge_chosen(const char *run, struct summary *s, const struct experiment *e)
{
    int err = 0;
    int64_t stop = clock_process_cpu() + LIVE_CPU;
    bool ended = summary_ended(s) != 0;
    if (s->mirror.partial || (!ended && s->now == 0))
        return 0; /* not all of its records are there */
    for (uint32_t i = 0; i < e->limit_count && ended && !err; i++)
        for (size_t p = 0; p < s->process_count && !err; p++) {
            struct summary_chosen c = {.limit = i, .process = p, .min = NAN, .max = NAN};
            bool is_chosen, is_stray = !isnan(verdict_stray(s, e, i, p, &is_chosen)) && !is_chosen;
            bool is_read = is_stray && read_chosen(run, s, e, &c);
            if (is_stray == is_read)
                find_last(run, s, e, &c);
            err = add_chosen(s, &c, is_read || c.last != 0);
        }
    for (uint32_t i = 0; i < e->limit_count && !err; i++)
        err = find_waiters(run, s, e, i, stop);
    return err;
}
