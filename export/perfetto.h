// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Writes records and losses, in one order, as a trace for Perfetto (ui.perfetto.dev): packets of TrackEvent. Spans and
 * waits are slices of their thread, gauges and sums of counters are counters of their process, messages are instants
 * with a flow, other records are instants. Of the monitor: samples of the system are counters, those of sampler
 * `switches` slices below the threads that they are about, and what it decided and judged is instants. One owner.
 */
#ifndef BEZEL_EXPORT_PERFETTO_H
#define BEZEL_EXPORT_PERFETTO_H

#include "run/read/record_item.h"

#include <stdbool.h>
#include <stdio.h>

struct perfetto;

/** `all`: the monitor's other records too. Borrows `out`; errors of it show in ferror(). NULL: no memory. */
struct perfetto *perfetto_new(FILE *out, bool all);

/** Writes a record, or a loss, or nothing. Returns 0 or BEZEL_ENOMEM. */
int perfetto_put(struct perfetto *x, const struct record_item *item) BEZEL_MUST_CHECK;

/** Writes the rest; NULL is allowed. */
void perfetto_free(struct perfetto *x);

#endif
