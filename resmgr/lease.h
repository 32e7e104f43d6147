// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Whom a node obeys where a resource manager decides for it (adapt.by: manager). Pure: no clock, no link; one owner.
 *
 * A setting is obeyed only where all of this holds; else it changes nothing and is counted:
 * - It answers an observation of this life of the daemon, made after the last change by anybody else, not longer ago
 *   than the setting's expiry, by the node's own clock. What was under way for too long is thus known as stale whatever
 *   clocks do elsewhere: the time is taken between two readings of one monotonic clock.
 * - Its lease is the newest: of a greater epoch than any obeyed so far, or the one that is held. An epoch that was
 *   followed by a greater one never comes back, and of two holders of one epoch the first one stays.
 * - It follows the last setting of that lease: a copy, or one that was overtaken, has a number that is not above.
 *
 * The period of what is obeyed is cut to the bounds of the file, which is counted. A lease that is not renewed in time
 * is lost, once: the node keeps how it polls. Where a limit to be held is then in violation it goes back, once, to the
 * last setting under which all were held, as far as that polls less.
 */
#ifndef BEZEL_RESMGR_LEASE_H
#define BEZEL_RESMGR_LEASE_H

#include "base/clock.h"
#include "mdr/message.h"
#include "resmgr/policy.h"

#define LEASE_EXPIRY_MAX (900 * CLOCK_MS) /* whatever a setting says: what is a second late is not obeyed */
#define LEASE_LASTS_MAX  (10 * CLOCK_S)

enum lease_answer {
    LEASE_OBEYED,
    LEASE_EXPIRED,  /* it answers what is too long ago, or another life, or was overtaken by an operator */
    LEASE_OUTDATED, /* of a lease that is not the newest */
    LEASE_REPEATED,
    LEASE_ANSWERS,
};

struct lease {
    uint64_t life;
    int64_t period_min, period_max;
    bool moves; /* the policy moves the period: else it is the one that was set */

    struct message_lease holder; /* the newest; epoch 0: none yet */
    uint64_t sequence;           /* obeyed last, of that one */
    bool held;                   /* and not lost */
    int64_t until;               /* it is lost then */
    int64_t not_before;          /* what answers an observation before this was overtaken */
    int64_t shows;               /* ns after which all that is observed shows how the node polls */
    struct policy_setting in_force;
    int64_t in_force_since;
    bool safe_known, retreated;
    struct policy_setting safe;       /* under which all limits were held last, as far as they showed it */
    uint64_t answered[LEASE_ANSWERS]; /* settings, by what became of them */
    uint64_t cut, lost, taken;        /* cut to the bounds; leases lost; leases taken */
};

/** What an obeyed setting says. */
struct lease_order {
    struct policy_setting setting;
    bool taken; /* by a lease that was not held until now */
};

/** Nobody is heard yet. `life`: above those of the daemon's former lives; `newest`: the lease that they obeyed last. */
void lease_start(struct lease *l, const struct experiment *e, uint64_t life, struct message_lease newest);

/** A setting came at `now`, the node polling with `desired` as file or operator want it: *order where it is obeyed. */
enum lease_answer lease_hear(struct lease *l, const struct message_setting *s, int64_t desired, int64_t now,
                             struct lease_order *order);

/** Somebody else, an operator, said at `now` how to poll: what was decided before counts no longer. */
void lease_overtake(struct lease *l, int64_t now);

/** A sampling instant at `now`: `worst` of the limits to be held, and how the node polls. */
void lease_judge(struct lease *l, enum limit_state worst, struct policy_setting in_force, int64_t now);

/** Whether the lease is lost at `now`: true once for each loss. */
bool lease_lost(struct lease *l, int64_t now);

/** Whether the node, its lease lost and a limit in violation, is to go back to *safe: true once for each loss. */
bool lease_retreats(struct lease *l, enum limit_state worst, struct policy_setting *safe);

#endif
