// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/knob_controller.h"

#include <math.h>

static const struct experiment_knob *knob_of(const struct knob_controller *c, uint32_t i)
{
    return &c->experiment->adapt.knobs[i];
}

void knob_controller_start(struct knob_controller *c, const struct experiment *e)
{
    *c = (struct knob_controller){.experiment = e};
    for (uint32_t i = 0; i < e->adapt.knob_count; i++)
        c->knobs[i].limit = c->knobs[i].setpoint.limit = -1;
}

void knob_controller_begin(struct knob_controller *c, int64_t elapsed)
{
    c->elapsed = elapsed > 0 && elapsed <= POLICY_ELAPSED_MAX ? elapsed : 0;
    for (uint32_t i = 0; i < c->experiment->adapt.knob_count; i++) {
        c->knobs[i].worst = (struct policy_limit){.state = LIMIT_UNKNOWN};
        c->knobs[i].limit = -1;
        c->knobs[i].setpoint.moved = KNOB_SEARCH_KEEP;
    }
}

void knob_controller_merge(struct knob_search_seen *into, const struct knob_search_seen *one)
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

/* Limit `i` becomes the one that a knob answers, where it is the worst of those that the knob serves. */
static void offer(struct knob_controller *c, uint32_t i, const struct policy_limit *limit)
{
    if (limit->state == LIMIT_UNKNOWN || isnan(policy_margin(limit)))
        return;
    for (uint32_t k = 0; k < c->experiment->adapt.knob_count; k++) {
        struct knob_controller_knob *knob = &c->knobs[k];
        if (!(knob_of(c, k)->serves >> i & 1) || (knob->limit >= 0 && !policy_is_worse(limit, &knob->worst)))
            continue;
        knob->worst = *limit;
        knob->limit = (int)i;
    }
}

/* Whether the policy is not to see that limit `i` is violated. */
static bool hides(const struct knob_controller *c, uint32_t i)
{
    for (uint32_t k = 0; k < c->experiment->adapt.knob_count; k++) {
        const struct knob_controller_knob *knob = &c->knobs[k];
        const struct experiment_knob *file = knob_of(c, k);
        if (!(file->serves >> i & 1) || !knob_search_is_possible(file, &knob->seen))
            continue;
        if (knob_search_answers(&knob->knob_search) ||
            (file->order == ORDER_KNOB_FIRST && !knob->knob_search.saturated &&
             (!knob->knob_search.started || knob_search_has_room(&knob->knob_search, file))))
            return true;
    }
    return false;
}

void knob_controller_take(struct knob_controller *c, uint32_t i, struct policy_limit *limit)
{
    offer(c, i, limit);
    if (limit->state == LIMIT_VIOLATED && hides(c, i))
        limit->state = LIMIT_UNKNOWN;
}

/* ---- Whose turn it is -------------------------------------------------------------------------------------------- */

/*
 * Whether polling can do no more for the limit on this member. *judged: the policy has waited for the effect of its
 * last change.
 */
static bool has_yielded(const struct policy_state *s, const struct policy_actions *a, uint32_t member,
                        const struct policy_limit *l, bool *judged)
{
    const struct policy_member *m = &s->members[member];
    if (!experiment_policy_can(s->policy, POLICY_ADAPTS) ||
        (l->on_flow && !experiment_policy_can(s->policy, POLICY_SETTLES)))
        return *judged = true;
    if (l->on_flow)
        return *judged = a->members[member].starved;
    *judged = !l->on_cpu && a->members[member].not_the_monitors;
    return *judged || !m->on || (experiment_policy_can(s->policy, POLICY_MOVES) && m->period >= s->period_max);
}

static bool polling_has_yielded(const struct knob_controller *c, struct knob_controller_knob *knob,
                                const struct policy_state *s, const struct policy_actions *a, int64_t settle)
{
    const struct policy_limit *l = &knob->worst;
    bool yielded = l->state == LIMIT_VIOLATED, all_judged = true, judged;
    for (uint32_t i = 0; i < s->count && yielded; i++) {
        if (!policy_concerns(l, i))
            continue;
        yielded = has_yielded(s, a, i, l, &judged);
        all_judged = all_judged && judged;
    }
    if (!yielded)
        knob->yielded = 0;
    else if (knob->yielded < settle)
        knob->yielded = all_judged ? settle : knob->yielded + c->elapsed;
    return yielded && knob->yielded >= settle;
}

/* Knobs before `i` that serve the same limits have nothing left to give. */
static bool earlier_have_yielded(const struct knob_controller *c, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (knob_of(c, k)->serves & knob_of(c, i)->serves &&
            knob_search_is_possible(knob_of(c, k), &c->knobs[k].seen) && !c->knobs[k].knob_search.saturated &&
            !c->knobs[k].knob_search.futile)
            return false;
    return true;
}

static bool later_are_back(const struct knob_controller *c, uint32_t i)
{
    for (uint32_t k = i + 1; k < c->experiment->adapt.knob_count; k++)
        if (knob_of(c, k)->serves & knob_of(c, i)->serves &&
            knob_search_is_possible(knob_of(c, k), &c->knobs[k].seen) &&
            !knob_search_is_baseline(&c->knobs[k].knob_search))
            return false;
    return true;
}

/* ---- The step ---------------------------------------------------------------------------------------------------- */

/* A value over the loop through the collector begins to show a change only after the dead time. */
static int64_t settle_of(const struct knob_controller *c, const struct experiment_knob *file, int64_t dead_time)
{
    bool is_late = false;
    for (uint32_t i = 0; i < c->experiment->limit_count && file->settle == 0; i++)
        is_late = is_late ||
                  (file->serves >> i & 1 && experiment_limit_is_on_interval(c->experiment, &c->experiment->limits[i]));
    return experiment_knob_settle(c->experiment, file) + (is_late ? dead_time : 0);
}

static void step_knob(struct knob_controller *c, uint32_t i, const struct policy_state *policy,
                      const struct policy_actions *actions, int64_t dead_time)
{
    struct knob_controller_knob *knob = &c->knobs[i];
    const struct experiment_knob *file = knob_of(c, i);
    int64_t settle = settle_of(c, file, dead_time);
    bool polling = file->order == ORDER_KNOB_FIRST || polling_has_yielded(c, knob, policy, actions, settle);
    struct knob_search_limit limit = {.state = knob->worst.state,
                                      .margin = policy_margin(&knob->worst),
                                      .helps = polling && earlier_have_yielded(c, i),
                                      .returns = later_are_back(c, i),
                                      .elapsed = c->elapsed};
    uint32_t overrides = knob->knob_search.overrides;
    bool started = knob->knob_search.started;
    enum knob_search_move move = knob_search_step(&knob->knob_search, file, settle, &knob->seen, &limit);
    if (!started || knob->knob_search.overrides != overrides)
        knob->setpoint = (struct knob_controller_setpoint){.limit = -1, .metric = NAN};
    bool before = knob->setpoint.saturated;
    knob->setpoint.saturated = knob->knob_search.saturated;
    if (knob->setpoint.saturated && !before) {
        knob->setpoint.limit = knob->limit;
        knob->setpoint.metric = knob->worst.value;
    }
    knob->setpoint.given =
        knob->setpoint.given || move != KNOB_SEARCH_KEEP || !knob_search_is_baseline(&knob->knob_search);
    knob->setpoint.value = knob->knob_search.value;
    if (move == KNOB_SEARCH_KEEP)
        return;
    knob->setpoint.moved = move;
    knob->setpoint.limit = move == KNOB_SEARCH_BOUND ? -1 : knob->limit;
    knob->setpoint.metric = move == KNOB_SEARCH_BOUND ? (double)NAN : knob->worst.value;
}

void knob_controller_step(struct knob_controller *c, const struct policy_state *policy,
                          const struct policy_actions *actions, int64_t dead_time)
{
    dead_time = dead_time > 0 && dead_time <= POLICY_ELAPSED_MAX ? dead_time : 0;
    for (uint32_t i = 0; i < c->experiment->adapt.knob_count; i++)
        step_knob(c, i, policy, actions, dead_time);
}
