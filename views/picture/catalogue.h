// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A run as its views see it, while it grows or when it has ended: levels and history, nodes, processes and streams by
 * their numbers, and their clocks. One owner; blocks on the disk.
 */
#ifndef BEZEL_VIEWS_PICTURE_CATALOGUE_H
#define BEZEL_VIEWS_PICTURE_CATALOGUE_H

#include "base/hash_index.h"
#include "run/history/history.h"
#include "run/levels/levels.h"
#include "run/read/record_item.h"

struct catalogue_process {
    const struct model_process *process;
    uint32_t node;
    size_t first, count; /* of its streams, in `streams` */
};

/** Arrays are valid until the next update. */
struct catalogue {
    struct levels *levels;
    struct history history;
    uint64_t changes; /* another number whenever nodes, processes, dictionaries, clocks or streams came */
    uint64_t age;     /* of the model that is in here */
    size_t node_count, process_count, stream_count;
    const struct model_node **nodes;     /* in the order of the model */
    struct catalogue_process *processes; /* in the order of their rows in the database */
    int64_t *stream_processes;           /* by stream: number of the process; -1: none */
    size_t *streams;                     /* in the order of processes */
    struct hash_index hash;              /* numbers of processes, by node and instance */
};

/**
 * Opens run directory `run`, with those tables of the history. Returns 0, or an error, which rundb_why() explains;
 * catalogue_close() is for both.
 */
int catalogue_open(struct catalogue *c, const char *run, uint32_t tables) BEZEL_MUST_CHECK;
void catalogue_close(struct catalogue *c);

/** Takes in what is new, for some `budget` ns. Returns 1: there is more; 0; or an error. */
int catalogue_update(struct catalogue *c, int64_t budget) BEZEL_MUST_CHECK;

/** The number of a process, by its row in the database, or by node and instance; -1: there is none. */
int64_t catalogue_process_of_row(const struct catalogue *c, int64_t row);
int64_t catalogue_process(const struct catalogue *c, uint32_t node, uint64_t instance);

/** The run's time at `own` of the node's clock, and the bound of its error, INT64_MAX: unknown. */
struct clock_reading catalogue_time(const struct model_node *node, int64_t own);

/** A record of stream `stream` as an item of the reader's. */
struct record_item catalogue_item(const struct model_process *process, size_t stream, const struct packet_record *r);

/** Converts `time` of the run into the node's time: the latest that is not after it, within the precision of a double.
 */
int64_t catalogue_own(const struct model_node *node, int64_t time);

/** The aspect of daemon `p` that `is` such a one; 0: it has none, or is no daemon. */
uint32_t catalogue_aspect(const struct model_process *p, bool (*is)(const struct dict_aspect *aspect));

/**
 * The run's times of the first and the last stored packet; first > last: there is none. A stream that ends in the
 * future counts only if all streams do. Returns how many such streams were left out.
 */
uint64_t catalogue_range(const struct catalogue *c, int64_t *first, int64_t *last);

#endif
