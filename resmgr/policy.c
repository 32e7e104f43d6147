// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/policy.h"

struct policy_state policy_start(const struct experiment_adapt *adapt, int64_t period)
{
    return (struct policy_state){
        .policy = adapt->policy,
        .on = true,
        .period = period,
        .period_min = adapt->period_min,
        .period_max = adapt->period_max,
    };
}

static enum policy_action policy_turn_off(struct policy_state *state)
{
    state->on = false;
    return POLICY_OFF;
}

static enum policy_action policy_resume(struct policy_state *state)
{
    state->on = true;
    if (state->policy == POLICY_DPP)
        state->period = state->period_max;
    return POLICY_RESUME;
}

/* Doubles; a double that is beyond the upper bound means off, not the bound. */
static enum policy_action policy_lengthen(struct policy_state *state)
{
    if (state->period > state->period_max / 2)
        return policy_turn_off(state);
    state->period *= 2;
    return POLICY_LENGTHEN;
}

/* Halves; the lower bound itself is reached even where it is no power of two away. */
static enum policy_action policy_shorten(struct policy_state *state)
{
    if (state->period <= state->period_min)
        return POLICY_KEEP;
    int64_t half = state->period / 2;
    state->period = half < state->period_min ? state->period_min : half;
    return POLICY_SHORTEN;
}

enum policy_action policy_step(struct policy_state *state, struct policy_observation seen)
{
    bool broken = seen.broken > 0, observed = broken || seen.held > 0;
    if (state->policy == POLICY_NONE || !observed)
        return POLICY_KEEP;
    if (!state->on)
        return broken ? POLICY_KEEP : policy_resume(state);
    if (state->policy == POLICY_SPP)
        return broken ? policy_turn_off(state) : POLICY_KEEP;
    return broken ? policy_lengthen(state) : policy_shorten(state);
}

const char *policy_action_name(enum policy_action action)
{
    static const char *const names[] = {"keep", "shorten", "lengthen", "off", "resume"};
    return names[action];
}
