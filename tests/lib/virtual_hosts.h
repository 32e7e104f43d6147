// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Two hosts whose clocks run, drift and are slewed, and the network between them: drawn at random, with the truth
 * known. True time is in ns since the hosts began. Needs libm.
 */
#ifndef BEZEL_TESTS_LIB_VIRTUAL_HOSTS_H
#define BEZEL_TESTS_LIB_VIRTUAL_HOSTS_H

#include "base/clock_relation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VIRTUAL_BENDS = 4096 };

/** From true time `at` on the clock reads `ns` and runs at `rate`. */
struct virtual_bend {
    int64_t at, ns;
    double rate;
};

struct virtual_clock {
    size_t count;
    struct virtual_bend bends[VIRTUAL_BENDS];
};

/** What is drawn. Shares and chances are from 0 to 1. */
struct virtual_hosts {
    struct virtual_clock own, peer;
    int64_t length;              /* of the run, ns */
    int64_t round_trip;          /* shortest, ns */
    double forth;                /* share of it on the way to the peer */
    double jitter;               /* chance, for each message, to take longer ... */
    double tail;                 /* ... by this times the round trip, times a Pareto variable of exponent 1.5 */
    double loss;                 /* chance of a message */
    int64_t silent_from, silent; /* when nothing arrives, and for how long; 0: never */
    uint64_t *seed;
};

/** Draws hosts. `quiet`: clocks are not slewed, and the network neither delays nor loses anything. */
void virtual_hosts_draw(struct virtual_hosts *h, uint64_t *seed, bool quiet);

/** A step of `by` ns of the own clock, or of the peer's, at `at`: what is drawn behind it moves. */
void virtual_clock_step(struct virtual_clock *c, int64_t at, int64_t by);

/** What the clock reads at true time `at`. */
int64_t virtual_clock_at(const struct virtual_clock *c, int64_t at);

/** An exchange that begins at true time `at`. False: a message was lost. *end is when the answer came, true time. */
bool virtual_hosts_exchange(struct virtual_hosts *h, int64_t at, struct clock_exchange *x, int64_t *end);

#endif
