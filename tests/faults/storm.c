// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* One blow after the other, of any part: it is killed, or stopped for a while, and another one is killed meanwhile. */
#include "tests/faults/faults.h"

#include <signal.h>

struct storm {
    bool spool, recorder, tree;
};

static enum bed_part draw_part(struct bed *b, const struct storm *s)
{
    static const enum bed_part parts[] = {BED_COLLECTOR, BED_BEZELD, BED_SUT, BED_LOWER, BED_UPPER};
    return parts[bed_draw(b, s->tree ? 5 : 3)];
}

static void strike(struct bed *b, const struct storm *s)
{
    enum bed_part stopped = draw_part(b, s), killed = draw_part(b, s);
    bool stops = bed_draw(b, 2);
    if (stops) {
        bed_signal(b, stopped, SIGSTOP);
        b->result.tried++;
        bed_nap(b, bed_draw(b, 2) ? 30 : 3000);
    }
    if (!stops || bed_draw(b, 2))
        bed_kill(b, killed);
    if (stops && bed_draw(b, 2))
        bed_nap(b, 300);
    if (stops)
        bed_signal(b, stopped, SIGCONT); /* or the one that came in its place */
}

static void try_storm(struct bed *b, const struct bed_options *o, const void *of)
{
    const struct storm *s = of;
    struct bed_options options = *o;
    options.tree = s->tree;
    options.recorder = s->recorder;
    options.ring_records = s->recorder ? 256 : 0;
    options.pause_us = 200;
    options.spool_mib = s->spool ? 64 : 0;
    options.window_mib = s->spool ? 1 : 0;
    bed_make(b, &options);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_nap(b, bed_draw(b, 2) ? 30 : 500);
        strike(b, s);
        if (!s->recorder && bed_draw(b, 4) == 0)
            bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

const struct fault faults_storm[] = {
    {"any part killed or stopped, one after the other", try_storm, &(const struct storm){0}, 8, 80},
    {"the same, with a spool", try_storm, &(const struct storm){.spool = true}, 8, 80},
    {"the same, of flight recorders", try_storm, &(const struct storm){.recorder = true}, 8, 80},
#ifndef FAULTS_SANITIZED
    {"the same, below inner collectors", try_storm, &(const struct storm){.tree = true}, 8, 80},
#endif
    {0},
};
