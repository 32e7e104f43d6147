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
 *
 * Records may end here (sensing.keep: reduced): they are evaluated, and the packet is stored without them
 * (evaluate_thin()), as one of kind PACKET_THINNED. The times between them, and how many they were, are saved together
 * (evaluate_save()). What a killed collector had taken and not saved is lost: the ordinals in its files count it.
 * One thread.
 */
#ifndef BEZEL_COLLECTOR_EVALUATE_EVALUATE_H
#define BEZEL_COLLECTOR_EVALUATE_EVALUATE_H

#include "run/model/validate.h"

struct evaluate;
struct message_values;
struct rundb;

/** A packet as it is to be stored. */
struct evaluate_thinned {
    uint8_t *bytes; /* for free(); NULL: as it came */
    struct packet_header header;
    uint32_t reduced; /* records that it has no more */
};

/**
 * Makes one that evaluates nothing yet, for the run `m`, which it borrows. `now`: clock_now(), by which a manager tells
 * its life from earlier ones. `rundb`, borrowed: where values are saved of records that end here; NULL: none end.
 * Returns NULL where memory is short.
 */
struct evaluate *evaluate_new(const struct model *m, struct rundb *rundb, int64_t now);
void evaluate_free(struct evaluate *e);

/**
 * Begins to evaluate the metrics of the experiment `text` on which it has limits. The same text as before changes
 * nothing. Returns NULL, or why it cannot, in static storage: then it evaluates nothing.
 */
const char *evaluate_configure(struct evaluate *e, const char *text, int64_t now);

/** A packet of `s` was stored, as `found`; it arrived at `now`, ns of this machine's CLOCK_MONOTONIC. */
void evaluate_packet(struct evaluate *e, const struct model_stream *s, const struct packet_header *h,
                     const uint8_t *packet, const struct validate_found *found, int64_t now);

/**
 * What is to be stored of packet `h` of `s`, whose records are all in `all`, or (0 there) of several aspects.
 * evaluate_took(), behind evaluate_packet(): it was stored, and the records that it has no more are taken into account.
 * `e` may be NULL. Returns 0 or BEZEL_ENOMEM.
 */
int evaluate_thin(struct evaluate *e, const struct model_stream *s, const struct packet_header *h,
                  const uint8_t *packet, const struct packet_run *all, struct evaluate_thinned *t) BEZEL_MUST_CHECK;
void evaluate_took(struct evaluate *e, const struct model_stream *s, const struct packet_header *h,
                   const uint8_t *packet, const struct packet_run *all);

/**
 * Hands on: puts the values of the records that ended here, and their number, into the run database's transaction;
 * ..._saved(): it was committed. `e` may be NULL. Returns 0 or an error.
 */
int evaluate_save(struct evaluate *e) BEZEL_MUST_CHECK;
void evaluate_saved(struct evaluate *e);

/** Fills in what is known at `now` of each limit on such a metric; nothing if there is no experiment. */
void evaluate_values(struct evaluate *e, int64_t now, struct message_values *values);

#endif
