// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the files of the exported trace share. export.h is the others' view of it. */
#ifndef BEZEL_ECS_EXPORT_OWN_H
#define BEZEL_ECS_EXPORT_OWN_H

#include "base/err.h"
#include "collector/model.h"

#include <limits.h>
#include <stdbool.h>

/** A stream file as far as it is committed, and what its first packet says. */
struct export_stream {
    char *path;
    uint64_t bytes;
    uint64_t instance, begin; /* of the process; ns */
};

/** The streams of a node that hold a packet. */
struct export_node {
    char dir[NAME_MAX + 1]; /* below trace/ */
    size_t count, capacity;
    struct export_stream *streams;
};

struct export_nodes {
    size_t count, capacity;
    struct export_node *list;
};

/** Finds all streams of `run`, as long as they are now. Returns 0 or an error; export_forget() frees in either case. */
int export_find(const char *run, struct export_nodes *nodes) BEZEL_MUST_CHECK;
void export_forget(struct export_nodes *nodes);

/**
 * Writes the records of all streams of `node` into directory `to`, in the order of time, as one CTF stream and its
 * metadata. `node` has at least one. `model` knows every process and dictionary of them. Needs one descriptor for
 * reading at a time, and for each stream that has begun and not ended at a point in time a buffer: its share of
 * `memory` bytes, but at least 4 KiB. What is damaged ends its stream and is told of.
 */
int export_merge(const struct model_node *model, const struct export_node *node, const char *to,
                 size_t memory) BEZEL_MUST_CHECK;

#endif
