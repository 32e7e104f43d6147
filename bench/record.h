// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The parts of bench-record, and the aspect that most of them record. */
#ifndef BEZEL_BENCH_RECORD_H
#define BEZEL_BENCH_RECORD_H

#include "bezel/sensor.h"

/** What LTTng's tracepoint of the same name has too. */
BEZEL_ASPECT(bench_two, (int64, number, "1"), (int64, next, "1"));

/**
 * Each prints its figures and returns 0, or 1 where something failed and a figure lacks. All but `disabled` and `count`
 * want a reader (bench/reader.h).
 */
int part_disabled(void);  /* nobody reads */
int part_hot(void);       /* against the counter, clock_gettime() and LTTng */
int part_kinds(void);     /* by number of values, and the other forms */
int part_busy(void);      /* while the reader polls without a pause */
int part_threads(void);   /* 1 to 16 at once */
int part_singles(void);   /* each record timed for itself: the tail */
int part_cold(void);      /* caches evicted before each */
int part_fallback(void);  /* with BEZEL_CLOCK=monotonic, against clock_gettime() */
int part_overwrite(void); /* with BEZEL_WHEN_FULL=overwrite */
int part_waits(void);     /* a wait that does not block; a record with CPU time */
int part_peer(void);      /* beside LTTng with the plug-in bench/lttng_counter.c */
int part_count(void);     /* to be run by callgrind, which counts within bench_counted() */

/** Writes eight records in each of `n` turns. */
void bench_counted(int n);

#endif
