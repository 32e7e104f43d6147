// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What a limit stood at when a process made its last record, read from an ended run: an agent is given the records of
 * the last windows, and evaluates the metric at the time of that record. So it is as if a sampling instant had been
 * there. A limit of all nodes together is that of one agent with the processes of all of them, at times of the run.
 */
#include "run/verdict/rejudge_end.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "resmgr/agent/agent.h"
#include "run/read/run_reader.h"
#include "run/verdict/rejudge.h"
#include "run/verdict/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MOST = 20000000, STEPS = 100, NO_SLOT = -1, WATCHES_MOST = AGENT_PROCESSES_MAX << AGENT_WATCH_BITS };

struct end_reading {
    const char *run;
    const struct summary *s;
    const struct experiment *e;
    uint32_t limit;
    size_t process;
    int64_t last, first; /* that record; the first one that was read */
    struct agent *agent;
    int *slots;       /* of the agent, by process of `s` */
    uint64_t *counts; /* records so far, by watch */
    int *watches;     /* those that have some */
    size_t watch_count;
    int64_t read;   /* when the counters were, all of them */
    int64_t broken; /* since this record the value is beyond the bound; INT64_MAX: it is not */
    double value;   /* at the latest record; NaN: unknown */
};

static bool of_one_process(const struct end_reading *r)
{
    return r->e->metrics[r->e->limits[r->limit].metric].per_process;
}

static bool of_all_nodes(const struct end_reading *r)
{
    return r->e->limits[r->limit].global;
}

/* Time `at` of the clock of process `p`, as times are compared here. */
static int64_t end_time(const struct end_reading *r, size_t p, int64_t at)
{
    return of_all_nodes(r) ? saturate_ns(run_clock_at(&r->s->nodes[r->s->processes[p].node].run_clock, at).ns) : at;
}

/* The place in `s` of the process that made a record; the number of processes: it is not wanted. */
static size_t end_maker(const struct end_reading *r, const struct record_item *item)
{
    size_t p = of_one_process(r) ? r->process : 0, end = of_one_process(r) ? r->process + 1 : r->s->process_count;
    while (p < end && (r->s->processes[p].row != item->process->row || r->s->processes[p].role != ROLE_SUT))
        p++;
    return p < end ? p : r->s->process_count;
}

static bool is_of_arrivals(const struct experiment *e, int metric)
{
    const struct experiment_metric *m = &e->metrics[metric];
    for (int i = 0; m->operands && i < 2; i++)
        if (is_of_arrivals(e, experiment_metric_operand(e, m, i)))
            return true;
    return experiment_metric_is_of_arrivals(m);
}

/* From then on all records have to be read; of times between records, or from one to the next, all of the run. */
static int64_t end_needs(const struct end_reading *r)
{
    const struct experiment_limit *l = &r->e->limits[r->limit];
    int64_t lead = saturate_add(2 * experiment_limit_window(r->e, l), l->persistence);
    return is_of_arrivals(r->e, l->metric) ? INT64_MIN : saturate_add(r->last, -lead);
}

/* Since when process `p`, of which a first record at `time` is read, counts: before that, or as long as matters. */
static int64_t end_began(const struct end_reading *r, size_t p, int64_t time)
{
    const struct summary_process *is = &r->s->processes[p];
    int64_t from = end_needs(r), began = saturate_add(time, -1);
    if (from == INT64_MIN)
        return began;
    if (rejudge_saw_begin(r->s, is))
        began = end_time(r, p, is->started);
    for (size_t b = 0; b < is->book_count; b++)
        if (is->books[b].stored > 0 && end_time(r, p, is->books[b].first_ns) <= from)
            began = from;
    return began > from ? began : from;
}

static void end_read_counters(struct end_reading *r, int64_t now)
{
    for (size_t i = 0; i < r->watch_count; i++)
        agent_count(r->agent, r->watches[i], r->counts[r->watches[i]], now);
    r->read = now;
}

static double end_value(struct end_reading *r, int64_t now)
{
    double value = NAN;
    end_read_counters(r, now);
    agent_evaluate(r->agent, now);
    uint32_t metric = (uint32_t)r->e->limits[r->limit].metric;
    int slot = of_one_process(r) ? r->slots[r->process] : NO_SLOT;
    if (!agent_metric(r->agent, metric, slot, &value) && experiment_metric_is_counted(&r->e->metrics[metric]))
        value = agent_least(r->agent, metric, slot); /* a window has not passed, and may hold too much already */
    return value;
}

static void end_evaluate(struct end_reading *r, int64_t now)
{
    const struct experiment_limit *l = &r->e->limits[r->limit];
    r->value = end_value(r, now);
    bool broken = l->compare == COMPARE_AT_LEAST ? r->value < l->bound : r->value > l->bound;
    r->broken = !broken ? INT64_MAX : r->broken < now ? r->broken : now;
}

/*
 * The counters are the numbers of records, and stand still until just before the one at `time`. They are read so often
 * that windows begin as they do live, as far as the last two windows go.
 */
static void end_stand(struct end_reading *r, int watch, int64_t time)
{
    int64_t window = experiment_limit_window(r->e, &r->e->limits[r->limit]), step = window / STEPS;
    int64_t until = saturate_add(time, -1), at = saturate_add(until, -2 * window);
    if (r->counts[watch] == 0) {
        r->watches[r->watch_count++] = watch;
        agent_count(r->agent, watch, 0, until);
    }
    at = at > r->read ? at : r->read;
    while (until - at >= step) {
        at = until - at < 2 * step ? until : at + step;
        end_read_counters(r, at);
        if (!of_one_process(r))
            agent_evaluate(r->agent, at);
    }
}

/* Returns 0, or an error if it cannot be taken in. */
static int end_take(struct end_reading *r, const struct record_item *item)
{
    size_t p = end_maker(r, item);
    if (p == r->s->process_count)
        return 0;
    int64_t time = end_time(r, p, saturate_ns((int64_t)item->time));
    if (time > r->last)
        return 0;
    if (r->slots[p] == NO_SLOT) {
        r->slots[p] = agent_process_add(r->agent, r->s->processes[p].name);
        agent_process_began(r->agent, r->slots[p], end_began(r, p, time)); /* its first record counts, too */
    }
    if (r->slots[p] < 0)
        return r->slots[p];
    int watch = agent_watch(r->agent, r->slots[p], item->aspect);
    if (watch < 0)
        return watch == BEZEL_ENOENT ? 0 : watch;
    struct packet_run run = record_item_run(item);
    uint8_t record[PACKET_RECORD_MAX_BYTES]; /* at this time */
    memcpy(record, run.first, run.stride);
    packet_put_record(record, run.aspect, (uint64_t)time);
    run.first = record;
    end_stand(r, watch, time);
    agent_records(r->agent, watch, &run, time);
    agent_count(r->agent, watch, ++r->counts[watch], time);
    r->first = time < r->first ? time : r->first;
    if (r->e->limits[r->limit].persistence > 0)
        end_evaluate(r, time);
    return 0;
}

/*
 * Of windows that follow one another, the value is that of the one before: the last one ends after the last record, and
 * is judged as far as a record, or a number of records, breaks the limit whatever else would be in it.
 */
static void end_next_window(struct end_reading *r)
{
    const struct experiment_limit *l = &r->e->limits[r->limit];
    const struct experiment_metric *m = &r->e->metrics[l->metric];
    bool breaks =
        experiment_metric_is_counted(m) || m->kind == (l->compare == COMPARE_AT_MOST ? METRIC_MAX : METRIC_MIN);
    if (!m->tumbles || !breaks || l->persistence > 0)
        return;
    double value = end_value(r, saturate_add(r->last, experiment_limit_window(r->e, l)));
    r->value = l->compare == COMPARE_AT_LEAST ? fmin(r->value, value) : fmax(r->value, value);
    bool broken = l->compare == COMPARE_AT_LEAST ? r->value < l->bound : r->value > l->bound;
    r->broken = broken ? r->last : INT64_MAX;
}

static bool end_read(struct end_reading *r)
{
    const struct summary_process *p = &r->s->processes[r->process];
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader;
    struct record_item item;
    int64_t from = end_needs(r);
    uint64_t records = 0;
    filter.node = of_all_nodes(r) ? NULL : r->s->nodes[p->node].name;
    filter.process = of_one_process(r) ? p->name : NULL;
    if (from != INT64_MIN && of_all_nodes(r))
        filter.from = saturate_add(from, -CLOCK_S);
    else if (from != INT64_MIN)
        filter.from = saturate_add(run_clock_at(&r->s->nodes[p->node].run_clock, from).ns, -CLOCK_S);
    if (run_reader_open(r->run, &filter, &reader) != 0)
        return false;
    int more = run_reader_look(reader, RUN_READER_ALL) == 0;
    while (more == 1 && records++ < RECORDS_MOST && (more = run_reader_next(reader, &item)) == 1)
        if (item.r && end_take(r, &item) != 0)
            more = -1;
    bool expired = false;
    for (size_t i = 0; i < r->s->process_count && r->first > from; i++)
        expired = expired || (r->s->processes[i].expired.packets > 0 && (!of_one_process(r) || i == r->process));
    bool all = more == 0 && run_reader_totals(reader).cut == 0 && !expired;
    run_reader_close(reader);
    return all;
}

bool rejudge_read_end(const char *run, const struct summary *s, const struct experiment *e, struct summary_chosen *c)
{
    struct end_reading r = {.run = run,
                            .s = s,
                            .e = e,
                            .limit = c->limit,
                            .process = c->process,
                            .first = INT64_MAX,
                            .read = INT64_MIN,
                            .broken = INT64_MAX};
    bool all = false;
    r.last = end_time(&r, c->process, verdict_end(s, e, c->limit, c->process));
    r.slots = malloc((s->process_count + 1) * sizeof *r.slots);
    r.counts = calloc(WATCHES_MOST, sizeof *r.counts);
    r.watches = malloc(WATCHES_MOST * sizeof *r.watches);
    for (size_t p = 0; r.slots && p < s->process_count; p++)
        r.slots[p] = NO_SLOT;
    if (r.slots && r.counts && r.watches && agent_new(e, 0, &r.agent) == 0) {
        all = end_read(&r);
        end_evaluate(&r, r.last);
        end_next_window(&r);
        bool lasted = r.broken != INT64_MAX && r.last - r.broken >= e->limits[c->limit].persistence;
        c->min = c->max = lasted ? r.value : (double)NAN;
    }
    agent_free(r.agent);
    free(r.slots);
    free(r.counts);
    free(r.watches);
    return all;
}
