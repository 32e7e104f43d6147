// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The inside of libbezel. process.c owns the segment of this process, from its making to a fork; declare.c declares
 * aspects, knob.c knobs, strings.c interns strings; unobserved.c counts the process elsewhere if it can have no
 * segment; thread_rings.c hands out rings; span_places.c gives open spans their places; ticks.c reads the clock;
 * record.c is the write path out of line; wake_reader.c sets the wake bit. The host program may close our descriptors,
 * fork, or run out of memory: every function returns then, none aborts.
 *
 * One lock guards declarations and interned strings. Signals are blocked while it is held, so that a handler can
 * neither wait for it in the thread that holds it, nor jump out of it. Code of the program may run under the lock: its
 * own read() and the like, or a preloaded library's, and handlers of a fork. What such a read() records is libbezel's
 * doing, not the program's: it is left out, and not counted. If a handler of a fork records an aspect that is not
 * declared yet, the record is counted as lost. The write path and the claim of a ring need no lock.
 */
#ifndef BEZEL_SENSOR_INTERNAL_INTERNAL_H
#define BEZEL_SENSOR_INTERNAL_INTERNAL_H

#include "base/err.h"
#include "bezel/sensor.h"
#include "sensor/shm/ring_reader.h"
#include "sensor/shm/segment_create.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Levels of nested records: the thread's, and those of signal handlers, each of which interrupts the one before. */
enum { SENSOR_LEVELS = 4 };

/** What a thread keeps beside `bezel_thread`, its writer of level 0. */
struct sensor_thread {
    struct bezel_writer nested[SENSOR_LEVELS - 1];
    uint32_t ring[SENSOR_LEVELS]; /* number of the ring of each level that has one */
    uint32_t released_seen;       /* `released` of the process when no ring was free */
    bool refused : 1;             /* no ring was free at `released_seen` */
    bool inside : 1;              /* it holds the lock, or waits for it, or claims a ring */
    bool forks : 1;               /* it holds the lock for a fork, whose handlers are the program's */
    bool hooked;                  /* sensor_thread_end() will be called */
    uint8_t endings;              /* how many times it was called */
    uint8_t stale;                /* levels, by bit, whose ring was the parent's, and is now memory without use */
};

extern _Thread_local struct sensor_thread sensor_thread __attribute__((tls_model("initial-exec")));

/** The ring of a writer that has none; never written, because the writer's limit is 0. */
extern struct bezel_ring sensor_no_ring;

static inline struct bezel_writer *sensor_writer(uint32_t level)
{
    return level == 0 ? &bezel_thread : &sensor_thread.nested[level - 1];
}

/** State of the process. */
struct sensor_process {
    pthread_mutex_t lock;
    struct segment_owned own;
    _Atomic bool loaded; /* libc is ready */
    bool failed;         /* there is no segment, and there will be none */
    pid_t pid;           /* of the process that made the segment */
    uint32_t aspect_count, dict_used;
    uint32_t undeclared; /* id of the aspect that stands for those that cannot be declared; 0: not needed yet */
    struct bezel_aspect *aspects, **aspects_end;
    struct bezel_knob *knobs, **knobs_end;
    uint32_t knob_count; /* places of the segment that are taken */
    pthread_key_t thread_end;
    bool hooked;                              /* fork and thread-end hooks are in place */
    _Atomic uint32_t released;                /* rings released so far */
    _Atomic bool reserved[SEGMENT_RINGS_MAX]; /* rings that have their memory, whatever their state in the segment */
};

extern struct sensor_process sensor_process;

/** Blocks all signals of this thread; *mask receives the signals that were blocked before. Async-signal-safe. */
void sensor_block(sigset_t *mask);
void sensor_unblock(const sigset_t *mask);

/** Takes the lock and blocks signals. A fork waits for the lock. */
void sensor_lock(sigset_t *mask);
void sensor_unlock(const sigset_t *mask);

/** Bit of an aspect's id: the aspect cannot be declared, and the rest is the id of the aspect that stands for it. */
#define SENSOR_UNDECLARED (UINT32_C(1) << 31)

/** Enable word of aspects that are never recorded: there is no segment. */
extern const uint32_t sensor_enable_never;

/** Enable word of aspects that cannot be declared: the library counts their records. */
extern const uint32_t sensor_enable_undeclared;

/**
 * Declares `aspect`, which is about to be recorded, and every other registered aspect: gives them ids and enable words.
 * Makes the segment first if there is none. If there can be none, counts this process as not observed, and disables the
 * aspects. NULL: nothing is to be recorded yet. Takes the lock, may block.
 */
void sensor_declare(struct bezel_aspect *aspect);

/** As sensor_declare(NULL), under the lock; false if there is no segment. */
bool sensor_declare_all(void);

/** Keeps the library that contains `object` in memory, even if it is unloaded. Not under the lock. */
void sensor_pin(const void *object);

/** Declares new knobs; resets all knobs to their initial values, after a fork. Under the lock. */
void sensor_knobs_declare(void);
void sensor_knobs_forget(void);

/** Publishes the first `used` bytes of the dictionary, which are complete. Under the lock. */
void sensor_publish_dict(uint32_t used);

/**
 * Installs the hooks for forks and ends of threads; false on failure. Under the lock. Called when an aspect is
 * registered: a thread's first record may come from a handler that interrupted an allocation, and only a process's
 * first thread-specific keys need no allocation.
 */
bool sensor_hook(void);

/** Notes, when libbezel is loaded, whose memory this is. */
void sensor_find_home(void);

/**
 * The folder of segments (BEZEL_DIR). Under the lock, which guards the text: the stack of a thread or handler may be
 * too small for a path.
 */
const char *sensor_dir(void);

/**
 * Makes the segment if there is none. False if there can be none, or not yet: this is a child of vfork(), and the
 * process whose memory it shares has none. Under the lock.
 */
bool sensor_open(void);

/**
 * Counting a process that records and is not observed (unobserved.c); all under the lock. _prepare(): when the first
 * aspect is registered. _made(): checks whether the new segment, in folder `dir`, is where bezeld reads. _inherit(): in
 * a child, keeps the inherited mappings. _report(): counts this process, once, with the reason in
 * sensor_process.own.why_not.
 */
void sensor_unobserved_prepare(void);
void sensor_unobserved_made(const char *dir);
void sensor_unobserved_inherit(void);
void sensor_unobserved_report(void);

/**
 * Claims a ring for level `level` of the calling thread, if it has none. Returns 0; BEZEL_ENOENT: there is no segment;
 * BEZEL_EFULL: no ring is free; or an error of segment_reserve(). Lock-free, async-signal-safe.
 */
int sensor_claim(uint32_t level) BEZEL_MUST_CHECK;

/** Maps the pages of the ring of `level`, and locks them in memory with `lock`. Returns 0 or an error of
 * segment_lock(). */
int sensor_prefault(uint32_t level, bool lock) BEZEL_MUST_CHECK;

/** The hook for a thread's end: releases its rings, whose records stay, for the next threads. */
void sensor_thread_end(void *unused);

/** Ends and records the waits that this thread leaves open (BEZEL_WAIT()). Not under the lock. */
void sensor_waits_end(void);

/**
 * In a forked child: drops this thread's rings, which are the parent's. True if the fork interrupted a record: it
 * continues in the memory that replaces its ring, and the level is dropped at its next record.
 */
bool sensor_forget_rings(void);

/** Drops the ring of `level` if it is stale. The level is busy. */
void sensor_forget_stale(uint32_t level);

/**
 * Sets this process's wake bit in the doorbell, if the process is idle. Call it after the record. Async-signal-safe;
 * makes a system call only if the external sensor sleeps in its doorbell wait.
 */
void sensor_wake_reader(struct segment *s);

static inline void sensor_wake_if_idle(void)
{
    struct segment *s = sensor_process.own.segment;                    /* a handler that forks may remove it */
    if (s && atomic_load_explicit(&s->wake_bit, memory_order_relaxed)) /* relaxed: Q1 ordered it */
        sensor_wake_reader(s);
}

/** Counts a record of `aspect`, declared or not, that has no ring. Async-signal-safe. */
void sensor_count_unringed(struct bezel_aspect *aspect);

/** In a forked child: keeps the strings of the parent's segment; adds them to the child's new segment. */
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

/** Frequency of the program's own clock, Hz; 0: there is none. */
uint64_t sensor_user_frequency(void);

#endif
