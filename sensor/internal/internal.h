// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The inside of libbezel. process.c owns the segment of this process: makes it, declares aspects, survives fork;
 * unobserved.c leaves word where there can be none; knob.c its knobs; strings.c interns; rings.c hands out rings;
 * ticks.c reads the clock; emit.c is the write path out of line. Everything here may meet a host program that closes
 * our descriptors, forks, or has no room: it returns, it never aborts.
 *
 * One lock guards what this process declares and interns. Signals are blocked while it is held, so that no handler
 * meets it in its own thread, nor jumps out of it. The write path and the claim of a ring need no lock.
 */
#ifndef BEZEL_SENSOR_INTERNAL_H
#define BEZEL_SENSOR_INTERNAL_H

#include "base/err.h"
#include "bezel/sensor.h"
#include "sensor/own.h"
#include "sensor/ring.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** A thread's records, those of a signal handler that interrupts one, of one that interrupts that, ... */
enum { SENSOR_LEVELS = 4 };

/** What a thread keeps beside `bezel_thread`, its writer of level 0. */
struct sensor_thread {
    struct bezel_writer nested[SENSOR_LEVELS - 1];
    uint32_t ring[SENSOR_LEVELS]; /* number of the ring of each level that has one */
    uint32_t released_seen;       /* how many rings had been released when none was free */
    bool refused;                 /* no ring was free at `released_seen` */
    bool hooked;                  /* thread_end() will be called */
    uint8_t endings;              /* how often it was */
    uint8_t stale;                /* levels, by bit, that hold what took the place of a parent's ring */
};

extern _Thread_local struct sensor_thread sensor_thread __attribute__((tls_model("initial-exec")));

/** What the writer of a thread without a ring may read; never written, for its limit is 0. */
extern struct bezel_ring sensor_no_ring;

static inline struct bezel_writer *sensor_writer(uint32_t level)
{
    return level == 0 ? &bezel_thread : &sensor_thread.nested[level - 1];
}

/** What a process keeps. */
struct sensor_process {
    pthread_mutex_t lock;
    struct own_segment own;
    bool failed; /* there is no segment, and there will be none */
    pid_t pid;   /* whose segment it is */
    uint32_t aspect_count, dict_used;
    uint32_t undeclared; /* id of the aspect that stands for those that cannot be declared; 0: not needed yet */
    struct bezel_aspect *aspects, **aspects_end;
    struct bezel_knob *knobs, **knobs_end;
    uint32_t knob_count; /* places of the segment that are taken */
    pthread_key_t thread_end;
    bool hooked;                          /* fork and thread-end hooks are in place */
    _Atomic uint32_t released;            /* rings released so far */
    _Atomic bool reserved[SEGMENT_RINGS]; /* rings that have their memory, whatever the segment says of them */
};

extern struct sensor_process sensor_process;

/** Keeps signals from this thread; `mask` keeps those that were blocked before. Async-signal-safe. */
void sensor_block(sigset_t *mask);
void sensor_unblock(const sigset_t *mask);

/** Takes the lock, and keeps signals away. A fork waits. */
void sensor_lock(sigset_t *mask);
void sensor_unlock(const sigset_t *mask);

/** In an aspect's id: it cannot be declared, the rest of the id is the aspect that stands for it. */
#define SENSOR_UNDECLARED (UINT32_C(1) << 31)

/** Enable word of aspects that are never recorded: there is no segment. */
extern const uint32_t sensor_enable_never;

/** Enable word of aspects that cannot be declared: their records come to the library to be counted. */
extern const uint32_t sensor_enable_undeclared;

/**
 * Gives `aspect`, of which a record is to be made, and every other registered aspect its id and its enable word, making
 * the segment first where there is none. Where there can be none, word is left that this process records, and the
 * aspects are switched off; NULL: nothing is to be recorded yet. Takes the lock, may block.
 */
void sensor_declare(struct bezel_aspect *aspect);

/** As sensor_declare(NULL), under the lock; false where there is no segment. */
bool sensor_declare_all(void);

/** Keeps the library that `object` is a part of in memory, also when it is unloaded. Not under the lock. */
void sensor_pin(const void *object);

/** Declares the knobs that are not yet / lets all stand at their initial values, as after a fork. Under the lock. */
void sensor_knobs_declare(void);
void sensor_knobs_forget(void);

/** Makes the first `used` bytes of the dictionary known: all are complete. Under the lock. */
void sensor_publish_dict(uint32_t used);

/**
 * Sees to it that forks and ends of threads are told to us; false where they cannot be. Under the lock. Called as early
 * as aspects are registered: a thread's first record may come from a handler that interrupted an allocation, and only
 * the first keys of a process are kept without one.
 */
bool sensor_hook(void);

/** Whether there is a segment, made now if need be. Under the lock. */
bool sensor_open(void);

/**
 * The word of a process that records and is not observed (unobserved.c), all under the lock. Prepares it, when the
 * first aspect is registered; looks whether the new segment, in folder `dir`, is where it is read; keeps in a child
 * what it inherited; tells it, once for each process: sensor_process.own.why_not says why.
 */
void sensor_unobserved_prepare(void);
void sensor_unobserved_made(const char *dir);
void sensor_unobserved_inherit(void);
void sensor_unobserved_tell(void);

/**
 * Claims a ring for level `level` of the calling thread, where it has none. Returns 0, BEZEL_EFULL, BEZEL_ENOENT where
 * there is no segment, BEZEL_ENOSPC, ... Lock-free, async-signal-safe.
 */
int sensor_claim(uint32_t level) BEZEL_MUST_CHECK;

/** Puts the ring of `level` into memory, and keeps it there with `lock`. Returns 0 or an error of own_lock(). */
int sensor_prefault(uint32_t level, bool lock) BEZEL_MUST_CHECK;

/** The hook of a thread's end: its rings go to whoever needs one next, records and all. */
void sensor_thread_end(void *unused);

/**
 * Forgets this thread's rings: they are those of the process that forked us. True where a record is being written:
 * then it goes on where its ring was, and the level is forgotten at its next record.
 */
bool sensor_forget_rings(void);

/** Forgets the ring of `level` where it is stale. The level is busy. */
void sensor_forget_stale(uint32_t level);

/**
 * Marks this process, which is asked to knock, in the doorbell; does nothing where it is not. Call it behind the
 * record. Async-signal-safe; no system call but where the external sensor sleeps until somebody knocks.
 */
void sensor_knock(struct segment *s);

static inline void sensor_knock_if_quiet(void)
{
    struct segment *s = sensor_process.own.segment;                 /* a handler that forks may take it away */
    if (s && atomic_load_explicit(&s->quiet, memory_order_relaxed)) /* relaxed: Q1 ordered it */
        sensor_knock(s);
}

/** Counts a record of `aspect`, declared or not yet, that has no ring to go to. Async-signal-safe. */
void sensor_count_unringed(struct bezel_aspect *aspect);

/** Keeps the strings of this segment for the child that is being forked / puts those kept into a new segment. */
void sensor_strings_bequeath(void);
void sensor_strings_inherit(void);

/** CLOCK_MONOTONIC, ns. */
static inline uint64_t sensor_kernel_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/** Reads the clock of the segment, in its ticks. Async-signal-safe where the user's function is. */
uint64_t sensor_ticks(void);

/** Frequency of the user's clock, Hz; 0 where there is none. */
uint64_t sensor_user_frequency(void);

#endif
