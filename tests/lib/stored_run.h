// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A collector without a link: stores what a fake sensor cut, in this process, in the order in which bezel-collector
 * does it. No test framework in here: functions return 0 or an error.
 */
#ifndef BEZEL_TESTS_LIB_STORED_RUN_H
#define BEZEL_TESTS_LIB_STORED_RUN_H

#include "collector/receive/keep.h"
#include "run/rundb/rundb_live.h"
#include "run/store/store.h"
#include "tests/lib/fake_sensor.h"

struct stored_run {
    struct fake_sensor *sensor;
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    struct model_node *node;
    unsigned batch;            /* packets between acknowledgements; 0: 1 */
    struct store_keep keep_to; /* all zeros: everything is kept */
    const int64_t *now;        /* of the keeping; NULL: clock_now() */
    struct keep keep;
    void (*acknowledged)(unsigned process, unsigned ring, uint64_t next_seq, void *context); /* NULL: nobody listens */
    void *context;
};

/** Starts on run directory `dir`, as a collector does; `r` is otherwise all zeros. */
int stored_start(struct stored_run *r, const char *dir, struct fake_sensor *sensor, int64_t sync) BEZEL_MUST_CHECK;

/** Stores and acknowledges up to `packets` packets that are not stored yet, in turn from all streams. */
int stored_feed(struct stored_run *r, uint64_t packets) BEZEL_MUST_CHECK;

/** Stores all packets, and saves. */
int stored_grow(struct stored_run *r) BEZEL_MUST_CHECK;

/** Makes `dir` a run with all packets of `sensor`, which has ended in order. */
int stored_whole(const char *dir, struct fake_sensor *sensor) BEZEL_MUST_CHECK;

/** Lets expire what is to, as stored_feed() does after each acknowledgement. */
void stored_keep(struct stored_run *r);

/** Saves as a collector does that has received something, be it only what it could not store. */
int stored_save(struct stored_run *r) BEZEL_MUST_CHECK;

/** Takes the last books of every process: as many attempts as were stored or, by `lost`, lost to a full ring. */
void stored_end(struct stored_run *r);

/** Saves and closes as at an orderly end; or closes alone, as much as a kill allows. */
int stored_stop(struct stored_run *r) BEZEL_MUST_CHECK;
void stored_drop(struct stored_run *r);

/** Whether the files of run `dir` hold every packet of the sensor once, or at least the first acked of each stream. */
bool stored_is_right(const struct fake_sensor *sensor, const char *dir, bool whole);

#endif
