// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The node as a reducer (sensing.keep): of aspects that its metrics read, values are stored in place of records.
 * Handing on: the values are recorded in the own trace, whose ring outlives the daemon; then the records count as
 * handed on (sensor/external/reduce.h); then that count is recorded. A kill in between leaves records that count as
 * lost, although a value may have them: never the other way round.
 */
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "sensor/external/reduce.h"

bool node_reduces(const struct node *n, const char *aspect)
{
    return experiment_reduces(n->options.experiment, aspect);
}

static void record_reduced(struct node *n, struct external_process *p)
{
    struct reduce *r = p->reduce;
    for (uint32_t id = 1; id < p->watched; id++) {
        const struct segment_reduction *now = &r->now[id];
        if (memcmp(&r->told[id], now, sizeof *now) == 0)
            continue;
        own_trace_record_reduced(n->own_trace, &(struct builtin_reduced){.process = p->name,
                                                                         .aspect = p->at->dict->aspects[id - 1].name,
                                                                         .instance = (int64_t)p->at->instance,
                                                                         .taken = (int64_t)now->taken,
                                                                         .handed = (int64_t)now->handed,
                                                                         .lost = (int64_t)now->lost});
        r->told[id] = *now;
    }
}

void node_record_reduced(struct node *n)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        if (p && p->reduce)
            record_reduced(n, p);
    }
}

static void record_values(struct node *n, int slot)
{
    const struct experiment *e = n->options.experiment;
    for (uint32_t m = 0; m < e->metric_count; m++)
        if (e->metrics[m].aspect && node_reduces(n, e->metrics[m].aspect))
            node_record_values(n, m, slot);
}

void node_hand_on(struct node *n, int slot)
{
    if (!n->own_trace || !external_reduces(n->external))
        return;
    uint64_t lost = journal_lost(n->own_trace);
    record_values(n, slot);
    if (journal_lost(n->own_trace) == lost) /* else the next values have these records, too, if they look back as far */
        external_hand_on(n->external, slot);
    node_record_reduced(n);
}

void node_hand_on_last(struct node *n, int slot)
{
    if (!external_reduces(n->external))
        return;
    agent_evaluate(n->agent, clock_now());
    node_hand_on(n, slot);
}
