// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What the statistics of a field say is what sorting and adding up all its values says: whole numbers exactly,
 * quantiles within a 128th above, whatever the order of packets is and however many records they have. What there is no
 * memory for is not evaluated, the rest is right, and all memory comes back.
 */
#include "run/model/field_statistics.h"

#include "base/bytes.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

enum { FIELDS = 5, RECORDS_MAX = 3000, STRIDE = PACKET_RECORD_BYTES + 8 * FIELDS };

static const double shares[] = {0.5, 0.99, 0, 0.25, 0.9, 0.999, 1};
enum { SHARES = sizeof shares / sizeof *shares };

static uint64_t seed;

static struct dict_aspect aspect = {.id = 1,
                                    .name = "a",
                                    .field_count = FIELDS,
                                    .fields = {{DICT_INT64, "whole", "us", ""},
                                               {DICT_STRING, "text", "", ""},
                                               {DICT_FLOAT64, "real", "V", ""},
                                               {DICT_ENUM, "state", "", "a|b"},
                                               {DICT_INT64, "other", "", ""}}};

static struct {
    uint32_t count;
    int64_t times[RECORDS_MAX];
    union field_number values[RECORDS_MAX][FIELDS];
    uint8_t bytes[RECORDS_MAX * STRIDE];
} records;

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static int64_t random_whole(void)
{
    switch (seed_next(&seed) % 4) {
    case 0:
        return (int64_t)(seed_next(&seed) % 300) - 100;
    case 1:
        return (int64_t)seed_between(&seed, 20e3, 600e3);
    case 2:
        return (int64_t)(seed_next(&seed) >> seed_next(&seed) % 64) * (seed_next(&seed) % 2 ? 1 : -1);
    default:
        return seed_next(&seed) % 2 ? INT64_MAX : INT64_MIN;
    }
}

/* Mostly stays nearly as it is, as a counter does; within what a double can hold. */
static int64_t next_whole(int64_t before)
{
    bool stays = seed_next(&seed) % 200 != 0 && before > -(INT64_C(1) << 52) && before < INT64_C(1) << 52;
    return stays ? before + (int64_t)(seed_next(&seed) % 2) : random_whole();
}

static double random_real(void)
{
    static const double odd[] = {0, -0.0, INFINITY, -INFINITY, NAN, DBL_MIN, -DBL_MAX, DBL_MAX, 0x1p-1074};
    switch (seed_next(&seed) % 4) {
    case 0:
        return seed_unit(&seed) - 0.25;
    case 1:
        return seed_between(&seed, 1e-15, 1e15) * (seed_next(&seed) % 2 ? 1 : -1);
    case 2:
        return odd[seed_next(&seed) % (sizeof odd / sizeof *odd)];
    default:
        return 7;
    }
}

static void draw(uint32_t count)
{
    records.count = count;
    for (uint32_t i = 0; i < count; i++) {
        records.times[i] = (int64_t)i / 3;
        for (uint32_t f = 0; f < FIELDS; f++)
            records.values[i][f].i = i > 0 && f == 4 ? next_whole(records.values[i - 1][f].i) : random_whole();
        records.values[i][2].d = random_real();
        uint8_t *at = packet_put_record(records.bytes + (size_t)i * STRIDE, 1, (uint64_t)records.times[i]);
        for (uint32_t f = 0; f < FIELDS; f++, at += 8)
            bytes_put_u64(at, (uint64_t)records.values[i][f].i);
    }
}

/* Records from `from` to before `until`, as packets of random sizes. */
static void add(struct aspect_statistics *s, uint32_t from, uint32_t until, size_t *memory)
{
    while (from < until) {
        uint32_t most = seed_next(&seed) % 2 ? 10 : 700, n = 1 + (uint32_t)(seed_next(&seed) % most);
        n = n < until - from ? n : until - from;
        const struct packet_run run = {.aspect = 1,
                                       .count = n,
                                       .stride = STRIDE,
                                       .value_count = FIELDS,
                                       .first = records.bytes + (size_t)from * STRIDE};
        aspect_statistics_add(s, &aspect, &run, memory);
        from += n;
    }
}

/* ---- What is right ----------------------------------------------------------------------------------------------- */

static int compare_wholes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The smallest value that a share does not exceed. */
static uint32_t rank(uint32_t count, double share)
{
    double at = ceil(share * count - 1e-9);
    return at < 1 ? 0 : (uint32_t)at - 1;
}

static void check_whole(const struct field_statistics *s, uint32_t field)
{
    static int64_t sorted[RECORDS_MAX];
    wide sum = 0;
    for (uint32_t i = 0; i < records.count; i++)
        sum += sorted[i] = records.values[i][field].i;
    qsort(sorted, records.count, sizeof *sorted, compare_wholes);
    assert_int_equal(s->count, records.count);
    assert_int_equal(s->unknown, 0);
    assert_true(s->min.i == sorted[0] && s->max.i == sorted[records.count - 1]);
    assert_true(field_total(s) == (sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum));
    double mean = (double)sum / records.count;
    assert_true(fabs(field_mean(s, DICT_INT64) - mean) <= 1e-12 * fabs(mean));
    for (int i = 0; i < SHARES; i++) {
        int64_t is = field_quantile(s, DICT_INT64, shares[i]).i, right = sorted[rank(records.count, shares[i])];
        wide most = right + ((wide)right < 0 ? -(wide)right : right) / 128;
        assert_true(is >= right && (wide)is <= most);
        assert_true(llabs(right / 2) >= 128 || is == right);
    }
}

static void check_real(const struct field_statistics *s, uint32_t field)
{
    static double sorted[RECORDS_MAX];
    uint32_t n = 0;
    double sum = 0, size = 0;
    for (uint32_t i = 0; i < records.count; i++)
        if (!isnan(records.values[i][field].d)) {
            sorted[n] = records.values[i][field].d;
            sum += sorted[n];
            size += fabs(sorted[n++]);
        }
    qsort(sorted, n, sizeof *sorted, compare_reals);
    assert_int_equal(s->count, n);
    assert_int_equal(s->unknown, records.count - n);
    double mean = field_mean(s, DICT_FLOAT64);
    if (n == 0) {
        assert_true(isnan(mean));
        return;
    }
    assert_true(s->min.d == sorted[0] && s->max.d == sorted[n - 1]);
    if (isfinite(size))
        assert_true(fabs(mean - sum / n) <= 1e-12 * size / n);
    for (int i = 0; i < SHARES; i++) {
        double is = field_quantile(s, DICT_FLOAT64, shares[i]).d, right = sorted[rank(n, shares[i])];
        assert_true(is >= right - 2e-310 && (is == right || is <= right + fabs(right) / 128 + 2e-310));
        assert_true((right != 0 || is == 0) && is >= sorted[0] && is <= sorted[n - 1]);
    }
}

/* Of equal times the record that was added later: the last one. */
static void check_last(const struct field_statistics *s, uint32_t field)
{
    assert_true(s->last.i == records.values[records.count - 1][field].i);
    assert_int_equal(s->last_ns, records.times[records.count - 1]);
}

/* As bytes and back, all that is told of it is the same. */
static void check_packed(const struct field_statistics *s, enum dict_type type)
{
    size_t memory = 1 << 20, n = field_pack_bytes(s);
    struct field_statistics back = {0};
    uint8_t *bytes = malloc(n);
    field_pack(s, bytes);
    assert_int_equal(field_unpack(&back, bytes, n, &memory), 0);
    assert_true(back.count == s->count && back.unknown == s->unknown && back.last_ns == s->last_ns);
    assert_true(back.min.i == s->min.i && back.max.i == s->max.i && back.last.i == s->last.i);
    assert_true(field_total(&back) == field_total(s));
    for (int i = 0; i < SHARES && s->count; i++)
        assert_true(field_quantile(&back, type, shares[i]).i == field_quantile(s, type, shares[i]).i);
    double mean = field_mean(s, type), mean_back = field_mean(&back, type);
    assert_true(mean == mean_back || (isnan(mean) && isnan(mean_back)));
    assert_true(field_unpack(&(struct field_statistics){0}, bytes, n - 1, &memory) != 0);
    histogram_free(&back.values, &memory);
    free(bytes);
}

TEST(statistics_are_those_of_all_values)
{
    seed = seed_start();
    for (int round = 0; round < 60; round++) {
        size_t memory = 1 << 20;
        struct aspect_statistics *s = aspect_statistics_new(&aspect, &memory);
        assert_non_null(s);
        draw(1 + (uint32_t)(seed_next(&seed) % (round % 3 ? RECORDS_MAX : 12)));
        uint32_t middle = (uint32_t)(seed_next(&seed) % (records.count + 1));
        if (round % 2)
            middle = 0; /* else the later half comes first, as that of another ring may */
        add(s, middle, records.count, &memory);
        add(s, 0, middle, &memory);
        check_whole(&s->fields[0], 0);
        check_whole(&s->fields[4], 4);
        check_real(&s->fields[2], 2);
        check_packed(&s->fields[0], DICT_INT64);
        check_packed(&s->fields[2], DICT_FLOAT64);
        if (middle == 0 || records.times[middle - 1] < records.times[records.count - 1])
            check_last(&s->fields[0], 0);
        assert_int_equal(s->fields[1].count + s->fields[1].unknown + s->fields[3].count + s->fields[3].unknown, 0);
        aspect_statistics_free(s, &memory);
        assert_int_equal(memory, 1 << 20);
    }
}

/* Fields that find no memory stop; what was evaluated is a beginning of their values. */
TEST(what_finds_no_memory_is_not_evaluated)
{
    seed = seed_start();
    size_t none = 0;
    assert_null(aspect_statistics_new(&aspect, &none));
    for (size_t bound = 1000; bound < 60000; bound += 1777) {
        size_t memory = bound;
        struct aspect_statistics *s = aspect_statistics_new(&aspect, &memory);
        if (!s)
            continue;
        draw(200);
        const struct packet_run run = {
            .aspect = 1, .count = 200, .stride = STRIDE, .value_count = FIELDS, .first = records.bytes};
        aspect_statistics_add(s, &aspect, &run, &memory);
        assert_true(memory <= bound);
        for (uint32_t f = 0; f < FIELDS; f += 4) {
            assert_true(s->fields[f].count <= 200);
            uint32_t all = records.count;
            records.count = (uint32_t)s->fields[f].count;
            if (records.count)
                check_whole(&s->fields[f], f);
            records.count = all;
        }
        aspect_statistics_free(s, &memory);
        assert_int_equal(memory, bound);
    }
}

static struct aspect_statistics *of_records(struct dict_aspect *a, const int64_t *values, uint32_t n, size_t *memory)
{
    struct aspect_statistics *s = aspect_statistics_new(a, memory);
    uint8_t bytes[16 * (PACKET_RECORD_BYTES + 8)];
    for (uint32_t i = 0; i < n; i++)
        bytes_put_u64(packet_put_record(bytes + (size_t)i * (PACKET_RECORD_BYTES + 8), 1, i), (uint64_t)values[i]);
    const struct packet_run run = {
        .aspect = 1, .count = n, .stride = PACKET_RECORD_BYTES + 8, .value_count = 1, .first = bytes};
    if (s)
        aspect_statistics_add(s, a, &run, memory);
    return s;
}

/* A gauge is a float64, and often a length. */
TEST(whole_numbers_of_a_float_field_are_exact_below_256)
{
    struct dict_aspect gauge = {
        .kind = DICT_GAUGE, .field_count = 1, .fields = {{DICT_FLOAT64, "value", "frames", ""}}};
    for (int64_t v = -255; v < 256; v++) {
        size_t memory = 1 << 20;
        const double wholes[] = {(double)v, (double)v, 1e6}, parts[] = {0, 0, (double)v + 0.5};
        int64_t bits[3];
        memcpy(bits, wholes, sizeof bits);
        struct aspect_statistics *s = of_records(&gauge, bits, 3, &memory);
        assert_non_null(s);
        assert_true(field_quantile(&s->fields[0], DICT_FLOAT64, 0.5).d == (double)v);
        aspect_statistics_free(s, &memory);
        memcpy(bits, parts, sizeof bits);
        s = of_records(&gauge, bits, 3, &memory);
        assert_non_null(s);
        double most = field_quantile(&s->fields[0], DICT_FLOAT64, v < 0 ? 0 : 1).d;
        assert_true(v < 0 ? most >= parts[2] && most <= parts[2] * (1 - 1.0 / 128) : most == parts[2]);
        assert_true(field_quantile(&s->fields[0], DICT_FLOAT64, 0.5).d == 0);
        aspect_statistics_free(s, &memory);
    }
}

TEST(a_duration_below_0_is_unknown_and_a_tag_is_no_quantity)
{
    size_t memory = 1 << 20;
    const int64_t values[] = {5, -1, 7, -1};
    struct dict_aspect span = {.kind = DICT_SPAN, .field_count = 1, .fields = {{DICT_INT64, "duration", "ns", ""}}};
    struct aspect_statistics *s = of_records(&span, values, 4, &memory);
    assert_int_equal(s->fields[0].count, 2);
    assert_int_equal(s->fields[0].unknown, 2);
    assert_int_equal(field_total(&s->fields[0]), 12);
    assert_int_equal(s->fields[0].last.i, 7);
    aspect_statistics_free(s, &memory);
    struct dict_aspect sent = {
        .kind = DICT_SENT, .field_count = 2, .fields = {{DICT_STRING, "peer", "", ""}, {DICT_INT64, "tag", "", ""}}};
    assert_null(aspect_statistics_new(&sent, &memory));
    struct dict_aspect plain = {.field_count = 1, .fields = {{DICT_ENUM, "state", "", "a|b"}}};
    assert_null(aspect_statistics_new(&plain, &memory));
    assert_int_equal(memory, 1 << 20);
}

/* Random bits as float64 have more powers of two than a field has counters for. */
TEST(bits_without_sense_take_bounded_memory)
{
    seed = seed_start();
    size_t memory = 1 << 20;
    struct dict_aspect noise = {.kind = DICT_EVENT, .field_count = 1, .fields = {{DICT_FLOAT64, "noise", "", ""}}};
    int64_t values[16] = {0};
    struct aspect_statistics *s = of_records(&noise, values, 1, &memory);
    for (int i = 0; i < 2000; i++) {
        uint8_t bytes[PACKET_RECORD_BYTES + 8];
        bytes_put_u64(packet_put_record(bytes, 1, 1), seed_next(&seed));
        const struct packet_run run = {
            .aspect = 1, .count = 1, .stride = sizeof bytes, .value_count = 1, .first = bytes};
        aspect_statistics_add(s, &noise, &run, &memory);
    }
    assert_true(s->fields[0].count < 2000 && s->fields[0].count >= HISTOGRAM_ROWS_MAX);
    assert_int_equal(s->fields[0].values.used, HISTOGRAM_ROWS_MAX);
    assert_true(memory > (1 << 20) - 300 * 1024);
    aspect_statistics_free(s, &memory);
    assert_int_equal(memory, 1 << 20);
}
