// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the files of this room; export.h is its interface. */
#ifndef BEZEL_EXPORT_EXPORT_INTERNAL_H
#define BEZEL_EXPORT_EXPORT_INTERNAL_H

#include "base/err.h"
#include "run/model/run_model.h"
#include "run/read/record_filter.h"
#include "run/read/record_item.h"
#include "run/store/trace_reader.h"

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
    struct trace_expired expired; /* also of streams of which nothing is left */
};

/** Finds all streams of `run`, with their present lengths. Warns of what expired from them. Returns 0 or an error;
 * export_find_free() in either case. */
int export_find(const char *run, struct export_nodes *nodes) BEZEL_MUST_CHECK;
void export_find_free(struct export_nodes *nodes);

/** Warns of what expired from the store before it was exported; 0 packets: nothing. */
void export_warn_expired(uint64_t records, uint64_t packets);

/**
 * Writes the records of all streams of `node`, at least one, into directory `to`, in order of time, as one CTF stream
 * with its metadata; `model` has their processes and dictionaries. The order is that of run/read/record_order.h, as
 * `order` says. Streams of unknown processes are left out with a warning. Returns 0 or an error.
 */
int export_merge(const struct model_node *model, const struct export_node *node, const char *to,
                 const struct order_settings *order) BEZEL_MUST_CHECK;

/**
 * Where records go. `to` is what the sink's maker returned. `put` takes a record, or, if it takes `losses`, a loss, and
 * returns 0 or an error; `forget`: items belong to model `m` from now on; `left_out`: how many values have no column.
 * NULL: there is nothing to do, and none is left out.
 */
struct export_sink {
    int (*put)(void *to, const struct record_item *item);
    void (*forget)(void *to, const struct model *m);
    uint64_t (*left_out)(const void *to);
    bool losses;
};

/** Records as CSV (RFC 4180, but lines end in LF): a column for each name of a field in the run. */
struct csv;

/**
 * Writes the first line to `out`: the names of the columns, from the aspects in `m` that `filter` lets through, with
 * `order` and `logical_ns` if `ordered`; of a field with its unit if `units`: "value [degC]". Borrows `out` until
 * csv_close(), and uses it without locking it. Returns 0 with *csv for csv_close(), or BEZEL_ENOMEM.
 */
int csv_open(FILE *out, const struct model *m, const struct record_filter *filter, bool ordered, bool units,
             struct csv **csv) BEZEL_MUST_CHECK;
void csv_close(struct csv *csv);

/** csv_packet() begins a packet of process `p`; csv_record() writes one of its records. */
void csv_packet(struct csv *csv, const struct model_process *p, const struct packet_header *h);
void csv_record(struct csv *csv, const struct record_item *record);

/**
 * CSV in folder `dir`, which has none yet: a file ASPECT.csv for each aspect that has a record (':' of its name becomes
 * '-'), whose first line has the units. export_folder_new() borrows all, and returns NULL where memory is short;
 * export_folder_sink takes its records; export_folder_close() takes NULL, and returns 0 or an error.
 */
struct export_folder;
struct export_folder *export_folder_new(const char *dir, const struct model *m, const struct record_filter *filter,
                                        bool ordered);
int export_folder_close(struct export_folder *f) BEZEL_MUST_CHECK;
extern const struct export_sink export_folder_sink;

/**
 * The same as a database, records.db in folder `dir`, which has none yet: a table for each aspect that has a record.
 * export_database_open() returns NULL where it fails; export_database_close() takes NULL, and returns 0 or an error.
 */
struct export_database;
struct export_database *export_database_open(const char *dir);
int export_database_close(struct export_database *x) BEZEL_MUST_CHECK;
extern const struct export_sink export_database_sink;

/**
 * Makes directory `target` in one step: `fill` writes into `made`, a directory beside it, which then takes its place.
 * Returns as export_trace(), whose rules it follows; `what` was to be exported, for messages.
 */
int export_make(const char *what, const char *target, int (*fill)(void *context, const char *made),
                void *context) BEZEL_MUST_CHECK;

/** The dictionaries of processes are other ones from now on, where a run grows. */
void csv_forget(struct csv *csv);

/** How many values were left out, because the run had no field of their names when the first line was written. */
uint64_t csv_left_out(const struct csv *csv);

#endif
