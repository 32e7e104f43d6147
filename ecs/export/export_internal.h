// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the files of this room; export.h is its interface. */
#ifndef BEZEL_ECS_EXPORT_EXPORT_INTERNAL_H
#define BEZEL_ECS_EXPORT_EXPORT_INTERNAL_H

#include "base/err.h"
#include "collector/model/run_model.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/** The committed part of a stream file, and where its first packet belongs. */
struct export_stream {
    char *path;
    uint64_t bytes;
    uint64_t instance, begin; /* the process; time of the first packet, ns */
};

/** The streams of a node that contain a packet. */
struct export_node {
    char dir[NAME_MAX + 1]; /* below trace/ */
    size_t count, capacity;
    struct export_stream *streams;
};

struct export_nodes {
    size_t count, capacity;
    struct export_node *list;
};

/** Finds all streams of `run`, with their present lengths. Returns 0 or an error; export_find_free() in either case. */
int export_find(const char *run, struct export_nodes *nodes) BEZEL_MUST_CHECK;
void export_find_free(struct export_nodes *nodes);

/** A record of a stream, or a loss. */
struct export_item {
    const struct model_process *process;
    const struct packet_header *packet;
    const struct packet_record *r; /* NULL: `lost` records were lost up to then */
    uint64_t lost;
    uint64_t time;           /* on the node's clock, ns */
    struct clock_reading at; /* the same in the run's time (collector/model/run_clock.h); does not fall */
};

/** Takes what export_in_order() gives. Functions return 0, or an error, which ends it. */
struct export_taker {
    void *context;
    int (*add)(void *context, size_t source, const struct model_process *p); /* a stream, by number; NULL allowed */
    int (*take)(void *context, size_t source, const struct export_item *item);
};

/** A node, with its streams. */
struct export_part {
    const struct model_node *model;
    const struct export_node *node;
};

/**
 * Gives the records and losses of all streams of `parts` to `to`, in the order of the run's time. Streams of unknown
 * processes are left out with a warning. Opens one stream at a time. Each stream has a buffer from its first record to
 * its last: `memory` bytes divided by the number of streams, but at least 4 KiB. A damaged packet ends its stream, with
 * a warning. Returns 0 or an error.
 */
int export_in_order(const struct export_part *parts, size_t count, size_t memory,
                    const struct export_taker *to) BEZEL_MUST_CHECK;

/**
 * Writes the records of all streams of `node`, at least one, into directory `to`, in order of time, as one CTF stream
 * with its metadata; `model` has their processes and dictionaries. Returns as export_in_order().
 */
int export_merge(const struct model_node *model, const struct export_node *node, const char *to,
                 size_t memory) BEZEL_MUST_CHECK;

/**
 * Loads nodes, processes and dictionaries from the run's database, and the positions of streams if `streams`. Returns
 * the model for model_free(), or NULL with *err.
 */
struct model *export_load_model(const char *run, bool streams, int *err) BEZEL_MUST_CHECK;

/**
 * Whether all records of other clocks that stand before a record were made before it: their times are apart by more
 * than the bounds of their errors.
 */
enum export_proof { EXPORT_UNORDERED /* records are not in order */, EXPORT_UNKNOWN, EXPORT_PROVEN };

/** A record with its context, for all formats of `bezel export --format`. */
struct export_record {
    const struct model_process *process;
    const struct packet_header *packet;
    const struct packet_record *r;
    const struct dict_aspect *aspect;
    struct clock_reading at; /* its time in that of the run */
    enum export_proof proof; /* whether its order is proved */
};

enum export_shown {
    EXPORT_TEXT,
    EXPORT_ABSENT /* a string that its process had no room for */,
    EXPORT_INT,
    EXPORT_FLOAT
};

/** A value, ready to be written. */
struct export_value {
    enum export_shown as;
    const char *text; /* of the dictionary: `length` bytes, not NUL-terminated */
    size_t length;
    int64_t integer;
    double real;
};

/** Value `i` of a record, with i below the number of its aspect's fields. Pure. */
struct export_value export_value(const struct export_record *record, uint32_t i);

/** Records as CSV (RFC 4180, but lines end in LF): a column for each name of a field in the run. */
struct csv;

/**
 * Writes the first line to `out`: the names of the columns, from all dictionaries in `m`, with `order` if `ordered`.
 * Borrows both until csv_close(), and uses `out` without locking it. Returns 0 with *csv for csv_close(), or
 * BEZEL_ENOMEM.
 */
int csv_open(FILE *out, const struct model *m, bool ordered, struct csv **csv) BEZEL_MUST_CHECK;
void csv_close(struct csv *csv);

/** csv_packet() begins a packet of process `p`; csv_record() writes one of its records. */
void csv_packet(struct csv *csv, const struct model_process *p, const struct packet_header *h);
void csv_record(struct csv *csv, const struct export_record *record);

#endif
