// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Elastic compression (after Buttazzo et al., 1998): periods are springs. From the estimated cost of a poll follows the
 * period at which the use is ALLOWANCE_TARGET of the budget, and it is set at once: a decision rests on what polling
 * costs, not on how the last decision turned out, so a dead time does not make it swing. Where a budget is for all
 * members together and what they want exceeds it, each is compressed to its share by weight; those that want less keep
 * that, and those that reach their longest period give no more.
 *
 * A change is worth it only beyond what chance could make of the estimate; shortening waits until the last change
 * shows, and goes by steps. Where nothing is known of the cost, only qualities move the period, and only upwards.
 */
#include "base/clock.h"
#include "resmgr/allowance.h"
#include "resmgr/demand.h"
#include "resmgr/resort.h"
#include "resmgr/rule.h"
#include "resmgr/sense.h"

#include <math.h>

#define WORTH_IT     0.0953 /* ln 1.1: a smaller change is none; and 1.1 times the target is just within the budget */
#define LENGTHEN_MAX 0.25   /* ln: chance may excuse this much where the period is to become longer, ... */
#define WANDERS      0.262  /* ln 1.3: what a node uses wanders by a fifth to a third within seconds */
#define MODERATION   0.93   /* of the target, to which a period is shortened: it stays in the middle of the band */
#define SHORTEN_MAX  1.0    /* ln: ... and this much where it is to become shorter */
#define FAR_BELOW    0.405  /* ln 1.5: beyond it shortening does not wait ... */
#define FAR_OVER     1.386  /* ln 4: ... nor lengthening: what uses that much is no hiccup */
#define PATIENCE     (2 * CLOCK_S)
#define REVERSAL     (10 * CLOCK_S) /* a change that is taken back within it was for something that passes */
#define REVERSED_MIN (4 * CLOCK_S)
#define REVERSED_MAX (8 * CLOCK_S)

enum {
    SHORTEN_STEP = 4, /* by no more than this factor at once */
    HALVINGS = 60,    /* of an interval: as exact as a double */
};

/*
 * Of policy_member.own: ns that small changes wait since one was taken back; which way the last one went; for how long,
 * in ns, one is wanted, and which way.
 */
enum { OWN_PATIENCE, OWN_WAY, OWN_WANTED, OWN_WANTED_WAY };

/* What a member is to come to. */
struct aim {
    int64_t period;
    double use; /* at most; it may be out of reach */
};

/* While others do not matter. */
static struct aim aim_alone(const struct policy_state *s, const struct policy_observation *seen, uint32_t i, double own)
{
    const struct policy_member *m = &s->members[i];
    int64_t shortest = allowance_desired(s, i, fmin(own, allowance_whole(seen)));
    struct aim aim = {.use = ALLOWANCE_TARGET * own};
    if (m->allowance.shortest > shortest)
        shortest = m->allowance.shortest;
    if (!m->sense.known)
        aim.period = m->period > shortest ? m->period : shortest;
    else
        aim.period = isfinite(own) ? sense_period(&m->sense, aim.use, shortest, s->period_max) : shortest;
    return aim;
}

/* What a member uses under pressure `share` for each unit of weight: no more than it wants, no less than it must. */
static double give(const struct policy_member *m, double share, double least, double most)
{
    return fmin(most, fmax(least, share * m->weight));
}

/* Compresses what the members want until it fits in `target` together: finds the share for each unit of weight. */
static void compress(const struct policy_state *s, double target, struct aim aims[])
{
    double least[POLICY_MEMBERS_MAX], most[POLICY_MEMBERS_MAX], low = 0, high = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct policy_member *m = &s->members[i];
        bool counts = m->on && m->sense.known;
        least[i] = counts ? sense_use(&m->sense, s->period_max) : 0;
        most[i] = counts ? sense_use(&m->sense, aims[i].period) : 0;
        high = fmax(high, most[i] / m->weight);
    }
    for (int round = 0; round < HALVINGS; round++) {
        double share = (low + high) / 2, sum = 0;
        for (uint32_t i = 0; i < s->count; i++)
            sum += give(&s->members[i], share, least[i], most[i]);
        *(sum > target ? &high : &low) = share;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const struct policy_member *m = &s->members[i];
        if (!m->on || !m->sense.known)
            continue;
        aims[i].use = fmin(aims[i].use, low * m->weight);
        aims[i].period = sense_period(&m->sense, give(m, low, least[i], most[i]), aims[i].period, s->period_max);
    }
}

/* Whether the node keeps the budget that bounds it within the sampling interval. */
static bool is_kept(const struct policy_observation *seen, uint32_t i, const struct policy_member *m, struct aim aim)
{
    double own = allowance_own(seen, i);
    return seen->members[i].kept && aim.use >= ALLOWANCE_TARGET * own && m->sense.use <= own;
}

/* Nothing is lost by waiting then: most of what is off by little passes. */
static bool is_patient(struct policy_member *m, double way, double off, int64_t elapsed)
{
    double *wanted = &m->own[OWN_WANTED];
    *wanted = m->own[OWN_WANTED_WAY] == way ? *wanted + (double)elapsed : 0;
    m->own[OWN_WANTED_WAY] = way;
    return off < (way > 0 ? FAR_OVER : FAR_BELOW) && *wanted < fmax(PATIENCE, m->own[OWN_PATIENCE]);
}

/* Longer for a budget. A node that is starved of CPU does not use it, dear as its few polls look. */
static bool is_too_short(const struct policy_observation *seen, uint32_t i, const struct policy_member *m,
                         struct aim aim, double over)
{
    bool kept = is_kept(seen, i, m, aim);
    return m->sense.windows > 0 && m->sense.use > aim.use &&
           over > (kept ? WANDERS : fmin(fmax(WORTH_IT, m->sense.spread), LENGTHEN_MAX));
}

/* Shorter: once the last change shows. */
static bool is_too_long(const struct policy_state *s, const struct policy_observation *seen, uint32_t i,
                        const struct policy_member *m, struct aim aim, double under)
{
    double there = sense_use(&m->sense, aim.period);
    double least = there > MODERATION * aim.use ? WANDERS : WORTH_IT; /* the budget is what bounds it, or not */
    return under > sense_doubt(&m->sense, least, SHORTEN_MAX) && m->since >= allowance_settling(s, seen, i);
}

/* What is taken back soon makes small changes wait longer; a large one, or a long rest, takes half of that back. */
static void remember(struct policy_member *m, double way, double size)
{
    double *patience = &m->own[OWN_PATIENCE];
    if (size > FAR_BELOW || m->since >= REVERSAL)
        *patience /= 2;
    else if (way * m->own[OWN_WAY] < 0)
        *patience = fmin(fmax(2 * *patience, REVERSED_MIN), REVERSED_MAX);
    m->own[OWN_WAY] = way;
    m->own[OWN_WANTED_WAY] = 0;
}

static int64_t shortened(const struct policy_state *s, const struct policy_member *m, struct aim aim)
{
    int64_t to = sense_period(&m->sense, MODERATION * aim.use, aim.period, s->period_max);
    return to > m->period / SHORTEN_STEP ? to : m->period / SHORTEN_STEP;
}

/* Which way a budget, or the lack of one, moves the period: 1 longer, -1 shorter, 0 not. */
static double way_of(const struct policy_state *s, const struct policy_observation *seen, uint32_t i,
                     struct policy_member *m, struct aim aim)
{
    double use = sense_use(&m->sense, m->period); /* NaN: unknown, and nothing is compared */
    double over = log(use / aim.use), under = log(sense_use(&m->sense, aim.period) / use);
    double way = aim.period > m->period && is_too_short(seen, i, m, aim, over)      ? 1
                 : aim.period < m->period && is_too_long(s, seen, i, m, aim, under) ? -1
                                                                                    : 0;
    bool waits = is_patient(m, way, way > 0 ? over : under, seen->members[i].elapsed);
    return waits && is_kept(seen, i, m, aim) && !(way > 0 && m->sense.stepped) ? 0 : way;
}

static void apply(const struct policy_state *s, const struct policy_observation *seen, uint32_t i,
                  struct policy_member *m, struct aim aim)
{
    int64_t before = m->period;
    double way = way_of(s, seen, i, m, aim);
    if (m->period < m->allowance.shortest)
        m->period = aim.period;
    else if (way != 0)
        m->period = way > 0 ? aim.period : shortened(s, m, aim);
    else if (aim.period < m->period && m->period > demand_bound(m, m->period))
        m->period = aim.period; /* worth it, whatever it costs: the demand itself waits until the last change shows */
    if (way != 0)
        remember(m, way, fabs(log((double)m->period / (double)before)));
}

void policy_rule_elastic(struct policy_state *state, const struct policy_observation *seen,
                         struct policy_actions *actions)
{
    struct aim aims[POLICY_MEMBERS_MAX];
    double whole = allowance_whole(seen);
    for (uint32_t i = 0; i < state->count; i++) {
        double own = allowance_own(seen, i);
        demand_step(state, seen, i, actions);
        allowance_step(state, seen, i);
        resort_step(state, seen, i, own, actions);
        aims[i] = aim_alone(state, seen, i, own);
    }
    if (isfinite(whole)) {
        resort_whole(state, seen, whole, actions);
        compress(state, ALLOWANCE_TARGET * whole, aims);
    }
    for (uint32_t i = 0; i < state->count; i++)
        if (state->members[i].on)
            apply(state, seen, i, &state->members[i], aims[i]);
}
