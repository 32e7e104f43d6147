// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The doorbell wait: bezeld sleeps until a process wakes it. A word of the doorbell shows that the external sensor is
 * asleep. A process that sets its wake bit, or is new, reads this word and wakes the external sensor by a futex. So the
 * SUT needs no descriptor, which it could lose, and no path, which it could not reach; and it makes no system call
 * unless the external sensor is asleep.
 *
 * A thread of bezeld waits on the futex, and makes a descriptor readable, which can be polled beside links. The thread
 * runs only when sleep begins and when it ends.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_DOORBELL_WAIT_H
#define BEZEL_SENSOR_EXTERNAL_DOORBELL_WAIT_H

#include "base/err.h"
#include "sensor/shm/segment.h"

#include <stdbool.h>

struct doorbell_wait;

/** Starts the thread for `doorbell`, which stays mapped until doorbell_wait_close(). Returns 0 with *b, BEZEL_ENOMEM or
 * BEZEL_ESYS. */
int doorbell_wait_open(struct doorbell *doorbell, struct doorbell_wait **b) BEZEL_MUST_CHECK;

/** Ends sleep and thread, and frees it. NULL is allowed. */
void doorbell_wait_close(struct doorbell_wait *b);

/** A descriptor that becomes readable when a process ends the sleep; doorbell_wait_hush() resets it. */
int doorbell_wait_fd(const struct doorbell_wait *b);

/** Begins sleep: processes wake us from now on. The caller then checks for wake bits and arrivals from before. */
void doorbell_wait_sleep(struct doorbell_wait *b);

/** Whether no process has ended the sleep since doorbell_wait_sleep(). */
bool doorbell_wait_sleeps(const struct doorbell_wait *b);

/** Resets the descriptor. Call it before doorbell_wait_sleeps(), so that no wake is missed. */
void doorbell_wait_hush(struct doorbell_wait *b);

/** Ends sleep. */
void doorbell_wait_wake(struct doorbell_wait *b);

#endif
