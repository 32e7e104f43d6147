// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The pause before a failed action is tried again: it doubles with each failure in a row. No clock is read; the caller
 * passes the time that has elapsed. One owner. Pure.
 */
#ifndef BEZEL_BASE_RETRY_TIMER_H
#define BEZEL_BASE_RETRY_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/** All zeros: nothing has failed, and a try is due. */
struct retry_timer {
    int64_t waited; /* ns since the last try; the caller sets it to 0 at each one */
    int64_t pause;  /* ns to wait before the next one; 0: nothing has failed yet */
};

/** `elapsed` ns have passed, 0 or more. */
void retry_timer_pass(struct retry_timer *t, int64_t elapsed);

/** Whether the pause is over. */
bool retry_timer_is_due(const struct retry_timer *t);

/**
 * The action failed; the pause starts anew. It is `first` ns after the first failure. After a later one it doubles, up
 * to `longest` ns, if a retry failed (`again`); otherwise it keeps its length.
 */
void retry_timer_fail(struct retry_timer *t, bool again, int64_t first, int64_t longest);

/** A retry succeeded: the pause halves, but not below `shortest` ns. */
void retry_timer_ease(struct retry_timer *t, int64_t shortest);

#endif
