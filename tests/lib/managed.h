// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Three nodes of a manager under test: what each shows stands until a test changes it, and each does what it is told.
 */
#ifndef BEZEL_TESTS_LIB_MANAGED_H
#define BEZEL_TESTS_LIB_MANAGED_H

#include "base/clock.h"
#include "resmgr/manager/manager.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NODES = 3 };

#define EVERY (100 * CLOCK_MS) /* the sampling period */

static struct message_observation how[NODES];
static struct message_setpoint told; /* last */
static struct manager *m;
static int64_t now;

/** An instant of `node`. */
static inline void hear(uint32_t node)
{
    how[node].at = (uint64_t)now;
    how[node].step++;
    manager_receive(m, node, &how[node], now);
}

/** The node does what it is told, if it is. Whether it was. */
static inline bool tell(uint32_t node)
{
    if (!manager_send(m, node, now, &told))
        return false;
    how[node].on = told.on;
    how[node].period_ns = told.period_ns;
    how[node].leadership = told.leadership;
    how[node].sequence = told.sequence;
    how[node].shed = told.shed;
    if (told.knob_count > 0 && told.knobs[0].given)
        how[node].knobs[0].value = told.knobs[0].value;
    return true;
}

/** An instant of all nodes and the decision that follows. */
static inline void decide(void)
{
    now += EVERY;
    for (uint32_t i = 0; i < NODES; i++)
        hear(i);
    assert_true(manager_step(m, now));
}

/** The same, and all are told. */
static inline void round_of_all(void)
{
    decide();
    for (uint32_t i = 0; i < NODES; i++)
        tell(i);
}

#endif
