// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "sensor/external/expiry.h"

#include <math.h>

void node_record_metric(struct node *n, const char *name, const char *process, double value)
{
    own_trace_record_metric(n->own_trace, &(struct builtin_metric){.metric = name, .process = process, .value = value});
}

/* What came into each bucket since the values before; nothing if none came into any. */
static void record_buckets(struct node *n, uint32_t metric, int slot, const char *process)
{
    const struct experiment_metric *m = &n->options.experiment->metrics[metric];
    uint64_t *counts = agent_buckets(n->agent, metric, slot);
    char name[EXPERIMENT_BUCKET_NAME_SIZE];
    bool any = false;
    for (uint32_t i = 0; counts && i <= m->edges.count; i++)
        any = any || counts[i] > 0;
    for (uint32_t i = 0; any && i <= m->edges.count; i++) {
        experiment_bucket_name(m, i, name, sizeof name);
        node_record_metric(n, name, process, (double)counts[i]);
        counts[i] = 0;
    }
}

void node_record_last_buckets(struct node *n, int slot)
{
    const struct experiment *e = n->options.experiment;
    for (uint32_t m = 0; n->own_trace && m < e->metric_count; m++)
        if (e->metrics[m].kind == METRIC_HISTOGRAM && !node_reduces(n, e->metrics[m].aspect))
            node_record_values(n, m, slot);
}

void node_record_values(struct node *n, uint32_t metric, int slot)
{
    const struct experiment *e = n->options.experiment;
    double value;
    record_buckets(n, metric, -1, e->nodes[n->options.node].name);
    if (agent_metric(n->agent, metric, -1, &value))
        node_record_metric(n, e->metrics[metric].name, e->nodes[n->options.node].name, value);
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (p && p->slot >= 0 && (slot < 0 || p->slot == slot))
            record_buckets(n, metric, p->slot, p->name);
        if (p && p->slot >= 0 && (slot < 0 || p->slot == slot) && agent_metric(n->agent, metric, p->slot, &value))
            node_record_metric(n, e->metrics[metric].name, p->name, value);
    }
}

void node_record_metrics(struct node *n)
{
    const struct experiment *e = n->options.experiment;
    for (uint32_t m = 0; m < e->metric_count; m++)
        if (!e->metrics[m].aspect || !node_reduces(n, e->metrics[m].aspect)) /* else node_hand_on() records them */
            node_record_values(n, m, -1);
}

void node_record_sample(struct node *n)
{
    const struct external_counts *c = external_counts(n->external);
    struct window *w = external_window(n->external);
    uint64_t at = window_oldest(w);
    struct window_packet *oldest = window_next(w, &at);
    struct packet_header h;
    int64_t age = 0;
    poll_stats_take(&n->usage.poll_stats, clock_now());
    if (oldest && packet_get_header(oldest->data, oldest->bytes, &h) == 0)
        age = clock_now() - (int64_t)h.timestamp_end;
    own_trace_record_usage(n->own_trace, &(struct builtin_usage){.cpu = clock_process_cpu() - n->usage.cpu_opened,
                                                                 .wakeups = n->schedule.turns,
                                                                 .records = (int64_t)c->sut_records,
                                                                 .bytes = (int64_t)c->bytes,
                                                                 .window = (int64_t)window_waiting(w),
                                                                 .oldest = age,
                                                                 .period = n->usage.poll_stats.mean,
                                                                 .worst = n->usage.poll_stats.worst,
                                                                 .sensor_cpu = n->usage.sensor_cpu});
}

void node_record_clock(struct node *n)
{
    const struct external_counts *c = external_counts(n->external);
    own_trace_record_clocks(n->own_trace,
                            &(struct builtin_clocks){.kernel = (int64_t)c->clocks[SEGMENT_CLOCK_MONOTONIC],
                                                     .counter = (int64_t)c->clocks[SEGMENT_CLOCK_COUNTER],
                                                     .program = (int64_t)c->clocks[SEGMENT_CLOCK_USER],
                                                     .error = c->clock_error_ns,
                                                     .jumps = (int64_t)c->clock_jumps,
                                                     .clamped = (int64_t)c->clamped});
}

void node_record_totals(struct node *n)
{
    struct external_totals f = external_totals(n->external);
    own_trace_record_totals(
        n->own_trace, &(struct builtin_totals){.produced = (int64_t)f.produced,
                                               .full = (int64_t)f.full,
                                               .off = (int64_t)f.off,
                                               .no_ring = (int64_t)f.no_ring,
                                               .overwritten = (int64_t)f.overwritten,
                                               .in_rings = (int64_t)f.in_rings,
                                               .in_window = (int64_t)f.in_window,
                                               .backpressure = (int64_t)external_counts(n->external)->backpressure,
                                               .window = (int64_t)f.window,
                                               .spool = (int64_t)f.spool});
}

static void record_expired(struct node *n, const struct external_process *p)
{
    struct expiry *e = p->expiry;
    for (uint32_t id = 1; id < p->watched; id++) {
        if (e->reported[id] == e->taken[id])
            continue;
        own_trace_record_expired(n->own_trace, &(struct builtin_expired){.process = p->name,
                                                                         .aspect = p->at->dict->aspects[id - 1].name,
                                                                         .instance = (int64_t)p->at->instance,
                                                                         .bound = e->bound[id],
                                                                         .taken = (int64_t)e->taken[id],
                                                                         .expired = (int64_t)e->expired[id]});
        e->reported[id] = e->taken[id];
    }
}

void node_record_expired(struct node *n)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (p && p->expiry)
            record_expired(n, p);
    }
}

static void record_thread(void *context, const struct external_process *p, uint32_t thread, const char *name)
{
    struct node *n = context;
    own_trace_record_thread(
        n->own_trace, &(struct builtin_thread){
                          .process = p->name, .instance = (int64_t)p->at->instance, .thread = thread, .name = name});
}

void node_record_threads(struct node *n, bool all, int64_t now)
{
    name_watch_look(n->name_watch, now, all, record_thread, n);
}

void node_record_observation(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now)
{
    if (limit_changes_records(&n->limits, i, l, now))
        own_trace_record_observation(
            n->own_trace,
            &(struct builtin_observation){
                .limit = i, .state = l->state, .value = l->known ? l->value : (double)NAN, .gap = l->gap});
}

void node_record_observations(struct node *n, const struct agent_outcome *o, int64_t now)
{
    for (uint32_t i = 0; i < o->limit_count; i++)
        if (!n->options.experiment->limits[i].global)
            node_record_observation(n, i, &o->limits[i], now);
}

void node_record_limit(struct node *n, uint32_t i, const struct agent_limit *l, uint64_t epoch)
{
    struct builtin_limit row = agent_limit_row(i, l);
    row.epoch = (int64_t)epoch;
    own_trace_record_limit(n->own_trace, &row);
}

void node_record_limits(struct node *n, const struct agent_outcome *o)
{
    for (uint32_t i = 0; i < o->limit_count; i++)
        if (!n->options.experiment->limits[i].global)
            node_record_limit(n, i, &o->limits[i], 0);
}
