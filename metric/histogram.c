// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/histogram.h"

#include "base/bytes.h"

#include <math.h>
#include <stdlib.h>

enum { FIRST = 8, PACKED_BITS = 64 - HISTOGRAM_SHIFT };

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

enum { ROW_BYTES = HISTOGRAM_STEPS * sizeof(uint64_t) };

static struct histogram_row *find(struct histogram_row *slots, uint32_t capacity, int64_t row)
{
    uint64_t at = (uint64_t)row & (capacity - 1);
    while (slots[at].counts && slots[at].row != row)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

/* The counters of a row; NULL if it has none. */
static uint64_t *histogram_row(const struct histogram *h, int64_t row)
{
    return h->capacity ? find(h->slots, h->capacity, row)->counts : NULL;
}

static void *take(size_t *memory, size_t bytes)
{
    void *p = memory && bytes > *memory ? NULL : calloc(1, bytes);
    if (p && memory)
        *memory -= bytes;
    return p;
}

static void give(size_t *memory, void *p, size_t bytes)
{
    free(p);
    if (memory)
        *memory += bytes;
}

/* A table of twice as many slots. Without memory it stays as it was. */
static int grow(struct histogram *h, size_t *memory)
{
    uint32_t capacity = h->capacity ? 2 * h->capacity : FIRST;
    struct histogram_row *slots = take(memory, capacity * sizeof *slots);
    if (!slots)
        return BEZEL_ENOMEM;
    for (uint32_t i = 0; i < h->capacity; i++)
        if (h->slots[i].counts)
            *find(slots, capacity, h->slots[i].row) = h->slots[i];
    give(memory, h->slots, h->capacity * sizeof *h->slots);
    h->slots = slots;
    h->capacity = capacity;
    return 0;
}

uint64_t *histogram_new_counter(struct histogram *h, int64_t bucket, size_t *memory)
{
    int64_t row = bucket >> 5;
    uint64_t *counts = histogram_row(h, row);
    if (!counts) {
        if (h->used == (uint32_t)HISTOGRAM_ROWS_MAX << h->coarser ||
            (4 * (h->used + 1) > 3 * h->capacity && grow(h, memory) != 0) || !(counts = take(memory, ROW_BYTES)))
            return NULL;
        *find(h->slots, h->capacity, row) = (struct histogram_row){.counts = counts, .row = row};
        h->used++;
    }
    return counts + (bucket & (HISTOGRAM_STEPS - 1));
}

bool histogram_add_many(struct histogram *h, double value, uint64_t n, size_t *memory)
{
    uint64_t *counter = histogram_counter(h, histogram_bucket(h, value), memory);
    if (counter)
        *counter += n;
    return counter != NULL;
}

void histogram_free(struct histogram *h, size_t *memory)
{
    for (uint32_t i = 0; i < h->capacity; i++)
        if (h->slots[i].counts)
            give(memory, h->slots[i].counts, ROW_BYTES);
    give(memory, h->slots, h->capacity * sizeof *h->slots);
    *h = (struct histogram){.coarser = h->coarser};
}

/* ---- Quantiles --------------------------------------------------------------------------------------------------- */

uint64_t histogram_rank(uint64_t count, double q)
{
    if (!(q > 0))
        return 1;
    if (q >= 1)
        return count;
    double share = q * (double)count;
    uint64_t rank = (uint64_t)share;
    rank += (double)rank < share * (1 - 1e-12); /* 7 % of 100 are 7, though 0.07 * 100 is a little more */
    return rank < 1 ? 1 : rank > count ? count : rank;
}

static int compare(const void *a, const void *b)
{
    int64_t x = (*(const struct histogram_row *const *)a)->row, y = (*(const struct histogram_row *const *)b)->row;
    return (x > y) - (x < y);
}

/* The bucket where the quantile of `share` (0 .. 1) lies, and its counter; NULL if there is no number. */
static const uint64_t *histogram_find(const struct histogram *h, double share, int64_t *bucket)
{
    const struct histogram_row *sorted[HISTOGRAM_ROWS_MAX << HISTOGRAM_COARSE];
    uint64_t count = 0, seen = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < h->capacity; i++)
        if (h->slots[i].counts)
            sorted[n++] = &h->slots[i];
    qsort(sorted, n, sizeof(const struct histogram_row *), compare);
    for (size_t i = 0; i < n; i++)
        for (int s = 0; s < HISTOGRAM_STEPS; s++)
            count += sorted[i]->counts[s];
    uint64_t rank = histogram_rank(count, share);
    for (size_t i = 0; count > 0 && i < n; i++)
        for (int s = 0; s < HISTOGRAM_STEPS; s++) {
            seen += sorted[i]->counts[s];
            *bucket = sorted[i]->row * HISTOGRAM_STEPS + s;
            if (seen >= rank)
                return &sorted[i]->counts[s];
        }
    return NULL;
}

double histogram_quantile(const struct histogram *h, double share)
{
    int64_t bucket;
    if (!histogram_find(h, share, &bucket))
        return (double)NAN;
    if (bucket == 0 || bucket == -1)
        return 0; /* which is frequent, and its neighbours are not */
    double last = histogram_number(histogram_first(h, bucket + 1) - 1);
    return isnan(last) ? (double)INFINITY : last;
}

/* ---- Packing ----------------------------------------------------------------------------------------------------- */

/* The upper bits of the bucket's number that is least by magnitude, as they are: sign and magnitude. */
static uint32_t packed_number(const struct histogram *h, int64_t bucket)
{
    double value = histogram_number(bucket < 0 ? histogram_first(h, bucket + 1) - 1 : histogram_first(h, bucket));
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint32_t)(bits >> HISTOGRAM_SHIFT);
}

size_t histogram_pack(const struct histogram *h, uint8_t *to)
{
    size_t n = 0;
    for (uint32_t i = 0; i < h->capacity; i++)
        for (int s = 0; h->slots[i].counts && s < HISTOGRAM_STEPS; s++) {
            uint64_t count = h->slots[i].counts[s];
            if (count && to) {
                bytes_put_u32(to + n, packed_number(h, h->slots[i].row * HISTOGRAM_STEPS + s));
                bytes_put_u64(to + n + 4, count);
            }
            n += count ? HISTOGRAM_PACKED : 0;
        }
    return n;
}

double histogram_packed(uint32_t bucket)
{
    double value = (double)NAN;
    uint64_t bits = (uint64_t)bucket << HISTOGRAM_SHIFT;
    if (bucket >> PACKED_BITS == 0)
        memcpy(&value, &bits, sizeof value);
    return value;
}

int histogram_unpack(struct histogram *h, const uint8_t *from, size_t n, size_t *memory)
{
    if (n % HISTOGRAM_PACKED != 0)
        return BEZEL_EMALFORMED;
    for (; n; from += HISTOGRAM_PACKED, n -= HISTOGRAM_PACKED) {
        double value = histogram_packed(bytes_get_u32(from));
        if (isnan(value))
            return BEZEL_EMALFORMED;
        if (!histogram_add_many(h, value, bytes_get_u64(from + 4), memory))
            return BEZEL_ENOMEM;
    }
    return 0;
}
