// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Which broken limits of a run start a snapshot: a pure function of (state, what broke, now). There is one at a time,
 * so a limit starts one in its duration at most, however often it breaks; what breaks meanwhile is refused, and
 * counted.
 */
#ifndef BEZEL_ECS_TRIGGER_H
#define BEZEL_ECS_TRIGGER_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

struct trigger {
    uint32_t number;  /* of the latest snapshot, from 1; 0: there was none */
    int64_t until;    /* when it is over */
    uint64_t refused; /* limits that broke while one was under way */
};

/**
 * Limit `limit` broke `times` times, the latest of them at `at`; this is known at `now`. Returns whether a snapshot
 * begins: then it has the number t->number. What no limit of `e` can have asked for is ignored: it comes from a link.
 */
bool trigger_take(struct trigger *t, const struct experiment *e, int64_t limit, uint64_t times, int64_t at,
                  int64_t now);

/** What is left of the snapshot under way, ns; 0: none is. */
int64_t trigger_left(const struct trigger *t, int64_t now);

#endif
