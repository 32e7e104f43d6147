// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The files that export a trace share this header; export.h is the interface of the room. */
#ifndef BEZEL_ECS_EXPORT_EXPORT_INTERNAL_H
#define BEZEL_ECS_EXPORT_EXPORT_INTERNAL_H

#include "base/err.h"
#include "collector/model/run_model.h"

#include <limits.h>
#include <stdbool.h>

/** The committed part of a stream file, and facts from its first packet. */
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

/**
 * Writes the records of all streams of `node`, at least one, into directory `to`, in order of time, as one CTF stream
 * with its metadata. `model` has their processes and dictionaries; streams of other processes are left out with a
 * warning. Opens one stream at a time. Each stream has a buffer from its first record to its last: `memory` bytes
 * divided by the number of streams, but at least 4 KiB. A damaged packet ends its stream, with a warning. Returns 0 or
 * an error.
 */
int export_merge(const struct model_node *model, const struct export_node *node, const char *to,
                 size_t memory) BEZEL_MUST_CHECK;

#endif
