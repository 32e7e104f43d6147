// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by run_reader*.c; run_reader.h is the interface. */
#ifndef BEZEL_COLLECTOR_READ_RUN_READER_INTERNAL_H
#define BEZEL_COLLECTOR_READ_RUN_READER_INTERNAL_H

#include "base/hash_index.h"
#include "collector/read/record_order.h"
#include "collector/read/run_reader.h"

#include <limits.h>

/** A folder below trace/. */
struct run_reader_folder {
    char name[NAME_MAX + 1];
    uint8_t uuid[16];        /* of its node */
    bool left_out;           /* it is no folder, no node of the run, or not wanted */
    int64_t changed, listed; /* ns of CLOCK_REALTIME: when its entries last changed; when they were last listed */
};

struct run_reader {
    char run[PATH_MAX];
    struct record_filter filter;
    struct model *model;
    uint64_t age;               /* of the model */
    unsigned renewals;          /* how often it was loaded since the last look */
    uint64_t looks, renewed_at; /* how many there were; the one at which the model was loaded last */
    struct record_order *order;
    uint64_t skip; /* records to leave out first */
    struct run_reader_totals totals;
    size_t folder_count, folder_capacity;
    struct run_reader_folder *folders;
    struct hash_index known; /* files that were found, by the hash of their paths */
    size_t known_count;
    size_t count, capacity, numbers; /* streams that are not closed; all that were */
    struct record_stream **streams;
};

/**
 * Loads the model anew. What a look found was explained by the database before, so loading once after it will do, but
 * for packets that replaced a torn one since: after RUN_READER_RENEWALS it does nothing, as nothing would come of it.
 * Returns 0 or an error.
 */
enum { RUN_READER_RENEWALS = 16 };
int run_reader_renew(void *reader) BEZEL_MUST_CHECK;

/** Finds new nodes and streams, adds them, and measures all. Returns 0 or an error. */
int run_reader_find(struct run_reader *r) BEZEL_MUST_CHECK;

#endif
