// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Three nodes of a manager under test: each observation stays until a test changes it, and each node applies its
 * setpoints. */
#ifndef BEZEL_TESTS_LIB_MANAGED_H
#define BEZEL_TESTS_LIB_MANAGED_H

#include "base/clock.h"
#include "resmgr/manager/manager.h"
#include "tests/lib/test.h"

enum { NODES = 3 };

#define EVERY (100 * CLOCK_MS) /* the sampling period */

static struct message_observation how[NODES];
static struct message_setpoint setpoint; /* last */
static struct manager *m;
static int64_t now;

/** A sampling instant of `node`. */
static inline void observe(uint32_t node)
{
    how[node].at = (uint64_t)now;
    how[node].step++;
    manager_receive(m, node, &how[node], now);
}

/** The node gets a setpoint, if one is sent, and applies it. Returns whether one was sent. */
static inline bool deliver(uint32_t node)
{
    if (!manager_send(m, node, now, &setpoint))
        return false;
    how[node].on = setpoint.on;
    how[node].period_ns = setpoint.period_ns;
    how[node].leadership = setpoint.leadership;
    how[node].sequence = setpoint.sequence;
    how[node].shed = setpoint.shed;
    if (setpoint.knob_count > 0 && setpoint.knobs[0].given)
        how[node].knobs[0].value = setpoint.knobs[0].value;
    return true;
}

/** An instant of all nodes and the decision that follows. */
static inline void decide(void)
{
    now += EVERY;
    for (uint32_t i = 0; i < NODES; i++)
        observe(i);
    assert_true(manager_step(m, now));
}

/** The same; then all get their setpoints. */
static inline void round_of_all(void)
{
    decide();
    for (uint32_t i = 0; i < NODES; i++)
        deliver(i);
}

#endif
