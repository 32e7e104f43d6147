// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The processor's counter: TSC on x86-64, CNTVCT on arm64. A reading of it costs less than half of clock_gettime(), so
 * records are stamped with it where it can be trusted: it must tick at one rate in all states of the processor, be the
 * same on all cores, and be readable by programs. The kernel checks this, so the counter must be the kernel's own clock
 * source.
 *
 * A reading is not serialised with the instructions around it: it may be some nanoseconds early or late.
 */
#ifndef BEZEL_SENSOR_SHM_CPU_COUNTER_H
#define BEZEL_SENSOR_SHM_CPU_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/** Properties of this machine's counter. */
struct cpu_counter_traits {
    bool exists;        /* the processor has one that Bezel reads */
    bool invariant;     /* ticks at one rate in all states of the processor */
    bool readable;      /* this process may read it */
    const char *source; /* the kernel's current clock source; "" if unknown */
    const char *wanted; /* the clock source that is this counter */
};

/** Whether such a counter may stamp records; if not, *why_not is a sentence for people, in static storage. */
bool cpu_counter_judge(const struct cpu_counter_traits *counter, const char **why_not);

/**
 * Whether this machine's counter may stamp this process's records; if not, *why_not is a sentence for people, static.
 * Reads a file of sysfs: may block a little. Thread-safe.
 */
bool cpu_counter_trusted(const char **why_not);

/** bezel_counter(), as a function for clock_pair_read(). Thread-safe, async-signal-safe. */
uint64_t cpu_counter_read(void);

#endif
