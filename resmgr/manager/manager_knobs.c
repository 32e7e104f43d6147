// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/manager_knobs.h"

#include <assert.h>

static_assert((int)MESSAGE_KNOBS_MAX == (int)EXPERIMENT_KNOBS_MAX, "one bound, two names");

static uint32_t orders_of(const struct message_observation *o, uint32_t knob)
{
    for (uint32_t i = 0; o && i < o->knob_count; i++)
        if (o->knobs[i].knob == knob)
            return o->knobs[i].orders;
    return 0;
}

void manager_knobs_order(struct manager_ordered *ordered, const struct message_observation *before,
                         const struct message_observation *o)
{
    for (const struct message_steered *s = o->knobs; s < o->knobs + o->knob_count; s++)
        if (s->knob < EXPERIMENT_KNOBS_MAX && s->orders > orders_of(before, s->knob))
            ordered[s->knob] =
                (struct manager_ordered){.orders = ordered[s->knob].orders + 1, .value = s->value, .home = s->home};
}

void manager_knobs_begin(struct helm *h, int64_t elapsed)
{
    helm_begin(h, elapsed);
    for (uint32_t i = 0; i < h->experiment->adapt.knob_count; i++)
        helm_find(h, i, &(struct trim_seen){.present = false});
}

void manager_knobs_hear(struct helm *h, const struct message_observation *o)
{
    for (const struct message_steered *s = o->knobs; s < o->knobs + o->knob_count; s++) {
        struct trim_seen one = {.present = true, .value = s->value, .min = s->min, .max = s->max, .home = s->home};
        if (s->knob < h->experiment->adapt.knob_count)
            helm_merge(&h->knobs[s->knob].seen, &one);
    }
}

static void take_order(struct trim_seen *seen, const struct manager_ordered *ordered)
{
    if (ordered->orders == 0)
        return;
    seen->orders = ordered->orders;
    seen->value = ordered->value;
    seen->home = ordered->home;
}

bool manager_knobs_step(struct helm *h, const struct manager_ordered *ordered, const struct policy_state *policy,
                        const struct policy_actions *actions, uint64_t *turns)
{
    bool news = false, spent[EXPERIMENT_KNOBS_MAX];
    uint32_t count = h->experiment->adapt.knob_count;
    for (uint32_t i = 0; i < count; i++) {
        take_order(&h->knobs[i].seen, &ordered[i]);
        spent[i] = helm_order(h, i)->spent;
    }
    helm_step(h, policy, actions);
    for (uint32_t i = 0; i < count; i++) {
        const struct helm_order *now = helm_order(h, i);
        *turns += now->moved != TRIM_KEEP;
        news = news || now->moved != TRIM_KEEP || now->spent != spent[i];
    }
    return news;
}

void manager_knobs_tell(const struct helm *h, struct message_setting *s)
{
    for (uint32_t i = 0; i < h->experiment->adapt.knob_count; i++) {
        const struct helm_order *o = helm_order(h, i);
        if (o->given || o->spent)
            s->knobs[s->knob_count++] = (struct message_steer){.knob = i,
                                                               .given = o->given,
                                                               .value = o->value,
                                                               .cause = o->limit,
                                                               .metric = o->metric,
                                                               .spent = o->spent};
    }
}
