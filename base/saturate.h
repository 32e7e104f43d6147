// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Arithmetic with foreign numbers: a result beyond the range becomes the end of the range. And the least and the most
 * of two numbers. Pure.
 */
#ifndef BEZEL_BASE_SATURATE_H
#define BEZEL_BASE_SATURATE_H

#include <stdint.h>

static inline int64_t saturate_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? a < 0 ? INT64_MIN : INT64_MAX : sum;
}

static inline int64_t saturate_sub(int64_t a, int64_t b)
{
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? a < 0 ? INT64_MIN : INT64_MAX : difference;
}

/** A time as it is in a packet, ns: a time beyond the range of int64_t is the end of that range. */
static inline int64_t saturate_time(uint64_t ns)
{
    return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

static inline int64_t saturate_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t saturate_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t saturate_between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/** A whole number above `ns`, which is above -2^63. */
static inline int64_t saturate_up(double ns)
{
    return ns < 9e18 ? (int64_t)ns + 1 : INT64_MAX;
}

/** A foreign time or duration in ns, clamped to +-2^61 (73 years): no sum or difference of three of them overflows. */
static inline int64_t saturate_ns(int64_t ns)
{
    const int64_t most = INT64_C(1) << 61;
    return saturate_between(ns, -most, most);
}

#endif
