// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Time: nanoseconds of CLOCK_MONOTONIC, in int64_t, everywhere (292 years). Other units carry a suffix. */
#ifndef BEZEL_BASE_CLOCK_H
#define BEZEL_BASE_CLOCK_H

#include "base/clock_units.h"

#include <stdint.h>
#include <time.h>

/** A time of the kernel, in nanoseconds. Pure. */
static inline int64_t clock_ns(struct timespec t)
{
    return t.tv_sec * CLOCK_S + t.tv_nsec;
}

/** Now, in nanoseconds since boot. Thread-safe, async-signal-safe, does not block. */
int64_t clock_now(void);

/** CPU time that this process has used, all threads, in nanoseconds. */
int64_t clock_process_cpu(void);

/** The same of the calling thread. */
int64_t clock_thread_cpu(void);

/** CLOCK_REALTIME minus CLOCK_MONOTONIC in nanoseconds: the best of several back-to-back readings. */
int64_t clock_realtime_offset(void);

/** The same; `width` gets how long that reading took, ns: it is wrong by at most half of it. */
int64_t clock_realtime_read(int64_t *width);

/**
 * Sleeps until `deadline` on clock_now()'s scale; returns early when a signal arrives. A past deadline returns at once.
 */
void clock_sleep_until(int64_t deadline);

/** Passes the time until `deadline` without giving up the CPU; a hyperthread beside it is in its way as little as can
 * be. */
void clock_spin_until(int64_t deadline);

/** Writes the kernel's boot id into `id`; zeros where it cannot be read. */
void clock_boot_id(uint8_t id[16]);

/**
 * Writes an identity of this process's CLOCK_MONOTONIC into `id`: where two are equal, it is the same clock. It is made
 * of the boot id and of the shift of the time namespace (time_namespaces(7)).
 */
void clock_identity(uint8_t id[16]);

/** By how much the time namespace of this process shifts CLOCK_MONOTONIC, ns; 0 if the kernel has none. */
int64_t clock_namespace_shift(void);

/** An identity, shortened to a number: for records, in which it distinguishes few clocks. Pure. */
int64_t clock_identity_short(const uint8_t id[16]);

#endif
