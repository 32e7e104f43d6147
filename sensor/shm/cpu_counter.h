// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The processor's counter: TSC on x86-64, CNTVCT on arm64. A reading of it costs less than half of clock_gettime(), so
 * records are stamped with it where it can be trusted: where it ticks at one rate whatever the processor does, where
 * all cores agree on it, and where a program may read it. The kernel knows best: it must keep its own time by it.
 *
 * A reading is not serialised with the instructions around it: it may be early or late by what the processor has in
 * flight, some nanoseconds.
 */
#ifndef BEZEL_SENSOR_COUNTER_H
#define BEZEL_SENSOR_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/** What is known of this machine's counter. */
struct counter_facts {
    bool exists;        /* the processor has one that Bezel reads */
    bool invariant;     /* ticks at one rate in all states of the processor */
    bool readable;      /* this process may read it */
    const char *source; /* the kernel's current clock source; "" where it does not tell */
    const char *wanted; /* the clock source that is this counter */
};

/** Whether a counter with these facts may stamp records; if not, *why_not is a sentence for people. Static storage. */
bool counter_judge(const struct counter_facts *facts, const char **why_not);

/**
 * Whether this machine's counter may stamp this process's records; if not, *why_not is a sentence for people, static.
 * Reads a file of sysfs: may block a little. Thread-safe.
 */
bool counter_trusted(const char **why_not);

/** bezel_counter(), as a function for pair_read(). Thread-safe, async-signal-safe. */
uint64_t counter_read(void);

#endif
