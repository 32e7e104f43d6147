// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/helm.h"

#include <math.h>

static const struct experiment_knob *knob_of(const struct helm *h, uint32_t i)
{
    return &h->experiment->adapt.knobs[i];
}

void helm_start(struct helm *h, const struct experiment *e)
{
    *h = (struct helm){.experiment = e};
    for (uint32_t i = 0; i < e->adapt.knob_count; i++)
        h->knobs[i].limit = h->knobs[i].order.limit = -1;
}

void helm_begin(struct helm *h, int64_t elapsed)
{
    h->elapsed = elapsed > 0 && elapsed <= POLICY_ELAPSED_MAX ? elapsed : 0;
    for (uint32_t i = 0; i < h->experiment->adapt.knob_count; i++) {
        h->knobs[i].worst = (struct policy_limit){.state = LIMIT_UNKNOWN};
        h->knobs[i].limit = -1;
        h->knobs[i].order.moved = TRIM_KEEP;
    }
}

void helm_find(struct helm *h, uint32_t i, const struct trim_seen *seen)
{
    h->knobs[i].seen = *seen;
}

void helm_merge(struct trim_seen *into, const struct trim_seen *one)
{
    if (!one->present)
        return;
    if (!into->present) {
        *into = *one;
        return;
    }
    into->min = one->min > into->min ? one->min : into->min;
    into->max = one->max < into->max ? one->max : into->max;
}

/* As policies choose a quality: a broken one before one that holds, then by priority, then the worst. */
static bool is_worse(const struct policy_limit *a, const struct policy_limit *b)
{
    if (a->state != b->state)
        return a->state > b->state;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return policy_margin(a) < policy_margin(b);
}

void helm_hear(struct helm *h, uint32_t i, const struct policy_limit *limit)
{
    if (limit->state == LIMIT_UNKNOWN || isnan(policy_margin(limit)))
        return;
    for (uint32_t k = 0; k < h->experiment->adapt.knob_count; k++) {
        struct helm_knob *knob = &h->knobs[k];
        if (!(knob_of(h, k)->serves >> i & 1) || (knob->limit >= 0 && !is_worse(limit, &knob->worst)))
            continue;
        knob->worst = *limit;
        knob->limit = (int)i;
    }
}

bool helm_hides(const struct helm *h, uint32_t i)
{
    for (uint32_t k = 0; k < h->experiment->adapt.knob_count; k++) {
        const struct helm_knob *knob = &h->knobs[k];
        const struct experiment_knob *file = knob_of(h, k);
        if (!(file->serves >> i & 1) || !trim_is_possible(file, &knob->seen))
            continue;
        if (trim_answers(&knob->trim) || (file->order == ORDER_KNOB_FIRST && !knob->trim.spent &&
                                          (!knob->trim.started || trim_has_room(&knob->trim, file))))
            return true;
    }
    return false;
}

void helm_take(struct helm *h, uint32_t i, struct policy_limit *limit)
{
    helm_hear(h, i, limit);
    if (limit->state == LIMIT_VIOLATED && helm_hides(h, i))
        limit->state = LIMIT_UNKNOWN;
}

/* ---- Whose turn it is -------------------------------------------------------------------------------------------- */

/* Whether polling less, or more, is at its end on this member: `judged` where the policy has waited for what came of
 * it. */
static bool has_yielded(const struct policy_state *s, const struct policy_actions *a, uint32_t member,
                        const struct policy_limit *l, bool *judged)
{
    const struct policy_member *m = &s->members[member];
    bool moves = experiment_policy_moves(s->policy);
    if (s->policy == POLICY_NONE || (l->on_flow && (!moves || s->policy == POLICY_DPP)))
        return *judged = true;
    if (l->on_flow)
        return *judged = a->starved >> member & 1;
    *judged = !l->on_cpu && a->blameless >> member & 1;
    return *judged || !m->on || (moves && m->period >= s->period_max);
}

static bool polling_has_yielded(const struct helm *h, struct helm_knob *knob, const struct policy_state *s,
                                const struct policy_actions *a, int64_t settle)
{
    const struct policy_limit *l = &knob->worst;
    bool yielded = l->state == LIMIT_VIOLATED, all_judged = true, judged;
    for (uint32_t i = 0; i < s->count && yielded; i++) {
        if (l->member != POLICY_ALL && l->member != (int)i)
            continue;
        yielded = has_yielded(s, a, i, l, &judged);
        all_judged = all_judged && judged;
    }
    if (!yielded)
        knob->yielded = 0;
    else if (knob->yielded < settle)
        knob->yielded = all_judged ? settle : knob->yielded + h->elapsed;
    return yielded && knob->yielded >= settle;
}

/* Knobs before `i` that serve the same limits have nothing left to give; those behind it are back. */
static bool earlier_have_yielded(const struct helm *h, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (knob_of(h, k)->serves & knob_of(h, i)->serves && trim_is_possible(knob_of(h, k), &h->knobs[k].seen) &&
            !h->knobs[k].trim.spent && !h->knobs[k].trim.futile)
            return false;
    return true;
}

static bool later_are_back(const struct helm *h, uint32_t i)
{
    for (uint32_t k = i + 1; k < h->experiment->adapt.knob_count; k++)
        if (knob_of(h, k)->serves & knob_of(h, i)->serves && trim_is_possible(knob_of(h, k), &h->knobs[k].seen) &&
            !trim_is_home(&h->knobs[k].trim))
            return false;
    return true;
}

/* ---- The step ---------------------------------------------------------------------------------------------------- */

static void step_knob(struct helm *h, uint32_t i, const struct policy_state *policy,
                      const struct policy_actions *actions)
{
    struct helm_knob *knob = &h->knobs[i];
    const struct experiment_knob *file = knob_of(h, i);
    int64_t settle = experiment_knob_settle(h->experiment, file);
    bool polling = file->order == ORDER_KNOB_FIRST || polling_has_yielded(h, knob, policy, actions, settle);
    struct trim_limit limit = {.state = knob->worst.state,
                               .margin = policy_margin(&knob->worst),
                               .helps = polling && earlier_have_yielded(h, i),
                               .returns = later_are_back(h, i),
                               .elapsed = h->elapsed};
    uint32_t orders = knob->trim.orders;
    bool started = knob->trim.started;
    enum trim_move move = trim_step(&knob->trim, file, settle, &knob->seen, &limit);
    if (!started || knob->trim.orders != orders)
        knob->order = (struct helm_order){.limit = -1, .metric = NAN};
    bool spent = knob->order.spent;
    knob->order.spent = knob->trim.spent;
    if (knob->order.spent && !spent) {
        knob->order.limit = knob->limit;
        knob->order.metric = knob->worst.value;
    }
    knob->order.given = knob->order.given || move != TRIM_KEEP || !trim_is_home(&knob->trim);
    knob->order.value = knob->trim.value;
    if (move == TRIM_KEEP)
        return;
    knob->order.moved = move;
    knob->order.limit = move == TRIM_BOUND ? -1 : knob->limit;
    knob->order.metric = move == TRIM_BOUND ? (double)NAN : knob->worst.value;
}

void helm_step(struct helm *h, const struct policy_state *policy, const struct policy_actions *actions)
{
    for (uint32_t i = 0; i < h->experiment->adapt.knob_count; i++)
        step_knob(h, i, policy, actions);
}

const struct helm_order *helm_order(const struct helm *h, uint32_t i)
{
    return &h->knobs[i].order;
}
