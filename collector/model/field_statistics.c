// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/model/field_statistics.h"

#include "base/bytes.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 }; /* values that are evaluated together */

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
        distribution_free(&s->fields[i].values, memory);
    *memory += size_of(s->field_count);
    free(s);
}

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

/* Values of consecutive records, without those that are unknown. */
struct chunk {
    uint32_t count;
    uint32_t last; /* number of the record that has the last of them */
    union field_number numbers[CHUNK];
    double values[CHUNK];
};

/* Of an int64 field: those from `least` on. */
static void gather_whole(struct chunk *c, const uint8_t *at, uint32_t stride, uint32_t n, int64_t least)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++, at += stride) {
        int64_t v = (int64_t)bytes_get_u64(at);
        c->numbers[count].i = v;
        c->values[count] = (double)v;
        c->last = v >= least ? i : c->last;
        count += v >= least;
    }
    c->count = count;
}

static void gather_float(struct chunk *c, const uint8_t *at, uint32_t stride, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++, at += stride) {
        uint64_t bits = bytes_get_u64(at);
        double v;
        memcpy(&v, &bits, sizeof v);
        c->numbers[count].d = c->values[count] = v;
        c->last = isnan(v) ? c->last : i;
        count += !isnan(v);
    }
    c->count = count;
}

static void add_whole(struct field_statistics *s, const struct chunk *c)
{
    int64_t min = s->count ? s->min.i : INT64_MAX, max = s->count ? s->max.i : INT64_MIN, high = 0;
    uint64_t low = s->low;
    for (uint32_t i = 0; i < c->count; i++) {
        int64_t v = c->numbers[i].i;
        min = v < min ? v : min;
        max = v > max ? v : max;
        high += v >> 32; /* rounds down, so the rest is not negative */
        low += (uint32_t)v;
    }
    s->min.i = min;
    s->max.i = max;
    s->high = saturate_add(s->high, high + (int64_t)(low >> 32));
    s->low = (uint32_t)low;
}

/* Where a double's last bit is 1. */
static const double ONES = 0x1.8p52;

/* Whether a number has a part behind the point; above 2^51, where that matters to nobody, it may say so without. */
static inline bool has_fraction(double v)
{
    return v + ONES - ONES != v;
}

static void add_float(struct field_statistics *s, const struct chunk *c)
{
    unsigned fractions = s->fractions;
    double min = s->count ? s->min.d : (double)INFINITY, max = s->count ? s->max.d : -(double)INFINITY, sum = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        double v = c->numbers[i].d;
        min = v < min ? v : min;
        max = v > max ? v : max;
        sum += v;
        fractions |= has_fraction(v);
    }
    s->min.d = min;
    s->max.d = max;
    s->sum += sum;
    s->fractions = fractions;
}

/* Adds `n` values from record `from` on. Returns false where memory is short: the rest is not evaluated. */
static bool add_chunk(struct field_statistics *s, const struct dict_aspect *a, uint32_t field,
                      const struct packet_run *run, uint32_t from, uint32_t n, size_t *memory)
{
    struct chunk c; /* 4 KiB that nobody clears */
    const uint8_t *at = run->first + (size_t)from * run->stride + PACKET_RECORD_BYTES + 8 * (size_t)field;
    bool is_int = a->fields[field].type == DICT_INT64, is_duration = a->kind == DICT_SPAN && field == 0;
    c.last = 0;
    if (is_int)
        gather_whole(&c, at, run->stride, n, is_duration ? 0 : INT64_MIN);
    else
        gather_float(&c, at, run->stride, n);
    uint32_t known = c.count;
    c.count = distribution_add(&s->values, c.values, known, memory);
    s->unknown += n - known;
    if (c.count == 0)
        return known == 0;
    if (is_int)
        add_whole(s, &c);
    else
        add_float(s, &c);
    int64_t time = (int64_t)packet_run_time(run, from + c.last); /* times within a packet do not fall */
    if (s->count == 0 || time >= s->last_ns) {
        s->last = c.numbers[c.count - 1];
        s->last_ns = time;
    }
    s->count += c.count;
    return c.count == known;
}

void aspect_statistics_add(struct aspect_statistics *s, const struct dict_aspect *a, const struct packet_run *run,
                           size_t *memory)
{
    for (uint32_t field = 0; field < s->field_count; field++) {
        bool go_on = field_has_statistics(a, field);
        for (uint32_t from = 0; go_on && from < run->count; from += CHUNK) {
            uint32_t rest = run->count - from;
            go_on = add_chunk(&s->fields[field], a, field, run, from, rest < CHUNK ? rest : CHUNK, memory);
        }
    }
}

/* ---- Packing ----------------------------------------------------------------------------------------------------- */

enum { NUMBERS = 10, NUMBERS_BYTES = 8 * NUMBERS }; /* in front of the distribution */

size_t field_pack_bytes(const struct field_statistics *s)
{
    return NUMBERS_BYTES + distribution_pack_bytes(&s->values);
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
    (void)distribution_pack(&s->values, to + NUMBERS_BYTES);
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
    return distribution_unpack(&s->values, from + NUMBERS_BYTES, n - NUMBERS_BYTES, memory);
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
    double value = distribution_quantile(&s->values, share);
    if (type == DICT_FLOAT64)
        return (union field_number){.d = fmin(fmax(s->fractions ? value : floor(value), s->min.d), s->max.d)};
    bool beyond = value >= 0x1p63; /* the end of the last bucket */
    int64_t whole = beyond ? INT64_MAX : (int64_t)floor(value);
    return (union field_number){.i = whole > s->max.i ? s->max.i : whole};
}
