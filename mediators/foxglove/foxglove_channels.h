// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The channels of a run, as Foxglove's protocol has them: one for each aspect of a process, with the name, definition
 * and CDR that they have in an MCAP file, and channel 0 for losses. Each keeps its newest record. One owner; a few
 * hundred bytes for each channel, and its record.
 */
#ifndef BEZEL_MEDIATORS_FOXGLOVE_CHANNELS_H
#define BEZEL_MEDIATORS_FOXGLOVE_CHANNELS_H

#include "base/hash_index.h"
#include "export/mcap_bytes.h"
#include "run/read/record_item.h"

enum {
    FOXGLOVE_CHANNELS = 16384,
    FOXGLOVE_HEAD = 13, /* bytes before the record: 1, the subscription (4), the time in ns (8) */
};

struct foxglove_channel {
    char *about; /* what clients are told, a JSON object */
    size_t about_bytes;
    struct grow_bytes newest; /* a message for clients but for its subscription; no bytes: there is none yet */
    int64_t time;             /* of it, ns of the run's time */
};

/** All zeros at first. */
struct foxglove_channels {
    struct foxglove_channel *list;
    size_t count, capacity;
    uint64_t left_out; /* aspects of processes beyond FOXGLOVE_CHANNELS */
    struct hash_index numbers;
    size_t number_count;
};

/** Adds what `m` has and it lacks. Returns 0 or BEZEL_ENOMEM. */
int foxglove_channels_add(struct foxglove_channels *c, const struct model *m) BEZEL_MUST_CHECK;
void foxglove_channels_fini(struct foxglove_channels *c);

/** Makes a record, or a loss, the newest one of its channel. Returns the channel's number; -1: it has none. */
int foxglove_channels_put(struct foxglove_channels *c, const struct record_item *item);

/** Forgets all records. */
void foxglove_channels_forget(struct foxglove_channels *c);

#endif
