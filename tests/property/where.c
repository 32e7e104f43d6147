// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A metric with a condition has the value that a plain list of the records gives which meet it, of every kind of
 * metric, field and comparison; and what two nodes contribute, joined, is what one node would that had all records.
 */
#include "base/clock.h"
#include "mdr/message.h"
#include "metric/evaluator.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 1500,
    MOST = 400,
    FRAME = 0,
    LATENCY,
    KIND,
    VALUE,
    STATUS,
    FIELDS,
    STRIDE = PACKET_RECORD_BYTES + 8 * FIELDS
};

static const struct dict_aspect shown = {.id = 1,
                                         .name = "shown",
                                         .field_count = FIELDS,
                                         .fields = {{DICT_INT64, "frame", "us", ""},
                                                    {DICT_FLOAT64, "latency", "ms", ""},
                                                    {DICT_ENUM, "kind", "", "key|delta|none"},
                                                    {DICT_FLOAT64, "value", "", ""},
                                                    {DICT_STRING, "status", "", ""}}};
static const char *const texts[] = {"ok", "not \"ok\"", "o", ""};
enum { TEXTS = sizeof texts / sizeof *texts };
static const struct dict dict = {.string_count = TEXTS, .strings = (const char **)texts};
static const struct statistic_field field = {.at = VALUE, .scale = 1, .is_float = true};
static uint64_t seed;

struct list {
    uint32_t count;
    int64_t times[MOST], frames[MOST];
    double latencies[MOST], values[MOST];
    unsigned kinds[MOST], statuses[MOST]; /* of texts, from 1; others are unknown */
    bool meets[MOST];
    bool has_unknown; /* values ... */
    int64_t open_at;  /* ... and the latest in the field of the condition; INT64_MIN: none */
    uint8_t bytes[MOST * STRIDE];
};

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

static bool compares(const char *op, double value, double bound)
{
    return strcmp(op, "<") == 0    ? value < bound
           : strcmp(op, "<=") == 0 ? value <= bound
           : strcmp(op, "=") == 0  ? value == bound
           : strcmp(op, "!=") == 0 ? value != bound
           : strcmp(op, ">=") == 0 ? value >= bound
                                   : value > bound;
}

static bool has_text(const struct list *l, uint32_t i)
{
    return l->statuses[i] >= 1 && l->statuses[i] <= TEXTS;
}

/* Numbers are so small that a double has them exactly. */
static void draw_condition(struct list *l, char *text, size_t size)
{
    static const char *const ops[] = {"<", "<=", "=", "!=", ">=", ">"}, *const labels[] = {"key", "delta", "none"};
    const char *op = ops[below(6)];
    uint64_t which = below(6), bound = below(20);
    if (which == 0)
        snprintf(text, size, "frame %s %llu", op, (unsigned long long)bound);
    else if (which == 1)
        snprintf(text, size, "frame %s %llu.5", op, (unsigned long long)bound);
    else if (which == 2)
        snprintf(text, size, "frame%s%llu us", op, (unsigned long long)bound);
    else if (which == 3)
        snprintf(text, size, "latency %s %llu ms", op, (unsigned long long)bound);
    else if (which == 4)
        snprintf(text, size, "status %s \"%s\"%s", bound % 2 ? "=" : "!=", texts[bound % TEXTS], bound % 3 ? "" : "  ");
    else
        snprintf(text, size, "kind %s %s", bound % 2 ? "=" : "!=", labels[bound % 3]);
    for (uint32_t i = 0; i < l->count; i++)
        l->meets[i] = which < 3    ? compares(op, (double)l->frames[i], (double)bound + (which == 1 ? 0.5 : 0))
                      : which == 3 ? !isnan(l->latencies[i]) && compares(op, l->latencies[i], (double)bound)
                      : which == 4 ? has_text(l, i) && (l->statuses[i] == bound % TEXTS + 1) == (bound % 2 == 1)
                                   : (l->kinds[i] == bound % 3) == (bound % 2 == 1);
    l->open_at = INT64_MIN;
    for (uint32_t i = 0; i < l->count; i++)
        if ((which == 3 && isnan(l->latencies[i])) || (which == 4 && !has_text(l, i)))
            l->open_at = l->times[i];
}

static void put_record(struct list *l, uint32_t i)
{
    uint8_t *at = packet_put_record(l->bytes + (size_t)i * STRIDE, 1, (uint64_t)l->times[i]);
    uint64_t bits[FIELDS] = {[FRAME] = (uint64_t)l->frames[i], [KIND] = l->kinds[i], [STATUS] = l->statuses[i]};
    memcpy(&bits[LATENCY], &l->latencies[i], sizeof bits[LATENCY]);
    memcpy(&bits[VALUE], &l->values[i], sizeof bits[VALUE]);
    for (int f = 0; f < FIELDS; f++)
        bytes_put_u64(at + (ptrdiff_t)8 * f, bits[f]);
}

/* In the second before `now`, whole windows' first grain apart. */
static void draw_list(struct list *l, int64_t now)
{
    l->count = (uint32_t)below(MOST);
    l->has_unknown = below(2);
    int64_t time = now - 900 * CLOCK_MS;
    for (uint32_t i = 0; i < l->count; i++) {
        time += (int64_t)below(2 * CLOCK_MS);
        l->times[i] = time;
        l->frames[i] = (int64_t)below(24) - 2;
        l->latencies[i] = !l->has_unknown || below(20) ? (double)below(80) / 4 : (double)NAN;
        l->values[i] = (double)below(1000) - 500;
        l->kinds[i] = (unsigned)below(3);
        l->statuses[i] = (unsigned)(l->has_unknown ? below(TEXTS + 2) : 1 + below(TEXTS));
        put_record(l, i);
    }
}

static void begin(struct evaluator *e, const struct experiment_metric *m)
{
    *e = (struct evaluator){0};
    assert_int_equal(evaluator_start(e, m), 0);
}

/* Gives records [from, until) of the list in runs of any length. */
static void give(struct evaluator *e, const struct list *l, uint32_t from, uint32_t until, const struct where *w,
                 int64_t now)
{
    for (uint32_t n; from < until; from += n) {
        n = 1 + (uint32_t)below(until - from);
        struct packet_run run = {.aspect = 1,
                                 .count = n,
                                 .stride = STRIDE,
                                 .value_count = FIELDS,
                                 .dict = &dict,
                                 .first = l->bytes + (size_t)from * STRIDE};
        evaluator_records(e, &run, &field, w, now);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What the list gives: of `count` values, in their order. */
static double plain(enum experiment_metric_kind kind, double share, double *values, uint32_t count)
{
    double sum = 0, first = values[0], last = values[count - 1];
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    qsort(values, count, sizeof *values, ascending);
    uint32_t rank = (uint32_t)ceil(share * count);
    return kind == METRIC_MEAN       ? sum / count
           : kind == METRIC_MIN      ? values[0]
           : kind == METRIC_MAX      ? values[count - 1]
           : kind == METRIC_QUANTILE ? values[rank > 0 ? rank - 1 : 0]
           : kind == METRIC_FIRST    ? first
                                     : last;
}

TEST(a_statistic_is_that_of_the_list_of_records_that_meet_the_condition)
{
    static struct list l;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t now = 1000 * CLOCK_S + (int64_t)below(CLOCK_S);
        char text[64];
        draw_list(&l, now);
        draw_condition(&l, text, sizeof text);
        struct experiment_metric m = {
            .kind = METRIC_MEAN + below(6), .where = text, .share = seed_unit(&seed), .window = CLOCK_S};
        struct where w = where_find(text, &shown);
        struct evaluator e;
        double values[MOST];
        uint32_t count = 0;
        begin(&e, &m);
        give(&e, &l, 0, l.count, &w, now);
        evaluator_take(&e, now);
        for (uint32_t i = 0; i < l.count; i++)
            if (l.meets[i])
                values[count++] = l.values[i];
        double right = count ? plain(m.kind, m.share, values, count) : 0;
        double error = m.kind == METRIC_QUANTILE ? fabs(right) / 32 : 1e-9;
        if (l.open_at > INT64_MIN) {
            assert_true(!e.known && e.open && e.least == (m.kind == METRIC_MAX ? right : 0));
            evaluator_end(&e);
            continue;
        }
        if (e.known != (count > 0) || (count > 0 && !(e.value >= right - 1e-9 && e.value <= right + error)))
            fail_msg("%s, %s: %g, and not %g", experiment_metric_word(m.kind), text, e.value, right);
        evaluator_end(&e);
    }
}

/* Readings of the counter every 10 ms, and the records between them. */
static void go(struct evaluator *e, const struct list *l, const struct where *w, bool all, int64_t now)
{
    uint64_t attempts = 1;
    uint32_t at = 0;
    evaluator_count(e, attempts, now - 2 * CLOCK_S);
    for (int64_t time = now - 1990 * CLOCK_MS; time <= now; time += 10 * CLOCK_MS) {
        for (; at < l->count && l->times[at] <= time; at++) {
            attempts += all || l->meets[at];
            if (all || l->meets[at])
                give(e, l, at, at + 1, w, time);
        }
        evaluator_count(e, attempts, time);
    }
    evaluator_take(e, now);
}

TEST(a_rate_is_that_of_a_program_with_none_but_those_records)
{
    static struct list l;
    for (int round = 0; round < ROUNDS / 3; round++) {
        int64_t now = 1000 * CLOCK_S;
        char text[64];
        draw_list(&l, now);
        draw_condition(&l, text, sizeof text);
        struct experiment_metric m = {.kind = METRIC_RATE, .where = text, .window = CLOCK_S}, bare = m;
        struct where w = where_find(text, &shown);
        struct evaluator chosen, only;
        bare.where = NULL;
        begin(&chosen, &m);
        begin(&only, &bare);
        go(&chosen, &l, &w, true, now);
        go(&only, &l, NULL, false, now);
        assert_true(only.known);
        assert_int_equal(chosen.known, l.open_at == INT64_MIN);
        if (chosen.known && (chosen.value != only.value || chosen.resolution != 0))
            fail_msg("%s: %g/s, and not %g/s", text, chosen.value, only.value);
        evaluator_end(&chosen);
        evaluator_end(&only);
    }
}

/* At a decision: the window is the time back to the latest reading that is as old as it is long, and the value of a
 * count is the most of one that ended since the reading before. */
TEST(counts_and_percentages_are_those_of_the_list)
{
    static struct list l;
    for (int round = 0; round < ROUNDS / 3; round++) {
        int64_t now = 1000 * CLOCK_S, half = CLOCK_S / 2;
        char text[64];
        uint32_t n = 0, most = 0, in = 0, met = 0;
        bool fresh = false;
        draw_list(&l, now);
        draw_condition(&l, text, sizeof text);
        struct experiment_metric count = {.kind = METRIC_COUNT, .where = below(4) ? text : NULL, .window = half};
        struct experiment_metric percent = {.kind = METRIC_PERCENT, .where = text, .window = half};
        struct where w = where_find(text, &shown);
        struct evaluator counted, rated;
        begin(&counted, &count);
        begin(&rated, &percent);
        go(&counted, &l, &w, true, now);
        give(&rated, &l, 0, l.count, &w, now);
        evaluator_take(&rated, now);
        for (uint32_t i = 0; i < l.count; i++) {
            bool in_grain = l.times[i] / (half / STATISTIC_GRAINS) > now / (half / STATISTIC_GRAINS) - STATISTIC_GRAINS;
            bool counts = l.times[i] <= now && (!count.where || l.meets[i]);
            n += counts && l.times[i] > now - half;
            most += counts && l.times[i] > now - half - 20 * CLOCK_MS;
            in += in_grain;
            met += in_grain && l.meets[i];
            fresh = fresh || l.times[i] > now - half;
        }
        bool is_open = l.open_at > now - half, was_open = !is_open && l.open_at > now - half - 20 * CLOCK_MS;
        if (is_open) {
            assert_true(!rated.known && rated.open && counted.known == !count.where);
        } else if (was_open) {
            assert_true(counted.known || counted.open);
        } else if (!counted.known || counted.joint != n || counted.value < n || counted.value > most ||
                   counted.resolution != 0)
            fail_msg("%s: %g records, and not %u", count.where ? text : "all", counted.value, n);
        if ((!is_open && rated.known != (in > 0 && fresh)) ||
            (rated.known && fabs(rated.value - 100.0 * met / in) > 1e-9))
            fail_msg("%s: %g %%, and not %u of %u", text, rated.value, met, in);
        evaluator_end(&counted);
        evaluator_end(&rated);
    }
}

TEST(parts_joined_are_the_whole)
{
    static struct list l;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t now = 1000 * CLOCK_S;
        char text[64];
        draw_list(&l, now);
        draw_condition(&l, text, sizeof text);
        struct experiment_metric m = {.kind = METRIC_MEAN + below(3), .where = text, .window = CLOCK_S};
        struct where w = where_find(text, &shown);
        struct evaluator e[3];
        struct message_partial p[3] = {{0}};
        uint32_t cut = l.count ? (uint32_t)below(l.count) : 0;
        for (int i = 0; i < 3; i++) {
            begin(&e[i], &m);
            give(&e[i], &l, i == 1 ? cut : 0, i == 0 ? cut : l.count, &w, now);
            evaluator_take(&e[i], now);
            evaluator_partial(&e[i], now, true, true, &p[i]);
            evaluator_end(&e[i]);
        }
        bool first = p[0].state == PARTIAL_KNOWN, second = p[1].state == PARTIAL_KNOWN;
        if (l.open_at > INT64_MIN) {
            assert_int_equal(p[2].state, PARTIAL_UNKNOWN);
            assert_true(p[0].state == PARTIAL_UNKNOWN || p[1].state == PARTIAL_UNKNOWN);
            continue;
        }
        assert_int_equal(p[2].state == PARTIAL_KNOWN, first || second);
        double a = first ? p[0].value : m.kind == METRIC_MEAN ? 0 : (double)NAN;
        double b = second ? p[1].value : m.kind == METRIC_MEAN ? 0 : (double)NAN;
        if (first || second) {
            assert_float_equal(p[2].value,
                               m.kind == METRIC_MEAN  ? a + b
                               : m.kind == METRIC_MIN ? fmin(a, b)
                                                      : fmax(a, b),
                               1e-9);
            assert_float_equal(p[2].over, (first ? p[0].over : 0) + (second ? p[1].over : 0), 1e-9);
        }
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
