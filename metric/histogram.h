// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Counts of numbers of any size and sign in buckets, from which quantiles are read (the idea is HdrHistogram's). Every
 * power of two, of either sign, is divided into buckets of equal width: 128, or 128 >> `coarser`. With x the exact
 * quantile, of rank histogram_rank() in ascending order,
 *
 *     x <= histogram_quantile() <= x + |x| / 128
 *
 * (a coarse histogram: / 32), and for whole numbers, once the caller has rounded down, exact below 256 (64); also for
 * 0. Other numbers nearer to 0 than 1e-307, the subnormal ones, have an error of less than 1e-309 instead, up or down.
 *
 * A bucket's number is the upper bits of a double, mapped so that they ascend with the number; so a shift finds it.
 * Neighbouring buckets share a row of counters, which exists once a number came into it. The buckets do not depend on
 * the numbers that came: histograms of equal precision are added and subtracted by their counters.
 *
 * Memory: 256 bytes for each row (a quarter of a power of two; of a coarse histogram a whole one), and some 200 bytes.
 * Pure, but for that; one owner.
 */
#ifndef BEZEL_METRIC_HISTOGRAM_H
#define BEZEL_METRIC_HISTOGRAM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    HISTOGRAM_STEPS = 32,      /* buckets of a row */
    HISTOGRAM_SHIFT = 45,      /* of a double's bits: sign, exponent, bucket */
    HISTOGRAM_COARSE = 2,      /* `coarser` for an error of 1/32 */
    HISTOGRAM_ROWS_MAX = 1024, /* of a histogram, << `coarser`: all of a coarse one; all int64 have some 520 */
};

struct histogram_row {
    uint64_t *counts; /* HISTOGRAM_STEPS of them; NULL: a free slot */
    int64_t row;      /* number of its first bucket / HISTOGRAM_STEPS */
};

/** All zeros is an empty histogram. */
struct histogram {
    struct histogram_row *slots; /* a hash table of `capacity` slots, at most three quarters of which are used */
    uint32_t capacity, used;
    uint8_t coarser; /* bits that its buckets are coarser by: 0, or HISTOGRAM_COARSE */
};

/** Where equal buckets in a row are counted, before the histogram has them. Begins as HISTOGRAM_CURSOR. */
struct histogram_cursor {
    int64_t bucket;
    uint64_t count;
    uint64_t *counter; /* of the bucket; NULL before the first */
};

#define HISTOGRAM_CURSOR ((struct histogram_cursor){.bucket = INT64_MIN})

/** A number as a whole one that ascends with it, and back. */
static inline int64_t histogram_ascending(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

static inline double histogram_number(int64_t ascending)
{
    double value;
    int64_t bits = ascending ^ (int64_t)((uint64_t)(ascending >> 63) >> 1);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int64_t histogram_bucket(const struct histogram *h, double value)
{
    return histogram_ascending(value) >> (HISTOGRAM_SHIFT + h->coarser);
}

/** The least number of a bucket, as histogram_ascending() has it. */
static inline int64_t histogram_first(const struct histogram *h, int64_t bucket)
{
    return bucket * (INT64_C(1) << (HISTOGRAM_SHIFT + h->coarser));
}

/** The counter of a bucket, made if it is new; NULL if that needs memory that there is not. */
uint64_t *histogram_new_counter(struct histogram *h, int64_t bucket, size_t *memory);

/** As histogram_new_counter(). Inline: nearly always the row is in its place. */
static inline uint64_t *histogram_counter(struct histogram *h, int64_t bucket, size_t *memory)
{
    int64_t row = bucket >> 5;
    const struct histogram_row *slot = h->slots ? &h->slots[(uint64_t)row & (h->capacity - 1)] : NULL;
    bool found = slot && slot->row == row && slot->counts;
    return __builtin_expect(found, 1) ? slot->counts + (bucket & (HISTOGRAM_STEPS - 1))
                                      : histogram_new_counter(h, bucket, memory);
}

/** Ends a cursor's row. Required before another cursor, or anything else, uses the histogram. */
static inline void histogram_end(struct histogram_cursor *c)
{
    if (c->counter)
        *c->counter += c->count;
    *c = HISTOGRAM_CURSOR;
}

/**
 * Adds `value`, which is not NaN. Returns false if it needs memory that there is not, or that `*memory` does not
 * have: the bytes that all histograms with this pointer may still take; NULL: any. Inline: neighbours are often of one
 * bucket, and then a register counts them. Some 2 ns.
 */
static inline bool histogram_add(struct histogram *h, struct histogram_cursor *c, double value, size_t *memory)
{
    int64_t bucket = histogram_bucket(h, value);
    if (bucket != c->bucket) {
        histogram_end(c); /* before new rows take the place of empty ones */
        uint64_t *counter = histogram_counter(h, bucket, memory);
        if (!counter)
            return false;
        c->bucket = bucket;
        c->counter = counter;
    }
    c->count++;
    return true;
}

/** Adds `n` numbers that lie in the bucket of `value`. False as histogram_add(). */
bool histogram_add_many(struct histogram *h, double value, uint64_t n, size_t *memory);

/**
 * The rank, from 1, of quantile `q` (0 .. 1) among `count` values in ascending order: q * count rounded up, at least 1
 * and at most `count`.
 */
uint64_t histogram_rank(uint64_t count, double q);

/** The quantile of `share` (0 .. 1) within the error above; NaN if there is no number. */
double histogram_quantile(const struct histogram *h, double share);

/** The bytes of one bucket that is not empty, packed: its number (u32), count (u64), big-endian. */
enum { HISTOGRAM_PACKED = 12 };

/** Writes a histogram into `to`, in no particular order of its buckets; NULL: nothing. Returns the bytes. */
size_t histogram_pack(const struct histogram *h, uint8_t *to);

/** The least number, by magnitude, of a packed bucket; NaN where none has this number. */
double histogram_packed(uint32_t bucket);

/**
 * Adds what histogram_pack() wrote to `h`. Returns 0; BEZEL_EMALFORMED; or BEZEL_ENOMEM, as histogram_add().
 * histogram_free() in any case.
 */
int histogram_unpack(struct histogram *h, const uint8_t *from, size_t n, size_t *memory) BEZEL_MUST_CHECK;

/** Frees what it took, which `*memory` gets back; then it is empty. */
void histogram_free(struct histogram *h, size_t *memory);

#endif
