// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Streams in one order, whose receivings of messages stand behind their sendings. Where processes send messages, their
 * streams are read a second time, ahead. One thread.
 */
#ifndef BEZEL_RUN_READ_STREAM_SET_H
#define BEZEL_RUN_READ_STREAM_SET_H

#include "run/read/record_order.h"

/** A struct of all zeros is empty. */
struct stream_set {
    struct record_order *order;
    size_t count, capacity; /* of streams that are not closed */
    struct record_stream **streams;
    bool measured;               /* before */
    struct stream_set *sendings; /* the same streams, of which only sendings are wanted; NULL: nobody sends */
};

/** Begins a set that is empty; `of` as for record_order_new(). Returns 0 or BEZEL_ENOMEM. */
int stream_set_init(struct stream_set *set, const struct record_source *of) BEZEL_MUST_CHECK;
void stream_set_free(struct stream_set *set);

/** A stream file of a process. */
struct stream_file {
    const char *path;
    const struct model_process *process;
    uint64_t begin; /* of its first packet, ns; 0: unknown */
    size_t number;
    uint64_t bytes; /* to be read; 0: none before stream_set_measure() */
};

/** Adds a stream. Returns 0 or an error. */
int stream_set_add(struct stream_set *set, const struct stream_file *file) BEZEL_MUST_CHECK;

/** Gives all that refers to the model its place in `m`. False: that lacks something. */
bool stream_set_move(struct stream_set *set, const struct model *m);

/** Looks how much all streams have by now. Returns 0 or an error. */
int stream_set_measure(struct stream_set *set) BEZEL_MUST_CHECK;

/** What was measured is not held back any more; sendings never are. */
void stream_set_settle(struct stream_set *set);

/** Frees streams that have nothing more to give. */
void stream_set_drop_ended(struct stream_set *set);

#endif
