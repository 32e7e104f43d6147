// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Elastic compression (after Buttazzo et al., 1998): periods are springs. The estimated cost of a poll gives the period
 * at which the use is QOS_BACKOFF_TARGET of the budget, and that is set at once. The decision follows from what polling
 * costs, not from the effect of the last decision, so a dead time causes no oscillation. If a budget is for all members
 * together and they want more, each is compressed in proportion to its weight. Members that want less keep that, and
 * those at their longest period give no more.
 *
 * A change must exceed what chance could make of the estimate. Shortening waits until the last change shows, and goes
 * by steps. While the cost is unknown, only qualities move the period, and only upwards.
 */
#include "base/clock_units.h"
#include "resmgr/control/constraints.h"
#include "resmgr/control/cost_model.h"
#include "resmgr/control/cutoff.h"
#include "resmgr/control/freshness.h"
#include "resmgr/control/qos_backoff.h"
#include "resmgr/policies/policy_internal.h"

#include <math.h>

#define WORTH_IT     0.0953 /* ln 1.1: less is not worthwhile; 1.1 times the target is just within the budget */
#define LENGTHEN_MAX 0.25   /* ln: at most this much counts as chance when the period is to become longer, ... */
#define WANDERS      0.262  /* ln 1.3: what a node uses wanders by a fifth to a third within seconds */
#define MODERATION   0.93   /* of the target: a period is shortened to this, the middle of the band */
#define SHORTEN_MAX  1.0    /* ln: ... and this much when it is to become shorter */
#define FAR_BELOW    0.405  /* ln 1.5: beyond it shortening does not wait for patience, ... */
#define FAR_OVER     1.386  /* ln 4: ... nor lengthening: so much use is no hiccup */
#define PATIENCE     (2 * CLOCK_S)
#define REVERSAL     (10 * CLOCK_S) /* a change that is undone within this answered something transient */
#define REVERSED_MIN (4 * CLOCK_S)
#define REVERSED_MAX (8 * CLOCK_S)

enum {
    SHORTEN_STEP = 4, /* by no more than this factor at once */
    HALVINGS = 60,    /* of an interval: as exact as a double */
};

/*
 * In policy_member.own: ns that small changes wait, since one was undone; direction of the last change; ns for which a
 * change has been wanted, and its direction.
 */
enum { OWN_PATIENCE, OWN_WAY, OWN_WANTED, OWN_WANTED_WAY };

#define TIGHT       0.0953 /* ln 1.1: worth it with a limit on the flow of records */
#define TIGHT_USE   0.75   /* of the budget, where records are not lost at that: the rest is for bursts, ... */
#define TIGHT_MOST  0.9    /* ... and this much, bursts included, where they would be */
#define TIGHT_ALL   0.93   /* of the budget, for polls that rings need: bursts get the rest */
#define TIGHT_LEAST 0.2    /* of what the budget leaves beside the base: for polls, however much bursts need */
#define TIGHT_ROOM  0.5    /* of the same: at least so much instead of TIGHT_USE */
#define TIGHT_OVER  0.96   /* of the budget: two windows above it show that a poll costs more than it did */

/* The target of a member. */
struct aim {
    struct constraints alone; /* without the other members */
    bool free;  /* no budget: only qualities and limits on the flow of records bound the period from below */
    bool tight; /* a limit on the flow of records wants all that the budget allows, and the node keeps it */
    int64_t period;
    double use; /* percent, at most; may be out of reach */
};

static bool has_flow_limit(const struct policy_observation *seen, uint32_t i)
{
    bool found = false;
    for (const struct policy_limit *l = policy_first_about(seen, i); l; l = policy_next_about(seen, i, l))
        found = found || l->on_flow;
    return found;
}

/*
 * With a limit on the flow of records: midway between the shortest period that the budget has room for, bursts
 * included, and the longest at which no ring is found full; but so short that most of the budget is used, for loads
 * that grow. Where that room is not enough for the rings, polls come before bursts.
 */
static void tighten(const struct policy_member *m, struct aim *aim)
{
    const struct constraints *c = &aim->alone;
    double base = m->cost_model.base, room = c->budget - base;
    double most = fmax(TIGHT_MOST * c->budget - m->freshness.excess, base + TIGHT_LEAST * room);
    int64_t shortest = cost_model_period(&m->cost_model, most, c->shortest, c->longest);
    double use = fmax(TIGHT_USE * c->budget, base + TIGHT_ROOM * room);
    int64_t ample = cost_model_period(&m->cost_model, fmin(most, use), c->shortest, c->longest);
    double lossless = (double)freshness_lossless(m), least = fmax(lossless, (double)c->shortest);
    if (lossless > 0 && least < (double)shortest) /* rings would be full at each poll, not only in bursts */
        shortest = cost_model_period(&m->cost_model, TIGHT_ALL * c->budget, (int64_t)least, shortest);
    double midway = sqrt(lossless * (double)shortest);
    aim->tight = true;
    aim->period = lossless <= 0 || midway > (double)ample ? ample
                  : midway > (double)shortest             ? (int64_t)midway
                                                          : shortest;
    if (!freshness_is_pressed(m, c->settling)) /* the model is wrong: the budget has room for more polls */
        aim->period = freshness_bound(m, aim->period);
    aim->use = fmin(TIGHT_MOST * c->budget, cost_model_use(&m->cost_model, aim->period));
}

static struct aim aim_alone(const struct policy_member *m, struct constraints c, bool tight)
{
    struct aim aim = {.alone = c, .period = c.shortest, .use = QOS_BACKOFF_TARGET * c.budget};
    if (!m->cost_model.known)
        aim.period = m->period > c.shortest ? m->period : c.shortest;
    else if (isfinite(c.budget) && tight)
        tighten(m, &aim);
    else if (isfinite(c.budget))
        aim.period = cost_model_period(&m->cost_model, aim.use, c.shortest, c.longest);
    return aim;
}

/* The use of a member that gets `share` per unit of weight: within what it needs and what it wants. */
static double give(const struct policy_member *m, double share, double least, double most)
{
    return fmin(most, fmax(least, share * m->weight));
}

/* Compresses the members until together they fit in `target`: finds the share per unit of weight. */
static void compress(const struct policy_state *s, double target, struct aim aims[])
{
    double least[POLICY_MEMBERS_MAX], most[POLICY_MEMBERS_MAX], low = 0, high = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct policy_member *m = &s->members[i];
        bool counts = m->on && m->cost_model.known;
        least[i] = counts ? cost_model_use(&m->cost_model, s->period_max) : 0;
        most[i] = counts ? cost_model_use(&m->cost_model, aims[i].period) : 0;
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
        if (!m->on || !m->cost_model.known)
            continue;
        aims[i].use = fmin(aims[i].use, low * m->weight);
        aims[i].period =
            cost_model_period(&m->cost_model, give(m, low, least[i], most[i]), aims[i].period, s->period_max);
    }
}

/* Whether the node itself keeps within the budget that bounds it (cpu_budget.h). */
static bool is_kept(const struct policy_measure *measure, const struct policy_member *m, struct aim aim)
{
    double own = aim.alone.budget;
    return measure->kept && (aim.tight || aim.use >= QOS_BACKOFF_TARGET * own) && m->cost_model.use <= own;
}

/* Whether a change may wait: most small deviations pass. */
static bool is_patient(struct policy_member *m, double way, double off, int64_t elapsed)
{
    double *wanted = &m->own[OWN_WANTED];
    *wanted = m->own[OWN_WANTED_WAY] == way ? *wanted + (double)elapsed : 0;
    m->own[OWN_WANTED_WAY] = way;
    return off < (way > 0 ? FAR_OVER : FAR_BELOW) && *wanted < fmax(PATIENCE, m->own[OWN_PATIENCE]);
}

/* The use itself must exceed the target: a node starved of CPU uses little, even if its few polls look expensive. */
static bool is_too_short(const struct policy_member *m, struct aim aim, bool kept, double over)
{
    return m->cost_model.windows > 0 && m->cost_model.use > aim.use &&
           over > (aim.tight ? TIGHT
                   : kept    ? WANDERS
                             : fmin(fmax(WORTH_IT, m->cost_model.spread), LENGTHEN_MAX));
}

/* Only when the last change shows. */
static bool is_too_long(const struct policy_member *m, struct aim aim, double under)
{
    if (aim.tight)
        return under > TIGHT;
    double there = cost_model_use(&m->cost_model, aim.period);
    double least = there > MODERATION * aim.use ? WANDERS : WORTH_IT; /* more if the budget bounds the period */
    return under > cost_model_uncertainty(&m->cost_model, least, SHORTEN_MAX) && m->since >= aim.alone.settling;
}

/* Undoing a recent change makes small changes wait longer; a large one, or a long pause, halves that wait. */
static void note_change(struct policy_member *m, double way, double size)
{
    double *patience = &m->own[OWN_PATIENCE];
    if (size > FAR_BELOW || m->since >= REVERSAL)
        *patience /= 2;
    else if (way * m->own[OWN_WAY] < 0)
        *patience = fmin(fmax(2 * *patience, REVERSED_MIN), REVERSED_MAX);
    m->own[OWN_WAY] = way;
    m->own[OWN_WANTED_WAY] = 0;
}

static int64_t shortened(const struct policy_member *m, struct aim aim)
{
    if (aim.tight)
        return aim.period;
    int64_t to = cost_model_period(&m->cost_model, MODERATION * aim.use, aim.period, aim.alone.longest);
    return to > m->period / SHORTEN_STEP ? to : m->period / SHORTEN_STEP;
}

/* The direction in which the budget, or its absence, moves the period: 1 longer, -1 shorter, 0 neither. */
static double way_of(const struct policy_measure *measure, struct policy_member *m, struct aim aim)
{
    bool kept = is_kept(measure, m, aim);
    double use = cost_model_use(&m->cost_model, m->period); /* NaN: unknown; all comparisons are false */
    double over = log(use / aim.use), under = log(cost_model_use(&m->cost_model, aim.period) / use);
    if (aim.tight) { /* the use may depend little on the period, which rings need nevertheless */
        over = log((double)aim.period / (double)m->period);
        under = -over;
    }
    double way = aim.period > m->period && is_too_short(m, aim, kept, over) ? 1
                 : aim.period < m->period && is_too_long(m, aim, under)     ? -1
                                                                            : 0;
    bool waits = is_patient(m, way, way > 0 ? over : under, measure->elapsed);
    bool at_once = aim.tight || (way > 0 && m->cost_model.stepped);
    return waits && kept && !at_once ? 0 : way;
}

static void apply(const struct policy_measure *measure, struct policy_member *m, struct aim aim)
{
    int64_t before = m->period;
    double way = way_of(measure, m, aim);
    bool at_rest = aim.free && aim.period < m->period; /* nothing speaks for a longer period any more */
    if (m->period < m->qos_backoff.shortest || at_rest)
        m->period = aim.period;
    else if (way != 0)
        m->period = way > 0 ? aim.period : shortened(m, aim);
    else if (!aim.tight && aim.period < m->period && m->period > freshness_bound(m, m->period))
        m->period = aim.period; /* at once, for a flow limit: its bound itself waited until the last change shows */
    if (way != 0)
        note_change(m, way, fabs(log((double)m->period / (double)before)));
}

void policy_rule_elastic(struct policy_state *state, const struct policy_observation *seen,
                         struct policy_actions *actions)
{
    struct aim aims[POLICY_MEMBERS_MAX];
    double global = qos_backoff_strictest(seen, POLICY_ALL);
    for (uint32_t i = 0; i < state->count; i++) {
        struct constraints c = constraints_step(state, seen, i, qos_backoff_strictest(seen, (int)i), actions);
        bool tight = seen->members[i].kept && has_flow_limit(seen, i);
        state->members[i].cost_model.most = tight && isfinite(c.budget) ? TIGHT_OVER * c.budget : 0;
        aims[i] = aim_alone(&state->members[i], c, tight);
        aims[i].free = isinf(c.budget) && isinf(global);
    }
    if (isfinite(global)) {
        cutoff_global(state, global, actions);
        compress(state, QOS_BACKOFF_TARGET * global, aims);
    }
    for (uint32_t i = 0; i < state->count; i++)
        if (state->members[i].on)
            apply(&seen->members[i], &state->members[i], aims[i]);
}
