// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The clock of a program (bezel_clock()), which only the program can read. The external sensor requests a pair when the
 * timebase needs one, and reads the answer from the segment. One owner; nothing blocks.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_USER_CLOCK_H
#define BEZEL_SENSOR_EXTERNAL_USER_CLOCK_H

#include "base/timebase.h"
#include "sensor/shm/segment_pair.h"

enum { USER_CLOCK_ASK_AGAIN_NS = 2000000000 };

struct user_clock {
    struct timebase timebase;
    uint32_t asked;   /* number of the open request */
    int64_t asked_ns; /* time of the open request; 0: none */
};

/** A clock of `frequency` ticks a second, as the program states it. */
static inline void user_clock_init(struct user_clock *c, double frequency)
{
    timebase_init(&c->timebase, frequency);
    c->asked_ns = 0;
}

/**
 * Asks the program for a pair when one is due and adds the answer to the timebase; the first pair is the one that the
 * segment holds already. Call it at each poll, before the program's rings are read; `now` is CLOCK_MONOTONIC in ns. An
 * impossible answer (older than the request, or from the future) is ignored. An unanswered request is repeated after
 * USER_CLOCK_ASK_AGAIN_NS.
 */
enum timebase_news user_clock_poll(struct user_clock *c, struct segment_pair *shared, int64_t now);

#endif
