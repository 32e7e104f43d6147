// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* SIGSTOP of every part, for longer than every time-out of a run that goes on. */
#include "tests/faults/faults.h"

#include <signal.h>

/* Two seconds are a peer's silence, five an answer's; ten each a start and a draining, which are not under way here. */
#define STOPPED (6 * CLOCK_S)

static const enum bed_part reducer = BED_COLLECTOR; /* of records */

static void make(struct bed *b, const struct bed_options *o, const enum bed_part *part)
{
    struct bed_options options = *o;
    options.tree = *part > BED_SUT;
    options.reduces = options.at_root = part == &reducer;
    options.spares = options.reduces ? BED_ONLY(BED_REDUCER) : 0;
    bed_make(b, &options);
}

static void try_stop(struct bed *b, const struct bed_options *o, const void *of)
{
    const enum bed_part *part = of;
    make(b, o, part);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_nap(b, 200);
        bed_signal(b, *part, SIGSTOP);
        b->result.tried++;
        bed_sleep(STOPPED);
        bed_signal(b, *part, SIGCONT);
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

/* The end is asked for while a part is stopped, which then goes on. */
static void try_stop_draining(struct bed *b, const struct bed_options *o, const void *of)
{
    const enum bed_part *part = of;
    make(b, o, part);
    bed_signal(b, *part, SIGSTOP);
    b->result.tried++;
    bed_nap(b, 300);
    kill(b->run, SIGINT);
    bed_sleep(STOPPED);
    bed_signal(b, *part, SIGCONT);
    bed_end_alone(b, "0");
}

#define PART(part) (&(const enum bed_part){BED_##part})

const struct fault faults_stop[] = {
    {"SIGSTOP of the collector for 6 s", try_stop, PART(COLLECTOR), 1, 10},
    {"SIGSTOP of a collector that reduces records for 6 s", try_stop, &reducer, 1, 10},
    {"SIGSTOP of bezeld for 6 s", try_stop, PART(BEZELD), 1, 10},
    {"SIGSTOP of the launcher for 6 s", try_stop, PART(LAUNCHER), 1, 10},
    {"SIGSTOP of the SUT for 6 s", try_stop, PART(SUT), 1, 10},
#ifndef FAULTS_SANITIZED
    {"SIGSTOP of an inner collector for 6 s", try_stop, PART(LOWER), 1, 10},
    {"SIGSTOP of the inner collector above it for 6 s", try_stop, PART(UPPER), 1, 10},
#endif
    {"SIGSTOP of the collector for 6 s, while draining", try_stop_draining, PART(COLLECTOR), 1, 10},
    {"SIGSTOP of bezeld for 6 s, while draining", try_stop_draining, PART(BEZELD), 1, 10},
#ifndef FAULTS_SANITIZED
    {"SIGSTOP of an inner collector for 6 s, while draining", try_stop_draining, PART(LOWER), 1, 10},
#endif
    {0},
};
