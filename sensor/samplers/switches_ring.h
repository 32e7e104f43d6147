// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A ring of memory into which the kernel writes records of an event (perf_event_open(2)): of a thread, or of a CPU. One
 * owner, one thread; nothing blocks.
 */
#ifndef BEZEL_SENSOR_SAMPLERS_SWITCHES_RING_H
#define BEZEL_SENSOR_SAMPLERS_SWITCHES_RING_H

#include "sensor/samplers/switches_decode.h"

struct perf_event_mmap_page;

struct switches_ring {
    int fd;
    struct perf_event_mmap_page *page; /* NULL: not mapped */
    uint64_t bytes;                    /* of the mapping */
    int64_t shift;                     /* of struct switches_bytes */
};

/**
 * Opens a ring of up to `pages` pages, a power of two, for the context switches of thread `thread` on any CPU, or, with
 * `thread` -1, of all threads on CPU `cpu`. Fewer pages are taken where the kernel does not give so many. Returns 0, or
 * -1 with errno; then *memory says whether it is memory that the kernel refuses.
 */
int switches_ring_open(struct switches_ring *r, int32_t thread, int cpu, uint64_t pages, bool *memory);
void switches_ring_close(struct switches_ring *r);

/**
 * Has each hit of tracepoint `id` on CPU `cpu` written into ring `r` of that CPU, too. Returns the event's descriptor,
 * or -1 with errno.
 */
int switches_ring_add(const struct switches_ring *r, int cpu, uint64_t id);

/** The kernel has written records up to here. */
uint64_t switches_ring_head(const struct switches_ring *r);

/** Up to here they were taken. */
uint64_t switches_ring_tail(const struct switches_ring *r);

/** The records between both. */
struct switches_bytes switches_ring_bytes(const struct switches_ring *r, uint64_t head);

/** The kernel may write again where the records up to `head` were, which have been read. */
void switches_ring_free_up(const struct switches_ring *r, uint64_t head);

#endif
