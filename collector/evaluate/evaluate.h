// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Metrics of several nodes, evaluated in the collector while their records come: for the resource manager, which judges
 * limits on them.
 *
 * A manager gives the experiment (evaluate_configure()). From then on each packet that is stored goes through
 * evaluate_packet(). Of a process it is found once, by its dictionary, which of its aspects a metric reads; packets of
 * all others cost a test. Times are made the run's, each with the bound of its error by the relation of clocks. Records
 * are matched by key (metric/interval.h), so nodes may be in any order and far apart.
 *
 * What is evaluated is kept in memory alone. A collector that was started again does not evaluate what it reads at
 * recovery, which was judged before, so what was under way is lost: values are unknown for the first window.
 * One thread; no I/O.
 */
#ifndef BEZEL_COLLECTOR_EVALUATE_EVALUATE_H
#define BEZEL_COLLECTOR_EVALUATE_EVALUATE_H

#include "run/model/validate.h"

struct evaluate;
struct message_values;

/**
 * Makes one that evaluates nothing yet, for the run `m`, which it borrows. `now`: clock_now(), by which a manager tells
 * its life from earlier ones. NULL where memory is short.
 */
struct evaluate *evaluate_new(const struct model *m, int64_t now);
void evaluate_free(struct evaluate *e);

/**
 * Begins to evaluate the metrics of the experiment `text` on which it has limits. The same text as before changes
 * nothing. Returns NULL, or why it cannot, in static storage: then it evaluates nothing.
 */
const char *evaluate_configure(struct evaluate *e, const char *text, int64_t now);

/** A packet of `s` was stored, as `found`; it arrived at `now`, ns of this machine's CLOCK_MONOTONIC. */
void evaluate_packet(struct evaluate *e, const struct model_stream *s, const struct packet_header *h,
                     const uint8_t *packet, const struct validate_found *found, int64_t now);

/** Fills in what is known at `now` of each limit on such a metric; nothing if there is no experiment. */
void evaluate_values(struct evaluate *e, int64_t now, struct message_values *values);

#endif
