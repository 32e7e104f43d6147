// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Writes records and losses as lines of a PICL trace (version 2), not in order of time: spans are known when they end,
 * and their entries stand before. A processor is a node, a process of it a thread with its ring. Spans and waits become
 * entry and exit of an event of their own, messages sends and receives, other records marks with their numbers, losses
 * marks of a full buffer. PICL has no texts with blanks, so texts are left out, but for the labels of events. One
 * owner.
 */
#ifndef BEZEL_EXPORT_PICL_H
#define BEZEL_EXPORT_PICL_H

#include "run/read/record_item.h"

#include <stdio.h>

struct picl;

/** Times are seconds since `start`, ns of the run's time. Borrows `out`; errors of it show in ferror(). NULL: no
 * memory. */
struct picl *picl_new(FILE *out, int64_t start);

/** Writes a record or a loss. Returns 0 or BEZEL_ENOMEM. */
int picl_put(struct picl *x, const struct record_item *item) BEZEL_MUST_CHECK;

/** Writes the end of each stream. */
void picl_end(struct picl *x);

/** How many values were left out: texts. */
uint64_t picl_left_out(const struct picl *x);

void picl_free(struct picl *x);

#endif
