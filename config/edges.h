// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The edges of a metric `histogram`: read, checked and printed. */
#ifndef BEZEL_CONFIG_EDGES_H
#define BEZEL_CONFIG_EDGES_H

#include "config/fields_internal.h"

/** Reads a list of edges into `to`, a struct experiment_edges. */
void edges_read(struct reader *r, const struct tree *t, void *to);

/** Checks the keys of metric `t`, of any kind but an interval or one of two others. */
void edges_check(struct reader *r, const struct tree *t, struct experiment_metric *m);

/** Prints `edges: [...], `. */
void edges_print(const struct experiment_edges *e, FILE *out);

#endif
