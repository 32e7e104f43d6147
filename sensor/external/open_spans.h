// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Waits and long spans that are open (sensor/shm/open_place.h): the observer is told of each that has lasted for
 * OPEN_SPANS_LONG when a look finds it, and again when it has ended; and of all that a process leaves open when it
 * ends. One owner, one thread.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_OPEN_SPANS_H
#define BEZEL_SENSOR_EXTERNAL_OPEN_SPANS_H

#include "base/clock.h"
#include "sensor/external/external.h"

#define OPEN_SPANS_LONG CLOCK_S /* and the time between two looks */

struct open_spans;

/** Looks at the places of living process `p`, once in OPEN_SPANS_LONG. */
void open_spans_look(struct external *x, struct external_process *p, int64_t now);

/** The last look at `p`. `left`: it has ended, and leaves open what is open; else the run ends without it. */
void open_spans_last(struct external *x, struct external_process *p, bool left, int64_t now);

#endif
