// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "sensor/external/program_knobs.h"

#include <math.h>

static void record(struct node *n, const struct external_process *p, uint32_t i, int32_t before, int32_t after,
                   const struct node_knob_reason *why)
{
    const struct knob *k = &p->at->knobs->knob[i];
    own_trace_record_knob(n->own_trace, &(struct builtin_knob){.process = p->name,
                                                               .knob = k->name,
                                                               .unit = k->unit,
                                                               .instance = (int64_t)p->at->instance,
                                                               .cause = why->cause,
                                                               .before = before,
                                                               .after = after,
                                                               .limit = why->limit,
                                                               .value = why->value,
                                                               .epoch = why->epoch,
                                                               .sequence = why->sequence});
}

void node_knobs_declare(struct node *n, struct external_process *p)
{
    static const struct node_knob_reason declared = {.cause = SET_BY_NONE, .limit = -1, .value = NAN};
    for (uint32_t count = external_knob_count(n->external, p); p->knobs_told < count; p->knobs_told++) {
        int32_t value = segment_knob(p->at, p->knobs_told);
        record(n, p, p->knobs_told, value, value, &declared);
    }
}

bool node_knob_set(struct node *n, struct external_process *p, uint32_t i, int32_t value,
                   const struct node_knob_reason *why)
{
    int32_t before;
    if (external_knob_set(p, i, value, &before) != 0)
        return false;
    if (before != value)
        record(n, p, i, before, value, why);
    return true;
}

static const struct node_knob_reason kept = {.cause = SET_BY_KEPT, .limit = -1, .value = NAN},
                                     at_the_end = {.cause = SET_BY_END, .limit = -1, .value = NAN};

/* Knobs that an earlier daemon of this run left changed. Attaching resets those that another run left changed. */
void node_knobs_start(struct node *n)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        for (uint32_t k = 0; p && k < external_knob_count(n->external, p); k++) {
            int32_t initial = p->at->knobs->knob[k].initial, value = segment_knob(p->at, k);
            if (value != initial)
                record(n, p, k, initial, value, &kept);
        }
    }
}

void node_knobs_end(struct node *n)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        for (uint32_t k = 0; p && k < external_knob_count(n->external, p); k++)
            (void)node_knob_set(n, p, k, p->at->knobs->knob[k].initial, &at_the_end);
    }
}
