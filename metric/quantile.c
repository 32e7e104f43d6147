// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/quantile.h"

#include "metric/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * An octave is a power of two of one sign. Its number is the sign and exponent of a double, so that one shift finds it;
 * octave 0 is for zero. The octaves of subnormal numbers have numbers behind those, because they share one exponent.
 */
enum {
    STEPS = HISTOGRAM_STEPS,
    NEGATIVE = 2048,
    SUBNORMALS = 52, /* powers of two of one sign */
    SUBNORMAL = 4096,
    SUBNORMAL_NEGATIVE = SUBNORMAL + SUBNORMALS,
    OCTAVES = SUBNORMAL_NEGATIVE + SUBNORMALS,
    ROWS_MAX = 1 + 2 * (2046 + SUBNORMALS) + 1, /* the first 1 is for zero, the last for row 0, which has no octave */
    PARTS_MAX = 129 * QUANTILE_GRAINS,          /* integers have 64 octaves of either sign, and zero */
};

struct quantile_bucket {
    uint64_t count;
    double largest; /* added since it was last empty, and since the last turn */
};

/* An octave of the window. part[g] is the index of its counters for grain g in `parts`; 0: the grain has none. */
struct row {
    uint16_t octave, parts;
    uint16_t part[QUANTILE_GRAINS];
    struct quantile_bucket buckets[STEPS];
    double before[STEPS]; /* the largest added between the turn before the last and the last one */
};

struct quantile {
    uint64_t count;
    uint16_t row_of[OCTAVES]; /* 0: none; row 0 never has a part */
    struct row *rows;
    uint16_t *order; /* rows 1 .. : first the `used` ones in ascending order of their numbers, then the free ones */
    uint32_t used, row_capacity;
    uint32_t (*parts)[STEPS]; /* from 1 on; the first counter of a free one is the number of the next free one */
    uint32_t part_capacity, free_part;
};

/* ---- Octaves ----------------------------------------------------------------------------------------------------- */

/* Zeros and subnormal numbers have no exponent. */
static void find_small(uint64_t bits, unsigned *octave, unsigned *step)
{
    uint64_t size = bits & ((UINT64_C(1) << 52) - 1);
    *octave = *step = 0;
    if (size == 0)
        return;
    unsigned top = 63 - (unsigned)__builtin_clzll(size);
    *octave = (bits >> 63 ? SUBNORMAL_NEGATIVE : SUBNORMAL) + top;
    *step = (unsigned)(top >= 5 ? size >> (top - 5) : size << (5 - top)) % STEPS;
}

static bool is_negative(unsigned octave)
{
    return octave >= SUBNORMAL_NEGATIVE || (octave >= NEGATIVE && octave < SUBNORMAL);
}

/* Orders octaves by the numbers that they hold. */
static int place_of(unsigned octave)
{
    int sign = is_negative(octave) ? -1 : 1;
    if (octave >= SUBNORMAL)
        return sign * (1 + (int)(octave - SUBNORMAL) % SUBNORMALS);
    return octave == 0 ? 0 : sign * (SUBNORMALS + (int)(octave % NEGATIVE));
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static uint32_t grown(uint32_t capacity, uint32_t most)
{
    uint32_t next = capacity + capacity / 2 + 4;
    return next < most ? next : most;
}

static int grow_rows(struct quantile *q)
{
    uint32_t next = grown(q->row_capacity, ROWS_MAX);
    struct row *rows = realloc(q->rows, next * sizeof *rows);
    if (!rows)
        return BEZEL_ENOMEM;
    q->rows = rows;
    uint16_t *order = realloc(q->order, next * sizeof *order);
    if (!order)
        return BEZEL_ENOMEM;
    q->order = order;
    for (uint32_t i = q->row_capacity; i < next; i++) {
        memset(&rows[i], 0, sizeof rows[i]);
        for (int s = 0; s < STEPS; s++)
            rows[i].buckets[s].largest = rows[i].before[s] = -(double)INFINITY;
        if (i > 0)
            order[i - 1] = (uint16_t)i;
    }
    q->row_capacity = next;
    return 0;
}

/* The row of an octave, a new one where it has none; 0: no memory. */
static uint16_t find_row(struct quantile *q, unsigned octave)
{
    if (q->row_of[octave])
        return q->row_of[octave];
    if (q->used + 1 == q->row_capacity && grow_rows(q) != 0)
        return 0;
    uint16_t row = q->order[q->used];
    uint32_t at = q->used++;
    for (; at > 0 && place_of(q->rows[q->order[at - 1]].octave) > place_of(octave); at--)
        q->order[at] = q->order[at - 1];
    q->order[at] = row;
    q->rows[row].octave = (uint16_t)octave;
    q->row_of[octave] = row;
    return row;
}

/* Frees the row at `at` in the order. It has no parts left: its octave has left the window. */
static void give_row(struct quantile *q, uint32_t at)
{
    uint16_t row = q->order[at];
    q->row_of[q->rows[row].octave] = 0;
    q->used--;
    memmove(&q->order[at], &q->order[at + 1], (q->used - at) * sizeof *q->order);
    q->order[q->used] = row;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static void give_part(struct quantile *q, uint32_t part)
{
    q->parts[part][0] = q->free_part;
    q->free_part = part;
}

static int grow_parts(struct quantile *q)
{
    uint32_t next = grown(q->part_capacity, 1 + PARTS_MAX);
    if (next == q->part_capacity)
        return BEZEL_ENOMEM;
    uint32_t(*parts)[STEPS] = realloc(q->parts, next * sizeof *parts);
    if (!parts)
        return BEZEL_ENOMEM;
    q->parts = parts;
    for (uint32_t i = next - 1; i >= (q->part_capacity ? q->part_capacity : 1); i--)
        give_part(q, i);
    q->part_capacity = next;
    return 0;
}

static int add_part(struct quantile *q, unsigned octave, unsigned grain)
{
    if (q->free_part == 0 && grow_parts(q) != 0)
        return BEZEL_ENOMEM;
    uint16_t number = find_row(q, octave);
    if (number == 0)
        return BEZEL_ENOMEM;
    struct row *row = &q->rows[number];
    uint32_t part = q->free_part;
    q->free_part = q->parts[part][0];
    memset(q->parts[part], 0, sizeof q->parts[part]);
    row->part[grain] = (uint16_t)part;
    row->parts++;
    return 0;
}

static void subtract(struct row *row, const uint32_t *counts)
{
    for (int s = 0; s < STEPS; s++) {
        row->buckets[s].count -= counts[s];
        if (row->buckets[s].count == 0)
            row->buckets[s].largest = row->before[s] = -(double)INFINITY;
    }
}

static uint64_t sum_of(const uint32_t *counts)
{
    uint64_t sum = 0;
    for (int s = 0; s < STEPS; s++)
        sum += counts[s];
    return sum;
}

void quantile_drop(struct quantile *q, unsigned grain)
{
    for (uint32_t at = q->used; at-- > 0;) {
        struct row *row = &q->rows[q->order[at]];
        uint16_t part = row->part[grain];
        if (part == 0)
            continue;
        subtract(row, q->parts[part]);
        q->count -= sum_of(q->parts[part]);
        row->part[grain] = 0;
        give_part(q, part);
        if (--row->parts == 0)
            give_row(q, at);
    }
}

void quantile_turn(struct quantile *q)
{
    for (uint32_t at = 0; at < q->used; at++) {
        struct row *row = &q->rows[q->order[at]];
        for (int s = 0; s < STEPS; s++) {
            row->before[s] = row->buckets[s].largest;
            row->buckets[s].largest = -(double)INFINITY;
        }
    }
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

int quantile_new(struct quantile **out)
{
    struct quantile *q = calloc(1, sizeof *q);
    if (!q)
        return BEZEL_ENOMEM;
    if (grow_rows(q) != 0 || grow_parts(q) != 0) {
        quantile_free(q);
        return BEZEL_ENOMEM;
    }
    *out = q;
    return 0;
}

void quantile_free(struct quantile *q)
{
    if (!q)
        return;
    free(q->rows);
    free(q->order);
    free(q->parts);
    free(q);
}

uint32_t quantile_add(struct quantile *q, unsigned grain, const double *values, uint32_t n)
{
    uint32_t i = 0;
    for (; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        unsigned octave = (unsigned)(bits >> 52), step = (unsigned)(bits >> 47) % STEPS;
        if (__builtin_expect(octave % NEGATIVE == 0, 0))
            find_small(bits, &octave, &step);
        struct row *row = &q->rows[q->row_of[octave]];
        if (__builtin_expect(row->part[grain] == 0, 0)) {
            if (add_part(q, octave, grain) != 0)
                break;
            row = &q->rows[q->row_of[octave]];
        }
        q->parts[row->part[grain]][step]++;
        row->buckets[step].count++;
        if (values[i] > row->buckets[step].largest)
            row->buckets[step].largest = values[i];
    }
    q->count += i;
    return i;
}

bool quantile_value(const struct quantile *q, double share, double *value)
{
    uint64_t rank = histogram_rank(q->count, share), seen = 0;
    for (uint32_t at = 0; at < q->used && q->count > 0; at++) {
        const struct row *row = &q->rows[q->order[at]];
        unsigned last = is_negative(row->octave) ? STEPS - 1 : 0; /* negative numbers: the last step is the least */
        for (unsigned s = 0; s < STEPS; s++) {
            seen += row->buckets[s ^ last].count;
            if (seen >= rank) {
                *value = fmax(row->buckets[s ^ last].largest, row->before[s ^ last]);
                return true;
            }
        }
    }
    return false;
}

int quantile_histogram(const struct quantile *q, struct histogram *h)
{
    for (uint32_t at = 0; at < q->used; at++) {
        const struct row *row = &q->rows[q->order[at]];
        for (unsigned s = 0; s < STEPS; s++)
            if (row->buckets[s].count > 0 &&
                !histogram_add_many(h, fmax(row->buckets[s].largest, row->before[s]), row->buckets[s].count, NULL))
                return BEZEL_ENOMEM;
    }
    return 0;
}
