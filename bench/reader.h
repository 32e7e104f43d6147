// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The reader that a benchmark's records need: a process with an external sensor that polls the folder BEZEL_DIR,
 * acknowledges what it cut at once, and ends with this process, however that ends. And this process's own segment, as
 * anyone would see it.
 */
#ifndef BEZEL_BENCH_READER_H
#define BEZEL_BENCH_READER_H

#include "sensor/shm/segment.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Starts it, polling once a millisecond, on its CPU, and puts the calling thread, which claims its ring, on the
 * writer's. Records of this process's aspects are enabled when it returns. Returns 0, or -1 with the reason on stderr.
 */
int reader_start(void);
void reader_stop(void);

/** Polls without a pause between, or once a millisecond again. */
void reader_busy(bool busy);

/**
 * Waits a period of the reader and then until it has emptied the rings; goes on after 100 ms all the same. The CPU is
 * kept busy. Rings that overwrite are never emptied, and not waited for.
 */
void reader_let_drain(void);

/** Records that full rings of this process dropped so far; 0 before there is a segment. */
uint64_t reader_dropped(void);

/** What stamps the records of this process. */
enum segment_clock reader_clock(void);

#endif
