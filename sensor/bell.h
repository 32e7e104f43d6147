// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Sleeping until somebody knocks. Who knocks, or is new, finds by a word of the doorbell that the external sensor
 * sleeps, and wakes it by a futex: the system under test has no descriptor for it that it could lose, no path that it
 * could not reach, and makes no system call while nobody sleeps. A thread of ours waits on that futex and makes an
 * event of it that can be waited for beside links. It runs when sleep begins and when it ends, never in between.
 */
#ifndef BEZEL_SENSOR_BELL_H
#define BEZEL_SENSOR_BELL_H

#include "base/err.h"
#include "sensor/segment.h"

#include <stdbool.h>

struct bell;

/** A sleeper at `doorbell`, which stays mapped until bell_close(). Returns 0 with *b, or BEZEL_ENOMEM, BEZEL_ESYS. */
int bell_open(struct doorbell *doorbell, struct bell **b) BEZEL_MUST_CHECK;

/** NULL is allowed. */
void bell_close(struct bell *b);

/** Becomes readable where somebody wakes us, or did so a moment ago; bell_hush() makes it silent again. */
int bell_fd(const struct bell *b);

/** From now on who knocks or is new wakes us. Look after it whether somebody has already. */
void bell_sleep(struct bell *b);

/** Whether nobody has woken us since bell_sleep(). */
bool bell_sleeps(const struct bell *b);

/** Makes the descriptor silent, until somebody wakes us; ask bell_sleeps() behind it. */
void bell_hush(struct bell *b);

/** Ends sleep. */
void bell_wake(struct bell *b);

#endif
