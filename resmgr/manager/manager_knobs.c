// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/manager/manager_knobs.h"

#include <assert.h>

static_assert((int)MESSAGE_KNOBS_MAX == (int)EXPERIMENT_KNOBS_MAX, "one bound, two names");

static uint32_t overrides_of(const struct message_observation *o, uint32_t knob)
{
    for (uint32_t i = 0; o && i < o->knob_count; i++)
        if (o->knobs[i].knob == knob)
            return o->knobs[i].overrides;
    return 0;
}

void manager_knobs_override(struct manager_override *overrides, const struct message_observation *before,
                            const struct message_observation *o)
{
    for (const struct message_steered *s = o->knobs; s < o->knobs + o->knob_count; s++)
        if (s->knob < EXPERIMENT_KNOBS_MAX && s->overrides > overrides_of(before, s->knob))
            overrides[s->knob] = (struct manager_override){
                .count = overrides[s->knob].count + 1, .value = s->value, .baseline = s->baseline};
}

void manager_knobs_begin(struct knob_controller *h, int64_t elapsed)
{
    knob_controller_begin(h, elapsed);
    for (uint32_t i = 0; i < h->experiment->adapt.knob_count; i++)
        knob_controller_find(h, i, &(struct knob_search_seen){.present = false});
}

void manager_knobs_receive(struct knob_controller *h, const struct message_observation *o)
{
    for (const struct message_steered *s = o->knobs; s < o->knobs + o->knob_count; s++) {
        struct knob_search_seen one = {
            .present = true, .value = s->value, .min = s->min, .max = s->max, .baseline = s->baseline};
        if (s->knob < h->experiment->adapt.knob_count)
            knob_controller_merge(&h->knobs[s->knob].seen, &one);
    }
}

static void take_override(struct knob_search_seen *seen, const struct manager_override *override)
{
    if (override->count == 0)
        return;
    seen->overrides = override->count;
    seen->value = override->value;
    seen->baseline = override->baseline;
}

bool manager_knobs_step(struct knob_controller *h, const struct manager_override *overrides,
                        const struct policy_state *policy, const struct policy_actions *actions, uint64_t *moves)
{
    bool news = false, saturated[EXPERIMENT_KNOBS_MAX];
    uint32_t count = h->experiment->adapt.knob_count;
    for (uint32_t i = 0; i < count; i++) {
        take_override(&h->knobs[i].seen, &overrides[i]);
        saturated[i] = knob_controller_setpoint(h, i)->saturated;
    }
    knob_controller_step(h, policy, actions);
    for (uint32_t i = 0; i < count; i++) {
        const struct knob_controller_setpoint *now = knob_controller_setpoint(h, i);
        *moves += now->moved != KNOB_SEARCH_KEEP;
        news = news || now->moved != KNOB_SEARCH_KEEP || now->saturated != saturated[i];
    }
    return news;
}

void manager_knobs_send(const struct knob_controller *h, struct message_setpoint *s)
{
    for (uint32_t i = 0; i < h->experiment->adapt.knob_count; i++) {
        const struct knob_controller_setpoint *o = knob_controller_setpoint(h, i);
        if (o->given || o->saturated)
            s->knobs[s->knob_count++] = (struct message_steer){.knob = i,
                                                               .given = o->given,
                                                               .value = o->value,
                                                               .cause = o->limit,
                                                               .metric = o->metric,
                                                               .saturated = o->saturated};
    }
}
