// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Records of perf_event_open(2) about context switches, and the intervals on a CPU that they make. Pure: from bytes to
 * values; no system call, clock or allocation.
 *
 * The kernel writes the records of one thread in the order of their times, into a ring of a power of two bytes. A
 * record that finds no room is lost; the next one that finds room is preceded by the number of lost ones. Switches
 * into a CPU and out of it alternate, so that number says how many intervals are lost.
 *
 * Whatever the bytes are, the intervals of one thread do not overlap, and their times do not run backwards.
 */
#ifndef BEZEL_SENSOR_SAMPLERS_SWITCHES_DECODE_H
#define BEZEL_SENSOR_SAMPLERS_SWITCHES_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#define SWITCHES_UNKNOWN (-1) /* of a time in ns */

enum switches_what {
    SWITCHES_IN,        /* the thread got a CPU */
    SWITCHES_WAITED,    /* it left it: it waits for something */
    SWITCHES_PREEMPTED, /* it left it, and could have gone on: another thread had to run, or it yielded */
    SWITCHES_EXITED,    /* it ended */
    SWITCHES_LOST,      /* `lost` records are missing here */
};

struct switches_event {
    enum switches_what what;
    int64_t time; /* CLOCK_MONOTONIC; of SWITCHES_LOST: of the next record */
    uint32_t pid, thread, cpu;
    uint64_t lost;
    int64_t woken; /* IN: the thread was woken then; a time that is not in the wait before: that is not known */
};

/** Bytes that wait in a ring: positions `at` to `head`, which only grow; `size` is a power of two. The kernel's times
 * plus `shift` are those of our clock: it ignores our time namespace. */
struct switches_bytes {
    const uint8_t *ring;
    uint64_t size, at, head;
    int64_t shift;
};

/** A record as the kernel wrote it; `bytes` are those with its header, up to SWITCHES_RECORD_BYTES. */
enum { SWITCHES_RECORD_BYTES = 128 };
struct switches_record {
    uint32_t type;
    uint16_t misc, size;
    int64_t shift;        /* of struct switches_bytes */
    const uint8_t *bytes; /* in the ring, or, if it goes on at the ring's begin: */
    uint8_t joined[SWITCHES_RECORD_BYTES];
};

/**
 * Takes the next record out of `b`. False at the end. Bytes that are no record end it too: they are passed over, and
 * *broken is set.
 */
bool switches_next_record(struct switches_bytes *b, struct switches_record *r, bool *broken);

/** Parts of a record: the thread, time and CPU behind its first `body` bytes; the number of lost ones. False: none. */
bool switches_read_id(const struct switches_record *r, uint32_t body, struct switches_event *e);
bool switches_read_lost(const struct switches_record *r, struct switches_event *e);

/** Of a switch: whether its thread came or left, and how. */
enum switches_what switches_direction(const struct switches_record *r);

/**
 * Takes the next event out of `b`, whose records have the sample fields TID, TIME and CPU. Records of other kinds are
 * passed over. False at the end. Bytes that are no record end it too: they are passed over, and *broken is set.
 */
bool switches_next(struct switches_bytes *b, struct switches_event *e, bool *broken);

/**
 * Whether records behind those of `b` may be lost without a word yet: there was no room for more. What is known from
 * elsewhere about the time until now may then be about records that are missing.
 */
bool switches_full(const struct switches_bytes *b);

/** How an interval on a CPU ended. The order is that of the labels in the trace. */
enum switches_end {
    SWITCHES_END_WAITED,
    SWITCHES_END_PREEMPTED,
    SWITCHES_END_EXITED,
    SWITCHES_END_GOES_ON, /* it did not: the next interval begins where this one ends, on the same CPU */
};

/**
 * A thread was on `cpu` from `begin` to `end`, and on none for `off` ns before. Of those it was ready to run, in a
 * queue, for at least `ready_least` and at most `ready_most`; waiting for something else it was in the rest. If it is
 * known when it was woken, `ready_most` is the time since then: that has the way to the CPU too, by an interrupt's end
 * and the switch, where the thread was in no queue. `off` is unknown for the first interval that is known of a thread;
 * then `ready_least` and `ready_most` are, too.
 */
struct switches_interval {
    int64_t begin, end, off, ready_least, ready_most;
    uint32_t cpu;
    enum switches_end ended;
};

/** What is known of a thread: zeroed, but for `last`, the time when it began to be recorded. */
struct switches_thread {
    enum { SWITCHES_STATE_UNKNOWN, SWITCHES_STATE_ON, SWITCHES_STATE_OFF, SWITCHES_STATE_GONE } state;
    int64_t last; /* no time is before this one */
    int64_t
        begin; /* ON: of the interval. UNKNOWN: of being recorded, if `whole`: if it is on a CPU, it has been since */
    int64_t since;                        /* OFF: it left the CPU then */
    int64_t off, ready_least, ready_most; /* ON: before the interval */
    uint32_t cpu;                         /* where it was last */
    bool whole;                           /* UNKNOWN: no record is missing since `begin` */
    bool preempted;                       /* OFF: it could have gone on */
    uint64_t missing;                     /* records before the next one */
    uint64_t lost;                        /* intervals that are missing: the caller takes them */
};

/** Begins to record a thread at `now`. */
void switches_begin(struct switches_thread *t, int64_t now);

/**
 * For how long a thread can have been ready in a stretch of its records, and what the kernel says of it. `waited`: at
 * the ends of waits, since it was woken or, where that is not known, since it waits; `preempted`: all the time off.
 */
struct switches_gaps {
    int64_t waited, preempted;
    int64_t queued; /* ns in which it was ready in that stretch, as schedstat has it; SWITCHES_UNKNOWN */
};

/**
 * Adds to `g` what is of the time off the CPU that event `e` ends, for thread `t` before that event. If that time is
 * not known, `queued` is about more than is known, and becomes unknown.
 */
void switches_add_gap(struct switches_gaps *g, const struct switches_thread *t, const struct switches_event *e);

/** Event `e` happened to a copy of a thread that is good for switches_add_gap() alone. */
void switches_pass(struct switches_thread *t, const struct switches_event *e);

/**
 * Event `e` of thread `t` happened. `g` is of the stretch of records that has it. Returns whether that completed an
 * interval, *i.
 */
bool switches_feed(struct switches_thread *t, const struct switches_event *e, const struct switches_gaps *g,
                   struct switches_interval *i);

/**
 * Cuts the interval of a thread that is on its CPU at `now`, after all events until then: an interval that goes on.
 * `on`: whether one whose state is not known yet is known to have run without a break since it began to be recorded.
 * False if it is on no CPU, or since `now` only.
 */
bool switches_cut(struct switches_thread *t, int64_t now, bool on, struct switches_interval *i);

/** A thread without any record since it began to be recorded waits: then it has waited since then. */
void switches_wait(struct switches_thread *t);

/** No more records are taken. An interval that has not ended is not lost: nothing is known of it. */
void switches_finish(struct switches_thread *t);

#endif
