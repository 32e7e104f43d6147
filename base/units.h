// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Quantities as people write and read them. Reading is strict: a number is decimal digits, at most 6 of them after a
 * point, without sign, exponent or leading zeros ("010" is refused, not octal); a unit is required where the quantity
 * has one (only 0 needs none), blanks before it are optional, and nothing may follow. All functions are pure and
 * thread-safe, independent of the locale, and never allocate.
 *
 * The readers take a NUL-terminated text. They return 0 with the value, or BEZEL_EINVAL with *why a static sentence
 * that says what is wrong and what is allowed ("the unit is missing or unknown: ns, us, ms, s, min or h"); the value is
 * then untouched.
 */
#ifndef BEZEL_BASE_UNITS_H
#define BEZEL_BASE_UNITS_H

#include "base/err.h"

#include <stdint.h>

#define UNITS_KIB (UINT64_C(1) << 10)
#define UNITS_MIB (UINT64_C(1) << 20)
#define UNITS_GIB (UINT64_C(1) << 30)

/** A formatted quantity, returned by value: printf("%s", units_bytes(n).s). */
struct units_text {
    char s[40];
};

/** "1 ms", "100us", "0.5 s", "2 min": to nanoseconds, exactly; finer than 1 ns or beyond INT64_MAX is refused. */
int units_read_duration(const char *text, int64_t *ns, const char **why) BEZEL_MUST_CHECK;

/** "100 us .. 1 s": two durations, the first not above the second. */
int units_read_duration_range(const char *text, int64_t *min_ns, int64_t *max_ns, const char **why) BEZEL_MUST_CHECK;

/** "16 MiB", "1.5 GiB", "64 kB": to bytes; B, KiB, MiB, GiB are powers of 1024, kB, MB, GB powers of 1000. */
int units_read_size(const char *text, uint64_t *bytes, const char **why) BEZEL_MUST_CHECK;

/** "10 %": to 10.0. */
int units_read_percent(const char *text, double *percent, const char **why) BEZEL_MUST_CHECK;

/** "4096": a whole number without unit. */
int units_read_count(const char *text, uint64_t *count, const char **why) BEZEL_MUST_CHECK;

/** "29", "29.97", "2000000000": a number that a double has with all its digits, so one below 2^53. */
int units_read_number(const char *text, double *number, const char **why) BEZEL_MUST_CHECK;

/** "29", "29.97", "30 /s": a number at most 1e9; "/s" is understood. */
int units_read_rate(const char *text, double *per_second, const char **why) BEZEL_MUST_CHECK;

/**
 * The texts that these readers take, as regular expressions of ECMA 262 and POSIX, but for the size of the number, how
 * fine it is, and the order of the ends of a range.
 */
extern const char units_duration_pattern[], units_range_pattern[], units_size_pattern[], units_percent_pattern[],
    units_count_pattern[];

/** ns in one of `unit`: "ns", "us", "ms", "s", "min", "h"; 0: it is no unit of time. NULL is none. */
int64_t units_time(const char *unit);

/**
 * Exact, in the largest unit that leaves a whole number: "1500 us"; units_read_duration() gives it back. Not negative.
 */
struct units_text units_exact_duration(int64_t ns);

/** For people: like units_exact_duration(), but rounded like units_duration() if that needs many digits of ns: "7.68
 * ms". */
struct units_text units_brief_duration(int64_t ns);

/** Exact, in the largest power of 1024 that leaves a whole number: "16 MiB"; units_read_size() gives it back. */
struct units_text units_exact_size(uint64_t bytes);

/** Up to 6 decimals, no more than needed: "29.97". `v` is 0 .. 1e9. A number that a function above has read comes out
 * as it was written. */
struct units_text units_exact_number(double v);

/** Rounded to three digits, for people: "1.23 ms", "45.6 s"; from a minute on "2 min 05 s", "3 h 20 min". */
struct units_text units_duration(int64_t ns);

/** Rounded to three digits, for people: "16.0 MiB", "512 B". */
struct units_text units_bytes(uint64_t bytes);

/** Every digit, in groups of three: "12,345,678". */
struct units_text units_count(uint64_t n);

#endif
