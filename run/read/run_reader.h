// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Reads a run in order, while it grows or when it has ended: records and losses, of a node by its clock, across nodes
 * by the run's time with the bound of its error, up to the last complete packets. It writes nothing, and the run may be
 * hostile. The caller looks again and again, and takes what there is in between:
 *
 *     run_reader_open(); do { run_reader_look(); while (run_reader_next() > 0) ...; wait } while (it grows);
 *
 * A look finds new nodes, processes, streams and packets. With RUN_READER_HOLD the reader gives everything up to where
 * the run is complete, less twice the widest bound of the nodes' clocks (record_order_bound()). Where that is, the
 * collector knows from the low watermarks of the nodes. The reader does not wait for a node that has sent nothing for
 * `order.wait`, nor for a node that says it is complete up to a time RUN_READER_BEHIND older than that: its clock is
 * wrong. If the collector writes no watermarks (an older version, a full disk), the reader gives what one look finds at
 * the next one. A record that comes too late for its place is marked (RECORD_LATE), and counted.
 *
 * Memory: the model of the run with its dictionaries, some 800 bytes for each stream that is not closed, and
 * `order.memory` of the run for all that have something to read, but at least 4 KiB for each of these. No file stays
 * open. One thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_READ_RUN_READER_H
#define BEZEL_RUN_READ_RUN_READER_H

#include "run/read/record_filter.h"
#include "run/read/record_item.h"

#include <signal.h>

/* ns: two of the longest polling periods, and the longest forward.or */
#define RUN_READER_BEHIND INT64_C(30000000000)

struct run_reader;

/** Whether `bezel run` or a collector works on run directory `run` now, so that it may grow. */
bool run_reader_goes_on(const char *run);

/** Waits until a run that goes on has its database, at most `longest` ns, and not once *stop is set. */
void run_reader_await(const char *run, int64_t longest, const volatile sig_atomic_t *stop);

/**
 * Opens run directory `run` for what `filter` wants; copies the filter, but borrows its globs. Returns 0 with *r for
 * run_reader_close(); or an error of the database, which rundb_why() explains: BEZEL_ENOENT if there is none (yet).
 */
int run_reader_open(const char *run, const struct record_filter *filter, struct run_reader **r) BEZEL_MUST_CHECK;

/** As run_reader_open(), and compares the files of an ended run with their checksums: run_missing() with `most`. */
int run_reader_open_compared(const char *run, const struct record_filter *filter, uint64_t most,
                             struct run_reader **r) BEZEL_MUST_CHECK;
void run_reader_close(struct run_reader *r);

/** run_reader_next() returns 0 as soon as *stop is set; borrowed. */
void run_reader_stop(struct run_reader *r, const volatile sig_atomic_t *stop);

/** Before the first look: `bytes` in place of `order.memory` of the run. */
void run_reader_buffers(struct run_reader *r, size_t bytes);

enum run_reader_look {
    RUN_READER_HOLD, /* the run goes on: gives what is complete */
    RUN_READER_ALL,  /* gives all that is there now */
};

/**
 * Looks for what is new. What cannot be read is left out with a warning, and so is what expired from the store before
 * it was read. Returns 0, or an error: of the disk, or of the database, which rundb_why() explains.
 */
int run_reader_look(struct run_reader *r, enum run_reader_look how) BEZEL_MUST_CHECK;

/** Opens it as run_reader_open(), and looks for all that is there now. Returns 0 with *r, or an error of either. */
int run_reader_open_all(const char *run, const struct record_filter *filter, struct run_reader **r) BEZEL_MUST_CHECK;

/**
 * Gives the next record or loss. Returns 1 with *item, whose pointers are valid until the next call with `r`; 0 where
 * there is none before the next look; or an error as run_reader_look().
 */
int run_reader_next(struct run_reader *r, struct record_item *item) BEZEL_MUST_CHECK;

/**
 * To be called before the first look. Reading begins with the last `n` stored records that the filter wants, and with
 * the losses among them. `only`: it also ends with them, though the run may go on: no more than `n` records are given,
 * and none that are stored from now on. Reads as much of the run's end as it takes. Returns 0 or an error.
 */
int run_reader_last(struct run_reader *r, uint64_t n, bool only) BEZEL_MUST_CHECK;

/**
 * The end of the newest packet that is stored now in the streams that `filter` wants, ns of the run's time; INT64_MIN:
 * there is none. Packets with times that are still to come (model_is_ahead()) are left out with a warning, unless all
 * are such. Returns 0 or an error as run_reader_open().
 */
int run_reader_newest(const char *run, const struct record_filter *filter, int64_t *ns) BEZEL_MUST_CHECK;

/**
 * The model that all items belong to, for csv_open() and record_filter_check(). *age, if not NULL, gets a number that
 * changes with the model. The model is valid until the next call of run_reader_look() or run_reader_next().
 */
const struct model *run_reader_model(const struct run_reader *r, uint64_t *age);

/** After the first look: calls `each` for every stream that is read, with its record_stream_closed(). Reads each file.
 */
void run_reader_closed(const struct run_reader *r,
                       void (*each)(void *context, const struct model_process *p, int64_t closed), void *context);

struct run_reader_totals {
    uint64_t records, lost;         /* that were given; of the streams that the filter wants */
    uint64_t proofs[RECORD_PROOFS]; /* of these records, by enum record_proof */
    uint64_t waited, waited_ns;     /* of these that came after the first look; the sum of the times from when they
                                       were stored to the look that gave them, ns ... */
    int64_t waited_most;            /* ... and the longest */
    uint64_t cut;                   /* streams that are damaged, or no streams: read up to there; and those of an ended
                                       run that are gone, cut off or changed */
    uint64_t expired;         /* records that expired from the store before they were read, wanted or not, and ... */
    uint64_t expired_packets; /* ... the packets that they were in */
    uint64_t rest;            /* bytes at the ends of streams that are no complete packets */
};
struct run_reader_totals run_reader_totals(const struct run_reader *r);

/**
 * How many bytes of the streams that were found are stored now and not read yet, wanted or not. Asks for the size of
 * each stream that is not closed.
 */
uint64_t run_reader_behind(const struct run_reader *r);

#endif
