// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by run_reader*.c; run_reader.h is the interface. */
#ifndef BEZEL_RUN_READ_RUN_READER_INTERNAL_H
#define BEZEL_RUN_READ_RUN_READER_INTERNAL_H

#include "run/read/run_reader.h"
#include "run/read/run_streams.h"
#include "run/read/stream_set.h"
#include "run/store/watermarks.h"

struct run_reader {
    struct run_streams found;
    struct record_filter filter;
    size_t memory; /* of the buffers; 0: as the run says */
    uint64_t skip; /* records to leave out first */
    bool only;     /* then no more are given than ... */
    uint64_t left; /* ... these */
    struct run_reader_totals totals;
    struct trace_expired expired, told; /* in all; that was logged */
    struct watermark *watermarks;       /* room for WATERMARKS_MAX, once it was needed */
    uint8_t clock[16];                  /* clock_identity() */
    int64_t logical;                    /* of what was given last */
    int64_t looked_at;                  /* when the last look began, ns of CLOCK_REALTIME */
    size_t numbers;                     /* of streams that there were */
    struct stream_set given;
};

#endif
