// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/policies/policy.h"

#include "resmgr/control/cost_model.h"
#include "resmgr/policies/policy_internal.h"

#include <assert.h>
#include <math.h>

#define POLICY_RULE(NAME, name, word, abilities) [POLICY_##NAME] = policy_rule_##name,
static policy_rule *const rules[] = {EXPERIMENT_POLICIES(POLICY_RULE)};
#undef POLICY_RULE

/* ---- Observations ------------------------------------------------------------------------------------------------ */

bool policy_cpu_is_sane(double percent)
{
    return percent >= 0 && percent <= POLICY_CPU_MAX;
}

enum limit_state policy_worst(const struct policy_observation *seen)
{
    enum limit_state worst = LIMIT_UNKNOWN;
    for (uint32_t i = 0; i < seen->limit_count; i++)
        if (!seen->limits[i].on_flow)
            worst = seen->limits[i].state > worst ? seen->limits[i].state : worst;
    return worst;
}

static struct policy_measure sane_measure(struct policy_measure m)
{
    if (m.elapsed <= 0 || m.elapsed > POLICY_ELAPSED_MAX)
        return (struct policy_measure){.cpu = NAN, .polls = NAN, .records = NAN, .unconfirmed = m.unconfirmed};
    if (!policy_cpu_is_sane(m.cpu))
        m.cpu = NAN;
    if (!(m.polls >= 0 && isfinite(m.polls)))
        m.polls = NAN;
    if (!(m.records >= 0 && isfinite(m.records)))
        m.records = NAN;
    return m;
}

static struct policy_limit sane_limit(struct policy_limit l, uint32_t members)
{
    bool global = l.member == POLICY_ALL;
    double most = global ? (double)POLICY_CPU_MAX * members : POLICY_CPU_MAX;
    if (!isfinite(l.value) || !isfinite(l.bound) || (l.on_cpu && !(l.value >= 0 && l.value <= most)) ||
        (!global && (l.member < 0 || l.member >= (int)members)))
        l.state = LIMIT_UNKNOWN;
    if (l.window < 0 || l.window > POLICY_ELAPSED_MAX * 60)
        l.window = 0;
    return l;
}

/* What is impossible becomes unknown. */
static void make_sane(struct policy_observation *seen, uint32_t members)
{
    if (seen->dead_time < 0 || seen->dead_time > POLICY_ELAPSED_MAX)
        seen->dead_time = 0;
    for (uint32_t i = 0; i < seen->limit_count; i++)
        seen->limits[i] = sane_limit(seen->limits[i], members);
    for (uint32_t i = 0; i < members; i++)
        seen->members[i] = sane_measure(seen->members[i]);
    policy_link_limits(seen, members);
}

/* ---- The state --------------------------------------------------------------------------------------------------- */

void policy_start(struct policy_state *state, const struct experiment_adapt *adapt, int64_t period, uint32_t count)
{
    assert(count <= POLICY_MEMBERS_MAX);
    *state = (struct policy_state){
        .policy = adapt->policy,
        .every = adapt->every,
        .period_min = adapt->period_min,
        .period_max = adapt->period_max,
        .count = count,
        .weights = count,
        .members = state->members,
    };
    for (uint32_t i = 0; i < count; i++)
        state->members[i] = (struct policy_member){.on = true, .period = period, .desired = period, .weight = 1};
}

void policy_set_period(struct policy_state *state, int member, int64_t period)
{
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        if (member != POLICY_ALL && member != (int)i)
            continue;
        cost_model_changed(&m->cost_model);
        m->period = m->desired = period;
        m->since = 0;
    }
}

void policy_set_levels(struct policy_state *state, uint32_t member, uint32_t levels)
{
    struct policy_load_shedding *s = &state->members[member].load_shedding;
    struct policy_cutoff *r = &state->members[member].cutoff;
    if (levels > s->levels && r->over) /* off, and now there is something to shed instead */
        r->retry.waited = r->retry.pause;
    s->levels = levels;
    if (s->count > levels)
        s->count = levels;
}

static int64_t within_bounds(const struct policy_state *s, int64_t period)
{
    return period < s->period_min ? s->period_min : period > s->period_max ? s->period_max : period;
}

static bool is_anything_known(const struct policy_observation *seen, uint32_t members)
{
    bool known = policy_worst(seen) != LIMIT_UNKNOWN;
    for (uint32_t i = 0; i < members && !known; i++)
        known = !isnan(seen->members[i].cpu);
    for (uint32_t i = 0; i < seen->limit_count && !known; i++)
        known = seen->limits[i].state != LIMIT_UNKNOWN;
    return known;
}

/* Guards against a faulty policy. */
static bool is_proof(double needed, double budget)
{
    return isfinite(needed) && isfinite(budget) && needed > budget;
}

enum policy_action policy_action_between(struct policy_setting before, struct policy_setting after)
{
    return !before.on && after.on         ? POLICY_RESUME
           : before.on && !after.on       ? POLICY_OFF
           : after.period > before.period ? POLICY_LENGTHEN
           : after.period < before.period ? POLICY_SHORTEN
                                          : POLICY_KEEP;
}

static enum policy_action policy_finish(const struct policy_state *s, struct policy_setting before,
                                        struct policy_member *m, const struct policy_measure *seen)
{
    if (experiment_policy_can(s->policy, POLICY_MOVES))
        m->period = within_bounds(s, m->period);
    else
        m->period = before.period;
    enum policy_action action = policy_action_between(before, (struct policy_setting){m->on, m->period});
    if (action != POLICY_KEEP) {
        cost_model_changed(&m->cost_model);
        m->since = 0;
    } else if (!seen->unconfirmed && m->since < INT64_MAX / 2) {
        m->since += seen->elapsed;
    }
    return action;
}

void policy_step(struct policy_state *state, struct policy_observation *seen, struct policy_actions *actions)
{
    struct policy_setting before[POLICY_MEMBERS_MAX];
    make_sane(seen, state->count);
    state->weights = 0;
    *actions = (struct policy_actions){.infeasible_member = POLICY_ALL, .members = actions->members};
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        before[i] = (struct policy_setting){m->on, m->period};
        state->weights += m->weight;
        actions->members[i] = (struct policy_member_actions){0};
        if (m->since >= seen->dead_time)
            cost_model_step(m, &seen->members[i]);
    }
    if (is_anything_known(seen, state->count))
        rules[state->policy](state, seen, actions);
    actions->infeasible = actions->infeasible && is_proof(actions->needed, actions->budget);
    for (uint32_t i = 0; i < state->count; i++)
        actions->members[i].action = policy_finish(state, before[i], &state->members[i], &seen->members[i]);
}

const char *policy_action_name(enum policy_action action)
{
    static const char *const names[] = {"keep", "shorten", "lengthen", "off", "resume"};
    return names[action];
}
