// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What records come to does not depend on how they are put together to runs, to the last bit: rates and figures of
 * every kind are the same when they get whole runs, pieces of them, or each record alone; and figures are those of a
 * plain reference that looks at one value at a time: a quantile within its error, the others to the last bit. Equal
 * times, windows and grains that end within a run, times that jump back or come from the future, and values that are
 * none are among them. Numbers are counted between chosen edges. Windows slide, or follow one another: then the
 * reference counts each record in one of them.
 */
#include "base/clock.h"
#include "metric/buckets.h"
#include "metric/rate.h"
#include "metric/statistic.h"
#include "tests/lib/one_record.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 60, MOST = 700, FIELDS = 3, STRIDE = PACKET_RECORD_BYTES + 8 * FIELDS, WHOLE, FLOAT, DURATION };

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

/* ---- The reference: one value at a time -------------------------------------------------------------------------- */

enum { LANES = 4 };

struct plain {
    enum statistic_kind kind;
    double share;
    int64_t window, newest;
    bool tumbles, any;
    double last;
    struct {
        int64_t number;
        uint64_t count;
        double sum[LANES], least, most;
    } grains[STATISTIC_GRAINS];
    uint32_t count; /* of all values that came */
    int64_t numbers[RUNS * MOST], times[RUNS * MOST];
    double values[RUNS * MOST];
};

static void plain_start(struct plain *p, enum statistic_kind kind, double share, int64_t window, bool tumbles)
{
    *p = (struct plain){.kind = kind, .share = share, .window = window, .tumbles = tumbles};
    for (int i = 0; i < STATISTIC_GRAINS; i++)
        p->grains[i].number = INT64_MIN;
}

static int64_t plain_grain(const struct plain *p, int64_t time)
{
    int64_t length = p->window / STATISTIC_GRAINS > 0 ? p->window / STATISTIC_GRAINS : 1;
    length = p->tumbles ? p->window : length;
    return time / length - (time % length < 0);
}

/* Whether what has this number counts at `now`: of windows that follow one another, in the last that is over. */
static bool plain_counts(const struct plain *p, int64_t number, int64_t now)
{
    int64_t end = plain_grain(p, now);
    return p->tumbles ? number == end - 1 : number > end - STATISTIC_GRAINS && number <= end;
}

static void plain_add(struct plain *p, int64_t timestamp, int64_t now, double value)
{
    int64_t time = timestamp < now ? timestamp : now, number = plain_grain(p, time);
    if (!isfinite(value) || (p->tumbles ? number < plain_grain(p, now) - 1 : time <= now - p->window))
        return;
    if (!p->any || time >= p->newest)
        p->newest = time, p->last = value;
    p->any = true;
    p->numbers[p->count] = number;
    p->times[p->count] = time;
    p->values[p->count++] = value;
    uint64_t at = ((uint64_t)number + ((uint64_t)1 << 63)) % STATISTIC_GRAINS;
    if (p->grains[at].number > number)
        return;
    if (p->grains[at].number < number) {
        memset(&p->grains[at], 0, sizeof p->grains[at]);
        p->grains[at].number = number;
        p->grains[at].least = INFINITY;
        p->grains[at].most = -INFINITY;
    }
    p->grains[at].sum[p->grains[at].count++ % LANES] += value;
    p->grains[at].least = value < p->grains[at].least ? value : p->grains[at].least;
    p->grains[at].most = value > p->grains[at].most ? value : p->grains[at].most;
}

/* The earliest value in the window, of equal times that which came first; or the latest, which came last. */
static double plain_end(const struct plain *p, int64_t now)
{
    int64_t at = p->kind == STATISTIC_FIRST ? INT64_MAX : INT64_MIN;
    double value = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (plain_counts(p, p->numbers[i], now) &&
            (p->kind == STATISTIC_FIRST ? p->times[i] < at : p->times[i] >= at)) {
            at = p->times[i];
            value = p->values[i];
        }
    return value;
}

/* Whether `value` is what a quantile may say: not below the exact one, and above by a 32nd at most. */
static bool plain_agrees(const struct plain *p, int64_t now, double value)
{
    uint64_t n = 0, reached = 0, far = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!plain_counts(p, p->numbers[i], now))
            continue;
        n++;
        reached += p->values[i] <= value;
        far += p->values[i] < value && value - p->values[i] > fabs(p->values[i]) / 32;
    }
    double rank = fmax(1, ceil(p->share * (double)n));
    return far < rank && rank <= reached;
}

static bool plain_value(const struct plain *p, int64_t now, double *value)
{
    double sum = 0, least = INFINITY, most = -INFINITY;
    uint64_t count = 0;
    if (!p->any || (!p->tumbles && p->newest <= now - p->window))
        return false;
    for (int i = 0; i < STATISTIC_GRAINS; i++) {
        if (p->grains[i].count == 0 || !plain_counts(p, p->grains[i].number, now))
            continue;
        count += p->grains[i].count;
        for (int k = 0; k < LANES; k++)
            sum += p->grains[i].sum[k];
        least = p->grains[i].least < least ? p->grains[i].least : least;
        most = p->grains[i].most > most ? p->grains[i].most : most;
    }
    bool is_latest = p->kind == STATISTIC_LAST && !p->tumbles;
    *value = is_latest                                                 ? p->last
             : p->kind == STATISTIC_FIRST || p->kind == STATISTIC_LAST ? plain_end(p, now)
             : p->kind == STATISTIC_MEAN                               ? sum / (double)count
             : p->kind == STATISTIC_MIN                                ? least
                                                                       : most;
    return is_latest || count > 0; /* of a quantile *value is not meant: plain_agrees() says */
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* Any number, often one that is none, or an end of what there is. */
static double any_number(void)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e300, -1e300, 5e-324};
    return below(9) == 0 ? odd[below(sizeof odd / sizeof *odd)] : (seed_unit(&seed) - 0.5) * 1e3;
}

static uint64_t any_bits(int type)
{
    uint64_t bits = seed_next(&seed);
    double real = any_number();
    if (type == FLOAT)
        memcpy(&bits, &real, sizeof bits);
    else if (below(8))
        bits = below(type == DURATION ? 2000 : UINT64_MAX) - 1000;
    return bits;
}

static double number_of(const struct packet_run *run, uint32_t i, const struct statistic_field *f)
{
    const struct packet_record r = packet_run_record(run, i);
    uint64_t bits = packet_value(&r, (uint32_t)f->at);
    double real;
    memcpy(&real, &bits, sizeof real);
    if (!f->is_float)
        real = f->unknown_below && (int64_t)bits < 0 ? (double)NAN : (double)(int64_t)bits;
    return f->scale * real;
}

/* A run of up to MOST records from about `time` on, `step` apart at most, as often as not at equal times. */
static struct packet_run any_run(uint8_t *bytes, int64_t time, int64_t step, int type)
{
    struct packet_run run = {.aspect = 1, .stride = STRIDE, .value_count = FIELDS, .first = bytes};
    run.count = 1 + (uint32_t)below(below(3) ? 20 : MOST);
    bool same = below(8) == 0;
    uint32_t none = below(4) ? run.count : (uint32_t)below(run.count); /* from there on there are no numbers */
    for (uint32_t i = 0; i < run.count; i++) {
        uint8_t *at = packet_put_record(bytes + (size_t)i * STRIDE, 1, (uint64_t)time);
        for (int k = 0; k < FIELDS; k++)
            bytes_put_u64(at + 8 * (size_t)k, i >= none ? UINT64_MAX : any_bits(type)); /* none, as any type */
        time += same || below(2) ? 0 : (int64_t)below((uint64_t)step);
    }
    return run;
}

static struct packet_run part_of(const struct packet_run *run, uint32_t from, uint32_t n)
{
    struct packet_run part = *run;
    part.first += (size_t)from * run->stride;
    part.count = n;
    return part;
}

/* Where time goes between two runs: on, most of the time; back, as another ring's does; or a leap ahead. */
static int64_t move(int64_t time, int64_t window)
{
    uint64_t way = below(20);
    if (way == 0 || way > 16)
        return time - (int64_t)below((way == 0 ? 2 : 1) * (uint64_t)window);
    return time + (int64_t)below(way == 1 ? 4 * (uint64_t)window : (uint64_t)window / 50 + 1);
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

enum { WAYS = 3 }; /* whole runs, pieces, single records */

static void feed(struct statistic *const by[WAYS], struct plain *plain, const struct packet_run *run,
                 const struct statistic_field *field, int64_t now)
{
    statistic_records(by[0], run, field, now);
    for (uint32_t i = 0, n; i < run->count; i += n) {
        n = 1 + (uint32_t)below(run->count - i);
        statistic_records(by[1], &(struct packet_run[]){part_of(run, i, n)}[0], field, now);
    }
    for (uint32_t i = 0; i < run->count; i++) {
        statistic_records(by[2], &(struct packet_run[]){part_of(run, i, 1)}[0], field, now);
        plain_add(plain, (int64_t)packet_run_time(run, i), now, number_of(run, i, field));
    }
}

/* Of the smallest or largest value, 0 and -0 are one: which of them is met first decides. */
static bool is_extreme(const struct plain *p)
{
    return p->kind == STATISTIC_MIN || p->kind == STATISTIC_MAX;
}

static void compare(struct statistic *const by[WAYS], const struct plain *plain, int64_t now)
{
    double expected = 0, value = 0, first = 0;
    int64_t newest = 0;
    bool known = plain_value(plain, now, &expected);
    for (int i = 0; i < WAYS; i++) {
        assert_int_equal(statistic_value(by[i], now, &value, &newest), known);
        if (!known)
            continue;
        assert_int_equal(newest, plain->tumbles ? plain_grain(plain, now) * plain->window - 1 : plain->newest);
        if (plain->kind == STATISTIC_QUANTILE) {
            first = i == 0 ? value : first;
            assert_true(same_bits(value, first) && plain_agrees(plain, now, value));
        } else if (!(isnan(value) && isnan(expected))) /* a sum beyond all numbers; its sign has no meaning */
            assert_true(same_bits(value, expected) || (is_extreme(plain) && value == 0 && expected == 0));
    }
}

static void try_statistic(enum statistic_kind kind, int type, bool tumbles, uint8_t *bytes)
{
    int64_t window = 1000 << below(21), time = 5 * window, now = time;
    double share = seed_unit(&seed);
    struct statistic_field field = {.at = (int)below(FIELDS),
                                    .scale = below(2) ? 1 : 1e3,
                                    .is_float = type == FLOAT,
                                    .unknown_below = type == DURATION};
    struct statistic *by[WAYS];
    static struct plain plain;
    for (int i = 0; i < WAYS; i++) {
        assert_int_equal(statistic_new(kind, share, window, &by[i]), 0);
        if (tumbles)
            assert_int_equal(statistic_tumble(by[i]), 0);
    }
    plain_start(&plain, kind, share, window, tumbles);
    for (int runs = 0; runs < RUNS; runs++) {
        time = move(time, window);
        const struct packet_run run = any_run(bytes, time, window / (int64_t)(1 + below(500)) + 1, type);
        int64_t end = (int64_t)packet_run_time(&run, run.count - 1), ahead = below(5) ? end : time;
        now = ahead > now ? ahead : now; /* a part of it may be from the future */
        feed(by, &plain, &run, &field, now);
        compare(by, &plain, now);
    }
    for (int i = 0; i < WAYS; i++)
        statistic_free(by[i]);
}

TEST(figures_do_not_depend_on_runs)
{
    static uint8_t bytes[MOST * STRIDE];
    seed = seed_start();
    for (int round = 0; round < (getenv("BEZEL_TEST_LIGHT") ? 3 : 20); round++)
        for (int kind = STATISTIC_MEAN; kind <= STATISTIC_QUANTILE; kind++)
            for (int type = WHOLE; type <= DURATION; type++)
                try_statistic((enum statistic_kind)kind, type, round % 2 == 1, bytes);
}

TEST(records_without_the_field_are_left_out)
{
    uint8_t bytes[MOST * STRIDE];
    struct statistic *f;
    double value;
    seed = seed_start();
    assert_int_equal(statistic_new(STATISTIC_LAST, 0, CLOCK_S, &f), 0);
    const struct packet_run run = any_run(bytes, 5, 5, WHOLE);
    statistic_records(f, &run, &(struct statistic_field){.at = STATISTIC_NO_FIELD, .scale = 1}, CLOCK_S);
    statistic_records(f, &run, &(struct statistic_field){.at = FIELDS, .scale = 1}, CLOCK_S);
    assert_false(statistic_value(f, CLOCK_S, &value, NULL));
    statistic_free(f);
}

/* ---- Rates ------------------------------------------------------------------------------------------------------- */

static void compare_rates(struct rate *const by[WAYS], int64_t now)
{
    double value[WAYS] = {0}, resolution[WAYS] = {0}, most[WAYS] = {0}, least[WAYS] = {0}, any;
    bool known[WAYS];
    for (int i = 0; i < WAYS; i++) {
        known[i] = rate_value(by[i], now, &value[i], &resolution[i]);
        assert_int_equal(rate_limit(by[i], now, true, &most[i], &any), known[i]);
        assert_int_equal(rate_limit(by[i], now, false, &least[i], &any), known[i]);
    }
    for (int i = 1; i < WAYS; i++) {
        assert_true(known[i] == known[0] && same_bits(value[i], value[0]) && same_bits(resolution[i], resolution[0]));
        assert_true(same_bits(most[i], most[0]) && same_bits(least[i], least[0]));
    }
}

static void try_rate(uint8_t *bytes)
{
    int64_t window = 1000 << below(21), time = 5 * window, now = time;
    uint64_t attempts = 0;
    struct rate *by[WAYS];
    for (int i = 0; i < WAYS; i++) {
        assert_int_equal(rate_new(window, false, &by[i]), 0);
        assert_int_equal(rate_refine(by[i], false), 0);
    }
    for (int runs = 0; runs < 300; runs++) {
        time = move(time, window);
        const struct packet_run run = any_run(bytes, time, window / (int64_t)(1 + below(500)) + 1, WHOLE);
        attempts += below(10) ? run.count : below(2 * MOST);
        rate_records(by[0], &run);
        for (uint32_t i = 0, n; i < run.count; i += n) {
            n = 1 + (uint32_t)below(run.count - i);
            rate_records(by[1], &(struct packet_run[]){part_of(&run, i, n)}[0]);
        }
        for (uint32_t i = 0; i < run.count; i++)
            rate_records(by[2], &(struct packet_run[]){part_of(&run, i, 1)}[0]);
        int64_t end = (int64_t)packet_run_time(&run, run.count - 1);
        for (uint64_t readings = below(4); readings > 0; readings--) { /* within the run, or after it */
            now += end > now ? (int64_t)below((uint64_t)(end - now) + 1) : 0;
            for (int i = 0; i < WAYS; i++)
                rate_count(by[i], attempts, now);
            compare_rates(by, now);
        }
    }
    for (int i = 0; i < WAYS; i++)
        rate_free(by[i]);
}

TEST(rates_do_not_depend_on_runs)
{
    static uint8_t bytes[MOST * STRIDE];
    seed = seed_start();
    for (int round = 0; round < (getenv("BEZEL_TEST_LIGHT") ? 10 : 60); round++)
        try_rate(bytes);
}

/* ---- Rates of windows that follow one another -------------------------------------------------------------------- */

enum { READINGS = 200, MADE = 4000 };

struct made {
    int64_t time;
    bool counts, came;
    int comes; /* before that reading; READINGS: never */
};

struct tumbling {
    int64_t window, readings[READINGS];
    int now; /* the latest reading */
    struct made made[MADE];
    int count;
    bool is_chosen;
};

/* The first reading of the window of reading `at`. */
static int first_of_window(const struct tumbling *t, int at)
{
    while (at > 0 && t->readings[at - 1] / t->window == t->readings[at] / t->window)
        at--;
    return at;
}

/* The number in the window that ends with reading `to`; -1: there is none, and *from stays; *all: all of its came. */
static int64_t number_in(const struct tumbling *t, int to, int *from, bool *all)
{
    int begin = to > 0 ? first_of_window(t, to - 1) : 0;
    int64_t n = 0;
    if (begin == 0 || t->readings[to] / t->window != t->readings[begin] / t->window + 1)
        return -1;
    *all = true;
    *from = begin;
    for (int i = 0; i < t->count; i++) {
        const struct made *m = &t->made[i];
        if (m->time <= t->readings[begin] || m->time > t->readings[to])
            continue;
        n += m->counts || !t->is_chosen;
        *all = *all && m->came;
    }
    return n;
}

static int64_t expected_number(const struct tumbling *t)
{
    bool all = true;
    int to = first_of_window(t, t->now);
    int64_t n = number_in(t, to, &to, &all);
    if (n >= 0 && t->is_chosen && !all) {
        n = number_in(t, to, &to, &all);
        n = all ? n : -1;
    }
    return n;
}

static void deliver(struct tumbling *t, struct rate *r)
{
    for (int i = 0; i < t->count; i++) {
        struct made *m = &t->made[i];
        if (m->came || m->comes != t->now)
            continue;
        m->came = true;
        if (m->counts || !t->is_chosen)
            rate_records(r, ONE_RECORD((uint64_t)m->time, 0, NULL));
        else
            rate_others(r, ONE_RECORD((uint64_t)m->time, 0, NULL));
    }
}

/* Each record is in one window, which begins and ends with readings. Returns how often the number was known. */
static uint64_t try_tumbling(bool is_chosen)
{
    static struct tumbling t;
    struct rate *r;
    uint64_t known = 0;
    t = (struct tumbling){.window = 1000 << below(16), .is_chosen = is_chosen};
    assert_int_equal(rate_new(t.window, is_chosen, &r), 0);
    rate_tumble(r);
    int64_t now = 5 * t.window + (int64_t)below((uint64_t)t.window), step = t.window / (int64_t)(1 + below(40));
    for (t.now = 0; t.now < READINGS; t.now++) {
        int64_t before = now;
        now += 1 + (int64_t)below(below(50) ? (uint64_t)step : 3 * (uint64_t)t.window);
        for (uint64_t more = below(16); more > 0 && t.count < MADE; more--) {
            int comes = t.now + (below(4) ? 0 : (int)below(4));
            int64_t least = t.count ? t.made[t.count - 1].time : before + 1;
            least = least > before ? least : before + 1;
            t.made[t.count++] = (struct made){.time = least + (int64_t)below((uint64_t)(now - least) + 1),
                                              .counts = below(2),
                                              .comes = below(200) ? comes : READINGS};
        }
        t.readings[t.now] = now;
        deliver(&t, r);
        rate_count(r, (uint64_t)t.count, now);
        uint64_t n = 0, all, lowest;
        int64_t expected = expected_number(&t);
        assert_int_equal(rate_number(r, now, &n, &all, &lowest), expected >= 0);
        assert_true(expected < 0 || n == (uint64_t)expected);
        known += expected >= 0;
    }
    rate_free(r);
    return known;
}

TEST(each_record_is_in_one_of_windows_that_follow_one_another)
{
    seed = seed_start();
    uint64_t known = 0;
    for (int round = 0; round < (getenv("BEZEL_TEST_LIGHT") ? 20 : 100); round++)
        known += try_tumbling(round % 2 == 1);
    assert_true(known > 0);
}

/* ---- Histograms with chosen edges -------------------------------------------------------------------------------- */

/* Each number is in the one bucket between whose edges it lies, however records are put together to runs. */
TEST(each_number_is_in_the_bucket_between_its_edges)
{
    static uint8_t bytes[MOST * STRIDE];
    seed = seed_start();
    for (int round = 0; round < 60; round++) {
        struct experiment_edges edges = {.count = 1 + (uint32_t)below(EXPERIMENT_EDGES_MAX), .at = {-400}};
        for (uint32_t i = 1; i < edges.count; i++)
            edges.at[i] = edges.at[i - 1] + 1 + (double)below(200);
        struct buckets whole = {.edges = &edges}, parts[2] = {{.edges = &edges}, {.edges = &edges}};
        int type = (int)below(3) + WHOLE;
        struct statistic_field field = {
            .at = (int)below(FIELDS), .scale = 1, .is_float = type == FLOAT, .unknown_below = type == DURATION};
        const struct packet_run run = any_run(bytes, 5, 5, type);
        uint64_t expected[BUCKETS_MAX] = {0};
        for (uint32_t i = 0; i < run.count; i++) {
            double value = number_of(&run, i, &field);
            for (uint32_t b = 0; b <= edges.count && isfinite(value); b++)
                expected[b] += (b == 0 || value > edges.at[b - 1]) && (b == edges.count || value <= edges.at[b]);
            buckets_records(&parts[i % 2], &(struct packet_run[]){part_of(&run, i, 1)}[0], &field);
        }
        buckets_records(&whole, &run, &field);
        for (uint32_t b = 0; b <= edges.count; b++)
            assert_true(whole.counts[b] == expected[b] && parts[0].counts[b] + parts[1].counts[b] == expected[b]);
        buckets_records(&whole, &run, &(struct statistic_field){.at = STATISTIC_NO_FIELD});
        buckets_records(&whole, &run, &(struct statistic_field){.at = FIELDS});
        assert_memory_equal(whole.counts, expected, (edges.count + 1) * sizeof *expected);
    }
}
