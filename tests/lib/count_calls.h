// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What count_calls.c counts, in a file that the test makes: zeros at first. */
#ifndef BEZEL_TESTS_LIB_COUNT_CALLS_H
#define BEZEL_TESTS_LIB_COUNT_CALLS_H

#include <stdint.h>

struct count_calls {
    _Atomic uint64_t program;   /* allocations that the program itself asks for */
    _Atomic uint64_t libraries; /* that a library asks for: ZeroMQ, libc for its own */
};

#endif
