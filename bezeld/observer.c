// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/log.h"
#include "ecs/node_impl.h"

static int observe_begin(void *context, const char *name)
{
    return agent_process_add(((struct node *)context)->agent, name);
}

static void observe_end(void *context, int slot)
{
    agent_process_remove(((struct node *)context)->agent, slot);
}

static int observe_watch(void *context, int slot, const struct dict_aspect *aspect)
{
    struct node *n = context;
    const char *metric = agent_lacking(n->agent, aspect), *process = agent_process_name(n->agent, slot);
    if (metric && process)
        log_warn("BEZEL-METRIC",
                 "aspect %s of %s has no such field as metric %s reads, no number or none of time: of "
                 "this process the metric is unknown",
                 aspect->name, process, metric);
    agent_heard_of(n->agent, aspect->name);
    return agent_watch(n->agent, slot, aspect);
}

static void observe_records(void *context, int watch, const struct packet_run *run)
{
    struct node *n = context;
    agent_records(n->agent, watch, run, n->turned);
}

static void observe_taken(void *context, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    agent_taken(((struct node *)context)->agent, records, first, last, now);
}

static void observe_stored(void *context, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    agent_stored(((struct node *)context)->agent, records, first, last, now);
}

struct external_observer node_senses(struct node *n)
{
    return (struct external_observer){n,
                                      observe_begin,
                                      observe_end,
                                      observe_watch,
                                      observe_records,
                                      observe_taken,
                                      agent_wants_stored(n->agent) ? observe_stored : NULL};
}

static void count_aspect(struct node *n, const struct external_process *p, uint32_t id, int64_t now)
{
    uint64_t attempts = segment_tally(p->at, id).attempts;
    if (p->at->disbelieved || steering_blinds(&n->steering, p->at->dict->aspects[id - 1].name))
        agent_blind(n->agent, p->watch[id]);
    else
        agent_count(n->agent, p->watch[id], attempts, now);
}

#define FLOW_EVERY (10 * CLOCK_MS) /* each ring's counters of all aspects are read for it */

static void tell_flow(struct node *n, int64_t now)
{
    if (now < n->flow_due)
        return;
    n->flow_due = now + FLOW_EVERY;
    struct external_flow f = external_flow(n->external);
    agent_flow(n->agent, f.produced, f.full + f.no_ring + f.overwritten + f.window + f.spool, f.in_rings + f.in_window,
               now);
}

/* The oldest packet of the SUT's that stands in the window and is not acknowledged; of the spool's nobody asks. */
static void tell_waiting(struct node *n, int64_t now)
{
    struct window *w = external_window(n->external);
    uint64_t at = window_oldest(w);
    struct packet_header h;
    for (struct window_packet *p; (p = window_next(w, &at)) != NULL;) {
        if (packet_get_header(p->data, p->bytes, &h) != 0 || h.records == 0 ||
            h.seq < window_stream(w, p->stream)->acked_seq)
            continue;
        const struct external_process *of = external_find(n->external, h.instance);
        if (!of || of->role != ROLE_SUT || of->at->when_full == SEGMENT_OVERWRITE)
            continue;
        agent_waits(n->agent, (int64_t)h.timestamp_begin, now);
        return;
    }
}

void node_count_attempts(struct node *n, int64_t now)
{
    if (agent_wants_stored(n->agent))
        tell_waiting(n, now);
    if (agent_wants_flow(n->agent))
        tell_flow(n, now);
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (!p || p->slot < 0)
            continue;
        for (uint32_t id = 1; id < p->watched; id++)
            if (p->watch[id] >= 0 && p->watch[id] != EXTERNAL_ATTENDED)
                count_aspect(n, p, id, now);
    }
}
