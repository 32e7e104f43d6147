// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Whatever records come in whatever order, the times that an interval gives are those that a plain search through all
 * of them finds, and its statistics are those of these times. With little memory, repeats, losses and clocks that jump
 * nothing is given twice, and everything is accounted for.
 */
#include "metric/interval.h"
#include "base/clock.h"
#include "base/saturate.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 400, KEYS = 40, CLIENTS = 4, SOURCES = 1 + CLIENTS, POSITIONS = 5, MOST = KEYS * SOURCES * POSITIONS };

#define NOW (INT64_C(1000000) * CLOCK_S)

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

struct told {
    uint32_t end, part;
    int64_t took, bound;
};

struct list {
    size_t count;
    struct told told[MOST];
};

struct round {
    uint32_t positions, split, clients; /* source 0 records before `split`, the clients from there on */
    uint32_t clocks[SOURCES];
    bool there[KEYS][POSITIONS][SOURCES];
    struct interval_event events[KEYS][POSITIONS][SOURCES];
    uint64_t negative;
};

static struct round r;
static struct list given, wanted;

/* Whether some record at `position` is the one that is told of. */
static bool is_record(struct interval_record is, uint32_t position)
{
    for (uint32_t key = 0; key < KEYS; key++)
        if (r.there[key][position][is.source] && r.events[key][position][is.source].own == is.own)
            return true;
    return false;
}

static void take(void *context, const struct interval_time *t)
{
    struct list *list = context;
    assert_true(list->count < MOST);
    assert_true(is_record(t->from, t->part == INTERVAL_WHOLE ? 0 : t->part));
    assert_true(is_record(t->to, t->part == INTERVAL_WHOLE ? r.positions - 1 : t->part + 1));
    list->told[list->count++] = (struct told){t->end, t->part, t->took.ns, t->took.bound};
}

static void draw_event(uint32_t key, uint32_t position, uint32_t source)
{
    int64_t time = (int64_t)below(CLOCK_S), offset = (int64_t)r.clocks[source] * 1000 * CLOCK_S;
    r.there[key][position][source] = key == 0 || below(8) > 0; /* the first shows who records what */
    r.events[key][position][source] = (struct interval_event){.position = position,
                                                              .key = interval_key_of_integer((int64_t)key - 7),
                                                              .source = source,
                                                              .clock = r.clocks[source],
                                                              .end = source % 3,
                                                              .own = time + offset,
                                                              .at = {NOW - CLOCK_S + time, (int64_t)below(CLOCK_MS)}};
}

static void draw_round(void)
{
    memset(&r, 0, sizeof r);
    r.positions = 2 + (uint32_t)below(POSITIONS - 1);
    r.split = 1 + (uint32_t)below(r.positions - 1);
    r.clients = 1 + (uint32_t)below(CLIENTS);
    for (uint32_t i = 0; i < SOURCES; i++)
        r.clocks[i] = (uint32_t)below(3);
    for (uint32_t key = 0; key < KEYS; key++)
        for (uint32_t position = 0; position < r.positions; position++)
            for (uint32_t source = position < r.split ? 0 : 1; source <= (position < r.split ? 0 : r.clients); source++)
                draw_event(key, position, source);
}

/* ---- The plain search -------------------------------------------------------------------------------------------- */

/* The record at `position` that an end of `source` belongs to; NULL: none. */
static const struct interval_event *find(uint32_t key, uint32_t position, uint32_t source)
{
    const struct interval_event *found = NULL;
    if (r.there[key][position][source])
        return &r.events[key][position][source];
    for (uint32_t other = 0; other < SOURCES; other++) {
        if (!r.there[key][position][other])
            continue;
        if (found)
            return NULL;
        found = &r.events[key][position][other];
    }
    return found;
}

static void want(uint32_t part, const struct interval_event *a, const struct interval_event *b, uint32_t end)
{
    bool same = a && b && a->clock == b->clock;
    if (!a || !b)
        return;
    int64_t took = same ? b->own - a->own : b->at.ns - a->at.ns, bound = same ? 0 : a->at.bound + b->at.bound;
    if (part == INTERVAL_WHOLE && took + bound < 0)
        r.negative++;
    else
        take(&wanted,
             &(struct interval_time){end, part, {took, bound}, {a->source, a->own}, {b->source, b->own}, false});
}

static void search(void)
{
    uint32_t last = r.positions - 1;
    for (uint32_t key = 0; key < KEYS; key++)
        for (uint32_t source = 0; source < SOURCES; source++) {
            if (!r.there[key][last][source])
                continue;
            const struct interval_event *end = &r.events[key][last][source];
            const struct interval_event *begin = find(key, 0, source);
            if (begin && begin->clock == end->clock && end->own < begin->own)
                begin = NULL; /* on one clock it is the end of another beginning */
            want(INTERVAL_WHOLE, begin, end, end->end);
            for (uint32_t i = 0; r.positions > 2 && i < last; i++)
                want(i, i > 0 ? find(key, i, source) : begin, i + 1 == last ? end : find(key, i + 1, source), end->end);
        }
}

/* ---- What is given ----------------------------------------------------------------------------------------------- */

static int by_all(const void *a, const void *b)
{
    const struct told *x = a, *y = b;
    return x->end != y->end     ? (x->end > y->end) - (x->end < y->end)
           : x->part != y->part ? (x->part > y->part) - (x->part < y->part)
           : x->took != y->took ? (x->took > y->took) - (x->took < y->took)
                                : (x->bound > y->bound) - (x->bound < y->bound);
}

/* The next records of all processes, in any order; those of one process in theirs. */
static void give_key_by_key(struct interval *in, uint32_t from, uint32_t until)
{
    uint32_t at[SOURCES] = {0}, left = SOURCES, each = (until - from) * r.positions;
    while (left > 0) {
        uint32_t source = (uint32_t)below(SOURCES);
        if (at[source] == each) {
            left = 0;
            for (uint32_t i = 0; i < SOURCES; i++)
                left += at[i] < each;
            continue;
        }
        uint32_t key = from + at[source] / r.positions, position = at[source] % r.positions;
        at[source]++;
        if (r.there[key][position][source])
            interval_add(in, &r.events[key][position][source], NOW);
    }
}

static double of_list(enum experiment_metric_kind kind, uint32_t end, uint32_t part, uint64_t *count, double *bound)
{
    double sum = 0, least = INFINITY, most = -INFINITY;
    *count = 0;
    *bound = 0;
    for (size_t i = 0; i < wanted.count; i++) {
        const struct told *t = &wanted.told[i];
        if (t->end != end || t->part != part)
            continue;
        ++*count;
        sum += (double)t->took;
        least = fmin(least, (double)t->took);
        most = fmax(most, (double)t->took);
        *bound = fmax(*bound, (double)t->bound);
    }
    return kind == METRIC_MIN ? least : kind == METRIC_MAX ? most : sum / (double)*count;
}

static void check_statistics(struct interval *in, enum experiment_metric_kind kind)
{
    uint32_t count;
    const uint32_t *ends = interval_ends(in, &count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t part = 0; part < INTERVAL_PARTS; part++) {
            uint64_t n;
            double bound, value = of_list(kind, ends[i], part, &n, &bound);
            struct interval_value v;
            bool known = interval_value(in, ends[i], part, CLOCK_S, NOW, &v) && v.count > 0;
            assert_int_equal(known, n > 0);
            if (!known)
                continue;
            assert_int_equal(v.count, n);
            assert_true(fabs(v.value - value) <= 1e-6 * fabs(value) + 1e-3);
            double room = 1e-3 + 1e-6 * fabs(value);
            assert_true(v.low <= value - bound + room && v.high >= value + bound - room);
            if (v.unknown == 0)
                assert_true(v.low >= value - bound - room && v.high <= value + bound + room);
            assert_true(v.low <= v.value && v.high >= v.value);
        }
}

TEST(all_that_belong_together_are_found_in_any_order)
{
    static const enum experiment_metric_kind kinds[] = {METRIC_MEAN, METRIC_MIN, METRIC_MAX};
    seed = seed_start();
    for (int i = 0; i < ROUNDS; i++) {
        struct interval *in;
        struct experiment_metric m = {.kind = METRIC_INTERVAL, .window = 3600 * CLOCK_S};
        draw_round();
        m.interval.count = r.positions;
        m.interval.memory = EXPERIMENT_MATCH_MEMORY_MIN;
        m.interval.statistic = kinds[i % 3];
        given.count = wanted.count = 0;
        assert_int_equal(interval_new(&m, CLOCK_S, &in), 0);
        interval_tell(in, take, &given);
        give_key_by_key(in, 0, 1);
        give_key_by_key(in, 1, KEYS);
        interval_finish(in, NOW, true);
        search();
        qsort(given.told, given.count, sizeof *given.told, by_all);
        qsort(wanted.told, wanted.count, sizeof *wanted.told, by_all);
        assert_int_equal(given.count, wanted.count);
        for (size_t k = 0; k < given.count; k++)
            assert_int_equal(by_all(&given.told[k], &wanted.told[k]), 0);
        assert_int_equal(interval_counts(in).negative, r.negative);
        check_statistics(in, kinds[i % 3]);
        interval_free(in);
    }
}

/* ---- Hostile records --------------------------------------------------------------------------------------------- */

static uint64_t sum_of(const uint64_t *counts, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

TEST(everything_is_accounted_for_with_little_memory)
{
    for (int i = 0; i < 20; i++) {
        struct interval *in;
        struct experiment_metric m = {.kind = METRIC_INTERVAL, .window = 10 * CLOCK_MS, .share = 0.9};
        uint32_t last = 1 + (uint32_t)below(3);
        uint64_t ends = 0, beginnings = 0;
        int64_t now = NOW;
        m.interval.count = last + 1;
        m.interval.memory = EXPERIMENT_MATCH_MEMORY_MIN;
        m.interval.statistic = METRIC_QUANTILE;
        assert_int_equal(interval_new(&m, (int64_t)below(CLOCK_MS), &in), 0);
        for (int k = 0; k < 20000; k++) {
            struct interval_event e = {
                .position = (uint32_t)below(last + 1),
                .key = interval_key_of_integer((int64_t)below(i % 2 ? 5000 : 50)),
                .source = (uint32_t)below(i % 3 ? 3 : 400),
                .clock = (uint32_t)below(3),
                .end = (uint32_t)below(i % 3 ? 3 : 400),
                .own = now + (int64_t)below(CLOCK_MS),
                .at = {now - (int64_t)below(20 * CLOCK_MS), below(4) ? (int64_t)below(CLOCK_MS) : INT64_MAX}};
            now += (int64_t)below(100) ? (int64_t)below(2000) : (int64_t)below(20 * CLOCK_MS);
            interval_add(in, &e, now);
            ends += e.position == last;
            beginnings += e.position == 0;
            if (below(50) == 0)
                interval_lost(in, (uint32_t)below(last + 1), e.end, now - CLOCK_MS, now, below(5), now);
            struct interval_value v;
            if (below(20) == 0 && interval_value(in, e.end, INTERVAL_WHOLE, 0, now, &v))
                assert_true(isnan(v.value) || (v.low <= v.high && v.count > 0));
        }
        struct interval_counts c = interval_counts(in);
        uint64_t ended = c.matched + c.negative + sum_of(c.ends, INTERVAL_CAUSES) + c.waiting;
        assert_true(ended <= ends && ends <= ended + c.repeated[last] + c.crowded);
        uint64_t begun = sum_of(c.beginnings, INTERVAL_CAUSES) + c.open;
        assert_true(begun + c.repeated[0] <= beginnings);
        assert_int_equal(c.records, 20000);
        interval_free(in);
    }
}

/* ---- Windows that follow one another ----------------------------------------------------------------------------- */

enum { PAIRS = 2000 };

/* What the ends in [from, from + window) have, of those that came by `now`. */
static bool plain_window(const int64_t took[], const int64_t ended[], int n, int64_t from, int64_t window, double *most,
                         double *mean)
{
    uint64_t count = 0;
    *most = -INFINITY;
    *mean = 0;
    for (int i = 0; i < n; i++) {
        if (ended[i] < from || ended[i] >= from + window)
            continue;
        count++;
        *most = fmax(*most, (double)took[i]);
        *mean += (double)took[i];
    }
    *mean /= (double)(count ? count : 1);
    return count > 0;
}

TEST(each_end_counts_in_one_of_windows_that_follow_one_another)
{
    static int64_t took[PAIRS], ended[PAIRS];
    for (int round = 0; round < 6; round++) {
        struct interval *in;
        struct experiment_metric m = {.kind = METRIC_INTERVAL, .window = 10 * CLOCK_MS, .tumbles = true};
        int64_t now = NOW;
        m.interval.count = 2;
        m.interval.memory = EXPERIMENT_MATCH_MEMORY_MIN;
        m.interval.statistic = round % 2 ? METRIC_MAX : METRIC_MEAN;
        assert_int_equal(interval_new(&m, CLOCK_MS, &in), 0);
        for (int i = 0; i < PAIRS; i++) {
            int64_t begin = now - (int64_t)below(2 * CLOCK_MS);
            ended[i] = begin + (int64_t)below((uint64_t)(now - begin) + 1);
            took[i] = ended[i] - begin;
            for (uint32_t at = 0; at < 2; at++)
                interval_add(in,
                             &(struct interval_event){.position = at,
                                                      .key = interval_key_of_integer(i),
                                                      .own = at ? ended[i] : begin,
                                                      .at = {at ? ended[i] : begin, 0}},
                             now);
            now += below(100) ? (int64_t)below(CLOCK_MS) : (int64_t)below(30 * CLOCK_MS);
            struct interval_value v;
            double most, mean;
            bool known = plain_window(took, ended, i + 1, (now / m.window - 1) * m.window, m.window, &most, &mean);
            assert_int_equal(interval_value(in, 0, INTERVAL_WHOLE, CLOCK_MS, now, &v), known);
            assert_true(!known || fabs(v.value - (round % 2 ? most : mean)) < 1e-3);
            assert_true(!known || (v.low == v.value && v.high == v.value));
        }
        interval_free(in);
    }
}
