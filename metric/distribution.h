// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Counts of numbers of any size and sign in buckets, from which quantiles are read: those of all values of a field over
 * a run. Every power of two, of either sign, is divided into DISTRIBUTION_STEPS buckets of equal width (the idea is
 * HdrHistogram's), and has counters once a number came into it. With x the exact quantile, of rank histogram_rank() in
 * ascending order,
 *
 *     x <= distribution_quantile() <= x + |x| / 128,
 *
 * and for whole numbers, once the caller has rounded down, exact below 256; also for 0. Other numbers nearer to 0 than
 * 1e-308, the subnormal ones, have an error of less than 2e-310 instead, up or down.
 *
 * Memory: 1 KiB for each power of two, and some 200 bytes. Pure, but for that; one owner.
 */
#ifndef BEZEL_METRIC_DISTRIBUTION_H
#define BEZEL_METRIC_DISTRIBUTION_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    DISTRIBUTION_STEPS = 128,
    DISTRIBUTION_BUCKET_SHIFT = 45, /* of a double's bits: sign, exponent, step */
    DISTRIBUTION_OCTAVES_MAX = 256, /* of one distribution: all of int64 have 129 */
};

struct distribution_octave {
    uint64_t *counts; /* DISTRIBUTION_STEPS of them; NULL: a free slot */
    uint32_t octave;  /* sign and exponent, as a double has them */
};

/** All zeros is an empty distribution. */
struct distribution {
    struct distribution_octave *slots; /* a hash table of `capacity` slots, at most half of which are used */
    uint32_t capacity, used;
};

/** Where equal buckets in a row are counted, before the distribution has them. Begins as DISTRIBUTION_CURSOR. */
struct distribution_cursor {
    uint64_t bucket, count;
    uint64_t *counter; /* of the bucket; NULL before the first */
};

#define DISTRIBUTION_CURSOR ((struct distribution_cursor){.bucket = UINT64_MAX})

/**
 * The slot where an octave, sign and exponent, is looked for first. Neighbouring octaves have neighbouring slots; those
 * of negative numbers run backwards, so that numbers of one size but of different signs rarely meet.
 */
static inline uint64_t distribution_slot(uint64_t octave, uint32_t capacity)
{
    return (octave ^ -(octave >> 11)) & (capacity - 1);
}

/** The counter of a bucket, the upper bits of a double; NULL where it needs memory that there is not. */
uint64_t *distribution_counter(struct distribution *d, uint64_t bucket, size_t *memory);

/** Ends a cursor's row. Required before another cursor, or anything else, uses the distribution. */
static inline void distribution_end(struct distribution_cursor *c)
{
    if (c->counter)
        *c->counter += c->count;
    *c = DISTRIBUTION_CURSOR;
}

/**
 * Adds `value`, which is not NaN. Returns false where it needs memory that there is not, or that `*memory` does not
 * have: the bytes that all distributions with this pointer may still take. Inline: neighbours are often of one bucket,
 * and then a register counts them; others find their octave in its place, nearly always. Some 2 ns.
 */
static inline bool distribution_add(struct distribution *d, struct distribution_cursor *c, double value, size_t *memory)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t bucket = bits >> DISTRIBUTION_BUCKET_SHIFT, octave = bucket / DISTRIBUTION_STEPS;
    if (bucket != c->bucket) {
        const struct distribution_octave *slot = d->slots ? &d->slots[distribution_slot(octave, d->capacity)] : NULL;
        bool found = slot && slot->octave == octave && slot->counts;
        uint64_t *counter = __builtin_expect(found, 1) ? slot->counts + bucket % DISTRIBUTION_STEPS
                                                       : distribution_counter(d, bucket, memory);
        if (!counter)
            return false;
        distribution_end(c);
        c->bucket = bucket;
        c->counter = counter;
    }
    c->count++;
    return true;
}

/** The quantile of `share` (0 .. 1) within the error above; NaN where there is no number. */
double distribution_quantile(const struct distribution *d, double share);

/** The bytes that distribution_pack() writes. */
size_t distribution_pack_bytes(const struct distribution *d);

/** Writes a distribution into `to`, in no particular order of its buckets. Returns the bytes. */
size_t distribution_pack(const struct distribution *d, uint8_t *to);

/**
 * Adds a distribution of `n` bytes at `from`, as distribution_pack() wrote it, to the empty `d`. Returns 0;
 * BEZEL_EMALFORMED; or BEZEL_ENOMEM, as distribution_add(). distribution_free() in any case.
 */
int distribution_unpack(struct distribution *d, const uint8_t *from, size_t n, size_t *memory) BEZEL_MUST_CHECK;

/** Frees what it took, which `*memory` gets back; then it is empty. */
void distribution_free(struct distribution *d, size_t *memory);

#endif
