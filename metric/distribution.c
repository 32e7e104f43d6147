// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/distribution.h"

#include "base/bytes.h"
#include "metric/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A double's bits, from the sign on, are its octave (12 bits) and the step in it (7 bits), so two shifts find a bucket.
 * Zero and subnormal numbers are one octave of each sign.
 */

enum {
    STEP_BITS = 7,
    OCTAVE_SHIFT = 52,
    NEGATIVE = 2048,
    FIRST = 8,
    ROW_BYTES = DISTRIBUTION_STEPS * sizeof(uint64_t)
};

static struct distribution_octave *find(struct distribution_octave *slots, uint32_t capacity, uint32_t octave)
{
    uint32_t at = (uint32_t)distribution_slot(octave, capacity);
    while (slots[at].counts && slots[at].octave != octave)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static int take(size_t *memory, size_t bytes)
{
    if (bytes > *memory)
        return -1;
    *memory -= bytes;
    return 0;
}

static int grow(struct distribution *d, size_t *memory)
{
    uint32_t capacity = d->capacity ? 2 * d->capacity : FIRST;
    size_t before = d->capacity * sizeof *d->slots, after = capacity * sizeof *d->slots;
    if (take(memory, after - before) != 0)
        return -1;
    struct distribution_octave *slots = calloc(capacity, sizeof *slots);
    if (!slots) {
        *memory += after - before;
        return -1;
    }
    for (uint32_t i = 0; i < d->capacity; i++)
        if (d->slots[i].counts)
            *find(slots, capacity, d->slots[i].octave) = d->slots[i];
    free(d->slots);
    d->slots = slots;
    d->capacity = capacity;
    return 0;
}

/* Returns the counters of an octave that has none yet; NULL: no memory. */
static uint64_t *add_octave(struct distribution *d, uint32_t octave, size_t *memory)
{
    if (d->used == DISTRIBUTION_OCTAVES_MAX || (2 * d->used >= d->capacity && grow(d, memory) != 0) ||
        take(memory, ROW_BYTES) != 0)
        return NULL;
    struct distribution_octave *slot = find(d->slots, d->capacity, octave);
    slot->counts = calloc(1, ROW_BYTES);
    if (!slot->counts) {
        *memory += ROW_BYTES;
        return NULL;
    }
    slot->octave = octave;
    d->used++;
    return slot->counts;
}

uint64_t *distribution_counter(struct distribution *d, uint64_t bucket, size_t *memory)
{
    uint32_t octave = (uint32_t)(bucket / DISTRIBUTION_STEPS);
    uint64_t *counts = d->capacity ? find(d->slots, d->capacity, octave)->counts : NULL;
    if (!counts)
        counts = add_octave(d, octave, memory);
    return counts ? counts + bucket % DISTRIBUTION_STEPS : NULL;
}

/* ---- Quantiles --------------------------------------------------------------------------------------------------- */

/* Orders octaves by the numbers that they hold. */
static int compare(const void *a, const void *b)
{
    const struct distribution_octave *x = a, *y = b;
    int p = x->octave < NEGATIVE ? (int)x->octave + 1 : -(int)(x->octave - NEGATIVE) - 1;
    int q = y->octave < NEGATIVE ? (int)y->octave + 1 : -(int)(y->octave - NEGATIVE) - 1;
    return (p > q) - (p < q);
}

/* The largest number of a bucket; of that which begins with 0 this, because 0 is frequent, and its neighbours are not.
 */
static double end_of(uint32_t octave, uint32_t step)
{
    if ((octave == 0 || octave == NEGATIVE) && step == 0)
        return 0;
    double value;
    uint64_t bits = (uint64_t)octave << OCTAVE_SHIFT | (uint64_t)step << DISTRIBUTION_BUCKET_SHIFT;
    if (octave < NEGATIVE - 1) /* infinity stays what it is */
        bits |= (UINT64_C(1) << DISTRIBUTION_BUCKET_SHIFT) - 1;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double distribution_quantile(const struct distribution *d, double share)
{
    struct distribution_octave sorted[DISTRIBUTION_OCTAVES_MAX];
    uint64_t count = 0, seen = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < d->capacity; i++)
        if (d->slots[i].counts)
            sorted[n++] = d->slots[i];
    qsort(sorted, n, sizeof *sorted, compare);
    for (size_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < DISTRIBUTION_STEPS; s++)
            count += sorted[i].counts[s];
    uint64_t rank = histogram_rank(count, share);
    for (size_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < DISTRIBUTION_STEPS; s++) {
            uint32_t step = sorted[i].octave < NEGATIVE ? s : DISTRIBUTION_STEPS - 1 - s; /* the least number first */
            seen += sorted[i].counts[step];
            if (seen >= rank)
                return end_of(sorted[i].octave, step);
        }
    return (double)NAN;
}

/* ---- Packing ----------------------------------------------------------------------------------------------------- */

/* Of each bucket that is not empty: octave and step (u32), count (u64). */
enum { PACKED = 12 };

static size_t put(const struct distribution *d, uint8_t *to)
{
    size_t n = 0;
    for (uint32_t i = 0; i < d->capacity; i++)
        for (uint32_t s = 0; d->slots[i].counts && s < DISTRIBUTION_STEPS; s++) {
            uint64_t count = d->slots[i].counts[s];
            if (count && to) {
                bytes_put_u32(to + n, d->slots[i].octave << STEP_BITS | s);
                bytes_put_u64(to + n + 4, count);
            }
            n += count ? PACKED : 0;
        }
    return n;
}

size_t distribution_pack_bytes(const struct distribution *d)
{
    return put(d, NULL);
}

size_t distribution_pack(const struct distribution *d, uint8_t *to)
{
    return put(d, to);
}

int distribution_unpack(struct distribution *d, const uint8_t *from, size_t n, size_t *memory)
{
    if (n % PACKED != 0)
        return BEZEL_EMALFORMED;
    for (; n; from += PACKED, n -= PACKED) {
        uint32_t bucket = bytes_get_u32(from);
        if (bucket >> STEP_BITS >= 2 * NEGATIVE)
            return BEZEL_EMALFORMED;
        uint64_t *counter = distribution_counter(d, bucket, memory);
        if (!counter)
            return BEZEL_ENOMEM;
        *counter = bytes_get_u64(from + 4);
    }
    return 0;
}

void distribution_free(struct distribution *d, size_t *memory)
{
    for (uint32_t i = 0; i < d->capacity; i++)
        free(d->slots[i].counts);
    *memory += d->capacity * sizeof *d->slots + d->used * ROW_BYTES;
    free(d->slots);
    *d = (struct distribution){0};
}
