// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Lists the processes that record in a folder, for the operator, beside the external sensors that may read their
 * segments. It changes nothing, maps nothing and trusts nothing: it copies what it needs from each file, and a file
 * that its process truncates or fills with nonsense is left out or shows wrong numbers, no more.
 */
#ifndef BEZEL_SENSOR_SHM_SEGMENT_LIST_H
#define BEZEL_SENSOR_SHM_SEGMENT_LIST_H

#include "base/folder.h"
#include "sensor/shm/litter.h"
#include "sensor/shm/segment.h"

enum { SEGMENT_LIST_MAX = 64 };

/** A living process that records, by what its segment says. */
struct segment_listed {
    uint64_t instance;
    uint8_t run[16];  /* that an external sensor reads it for, now; zeros: none reads it */
    uint32_t pid;     /* 0: of another pid namespace than ours */
    uint64_t age_ns;  /* since the segment was made; 0: unknown */
    uint64_t records; /* attempts to write one, in all rings */
    char name[SEGMENT_NAME_BYTES];
};

/**
 * Examines the segments with the SEGMENT_LIST_MAX lowest instances above `after`, and writes those of living processes
 * to `rows`, in this order. Returns how many, with *next: 0, or `after` of the call that goes on; or the error of
 * reading the folder, with errno. It reads all names of the folder, and of each file that it examines its head and 2
 * KiB of each ring.
 */
int segment_list(const struct folder *folder, uint64_t after, struct segment_listed rows[static SEGMENT_LIST_MAX],
                 uint64_t *next);

/**
 * The start time of process `pid` of our pid namespace, in whose segment it is `said`. In another time namespace the
 * process has read it on another clock; then it is read again. Who has the pid by then may be another process: its
 * segment's lock decides whether it lives.
 */
uint64_t segment_start_time(uint32_t pid, uint64_t said);

/**
 * Whether the process lives that made the segment `fd`, in whose head are `pid` and `start_time`. `ours`: the pid is a
 * number of our namespace.
 */
bool segment_process_lives(int fd, uint32_t pid, uint64_t start_time, bool ours);

/** Copies a name of a segment so that it may name a file: letters, digits, '_', '-', '.', no '.' first, never empty. */
void segment_copy_name(char *to, size_t size, const char *from, size_t from_size);

#endif
