// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Nodes and processes of a model by their numbers, and their clocks. Borrows the model. One owner; no I/O. */
#ifndef BEZEL_VIEWS_TOP_TOP_INDEX_H
#define BEZEL_VIEWS_TOP_TOP_INDEX_H

#include "base/err.h"
#include "base/hash_index.h"
#include "run/model/run_model.h"

struct top_index_process {
    const struct model_process *process;
    uint32_t node;
};

struct top_index {
    size_t node_count, process_count;
    const struct model_node **nodes;     /* in the order of the model */
    struct top_index_process *processes; /* in the order of their rows in the database */
    struct hash_index hash;              /* numbers of processes, by node and instance */
};

/** Builds the index anew. On an error it is empty. */
int top_index_build(struct top_index *x, const struct model *m) BEZEL_MUST_CHECK;
void top_index_free(struct top_index *x);

/** Numbers in the arrays above; -1: there is none. */
int64_t top_index_node_of_row(const struct top_index *x, int64_t row);
int64_t top_index_process_of_row(const struct top_index *x, int64_t row);
int64_t top_index_process(const struct top_index *x, uint32_t node, uint64_t instance);

/** The run's time at `own` of the node's clock, and the bound of its error, INT64_MAX: unknown. */
struct clock_reading top_index_time(const struct top_index *x, uint32_t node, int64_t own);

/** The node's time when the run's time is `time`: the latest that is not after it, but for the grain of doubles. */
int64_t top_index_own(const struct top_index *x, uint32_t node, int64_t time);

#endif
