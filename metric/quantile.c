// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/quantile.h"

#include "metric/histogram.h"

#include <stdlib.h>

/*
 * The largest number of a bucket is kept as its place in the bucket, from 1 on, so that 0 says there is none: twice, as
 * marks of the window's histogram.
 */
enum { LATEST = HISTOGRAM_STEPS, BEFORE = 2 * HISTOGRAM_STEPS }; /* since the last turn; between the two before */

struct quantile {
    size_t memory; /* that it may still take */
    struct histogram window, grains[QUANTILE_GRAINS];
    struct histogram spare; /* empty: the rows of the grain that was dropped last, for the next one */
};

int quantile_new(struct quantile **out)
{
    struct quantile *q = calloc(1, sizeof *q);
    if (!q)
        return BEZEL_ENOMEM;
    q->memory = QUANTILE_MEMORY;
    q->window = (struct histogram){.coarser = HISTOGRAM_COARSE, .marks = 2};
    for (int i = 0; i < QUANTILE_GRAINS; i++)
        q->grains[i].coarser = HISTOGRAM_COARSE;
    q->spare = q->grains[0];
    *out = q;
    return 0;
}

void quantile_reset(struct quantile *q)
{
    histogram_free(&q->window, &q->memory);
    histogram_free(&q->spare, &q->memory);
    for (int i = 0; i < QUANTILE_GRAINS; i++)
        histogram_free(&q->grains[i], &q->memory);
}

void quantile_free(struct quantile *q)
{
    if (q)
        quantile_reset(q);
    free(q);
}

void quantile_drop(struct quantile *q, unsigned grain)
{
    histogram_subtract(&q->window, &q->grains[grain], &q->memory);
    histogram_free(&q->spare, &q->memory);
    struct histogram empty = q->spare;
    q->spare = q->grains[grain];
    q->grains[grain] = empty;
    histogram_clear(&q->spare);
}

void quantile_turn(struct quantile *q)
{
    for (uint32_t i = 0; i < q->window.capacity; i++) {
        uint64_t *counts = q->window.slots[i].counts;
        for (int s = 0; counts && s < HISTOGRAM_STEPS; s++) {
            counts[s + BEFORE] = counts[s + LATEST];
            counts[s + LATEST] = 0;
        }
    }
}

/* The counter of a bucket in a grain; the spare rows are used, or make room. NULL: no memory. */
static uint64_t *part_of(struct quantile *q, struct histogram *grain, int64_t bucket)
{
    struct histogram empty = *grain;
    if (!grain->capacity) {
        *grain = q->spare;
        q->spare = empty;
    }
    uint64_t *part = histogram_counter(grain, bucket, &q->memory);
    if (part || !q->spare.capacity)
        return part;
    histogram_free(&q->spare, &q->memory);
    return histogram_counter(grain, bucket, &q->memory);
}

uint32_t quantile_add(struct quantile *q, unsigned grain, const double *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t bucket = histogram_bucket(&q->window, values[i]);
        uint64_t *all = histogram_counter(&q->window, bucket, &q->memory);
        uint64_t *part = all ? part_of(q, &q->grains[grain], bucket) : NULL;
        if (!part)
            return i;
        uint64_t place = (uint64_t)(histogram_ascending(values[i]) - histogram_first(&q->window, bucket)) + 1;
        ++*part;
        ++*all;
        all[LATEST] = place > all[LATEST] ? place : all[LATEST];
    }
    return n;
}

bool quantile_value(const struct quantile *q, double share, double *value)
{
    int64_t bucket;
    const uint64_t *counter = histogram_find(&q->window, share, &bucket);
    if (!counter)
        return false;
    uint64_t place = counter[LATEST] > counter[BEFORE] ? counter[LATEST] : counter[BEFORE];
    *value = histogram_number(histogram_first(&q->window, bucket) + (int64_t)place - 1);
    return true;
}
