// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by run_reader*.c; run_reader.h is the interface. */
#ifndef BEZEL_COLLECTOR_READ_RUN_READER_INTERNAL_H
#define BEZEL_COLLECTOR_READ_RUN_READER_INTERNAL_H

#include "collector/read/record_order.h"
#include "collector/read/run_reader.h"
#include "collector/read/run_streams.h"
#include "collector/store/watermarks.h"

struct run_reader {
    struct run_streams found;
    struct record_filter filter;
    struct record_order *order;
    uint64_t skip; /* records to leave out first */
    struct run_reader_totals totals;
    struct watermark *watermarks;    /* room for WATERMARKS_MAX, once it was needed */
    size_t count, capacity, numbers; /* streams that are not closed; all that were */
    struct record_stream **streams;
};

#endif
