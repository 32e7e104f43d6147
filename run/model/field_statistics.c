// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/field_statistics.h"

#include "base/bytes.h"
#include "base/saturate.h"
#include "metric/statistic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool field_has_statistics(const struct dict_aspect *a, uint32_t i)
{
    bool is_tag = i == 1 && (a->kind == DICT_SENT || a->kind == DICT_RECEIVED);
    return !is_tag && (a->fields[i].type == DICT_INT64 || a->fields[i].type == DICT_FLOAT64);
}

static size_t size_of(uint32_t field_count)
{
    return sizeof(struct aspect_statistics) + field_count * sizeof(struct field_statistics);
}

struct aspect_statistics *aspect_statistics_new(const struct dict_aspect *a, size_t *memory)
{
    bool any = false;
    for (uint32_t i = 0; i < a->field_count; i++)
        any = any || field_has_statistics(a, i);
    size_t size = size_of(a->field_count);
    struct aspect_statistics *s = any && size <= *memory ? calloc(1, size) : NULL;
    if (!s)
        return NULL;
    s->field_count = a->field_count;
    *memory -= size;
    return s;
}

void aspect_statistics_free(struct aspect_statistics *s, size_t *memory)
{
    for (uint32_t i = 0; i < s->field_count; i++)
        histogram_free(&s->fields[i].values, memory);
    *memory += size_of(s->field_count);
    free(s);
}

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

/* The values of a field in a run of records, and what was taken of them. */
struct column {
    const struct packet_run *run;
    const uint8_t *first;
    uint64_t taken, unknown;
    uint32_t last; /* number of the record that has the last value taken */
};

/* Adds a sum of int64 in two parts: that of the upper halves, which have the sign, and that of the lower ones. */
static void add_sum(struct field_statistics *s, int64_t high, uint64_t low)
{
    low += s->low;
    s->high = saturate_add(s->high, high + (int64_t)(low >> 32));
    s->low = (uint32_t)low;
}

enum { BLOCK = 64 };

/* What a block of int64 is. Those below `least` are no numbers; where there are none, no loop compares. */
struct block {
    int64_t min, max, high; /* high, low: as of add_sum(). Neither overflows */
    uint64_t low;
    uint32_t count, last; /* numbers, and the place of the last one */
};

static inline __attribute__((always_inline)) struct block look_at(const uint8_t *at, uint32_t n, uint32_t stride,
                                                                  int64_t least)
{
    struct block b = {.min = INT64_MAX, .max = INT64_MIN};
    for (uint32_t i = 0; i < n; i++, at += stride) {
        int64_t v = (int64_t)bytes_get_u64(at);
        if (v < least)
            continue;
        b.min = v < b.min ? v : b.min;
        b.max = v > b.max ? v : b.max;
        b.high += v >> 32;
        b.low += (uint32_t)v;
        b.count++;
        b.last = i;
    }
    return b;
}

/*
 * Adds the numbers of a block to the histogram: neighbours are often alike, as counters and constants are, and then all
 * of them lie in one bucket. Else each goes to its counter at once: a cursor would guess wrong where they alternate.
 * Returns how many of the `n` records it could do.
 */
static inline __attribute__((always_inline)) uint32_t add_block(struct histogram *h, const struct block *b,
                                                                const uint8_t *at, uint32_t n, uint32_t stride,
                                                                int64_t least, size_t *memory)
{
    double min = (double)b->min, max = (double)b->max;
    if (b->count == 0)
        return n;
    if (histogram_bucket(h, min) == histogram_bucket(h, max))
        return histogram_add_many(h, min, b->count, memory) ? n : 0;
    for (uint32_t i = 0; i < n; i++, at += stride) {
        int64_t v = (int64_t)bytes_get_u64(at);
        if (v < least)
            continue;
        uint64_t *counter = histogram_counter(h, histogram_bucket(h, (double)v), memory);
        if (!counter)
            return i;
        ++*counter;
    }
    return n;
}

static inline __attribute__((always_inline)) void add_whole(struct field_statistics *s, struct column *c, int64_t least,
                                                            size_t *memory)
{
    int64_t min = s->count ? s->min.i : INT64_MAX, max = s->count ? s->max.i : INT64_MIN;
    uint32_t n = c->run->count, stride = c->run->stride;
    for (uint32_t i = 0, asked, done; i < n; i += done) {
        const uint8_t *at = c->first + (size_t)i * stride;
        asked = n - i < BLOCK ? n - i : BLOCK;
        struct block b = look_at(at, asked, stride, least);
        done = add_block(&s->values, &b, at, asked, stride, least, memory);
        if (done < asked) { /* no memory: the rest is not evaluated */
            b = look_at(at, done, stride, least);
            n = i + done;
        }
        min = b.min < min ? b.min : min;
        max = b.max > max ? b.max : max;
        add_sum(s, b.high, b.low);
        c->taken += b.count;
        c->unknown += done - b.count;
        c->last = b.count ? i + b.last : c->last;
    }
    s->min.i = min;
    s->max.i = max;
}

static double float_at(const uint8_t *at)
{
    uint64_t bits = bytes_get_u64(at);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Where a double's last bit is 1. */
static const double ONES = 0x1.8p52;

/* Whether a number has a part behind the point; above 2^51, where that matters to nobody, it may say so without. */
static inline bool has_fraction(double v)
{
    return v + ONES - ONES != v;
}

static void add_float(struct field_statistics *s, struct column *c, size_t *memory)
{
    struct histogram_cursor cursor = HISTOGRAM_CURSOR;
    const uint8_t *at = c->first;
    double min = s->count ? s->min.d : (double)INFINITY, max = s->count ? s->max.d : -(double)INFINITY, sum = 0;
    unsigned fractions = s->fractions;
    uint32_t i = 0, n = c->run->count, stride = c->run->stride;
    for (; i < n; i++, at += stride) {
        double v = float_at(at);
        if (isnan(v)) {
            c->unknown++;
            continue;
        }
        if (!histogram_add(&s->values, &cursor, v, memory))
            break;
        min = v < min ? v : min;
        max = v > max ? v : max;
        sum += v;
        fractions |= has_fraction(v);
        c->last = i;
    }
    histogram_end(&cursor);
    s->min.d = min;
    s->max.d = max;
    s->sum += sum;
    s->fractions = fractions;
    c->taken = i - c->unknown;
}

/* Adds the values of a field of a run, up to the one for which memory is short: the rest is not evaluated. */
static void add_field(struct field_statistics *s, const struct dict_aspect *a, uint32_t field,
                      const struct packet_run *run, size_t *memory)
{
    struct column c = {.run = run, .first = run->first + PACKET_RECORD_BYTES + 8 * (size_t)field};
    bool is_int = a->fields[field].type == DICT_INT64;
    if (!is_int)
        add_float(s, &c, memory);
    else if (statistic_unknown_below(a, field))
        add_whole(s, &c, 0, memory);
    else
        add_whole(s, &c, INT64_MIN, memory);
    s->unknown += c.unknown;
    if (c.taken == 0)
        return;
    int64_t time = (int64_t)packet_run_time(run, c.last); /* times within a packet do not fall */
    if (s->count == 0 || time >= s->last_ns) {
        s->last.i = (int64_t)bytes_get_u64(c.first + (size_t)c.last * run->stride); /* of a double, its bits */
        s->last_ns = time;
    }
    s->count += c.taken;
}

void aspect_statistics_add(struct aspect_statistics *s, const struct dict_aspect *a, const struct packet_run *run,
                           size_t *memory)
{
    for (uint32_t field = 0; field < s->field_count; field++)
        if (field_has_statistics(a, field))
            add_field(&s->fields[field], a, field, run, memory);
}

/* ---- Packing ----------------------------------------------------------------------------------------------------- */

enum { NUMBERS = 10, NUMBERS_BYTES = 8 * NUMBERS }; /* in front of the distribution */

size_t field_pack_bytes(const struct field_statistics *s)
{
    return NUMBERS_BYTES + histogram_pack(&s->values, NULL);
}

void field_pack(const struct field_statistics *s, uint8_t *to)
{
    uint64_t sum;
    memcpy(&sum, &s->sum, sizeof sum);
    const uint64_t numbers[NUMBERS] = {s->count,
                                       s->unknown,
                                       (uint64_t)s->last_ns,
                                       (uint64_t)s->last.i,
                                       (uint64_t)s->min.i,
                                       (uint64_t)s->max.i,
                                       (uint64_t)s->high,
                                       s->low,
                                       sum,
                                       s->fractions};
    for (size_t i = 0; i < NUMBERS; i++)
        bytes_put_u64(to + 8 * i, numbers[i]);
    (void)histogram_pack(&s->values, to + NUMBERS_BYTES);
}

int field_unpack(struct field_statistics *s, const uint8_t *from, size_t n, size_t *memory)
{
    uint64_t numbers[NUMBERS];
    if (n < NUMBERS_BYTES)
        return BEZEL_EMALFORMED;
    for (size_t i = 0; i < NUMBERS; i++)
        numbers[i] = bytes_get_u64(from + 8 * i);
    s->count = numbers[0];
    s->unknown = numbers[1];
    s->last_ns = (int64_t)numbers[2];
    s->last.i = (int64_t)numbers[3];
    s->min.i = (int64_t)numbers[4];
    s->max.i = (int64_t)numbers[5];
    s->high = (int64_t)numbers[6];
    s->low = numbers[7];
    memcpy(&s->sum, &numbers[8], sizeof s->sum);
    s->fractions = numbers[9] != 0;
    return histogram_unpack(&s->values, from + NUMBERS_BYTES, n - NUMBERS_BYTES, memory);
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

int64_t field_total(const struct field_statistics *s)
{
    if (s->high >= INT64_C(1) << 31)
        return INT64_MAX;
    if (s->high < -(INT64_C(1) << 31))
        return INT64_MIN;
    return (int64_t)((uint64_t)s->high << 32 | s->low);
}

double field_mean(const struct field_statistics *s, enum dict_type type)
{
    double sum = type == DICT_INT64 ? ldexp((double)s->high, 32) + (double)s->low : s->sum;
    return s->count ? sum / (double)s->count : (double)NAN;
}

union field_number field_quantile(const struct field_statistics *s, enum dict_type type, double share)
{
    double value = histogram_quantile(&s->values, share);
    if (type == DICT_FLOAT64)
        return (union field_number){.d = fmin(fmax(s->fractions ? value : floor(value), s->min.d), s->max.d)};
    bool beyond = value >= 0x1p63; /* the end of the last bucket */
    int64_t whole = beyond ? INT64_MAX : (int64_t)floor(value);
    return (union field_number){.i = whole > s->max.i ? s->max.i : whole};
}
