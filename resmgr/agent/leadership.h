// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Decides whether a node applies a setpoint of a resource manager (adapt.by: manager). Pure: no clock, no link; one
 * owner.
 *
 * A setpoint is applied only if all of the following holds. Otherwise it changes nothing and is counted.
 * - It answers an observation that this bezeld made after the last override, and not longer ago than the setpoint's
 *   expiry. Both times are of the node's own monotonic clock, so other clocks do not matter.
 * - Its leadership is the newest: the one followed now, or one with a higher epoch than any followed so far. Of two
 *   holders of one epoch the first stays.
 * - Its number is higher than that of the last setpoint of that leadership: it is no copy, and not out of order.
 *
 * The period is clamped to the bounds of the file, which is counted. A leadership that is not renewed in time is lost,
 * once: the node keeps how it polls. If a `hold` limit is in violation then, the node returns, once, to the last
 * setting under which all of them held, if that polls less.
 */
#ifndef BEZEL_RESMGR_AGENT_LEADERSHIP_H
#define BEZEL_RESMGR_AGENT_LEADERSHIP_H

#include "base/clock_units.h"
#include "mdr/parts.h"
#include "resmgr/policies/policy.h"

struct message_setpoint;

#define LEADERSHIP_EXPIRY_MAX (900 * CLOCK_MS) /* whatever a setpoint says */
#define LEADERSHIP_LASTS_MAX  (10 * CLOCK_S)

enum leadership_answer {
    LEADERSHIP_APPLIED,
    LEADERSHIP_EXPIRED,  /* it answers an old observation, one of an earlier bezeld, or one before an override */
    LEADERSHIP_OUTDATED, /* of a leadership that is not the newest */
    LEADERSHIP_REPEATED,
    LEADERSHIP_ANSWERS,
};

struct leadership {
    uint64_t life;
    int64_t period_min, period_max;
    bool moves; /* the policy moves the period; else it stays as set */

    struct message_leadership holder; /* the newest; epoch 0: none yet */
    uint64_t sequence;                /* number of the last setpoint of `holder` that was applied */
    bool held;                        /* not lost */
    int64_t until;                    /* lost at this time */
    int64_t not_before;               /* setpoints that answer an earlier observation were overridden */
    int64_t shows;                    /* ns after which all observations show how the node polls */
    struct policy_setting in_force;
    int64_t in_force_since;
    bool safe_known, retreated;
    struct policy_setting safe;            /* the last one under which all limits held */
    uint64_t answered[LEADERSHIP_ANSWERS]; /* setpoints received, by answer */
    uint64_t clamped, lost, taken;         /* setpoints clamped; leaderships lost; taken */
};

/** A setpoint to apply. */
struct leadership_command {
    struct policy_setting setting;
    bool taken; /* of a leadership that was not held before */
};

/** `life`: above those of earlier bezelds of this session; `newest`: the leadership that they followed last. */
void leadership_start(struct leadership *l, const struct experiment *e, uint64_t life,
                      struct message_leadership newest);

/**
 * A setpoint arrived at `now`. `desired` is the period, in ns, that the file or the operator set: it stays where the
 * policy does not move periods. Writes *command only with LEADERSHIP_APPLIED.
 */
enum leadership_answer leadership_receive(struct leadership *l, const struct message_setpoint *s, int64_t desired,
                                          int64_t now, struct leadership_command *command);

/** An operator changed at `now` how to poll: setpoints that answer earlier observations are not applied. */
void leadership_override(struct leadership *l, int64_t now);

/** A sampling instant at `now`: the worst state of the `hold` limits, and how the node polls. */
void leadership_judge(struct leadership *l, enum limit_state worst, struct policy_setting in_force, int64_t now);

/** Whether the leadership is lost at `now`: true once for each loss. */
bool leadership_lost(struct leadership *l, int64_t now);

/** Whether the node is to return to *safe: the leadership is lost and a limit violated. True once for each loss. */
bool leadership_retreats(struct leadership *l, enum limit_state worst, struct policy_setting *safe);

#endif
