// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * How long a test waits for what must happen, ns. Long: others may use the machine; only who fails waits so long.
 * tests/run measures how slow the machine is (tests/lib/machine), and all deadlines are longer by that factor: a test's
 * own deadline is multiplied by test_scale(), or is PATIENCE.
 */
#ifndef BEZEL_TESTS_LIB_PATIENCE_H
#define BEZEL_TESTS_LIB_PATIENCE_H

#include <stdlib.h>

#include "base/clock.h"

#define PATIENCE (60 * CLOCK_S * test_scale())

/** BEZEL_TEST_SCALE, a whole number from 1 to 20; 1 where it is not set. */
static inline int64_t test_scale(void)
{
    const char *set = getenv("BEZEL_TEST_SCALE");
    long scale = set ? strtol(set, NULL, 10) : 1;
    return scale < 1 ? 1 : scale > 20 ? 20 : scale;
}

#endif
