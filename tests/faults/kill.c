// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* kill -9 of every part, alone and in pairs, at random times, and between *stored* and *acknowledged*. */
#include "tests/faults/faults.h"

#include <signal.h>

struct victims {
    enum bed_part first, second; /* the same: alone */
};

static void kill_both(struct bed *b, const struct victims *v)
{
    bool turned = bed_draw(b, 2);
    bed_kill(b, turned ? v->second : v->first);
    if (v->first == v->second)
        return;
    if (bed_draw(b, 2))
        bed_nap(b, 4); /* so that the one sees the other's end; or not */
    bed_kill(b, turned ? v->first : v->second);
}

/* Half of the kills come on top of the one before, half after things have settled. */
static void try_kill(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options busy = *o;
    enum bed_part second = ((const struct victims *)of)->second;
    if (second == BED_SUT)
        busy.pause_us = 20; /* to be met in the middle of a record */
    busy.tree = busy.tree || second > BED_SUT;
    bed_make(b, &busy);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_nap(b, 300);
        kill_both(b, of);
        if (bed_draw(b, 2))
            bed_await_progress(b, 2000);
    }
    bed_await_progress(b, 2000);
    bed_end(b, "0");
}

/* Of a part that reduces records to values: the collector, or else bezeld. */
static void try_kill_reducer(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options reduces = *o;
    reduces.reduces = true;
    reduces.at_root = ((const struct victims *)of)->first == BED_COLLECTOR;
    try_kill(b, &reduces, of);
}

/* Makes the bed of round `i`, each with a run and draws of its own; what came out of the rounds before it is kept. */
static void make_again(struct bed *b, const struct bed_options *o, unsigned i)
{
    struct bed_options once = *o;
    struct bed_result before = i ? b->result : (struct bed_result){0};
    once.seed = o->seed + i;
    bed_make(b, &once);
    b->result = before;
}

/* A run that loses its launcher has failed, and ends, with balanced books. */
static void try_kill_launcher(struct bed *b, const struct bed_options *o, const void *of)
{
    for (unsigned i = 0; i < o->rounds; i++) {
        make_again(b, o, i);
        bed_nap(b, 300);
        kill_both(b, of);
        bed_end_alone(b, "1");
    }
}

enum { DRAINING_TRIES = 20 };

/* While the run drains. It may have ended by then: so more often, until the blow has fallen once. */
static void try_kill_draining(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options draining = *o;
    draining.tree = ((const struct victims *)of)->second > BED_SUT;
    for (unsigned i = 0; i < o->rounds || (b->result.tried == 0 && i < DRAINING_TRIES); i++) {
        make_again(b, &draining, i);
        bed_nap(b, 100);
        kill(b->run, SIGINT);
        bed_nap(b, 60);
        kill_both(b, of);
        bed_end_alone(b, "01"); /* 1: what has drained and stops is not started again */
    }
}

/*
 * Holds back what comes down until more is stored, which is then not acknowledged. Where the link was just about to
 * open, nothing goes up either: once more then.
 */
static void store_unacknowledged(struct bed *b)
{
    uint64_t enough = bed_stored_bytes(b) + 1 + bed_draw(b, 20000);
    while (bed_stored_bytes(b) < enough) {
        bed_network(b, (struct proxy_mode){0});
        bed_await_progress(b, 1);
        bed_network(b, (struct proxy_mode){.hold = {[PROXY_DOWN] = true}});
        enough = bed_stored_bytes(b) + 1 + bed_draw(b, 20000);
        for (int64_t end = clock_now() + CLOCK_S; bed_stored_bytes(b) < enough && clock_now() < end;)
            bed_sleep(2 * CLOCK_MS);
    }
}

/* Nothing comes down any more, so what is stored from here on is not acknowledged when the blow falls. */
static void try_kill_unacknowledged(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options over = *o;
    over.over_network = true;
    bed_make(b, &over);
    for (unsigned i = 0; i < o->rounds; i++) {
        store_unacknowledged(b);
        kill_both(b, of);
        bed_network(b, (struct proxy_mode){0});
        bed_await_progress(b, 2000);
        bed_nap(b, 100);
    }
    bed_end(b, "0");
}

#define ALONE(part)   (&(const struct victims){BED_##part, BED_##part})
#define BOTH(one, or) (&(const struct victims){BED_##one, BED_## or })

const struct fault faults_kill[] = {
    {"kill -9 of the collector", try_kill, ALONE(COLLECTOR), 4, 40},
    {"kill -9 of bezeld", try_kill, ALONE(BEZELD), 4, 40},
    {"kill -9 of a SUT process", try_kill, ALONE(SUT), 10, 200},
    {"kill -9 of the launcher", try_kill_launcher, ALONE(LAUNCHER), 2, 20},
    {"kill -9 of collector and bezeld", try_kill, BOTH(COLLECTOR, BEZELD), 4, 40},
    {"kill -9 of collector and SUT", try_kill, BOTH(COLLECTOR, SUT), 4, 40},
    {"kill -9 of bezeld and SUT", try_kill, BOTH(BEZELD, SUT), 4, 40},
#ifndef FAULTS_SANITIZED /* their time is short */
    {"kill -9 of an inner collector", try_kill, ALONE(LOWER), 2, 40},
    {"kill -9 of the inner collector above it", try_kill, ALONE(UPPER), 2, 40},
    {"kill -9 of both inner collectors", try_kill, BOTH(LOWER, UPPER), 1, 40},
    {"kill -9 of collector and inner collector", try_kill, BOTH(COLLECTOR, LOWER), 1, 40},
    {"kill -9 of bezeld and inner collector", try_kill, BOTH(BEZELD, LOWER), 1, 40},
#endif
    {"kill -9 of a bezeld that reduces records", try_kill_reducer, ALONE(BEZELD), 2, 40},
    {"kill -9 of a collector that reduces records", try_kill_reducer, ALONE(COLLECTOR), 2, 40},
#ifndef FAULTS_SANITIZED
    {"kill -9 of a collector that reduces records, and inner collector", try_kill_reducer, BOTH(COLLECTOR, LOWER), 1,
     40},
#endif
    {"kill -9 of launcher and collector", try_kill_launcher, BOTH(LAUNCHER, COLLECTOR), 1, 20},
    {"kill -9 of launcher and bezeld", try_kill_launcher, BOTH(LAUNCHER, BEZELD), 1, 20},
    {"kill -9 of launcher and SUT", try_kill_launcher, BOTH(LAUNCHER, SUT), 1, 20},
    {"kill -9 of the collector while draining", try_kill_draining, ALONE(COLLECTOR), 2, 20},
    {"kill -9 of bezeld while draining", try_kill_draining, ALONE(BEZELD), 2, 20},
    {"kill -9 of both while draining", try_kill_draining, BOTH(COLLECTOR, BEZELD), 2, 20},
#ifndef FAULTS_SANITIZED
    {"kill -9 of an inner collector while draining", try_kill_draining, ALONE(LOWER), 1, 20},
#endif
    {"kill -9 of the collector, stored and not acknowledged", try_kill_unacknowledged, ALONE(COLLECTOR), 4, 40},
    {"kill -9 of bezeld, stored and not acknowledged", try_kill_unacknowledged, ALONE(BEZELD), 4, 40},
    {"kill -9 of both, stored and not acknowledged", try_kill_unacknowledged, BOTH(COLLECTOR, BEZELD), 4, 40},
    {0},
};
