// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"
#include "sensor/expire.h"

void node_tell_metrics(struct node *n)
{
    const struct experiment *e = n->options.experiment;
    for (uint32_t m = 0; m < e->metric_count; m++) {
        double value;
        if (agent_metric(n->agent, m, -1, &value))
            self_record_metric(n->self, e->metrics[m].name, e->nodes[n->options.node].name, value);
        for (uint32_t i = 0; i < external_process_count(n->external); i++) {
            const struct external_process *p = external_process(n->external, i);
            if (p && p->slot >= 0 && agent_metric(n->agent, m, p->slot, &value))
                self_record_metric(n->self, e->metrics[m].name, p->name, value);
        }
    }
}

void node_tell_sample(struct node *n)
{
    const struct external_counts *c = external_counts(n->external);
    struct window *w = external_window(n->external);
    uint64_t at = window_oldest(w);
    struct window_packet *oldest = window_next(w, &at);
    struct packet_header h;
    int64_t age = 0;
    pace_take(&n->pace, clock_now());
    if (oldest && packet_get_header(oldest->data, oldest->bytes, &h) == 0)
        age = clock_now() - (int64_t)h.timestamp_end;
    self_record_sample(n->self, &(struct self_sample){.cpu_ns = clock_process_cpu() - n->cpu_begun,
                                                      .wakeups = n->wakeups,
                                                      .records = (int64_t)c->records,
                                                      .bytes = (int64_t)c->bytes,
                                                      .window_bytes = (int64_t)window_waiting(w),
                                                      .oldest_ns = age,
                                                      .period_ns = n->pace.mean,
                                                      .worst_ns = n->pace.worst,
                                                      .sensor_cpu = n->sensor_cpu});
}

void node_tell_clock(struct node *n)
{
    const struct external_counts *c = external_counts(n->external);
    self_record_clock(n->self, &(struct self_clock){.kernel = (int64_t)c->clocks[SEGMENT_CLOCK_MONOTONIC],
                                                    .counter = (int64_t)c->clocks[SEGMENT_CLOCK_COUNTER],
                                                    .program = (int64_t)c->clocks[SEGMENT_CLOCK_USER],
                                                    .error_ns = c->clock_error_ns,
                                                    .jumps = (int64_t)c->clock_jumps,
                                                    .clamped = (int64_t)c->clamped});
}

void node_tell_flow(struct node *n)
{
    struct external_flow flow = external_flow(n->external);
    self_record_flow(n->self, &flow, external_counts(n->external)->backpressure);
}

static void tell_expired(struct node *n, const struct external_process *p)
{
    struct expiry *e = p->expiry;
    for (uint32_t id = 1; id < p->watched; id++) {
        if (e->told[id] == e->taken[id])
            continue;
        self_record_expired(n->self, &(struct self_expired){.process = p->name,
                                                            .aspect = p->at->dict->aspects[id - 1].name,
                                                            .instance = (int64_t)p->at->instance,
                                                            .bound_ns = e->bound[id],
                                                            .taken = (int64_t)e->taken[id],
                                                            .expired = (int64_t)e->expired[id]});
        e->told[id] = e->taken[id];
    }
}

void node_tell_expired(struct node *n)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (p && p->expiry)
            tell_expired(n, p);
    }
}

/* What is as it was is said again once a second, so that silence means that nobody looked. */
void node_tell_observation(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now)
{
    struct node_observed *was = &n->observed[i];
    bool same = l->state == was->state && l->known == was->known && (!l->known || l->value == was->value);
    if (same && was->at != 0 && now - was->at < CLOCK_S)
        return;
    *was = (struct node_observed){.state = l->state, .known = l->known, .value = l->value, .at = now};
    self_record_observation(n->self, (int)i, l);
}

void node_tell_observations(struct node *n, const struct agent_outcome *o, int64_t now)
{
    for (uint32_t i = 0; i < o->limit_count; i++)
        if (!n->options.experiment->limits[i].whole)
            node_tell_observation(n, i, &o->limits[i], now);
}

void node_tell_limits(struct node *n, const struct agent_outcome *o)
{
    for (uint32_t i = 0; i < o->limit_count; i++)
        if (!n->options.experiment->limits[i].whole)
            self_record_limit(n->self, (int)i, &o->limits[i], 0);
}
