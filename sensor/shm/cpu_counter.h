// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The processor's counter: TSC on x86-64, CNTVCT on arm64. A reading of it costs less than half of clock_gettime(), so
 * records are stamped with it where it can be trusted: it must tick at one rate in all states of the processor, be the
 * same on all cores, and be readable by programs. Where it is the kernel's own clock source, the kernel checks this. On
 * a guest of a hypervisor, whose clock source the kernel uses instead, bezeld proves it (sensor/shm/
 * counter_proof.h), for programs that find its doorbell; all others take the kernel's clock there.
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

enum cpu_counter_trust {
    CPU_COUNTER_NOT_TRUSTED,
    CPU_COUNTER_PROVABLE, /* it may stamp records once bezeld has proven it */
    CPU_COUNTER_TRUSTED,
};

/** Whether such a counter may stamp records; if it is not trusted, *why_not is a sentence for people, static. */
enum cpu_counter_trust cpu_counter_judge(const struct cpu_counter_traits *counter, const char **why_not);

/**
 * Whether this machine's counter may stamp this process's records, as cpu_counter_judge(). Reads a file of sysfs: may
 * block a little. Thread-safe.
 */
enum cpu_counter_trust cpu_counter_trust(const char **why_not);

/**
 * Whether the kernel's flags of the first processor say that the counter has one rate, goes on while the processor
 * sleeps, and stays right if the guest moves: constant_tsc, nonstop_tsc and tsc_reliable of /proc/cpuinfo. `flags`: its
 * line, or any text of words. Pure.
 */
bool cpu_counter_is_reliable(const char *flags);

/** bezel_counter(), as a function for clock_pair_read(). Thread-safe, async-signal-safe. */
uint64_t cpu_counter_read(void);

#endif
