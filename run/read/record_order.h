// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Streams of several nodes in one order: those of a node by its clock, nodes by the run's time, and each receiving of a
 * message behind its sending. Where a node's clock was found to have jumped back, the run's time of what follows is
 * that of the record before. Records behind the settled part of their stream are held back, and with them all that come
 * later. A record that comes when later ones were given is late: it is given all the same.
 *
 * Clocks are known up to a bound, so a receiving may have an earlier time than its sending (a tachyon). Another order
 * of the same streams, of the sendings alone, is read ahead by the bounds of both clocks: a receiving whose sending is
 * found there waits for it, and with it what its node made afterwards (Vista: Waheed 1997, 7.3). Times stay as they
 * are; `proof` says why a record stands where it does. A sending beyond the bounds is not waited for.
 *
 * One thread. Memory: of what the source has, an eighth each is for messages and for the buffers of sendings, the rest
 * for the buffers of streams, or with ORDER_SISO half of that for what waits.
 */
#ifndef BEZEL_RUN_READ_RECORD_ORDER_H
#define BEZEL_RUN_READ_RECORD_ORDER_H

#include "run/read/record_item.h"
#include "run/read/record_stream.h"

#include <signal.h>

/** A time is wrong by at most so much, ns; without a known bound, that is taken for a second. */
static inline int64_t record_order_bound(struct clock_reading at)
{
    const int64_t most = 1000000000;
    return at.bound < most ? at.bound : most;
}

struct record_order;

/** An empty order. `of`: set its filter, memory and, for a run that grows, renew; it is copied. NULL: no memory. */
struct record_order *record_order_new(const struct record_source *of);
void record_order_free(struct record_order *o);

/** What the streams share, for record_stream_init(). */
const struct record_source *record_order_source(const struct record_order *o);

/**
 * Receivings wait for their sendings, which order `sendings` gives; borrowed. Whoever adds streams adds those to it
 * before that, and what a stream has has grown there first. Returns 0 or BEZEL_ENOMEM.
 */
int record_order_messages(struct record_order *o, struct record_order *sendings) BEZEL_MUST_CHECK;

/** record_order_next() returns 0 as soon as *stop is set; borrowed. NULL: never. */
void record_order_stop(struct record_order *o, const volatile sig_atomic_t *stop);
const volatile sig_atomic_t *record_order_stopped(const struct record_order *o);

/** All that is held has `bytes` from now on, the buffers of streams their part. */
void record_order_memory(struct record_order *o, size_t bytes);

/** Adds a stream, or queues one again whose file has grown; borrows it. Returns 0 or BEZEL_ENOMEM. */
int record_order_add(struct record_order *o, struct record_stream *s) BEZEL_MUST_CHECK;

/**
 * Gives the next record or loss. Returns 1 with *item, whose pointers are valid until the next call; 0 where there is
 * none for now; or an error. A damaged packet ends its stream, with a warning.
 */
int record_order_next(struct record_order *o, struct record_item *item) BEZEL_MUST_CHECK;

/** Records and losses of the run's time `ns` and later are held back, ns; INT64_MAX, as at first: none. */
void record_order_hold(struct record_order *o, int64_t ns);

/** Takes the nodes from a newer model, before their streams. Returns 0; BEZEL_EMALFORMED where it lacks one. */
int record_order_set_model(struct record_order *o, const struct model *m) BEZEL_MUST_CHECK;

/** Notes that a stream was freed. */
void record_order_forget(struct record_order *o);

/** The number of streams that were damaged. */
uint64_t record_order_cut(const struct record_order *o);

#endif
