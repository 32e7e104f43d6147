// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What the tests of metric/rate.h begin with: a rate over a window, and one record. */
#ifndef BEZEL_TESTS_LIB_RATE_FIXTURE_H
#define BEZEL_TESTS_LIB_RATE_FIXTURE_H

#include "metric/rate.h"
#include "tests/lib/one_record.h"
#include "tests/lib/test.h"

static inline struct rate *fresh(int64_t window)
{
    struct rate *r;
    assert_int_equal(rate_new(window, false, &r), 0);
    return r;
}

static inline void rate_record(struct rate *r, int64_t timestamp)
{
    rate_records(r, ONE_RECORD(timestamp, 0, NULL));
}

#endif
