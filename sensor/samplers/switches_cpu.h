// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Records of perf_event_open(2) about all threads of a CPU: who had it, and who woke whom. Pure: from bytes to values;
 * no system call, clock or allocation. Both are kept in memory of a fixed size, where new ones overwrite the oldest:
 * what is asked for is about the last turns.
 */
#ifndef BEZEL_SENSOR_SAMPLERS_SWITCHES_CPU_H
#define BEZEL_SENSOR_SAMPLERS_SWITCHES_CPU_H

#include "sensor/samplers/switches_decode.h"

enum {
    SWITCHES_COMINGS = 4096, /* that are kept of a CPU */
    SWITCHES_WAKINGS = 4096, /* that are kept of all */
    SWITCHES_CHAINS = 256,   /* of them, by the last bits of who was woken */
    SWITCHES_RIVALS = 8,     /* in one time that a thread was ready */
    SWITCHES_COMMAND = 16,   /* bytes of a command's name, with the 0 */
};
#define SWITCHES_NOBODY UINT32_MAX /* in place of a thread: who it was is not known */

/** Where the fields are in a record of tracepoint sched_waking, behind the number of its bytes. */
struct switches_format {
    uint32_t flags, woken;
};

/** In what a thread was woken, by the flags of the record. */
enum switches_context {
    SWITCHES_BY_THREAD,    /* by what the thread that had the CPU did */
    SWITCHES_BY_SOFTIRQ,   /* by work put off: often that thread's own, as for a message over loopback */
    SWITCHES_BY_INTERRUPT, /* by a timer or a device: that thread happened to be there */
};

enum switches_cpu_what {
    SWITCHES_CPU_COMES, /* `thread` has the CPU from now on */
    SWITCHES_CPU_WOKEN, /* thread `woken` was woken, in `context`, while `thread` had the CPU */
    SWITCHES_CPU_NAMED, /* `thread` has command `command` from now on */
    SWITCHES_CPU_LOST,  /* records are missing here */
};

struct switches_cpu_event {
    enum switches_cpu_what what;
    int64_t time;
    uint32_t pid, thread, woken;
    uint32_t leaves; /* COMES: the thread that had the CPU until now; SWITCHES_NOBODY: not said */
    enum switches_context context;
    char command[SWITCHES_COMMAND];
};

/** Takes the next event out of `b`; as switches_next(). */
bool switches_cpu_next(struct switches_bytes *b, const struct switches_format *format, struct switches_cpu_event *e,
                       bool *broken);

/** Who came to a CPU: each had it until the next one came. */
struct switches_comings {
    uint64_t count; /* that came so far */
    struct switches_coming {
        int64_t time;
        uint32_t pid, thread;
    } at[SWITCHES_COMINGS];
};

/** `thread` has the CPU since `time`. */
void switches_come(struct switches_comings *c, int64_t time, uint32_t pid, uint32_t thread);

/** `thread` leaves the CPU. If another one came last, records are missing without a word, as of a CPU that was off. */
void switches_leave(struct switches_comings *c, uint32_t thread);

/** Records are missing since the last coming: who came after it is not known, nor how long that thread had the CPU. */
void switches_miss(struct switches_comings *c);

/** Whether `thread` came to the CPU about `time`, or has it then. */
bool switches_came(const struct switches_comings *c, uint32_t thread, int64_t time);

/** Whether `thread` had the CPU until about `time`, and another one came. */
bool switches_left(const struct switches_comings *c, uint32_t thread, int64_t time);

/** From `begin` to `end` thread `thread` had the CPU for `had`: all that time, or others had it in between. */
struct switches_rival {
    int64_t begin, end, had;
    uint32_t pid, thread;
};

/**
 * Who had the CPU from `begin` to `end` but `thread`, in their order; thread 0 is nobody: the CPU was idle. If there
 * are more than fit, the shortest become part of a neighbour. Times about which nothing is known are left out. Returns
 * how many.
 */
unsigned switches_rivals(const struct switches_comings *c, uint32_t thread, int64_t begin, int64_t end,
                         struct switches_rival rivals[SWITCHES_RIVALS]);

/** How much of the time from `begin` to `end` nothing is known about. */
int64_t switches_unknown(const struct switches_comings *c, int64_t begin, int64_t end);

struct switches_waking {
    int64_t time, taken; /* `taken`: it came out of the kernel then */
    uint32_t woken, pid, thread;
    enum switches_context context;
};

/** Wakings on all CPUs, those of one CPU in their order; zeroed, there are none. */
struct switches_wakings {
    uint64_t count;
    struct switches_waking at[SWITCHES_WAKINGS];
    uint64_t before[SWITCHES_WAKINGS]; /* the waking before it of a thread with the same last bits, plus 1; 0: none */
    uint64_t last[SWITCHES_CHAINS];    /* likewise, of all */
};

void switches_wake(struct switches_wakings *w, const struct switches_waking *waking);

/** The first waking of thread `woken` after `since` and until `end`; NULL: none is known. */
const struct switches_waking *switches_waking_of(const struct switches_wakings *w, uint32_t woken, int64_t since,
                                                 int64_t end);

#endif
