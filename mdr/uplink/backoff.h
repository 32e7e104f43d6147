// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Pauses between attempts: each up to twice the one before, drawn at random from the upper half of its range so that
 * many clients that lost the same peer do not return at once. The draws follow from a seed. One owner; pure.
 */
#ifndef BEZEL_MDR_UPLINK_BACKOFF_H
#define BEZEL_MDR_UPLINK_BACKOFF_H

#include "base/retry_timer.h"

struct backoff {
    uint64_t seed;
    int64_t first_ns, last_ns;
    struct retry_timer timer; /* its pause is the longest that the last one could be */
};

/** Pauses from `first_ns` to `last_ns`, 0 < first_ns <= last_ns. */
struct backoff backoff_make(uint64_t seed, int64_t first_ns, int64_t last_ns);

/** The next pause in ns: above half of, and up to, first_ns, 2 first_ns, 4 first_ns, ... last_ns, last_ns, ... */
int64_t backoff_next(struct backoff *b);

/** After a success: the next pause is short again. The sequence of draws continues. */
void backoff_reset(struct backoff *b);

#endif
