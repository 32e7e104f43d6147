// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/agent/leadership.h"

#include "mdr/manage.h"
#include "resmgr/agent/agent.h"

/* The longest window of a `hold` limit, with its persistence, and two sampling periods. */
static int64_t when_it_shows(const struct experiment *e)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        int64_t window = agent_policy_limit(e, i, LIMIT_UNKNOWN, 0).window + e->limits[i].persistence;
        if (e->limits[i].kind == LIMIT_HOLD && window > longest)
            longest = window;
    }
    return longest + 2 * e->adapt.every;
}

void leadership_start(struct leadership *l, const struct experiment *e, uint64_t life, struct message_leadership newest)
{
    *l = (struct leadership){
        .life = life,
        .period_min = e->adapt.period_min,
        .period_max = e->adapt.period_max,
        .moves = experiment_policy_can(e->adapt.policy, POLICY_MOVES),
        .holder = newest,
        .shows = when_it_shows(e),
    };
}

static int64_t at_most(uint64_t ns, int64_t most)
{
    return ns > (uint64_t)most ? most : (int64_t)ns;
}

static bool is_fresh(const struct leadership *l, const struct message_setpoint *s, int64_t now)
{
    if (s->life != l->life || s->answers > (uint64_t)now)
        return false;
    int64_t answers = (int64_t)s->answers;
    return answers >= l->not_before && now - answers <= at_most(s->expiry, LEADERSHIP_EXPIRY_MAX);
}

static bool is_holder(const struct leadership *l, struct message_leadership who)
{
    return who.epoch > 0 && who.epoch == l->holder.epoch && who.holder == l->holder.holder;
}

static enum leadership_answer leadership_decide(const struct leadership *l, const struct message_setpoint *s,
                                                int64_t now)
{
    if (s->leadership.epoch <= l->holder.epoch && !is_holder(l, s->leadership))
        return LEADERSHIP_OUTDATED;
    if (is_holder(l, s->leadership) && s->sequence <= l->sequence)
        return LEADERSHIP_REPEATED;
    return s->sequence > 0 && is_fresh(l, s, now) ? LEADERSHIP_APPLIED : LEADERSHIP_EXPIRED;
}

static int64_t leadership_clamp(struct leadership *l, uint64_t asked, int64_t desired)
{
    int64_t least = l->moves ? l->period_min : desired, most = l->moves ? l->period_max : desired;
    if (asked >= (uint64_t)least && asked <= (uint64_t)most)
        return (int64_t)asked;
    l->clamped++;
    return asked < (uint64_t)least ? least : most;
}

enum leadership_answer leadership_receive(struct leadership *l, const struct message_setpoint *s, int64_t desired,
                                          int64_t now, struct leadership_command *command)
{
    enum leadership_answer answer = leadership_decide(l, s, now);
    l->answered[answer]++;
    if (answer != LEADERSHIP_APPLIED)
        return answer;
    *command = (struct leadership_command){.taken = !l->held || !is_holder(l, s->leadership)};
    l->taken += command->taken;
    l->holder = s->leadership;
    l->sequence = s->sequence;
    l->held = true;
    l->retreated = false;
    l->until = (int64_t)s->answers + at_most(s->lasts, LEADERSHIP_LASTS_MAX);
    command->setting = (struct policy_setting){.on = s->on, .period = leadership_clamp(l, s->period_ns, desired)};
    return answer;
}

void leadership_override(struct leadership *l, int64_t now)
{
    l->not_before = now;
    l->safe_known = false;
}

static bool polls_less(struct policy_setting a, struct policy_setting b)
{
    return b.on && (!a.on || a.period > b.period);
}

void leadership_judge(struct leadership *l, enum limit_state worst, struct policy_setting in_force, int64_t now)
{
    if (in_force.on != l->in_force.on || in_force.period != l->in_force.period)
        l->in_force_since = now;
    l->in_force = in_force;
    if (worst != LIMIT_HELD || now - l->in_force_since < l->shows)
        return;
    l->safe_known = true;
    l->safe = in_force;
}

bool leadership_lost(struct leadership *l, int64_t now)
{
    if (!l->held || now < l->until)
        return false;
    l->held = false;
    l->lost++;
    return true;
}

bool leadership_retreats(struct leadership *l, enum limit_state worst, struct policy_setting *safe)
{
    if (l->held || l->lost == 0 || l->retreated || worst != LIMIT_VIOLATED || !l->safe_known ||
        !polls_less(l->safe, l->in_force))
        return false;
    l->retreated = true;
    *safe = l->safe;
    return true;
}
