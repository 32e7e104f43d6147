// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/lease.h"

#include "resmgr/agent.h"

/* The longest look back of a limit to be held, and the instant that comes next. */
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

void lease_start(struct lease *l, const struct experiment *e, uint64_t life, struct message_lease newest)
{
    *l = (struct lease){
        .life = life,
        .period_min = e->adapt.period_min,
        .period_max = e->adapt.period_max,
        .moves = experiment_policy_moves(e->adapt.policy),
        .holder = newest,
        .shows = when_it_shows(e),
    };
}

static int64_t at_most(uint64_t ns, int64_t most)
{
    return ns > (uint64_t)most ? most : (int64_t)ns;
}

static bool is_fresh(const struct lease *l, const struct message_setting *s, int64_t now)
{
    if (s->life != l->life || s->answers > (uint64_t)now)
        return false;
    int64_t answers = (int64_t)s->answers;
    return answers >= l->not_before && now - answers <= at_most(s->expiry, LEASE_EXPIRY_MAX);
}

static bool is_holder(const struct lease *l, struct message_lease who)
{
    return who.epoch > 0 && who.epoch == l->holder.epoch && who.holder == l->holder.holder;
}

static enum lease_answer lease_decide(const struct lease *l, const struct message_setting *s, int64_t now)
{
    if (s->lease.epoch <= l->holder.epoch && !is_holder(l, s->lease))
        return LEASE_OUTDATED;
    if (is_holder(l, s->lease) && s->sequence <= l->sequence)
        return LEASE_REPEATED;
    return s->sequence > 0 && is_fresh(l, s, now) ? LEASE_OBEYED : LEASE_EXPIRED;
}

static int64_t lease_cut(struct lease *l, uint64_t asked, int64_t desired)
{
    int64_t least = l->moves ? l->period_min : desired, most = l->moves ? l->period_max : desired;
    if (asked >= (uint64_t)least && asked <= (uint64_t)most)
        return (int64_t)asked;
    l->cut++;
    return asked < (uint64_t)least ? least : most;
}

enum lease_answer lease_hear(struct lease *l, const struct message_setting *s, int64_t desired, int64_t now,
                             struct lease_order *order)
{
    enum lease_answer answer = lease_decide(l, s, now);
    l->answered[answer]++;
    if (answer != LEASE_OBEYED)
        return answer;
    *order = (struct lease_order){.taken = !l->held || !is_holder(l, s->lease)};
    l->taken += order->taken;
    l->holder = s->lease;
    l->sequence = s->sequence;
    l->held = true;
    l->retreated = false;
    l->until = (int64_t)s->answers + at_most(s->lasts, LEASE_LASTS_MAX);
    order->setting = (struct policy_setting){.on = s->on, .period = lease_cut(l, s->period_ns, desired)};
    return answer;
}

void lease_overtake(struct lease *l, int64_t now)
{
    l->not_before = now;
    l->safe_known = false;
}

static bool polls_less(struct policy_setting a, struct policy_setting b)
{
    return b.on && (!a.on || a.period > b.period);
}

void lease_judge(struct lease *l, enum limit_state worst, struct policy_setting in_force, int64_t now)
{
    if (in_force.on != l->in_force.on || in_force.period != l->in_force.period)
        l->in_force_since = now;
    l->in_force = in_force;
    if (worst != LIMIT_HELD || now - l->in_force_since < l->shows)
        return;
    l->safe_known = true;
    l->safe = in_force;
}

bool lease_lost(struct lease *l, int64_t now)
{
    if (!l->held || now < l->until)
        return false;
    l->held = false;
    l->lost++;
    return true;
}

bool lease_retreats(struct lease *l, enum limit_state worst, struct policy_setting *safe)
{
    if (l->held || l->lost == 0 || l->retreated || worst != LIMIT_VIOLATED || !l->safe_known ||
        !polls_less(l->safe, l->in_force))
        return false;
    l->retreated = true;
    *safe = l->safe;
    return true;
}
