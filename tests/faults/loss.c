// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Faults that last longer than the buffers: records must be lost, each counted once and by its cause, also where parts
 * are killed meanwhile. To wait for a loss is to wait until more was produced than all buffers hold.
 */
#include "tests/faults/faults.h"
#include "tests/lib/patience.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>

enum {
    SUT_RINGS = 4,          /* of two processes of two threads */
    RECORD_BYTES_MIN = 36,  /* of one of three values in a packet */
    WINDOW_BYTES = 1 << 20, /* also of the spool */
};

/* Who is killed while records are lost: nobody where `none`. */
struct loss {
    bool none, spool;
    enum bed_part victim;
};

static void kill_victim(struct bed *b, const struct loss *l)
{
    bed_nap(b, 50);
    if (!l->none)
        bed_kill(b, l->victim);
}

/* bezeld does not read for longer than the rings last. Stopped as it is, kill -9 may be its end. */
static void try_ring_full(struct bed *b, const struct bed_options *o, const void *of)
{
    const struct loss *l = of;
    struct bed_options small = *o;
    small.ring_records = 64;
    small.pause_us = 100;
    small.loses = BED_ONLY(BED_FULL);
    small.spares = BED_ANY & ~BED_ONLY(BED_FULL) & ~BED_ONLY(BED_UNFINISHED);
    bed_make(b, &small);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_signal(b, BED_BEZELD, SIGSTOP);
        b->result.tried++;
        bed_await_records(b, SUT_RINGS * small.ring_records);
        kill_victim(b, l);
        bed_await_records(b, 2 * SUT_RINGS * small.ring_records);
        bed_signal(b, BED_BEZELD, SIGCONT);
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

/*
 * The link is down for longer than window, spool and rings last. What more was produced than they hold is lost, by that
 * cause: at least so much, and nothing by another one. Only what is lost while there is no bezeld is nobody's fault but
 * its own; and when the link is back the spool has room a moment before the window has.
 */
static void try_window_full(struct bed *b, const struct bed_options *o, const void *of)
{
    const struct loss *l = of;
    enum bed_cause cause = l->spool ? BED_SPOOL : BED_WINDOW;
    struct bed_options small = *o;
    small.over_network = true;
    small.ring_records = 8192;
    small.pause_us = o->light ? 100 : 20; /* a bezeld that sanitizers slow down must keep up with them */
    small.window_mib = 1;
    small.spool_mib = l->spool;
    small.loses = BED_ONLY(cause);
    small.spares = BED_ANY & ~BED_ONLY(cause) & ~BED_ONLY(BED_UNFINISHED);
    uint64_t waiting = (1u + l->spool) * WINDOW_BYTES / RECORD_BYTES_MIN, beyond = 0;
    bool absent = !l->none && l->victim == BED_BEZELD;
    if (l->spool)
        small.spares &= ~BED_ONLY(BED_WINDOW);
    if (absent)
        small.spares &= ~(BED_ONLY(BED_FULL) | BED_ONLY(BED_WINDOW)); /* until the next one finds the spool full */
    bed_make(b, &small);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_network(b, (struct proxy_mode){.hold = {true, true}});
        b->result.tried++;
        bed_await_records(b, waiting);
        kill_victim(b, l);
        bed_await_records(b, (SUT_RINGS + 2) * small.ring_records + 5000); /* and those of who died */
        beyond += 5000;
        bed_network(b, (struct proxy_mode){0});
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
    uint64_t lost = b->result.lost[BED_FULL] + b->result.lost[BED_WINDOW] + b->result.lost[BED_SPOOL];
    if (lost < beyond)
        bed_fail(b, "%llu records are lost so, of at least %llu", (unsigned long long)lost, (unsigned long long)beyond);
    if (l->spool && !absent &&
        b->result.lost[BED_WINDOW] > b->result.lost[BED_SPOOL]) /* a moment is long on a busy machine */
        bed_fail(b, "%llu records are put down to the window", (unsigned long long)b->result.lost[BED_WINDOW]);
}

/* Until so many threads have begun, those of who was killed included: the first may have made much before the last. */
static void await_threads(struct bed *b, uint32_t threads)
{
    for (int64_t end = clock_now() + PATIENCE; atomic_load(&b->truth->lines) < threads; bed_sleep(2 * CLOCK_MS))
        if (clock_now() > end)
            bed_fail(b, "there are not %u threads", threads);
}

/* More threads than a process has rings. A thread loses everything until it has one, and then nothing. */
static void try_no_ring(struct bed *b, const struct bed_options *o, const void *of)
{
    const struct loss *l = of;
    struct bed_options many = *o;
    many.processes = 1;
    many.threads = 140;
    many.ring_records = 256;
    many.pause_us = 20000;
    many.loses = BED_ONLY(BED_NO_RING);
    many.spares = BED_ANY & ~BED_ONLY(BED_NO_RING) & ~BED_ONLY(BED_UNFINISHED);
    bed_make(b, &many);
    uint32_t threads = many.threads;
    for (unsigned i = 0; i < o->rounds; i++) {
        await_threads(b, threads);
        bed_await_records(b, 10ull * many.threads);
        kill_victim(b, l);
        threads += l->none ? 0 : many.threads;
        b->result.tried++;
        bed_await_progress(b, 2000);
    }
    await_threads(b, threads);
    bed_await_records(b, 10ull * many.threads);
    bed_end(b, "0");
    if (b->result.lost[BED_NO_RING] < b->result.silent[0] || b->result.lost[BED_NO_RING] > b->result.silent[1])
        bed_fail(b, "%llu records had no ring, but %llu to %llu", (unsigned long long)b->result.lost[BED_NO_RING],
                 (unsigned long long)b->result.silent[0], (unsigned long long)b->result.silent[1]);
}

/* How many threads of a process have made so many records. */
static unsigned threads_with(const struct bed *b, pid_t pid, uint64_t records)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < TRUTH_LINES; i++)
        n += atomic_load(&b->truth->line[i].pid) == pid && atomic_load(&b->truth->line[i].done[0]) >= records;
    return n;
}

/* Whether all threads of each process that lives have made so many records: any of them may be killed next. */
static bool each_has_made(const struct bed *b, uint64_t records)
{
    char name[64];
    for (unsigned i = 0; i < b->options.processes; i++) {
        pid_t parent, pid = atomic_load(&b->truth->children[i]);
        if (pid <= 0 || !bed_describe(pid, &parent, name) || threads_with(b, pid, records) < b->options.threads)
            return false;
    }
    return true;
}

/* On a busy machine one thread may have made thousands of records before another has begun. */
static void await_each(struct bed *b, uint64_t records)
{
    for (int64_t end = clock_now() + PATIENCE; !each_has_made(b, records); bed_sleep(2 * CLOCK_MS))
        if (clock_now() > end)
            bed_fail(b, "not each thread makes %llu records", (unsigned long long)records);
}

/* Flight recorders keep the last records of each thread, and count those that they wrote over. */
static void try_overwritten(struct bed *b, const struct bed_options *o, const void *of)
{
    const struct loss *l = of;
    struct bed_options small = *o;
    small.recorder = true;
    small.ring_records = 64;
    small.pause_us = 100;
    small.loses = BED_ONLY(BED_OVERWRITTEN);
    small.spares = BED_ANY & ~BED_ONLY(BED_OVERWRITTEN);
    bed_make(b, &small);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_await_records(b, 4 * SUT_RINGS * small.ring_records);
        await_each(b, 2 * small.ring_records);
        uint64_t before = bed_stored_bytes(b);
        if (!bed_kill(b, BED_SUT))
            bed_fail(b, "there is no process to kill");
        kill_victim(b, l);
        bed_await_stored(b, before + 2000); /* what its rings held */
    }
    bed_end(b, "0");
}

static void say_aspects(struct bed *b, const char *mode)
{
    char runs[PATH_MAX];
    snprintf(runs, sizeof runs, "%s/runs", b->dir);
    const char *const argv[] = {FAULTS_BUILD "/bezel", "aspects", "--runs", runs, mode, "echo", NULL};
    for (int64_t end = clock_now() + PATIENCE; bed_program(b, "aspects", argv) != 0; bed_sleep(20 * CLOCK_MS))
        if (clock_now() > end) /* a bezeld that was just killed does not answer */
            bed_fail(b, "not done: bezel aspects %s echo", mode);
}

/* An aspect that is only counted, forth and back. */
static void try_off(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options off = *o;
    off.loses = BED_ONLY(BED_OFF);
    off.spares = BED_ANY & ~BED_ONLY(BED_OFF) & ~BED_ONLY(BED_UNFINISHED);
    bed_make(b, &off);
    for (unsigned i = 0; i < o->rounds; i++) {
        say_aspects(b, "count");
        b->result.tried++;
        kill_victim(b, of);
        bed_await_records(b, 1000);
        bed_await_progress(b, 2000);
        say_aspects(b, "on");
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

#define NOBODY     (&(const struct loss){.none = true})
#define WITH(part) (&(const struct loss){.victim = BED_##part})

const struct fault faults_loss[] = {
    {"bezeld stopped until rings are full", try_ring_full, NOBODY, 4, 40},
    {"bezeld stopped until rings are full, and killed", try_ring_full, WITH(BEZELD), 4, 40},
    {"bezeld stopped until rings are full, and a SUT process killed", try_ring_full, WITH(SUT), 4, 40},
    {"link held until the window is full", try_window_full, NOBODY, 1, 20},
    {"link held until the window is full, and bezeld killed", try_window_full, WITH(BEZELD), 1, 20},
    {"link held until the window is full, and a SUT process killed", try_window_full, WITH(SUT), 1, 20},
    {"link held until the spool is full", try_window_full, (&(const struct loss){.none = true, .spool = true}), 1, 20},
    {"link held until the spool is full, and bezeld killed", try_window_full,
     (&(const struct loss){.spool = true, .victim = BED_BEZELD}), 1, 20},
    {"more threads than rings", try_no_ring, NOBODY, 1, 5},
    {"more threads than rings, and the SUT process killed", try_no_ring, WITH(SUT), 2, 5},
    {"flight recorders, and SUT processes killed", try_overwritten, NOBODY, 4, 40},
    {"flight recorders, and SUT processes and bezeld killed", try_overwritten, WITH(BEZELD), 4, 40},
    {"an aspect counted only, and bezeld killed", try_off, WITH(BEZELD), 2, 20},
    {"an aspect counted only, and a SUT process killed", try_off, WITH(SUT), 2, 20},
    {0},
};
