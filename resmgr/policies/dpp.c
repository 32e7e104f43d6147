// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * DPP, dynamic polling period, to the letter of the dissertation (5.5.3.2): the period doubles at a sampling instant
 * where a limit is broken; where the double would pass the upper bound, collection is off instead, and on again, at
 * that bound, at the first instant at which no known limit is broken; the period halves at every instant at which none
 * is broken, down to the lower bound, which is reached exactly. Where no limit is known it keeps what it has. Members
 * are one gang: each does the same at the same instant.
 */
#include "resmgr/rule.h"

static void lengthen(const struct policy_state *s, struct policy_member *m)
{
    if (m->period > s->period_max / 2)
        m->on = false;
    else
        m->period *= 2;
}

static void shorten(const struct policy_state *s, struct policy_member *m)
{
    if (m->period > s->period_min)
        m->period = m->period / 2 < s->period_min ? s->period_min : m->period / 2;
}

void policy_rule_dpp(struct policy_state *state, const struct policy_observation *seen, struct policy_actions *actions)
{
    (void)actions;
    enum limit_state worst = policy_worst(seen);
    if (worst == LIMIT_UNKNOWN)
        return;
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        if (m->on && worst == LIMIT_VIOLATED) {
            lengthen(state, m);
        } else if (m->on) {
            shorten(state, m);
        } else if (worst == LIMIT_HELD) {
            m->on = true;
            m->period = state->period_max;
        }
    }
}
