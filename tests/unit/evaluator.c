// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* One face for all kinds of metric; what the evaluators behind it make of records is unit/rate's and unit/statistic's.
 */
#include "metric/evaluator.h"
#include "mdr/parts.h"

#include "base/clock.h"
#include "tests/lib/one_record.h"
#include "tests/lib/test.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define START (100 * CLOCK_S)
#define EVERY (100 * CLOCK_MS)

static struct experiment_metric metric;
static struct evaluator r;
static struct arrivals arrivals;
static int64_t now;

static int start(void **state)
{
    (void)state;
    now = START;
    return 0;
}

static int end(void **state)
{
    (void)state;
    evaluator_end(&r);
    arrivals_end(&arrivals);
    return 0;
}

/* A reading of another metric. */
static void begin(enum experiment_metric_kind kind)
{
    evaluator_end(&r);
    arrivals_end(&arrivals);
    metric = (struct experiment_metric){.kind = kind, .share = 0.5, .window = CLOCK_S, .period = CLOCK_MS};
    assert_int_equal(evaluator_start(&r, &metric), 0);
}

static void take_unknown(void)
{
    evaluator_take(&r, now);
    assert_false(r.known);
    assert_true(r.resolution == 0);
}

static void expect(double value, double resolution)
{
    evaluator_take(&r, now);
    assert_true(r.known);
    assert_float_equal(r.value, value, 1e-9);
    assert_float_equal(r.resolution, resolution, 1e-9);
}

static void record(double value, int64_t time)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    evaluator_records(&r, ONE_RECORD(time, 1, &bits), &(struct statistic_field){.scale = 1, .is_float = true}, NULL,
                      now);
}

static void records(void)
{
    static const double values[] = {4, 9, -1, 3, 2};
    for (int i = 0; i < 5; i++)
        record(values[i], now - 5 + i);
}

/* A second and a half of 10 records a second: of those `lost` in a hundred lost, and so many under way. */
static void count(int lost, uint64_t en_route)
{
    for (uint64_t i = 1; i <= 15; i++) {
        now += EVERY;
        evaluator_count(&r, i, now);
        evaluator_totals(&r, 100 * i, (uint64_t)lost * i, en_route, now);
    }
}

static struct message_partial part(void)
{
    struct message_partial p = {0};
    evaluator_take(&r, now);
    evaluator_partial(&r, now, true, true, &p);
    return p;
}

static void expect_part(double value, double over, double unsure)
{
    struct message_partial p = part();
    assert_int_equal(p.state, PARTIAL_KNOWN);
    assert_float_equal(p.value, value, 1e-9);
    assert_float_equal(p.over, over, 1e-9);
    assert_float_equal(p.unsure, unsure, 1e-9);
}

static bool is_latency(enum experiment_metric_kind kind)
{
    return kind == METRIC_LATENCY || kind == METRIC_LATENCY_MAX || kind == METRIC_STORING || kind == METRIC_STORING_MAX;
}

/* Two records, so far apart that five periods pass between them. */
static void miss(void)
{
    for (int i = 0; i < 2; i++)
        evaluator_arrivals(&r, &arrivals, ONE_RECORD(now - 6 * CLOCK_MS + i * 5500 * CLOCK_US, 0, NULL), NULL, NULL,
                           now);
}

/* 4 lasts for 3 ms, and 8 for 1. */
static void last(void)
{
    for (uint64_t i = 0; i < 3; i++)
        evaluator_arrivals(&r, &arrivals,
                           ONE_RECORD(now - (8 - 3 * (int64_t)i + (i == 2) * 2) * CLOCK_MS, 1, (uint64_t[]){4 + 4 * i}),
                           &(struct statistic_field){.scale = 1}, NULL, now);
}

/* What makes each kind known. */
static void bring(enum experiment_metric_kind kind)
{
    count(5, 200);
    if (kind == METRIC_MISSES)
        miss();
    else if (kind == METRIC_TIME_MEAN)
        last();
    else if (is_latency(kind))
        evaluator_taken(&r, 10, now - 30 * CLOCK_MS, now - 10 * CLOCK_MS, now);
    else
        records();
}

static const struct {
    enum experiment_metric_kind kind;
    double value, resolution;
} kinds[] = {{METRIC_RATE, 10, 1},          {METRIC_MEAN, 3.4, 0},    {METRIC_MIN, -1, 0},   {METRIC_MAX, 9, 0},
             {METRIC_LAST, 2, 0},           {METRIC_QUANTILE, 3, 0},  {METRIC_FIRST, 4, 0},  {METRIC_COUNT, 10, 0},
             {METRIC_PERCENT, 100, 0},      {METRIC_TIME_MEAN, 5, 0}, {METRIC_MISSES, 5, 0}, {METRIC_LATENCY, 20e6, 0},
             {METRIC_LATENCY_MAX, 30e6, 0}, {METRIC_EN_ROUTE, 20, 0}, {METRIC_LOST, 5, 0},   {METRIC_STORING, 20e6, 0},
             {METRIC_STORING_MAX, 30e6, 0}};
enum { KINDS = sizeof kinds / sizeof *kinds };

TEST_WITH(start, end, each_kind_is_unknown_until_it_has_a_value)
{
    /* METRIC_RATIO and _DIFFERENCE have none of their own, METRIC_HISTOGRAM none at all, METRIC_INTERVAL no node */
    assert_int_equal(KINDS + 4, METRIC_KINDS);
    for (size_t i = 0; i < KINDS; i++) {
        begin(kinds[i].kind);
        take_unknown();
        bring(kinds[i].kind);
        expect(kinds[i].value, kinds[i].resolution);
        assert_in_range(r.at, now - EVERY, now);
    }
}

TEST_WITH(start, end, each_kind_is_unknown_again_after_a_reset_and_comes_back)
{
    for (size_t i = 0; i < KINDS; i++) {
        begin(kinds[i].kind);
        bring(kinds[i].kind);
        expect(kinds[i].value, kinds[i].resolution);
        evaluator_reset(&r);
        arrivals_break(&arrivals);
        take_unknown();
        assert_int_equal(r.level, 0);
        now += EVERY;
        evaluator_count(&r, 1000, now); /* not a window after what it counts from now on */
        evaluator_totals(&r, 3000, 150, 0, now);
        take_unknown();
        bring(kinds[i].kind);
        expect(kinds[i].value, kinds[i].resolution);
    }
}

TEST_WITH(start, end, what_was_not_started_knows_nothing_and_takes_anything)
{
    r = (struct evaluator){0};
    bring(METRIC_MEAN);
    bring(METRIC_LATENCY);
    bring(METRIC_MISSES);
    evaluator_silence(&r, CLOCK_S);
    evaluator_blind(&r, &arrivals, now);
    evaluator_reset(&r);
    take_unknown();
    assert_int_equal(part().state, PARTIAL_NONE);
}

TEST_WITH(start, end, a_histogram_counts_and_has_no_value)
{
    struct experiment_metric m = {.kind = METRIC_HISTOGRAM, .window = CLOCK_S, .edges = {.count = 2, .at = {2, 4}}};
    r = (struct evaluator){0};
    assert_int_equal(evaluator_start(&r, &m), 0);
    records(); /* 4, 9, -1, 3, 2 */
    take_unknown();
    assert_true(r.buckets->counts[0] == 2 && r.buckets->counts[1] == 2 && r.buckets->counts[2] == 1);
    evaluator_reset(&r); /* they stay until somebody has recorded them */
    assert_true(r.buckets->counts[2] == 1);
    evaluator_end(&r);
}

TEST_WITH(start, end, one_that_was_started_goes_on)
{
    struct experiment_metric other = {.kind = METRIC_MAX, .window = CLOCK_S};
    begin(METRIC_MIN);
    records();
    assert_int_equal(evaluator_start(&r, &other), 0);
    expect(-1, 0);
}

/* What a kind is not made of does not reach it: the node brings all to all. */
TEST_WITH(start, end, each_kind_takes_what_it_is_made_of)
{
    begin(METRIC_MEAN);
    count(5, 200);
    take_unknown();
    begin(METRIC_RATE);
    evaluator_taken(&r, 10, now - EVERY, now, now);
    evaluator_totals(&r, 10, 0, 0, now);
    take_unknown();
    begin(METRIC_LOST);
    for (int i = 0; i < 15; i++)
        evaluator_count(&r, 1, now += EVERY);
    records();
    evaluator_taken(&r, 10, now - EVERY, now, now);
    take_unknown();
}

TEST_WITH(start, end, records_make_a_rate_exact)
{
    begin(METRIC_RATE);
    for (uint64_t i = 1; i <= 30; i++) {
        now += EVERY;
        record(0, now - CLOCK_MS);
        evaluator_count(&r, i, now);
    }
    expect(10, 0);
    now += 2 * CLOCK_S; /* not read for long */
    take_unknown();
}

TEST_WITH(start, end, the_time_of_a_value_is_that_of_its_latest_record)
{
    begin(METRIC_MEAN);
    record(1, now - 300 * CLOCK_MS);
    record(2, now - 400 * CLOCK_MS);
    evaluator_take(&r, now);
    assert_int_equal(r.at, now - 300 * CLOCK_MS);
    now += CLOCK_S;
    take_unknown();
}

TEST_WITH(start, end, a_record_from_the_future_is_of_no_age)
{
    begin(METRIC_LATENCY);
    evaluator_taken(&r, 10, now - 20 * CLOCK_MS, now + CLOCK_S, now);
    expect(10e6, 0);
    begin(METRIC_LATENCY);
    evaluator_taken(&r, 10, now + CLOCK_MS, now + CLOCK_S, now);
    expect(0, 0);
    begin(METRIC_LATENCY_MAX);
    evaluator_taken(&r, 10, now + CLOCK_MS, now + CLOCK_S, now);
    expect(0, 0);
    evaluator_taken(&r, 10, now - 20 * CLOCK_MS, now + CLOCK_S, now);
    expect(20e6, 0);
}

TEST_WITH(start, end, ages_weigh_as_many_records_as_they_are_of)
{
    begin(METRIC_STORING);
    evaluator_taken(&r, 30, now - 10, now - 10, now);
    evaluator_taken(&r, 10, now - 50, now - 50, now);
    expect(20, 0);
}

TEST_WITH(start, end, a_mean_beyond_all_numbers_is_unknown)
{
    begin(METRIC_MEAN);
    record(DBL_MAX, now - 2);
    record(DBL_MAX, now - 1);
    take_unknown();
    assert_int_equal(part().state, PARTIAL_NONE);
    begin(METRIC_MAX);
    record(DBL_MAX, now - 1);
    evaluator_take(&r, now);
    assert_true(r.known && r.value == DBL_MAX);
}

TEST_WITH(start, end, a_share_of_nothing_is_unknown_and_nothing_is_under_way)
{
    static const struct {
        enum experiment_metric_kind kind;
        bool known;
    } cases[] = {{METRIC_LOST, false}, {METRIC_EN_ROUTE, true}};
    for (int i = 0; i < 2; i++) {
        begin(cases[i].kind);
        evaluator_totals(&r, 500, 5, 0, now);
        evaluator_totals(&r, 500, 5, 0, now += CLOCK_S);
        evaluator_take(&r, now);
        assert_int_equal(r.known, cases[i].known);
        expect_part(0, 0, 0); /* of the whole there may be others */
    }
}

/* ---- Numbers that are not known ---------------------------------------------------------------------------------- */

TEST(a_negative_number_is_unknown_of_a_sampler_and_of_a_span)
{
    static char field[] = "steal";
    const struct experiment_metric steal = {.kind = METRIC_MAX, .field = field};
    static const struct {
        const char *aspect;
        enum dict_kind kind;
        bool known;
    } cases[] = {{"thread_scheduling", DICT_EVENT, false}, {"work", DICT_SPAN, false}, {"work", DICT_EVENT, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dict_aspect a = {.name = cases[i].aspect, .kind = cases[i].kind, .field_count = 1};
        a.fields[0] = (struct dict_field){DICT_INT64, "steal", "ns", ""};
        struct statistic_field found = evaluator_field(&steal, &a);
        for (int64_t value = -1; value <= 0; value++) {
            uint64_t bits = (uint64_t)value;
            double read = statistic_read(ONE_RECORD(CLOCK_S, 1, &bits), 0, &found);
            assert_int_equal(isnan(read) ? 0 : 1, value == 0 || cases[i].known);
        }
    }
}

/* ---- What it adds to the whole ----------------------------------------------------------------------------------- */

TEST_WITH(start, end, what_each_kind_adds)
{
    static const struct {
        enum experiment_metric_kind kind;
        enum message_partial_state before; /* no record in the window: nothing to add; of counters it is to come */
        double value, over, unsure;
    } cases[] = {{METRIC_RATE, PARTIAL_UNKNOWN, 10, 0, 1},       {METRIC_MEAN, PARTIAL_NONE, 17, 5, 0},
                 {METRIC_MIN, PARTIAL_NONE, -1, 0, 0},           {METRIC_MAX, PARTIAL_NONE, 9, 0, 0},
                 {METRIC_FIRST, PARTIAL_NONE, 4, 0, 0},          {METRIC_COUNT, PARTIAL_UNKNOWN, 10, 0, 0},
                 {METRIC_PERCENT, PARTIAL_NONE, 500, 5, 0},      {METRIC_TIME_MEAN, PARTIAL_NONE, 20e6, 4e6, 0},
                 {METRIC_MISSES, PARTIAL_NONE, 5, 0, 0},         {METRIC_LATENCY, PARTIAL_NONE, 200e6, 10, 0},
                 {METRIC_LATENCY_MAX, PARTIAL_NONE, 30e6, 0, 0}, {METRIC_EN_ROUTE, PARTIAL_UNKNOWN, 20000, 1000, 0},
                 {METRIC_LOST, PARTIAL_UNKNOWN, 5000, 1000, 0},  {METRIC_STORING, PARTIAL_NONE, 200e6, 10, 0},
                 {METRIC_STORING_MAX, PARTIAL_NONE, 30e6, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i].kind);
        assert_int_equal(part().state, cases[i].before);
        bring(cases[i].kind);
        expect_part(cases[i].value, cases[i].over, cases[i].unsure);
        evaluator_reset(&r);
        assert_int_equal(part().state, cases[i].before);
    }
}

/* Ten found of ten, and later none of twenty: the most of each in a window are of two windows, and no share. */
TEST(two_numbers_of_records_are_combined_of_one_time)
{
    const struct experiment_metric count = {.kind = METRIC_COUNT, .window = 100 * CLOCK_MS},
                                   shares[] = {{.kind = METRIC_RATIO}, {.kind = METRIC_DIFFERENCE}};
    struct evaluator found = {0}, looked = {0}, share = {0};
    const int64_t at = 10 * CLOCK_S;
    assert_true(evaluator_start(&found, &count) == 0 && evaluator_start(&looked, &count) == 0);
    for (int i = 0; i < 3; i++) {
        int64_t time = at + (i < 2 ? i * 110 : 350) * CLOCK_MS;
        for (int k = 0; i == 2 && k < 10; k++) {
            evaluator_records(&found, ONE_RECORD(at + 130 * CLOCK_MS, 0, NULL), NULL, NULL, time);
            evaluator_records(&looked, ONE_RECORD(at + 130 * CLOCK_MS, 0, NULL), NULL, NULL, time);
        }
        for (int k = 0; i == 2 && k < 20; k++)
            evaluator_records(&looked, ONE_RECORD(at + 300 * CLOCK_MS, 0, NULL), NULL, NULL, time);
        evaluator_count(&found, i == 2 ? 11 : 1, time);
        evaluator_count(&looked, i == 2 ? 31 : 1, time);
        evaluator_take(&found, time);
        evaluator_take(&looked, time);
    }
    assert_true(found.known && found.value == 10 && looked.known && looked.value == 20);
    evaluator_combine(&share, &shares[0], &found, &looked);
    assert_true(share.known && fabs(share.value - 10.0 / 30) < 1e-9);
    evaluator_combine(&share, &shares[1], &found, &looked);
    assert_true(share.known && share.value == -20);
    evaluator_end(&found);
    evaluator_end(&looked);
}

/*
 * The first errors of a source of which others had records for long: what they are of these is known. How many errors a
 * window has is not known of one that may only have begun, so they are no fewer than a limit asks for; and the same is
 * true of a difference of what both records begin with. Their ratio is that of all that were made in a whole window.
 */
TEST(the_first_records_of_one_aspect_are_in_a_metric_of_two)
{
    static const struct experiment_metric count = {.kind = METRIC_COUNT, .window = CLOCK_S},
                                          ratio = {.kind = METRIC_RATIO}, difference = {.kind = METRIC_DIFFERENCE};
    struct evaluator errors = {0}, all = {0}, of = {0};
    assert_int_equal(evaluator_start(&errors, &count), 0);
    assert_int_equal(evaluator_start(&all, &count), 0);
    for (uint64_t i = 0; i <= 40; i++, now += EVERY) {
        evaluator_count(&errors, i < 30 ? 0 : 5, now);
        evaluator_count(&all, 2 * i + 1, now);
        evaluator_take(&errors, now);
        evaluator_take(&all, now);
        assert_int_equal(errors.below, i >= 10 && i < 40);
        assert_int_equal(all.known, i >= 10);
        assert_true(i < 30 || i > 39 || errors.least == 5);
        evaluator_combine(&of, &ratio, &errors, &all);
        assert_true(of.below == errors.below && !of.above && of.known == errors.known);
        assert_true(!of.below || of.value == (i < 30 ? 0 : 0.25));
        evaluator_combine(&of, &difference, &all, &errors);
        assert_true(of.above == errors.below && !of.below && of.known == errors.known);
        assert_true(!of.above || of.value == (i < 30 ? 20 : 15));
        evaluator_combine(&of, &difference, &errors, &errors);
        assert_true(!of.below && !of.above && of.known == errors.known);
        evaluator_combine(&of, &ratio, &errors, &errors);
        assert_true(!of.above && !of.known && of.below == (i >= 30 && i < 40) && (!of.below || of.value == 1));
    }
    evaluator_end(&errors);
    evaluator_end(&all);
}

/* Whether records that have not come meet the condition is not known, and there is a number. */
TEST(a_number_of_chosen_records_is_open_while_some_have_not_come)
{
    char chosen[] = "level < 16";
    const struct experiment_metric some = {.kind = METRIC_COUNT, .window = 100 * CLOCK_MS, .where = chosen};
    struct evaluator e = {0};
    assert_int_equal(evaluator_start(&e, &some), 0);
    for (int i = 0; i < 4; i++) { /* five of reading 1 never come */
        evaluator_count(&e, i < 1 ? 1 : 6, CLOCK_S + i * 60 * CLOCK_MS);
        evaluator_take(&e, CLOCK_S + i * 60 * CLOCK_MS);
        assert_int_equal(e.open, i == 2); /* no window has passed before, and they are in none later */
        assert_int_equal(e.known, i == 3);
    }
    evaluator_end(&e);
}

TEST(it_is_open_too_while_nobody_knows_whether_one_is_chosen)
{
    char chosen[] = "duration > 10 ms";
    const struct experiment_metric some = {.kind = METRIC_COUNT, .window = 100 * CLOCK_MS, .where = chosen};
    struct dict_aspect a = {.name = "work", .kind = DICT_SPAN, .field_count = 1};
    a.fields[0] = (struct dict_field){DICT_INT64, "duration", "ns", ""};
    const struct where where = where_find(chosen, &a);
    for (int64_t value = -1; value <= 20 * CLOCK_MS; value += 10 * CLOCK_MS + 1) {
        struct evaluator e = {0};
        uint64_t bits = (uint64_t)value;
        assert_int_equal(evaluator_start(&e, &some), 0);
        for (int i = 0; i < 3; i++) {
            int64_t at = CLOCK_S + i * 60 * CLOCK_MS;
            if (i == 1)
                evaluator_records(&e, ONE_RECORD(at - CLOCK_MS, 1, &bits), NULL, &where, at);
            evaluator_count(&e, i < 1 ? 1 : 2, at);
            evaluator_take(&e, at);
        }
        assert_int_equal(e.known, value >= 0);
        assert_true(!e.known || e.value == (value > 10 * CLOCK_MS));
        evaluator_end(&e);
    }
}

/* Values of status: 1 and 2 are texts, 0 one that found no room. */
TEST(a_text_that_found_no_room_and_a_float_that_is_no_number_leave_it_open)
{
    char failed[] = "status = failed", other[] = "status != failed", slow[] = "lat > 5", field[] = "lat";
    const char *texts[] = {"ok", "failed"};
    struct dict d = {.strings = texts, .string_count = 2};
    struct dict_aspect a = {.name = "request", .field_count = 2};
    a.fields[0] = (struct dict_field){DICT_STRING, "status", "", ""};
    a.fields[1] = (struct dict_field){DICT_FLOAT64, "lat", "", ""};
    const struct {
        enum experiment_metric_kind kind;
        char *where;
        uint64_t status;
        double lat;
        bool known;
        double is; /* where it is not known: at least */
    } cases[] = {{METRIC_COUNT, failed, 0, 9, false, 1},   {METRIC_COUNT, other, 0, 9, false, 0},
                 {METRIC_COUNT, failed, 1, NAN, true, 1},  {METRIC_PERCENT, failed, 0, 9, false, 50},
                 {METRIC_PERCENT, failed, 1, 9, true, 50}, {METRIC_MAX, failed, 0, 9, false, 6},
                 {METRIC_MEAN, failed, 0, 9, false, 0},    {METRIC_MAX, slow, 0, NAN, false, 6},
                 {METRIC_COUNT, slow, 0, NAN, false, 1},   {METRIC_MAX, slow, 0, 3, true, 6}};
    const struct statistic_field lat = {.at = 1, .scale = 1, .is_float = true};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct experiment_metric m = {
            .kind = cases[k].kind, .window = 200 * CLOCK_MS, .where = cases[k].where, .field = field};
        const struct where where = where_find(m.where, &a);
        struct evaluator e = {0};
        assert_int_equal(evaluator_start(&e, &m), 0);
        for (int i = 0; i < 5; i++) {
            int64_t at = CLOCK_S + i * 60 * CLOCK_MS;
            double value = i == 2 ? 6 : cases[k].lat;
            uint64_t bits[2] = {i == 2 ? 2 : cases[k].status, 0};
            memcpy(&bits[1], &value, sizeof value);
            struct packet_run run = *ONE_RECORD(at - CLOCK_MS, 2, bits);
            run.dict = &d;
            if (i == 2 || i == 3)
                evaluator_records(&e, &run, &lat, &where, at);
            evaluator_count(&e, i < 2 ? 1 : i == 2 ? 2 : 3, at);
            evaluator_take(&e, at);
        }
        assert_int_equal(e.known, cases[k].known);
        assert_int_equal(e.open, !cases[k].known);
        assert_true((e.known ? e.value : e.least) == cases[k].is);
        evaluator_take(&e, CLOCK_S + 400 * CLOCK_MS);
        assert_true(e.rate || !e.open); /* it has left the window */
        evaluator_end(&e);
    }
}

/* The first window of a process, which is not whole, has no value, and what the decision at its end found is in it. */
TEST(what_comes_at_the_end_of_the_first_window_is_known)
{
    for (int64_t behind = -2; behind <= 2; behind += 4) {
        const struct experiment_metric some = {.kind = METRIC_COUNT, .window = CLOCK_S, .tumbles = true};
        struct evaluator e = {0};
        assert_int_equal(evaluator_start(&e, &some), 0);
        for (int i = 0; i < 4; i++) {
            int64_t at = START - 350 * CLOCK_MS + i * EVERY;
            evaluator_count(&e, 0, at);
        }
        for (int i = 0; i < 5; i++)
            evaluator_records(&e, ONE_RECORD(START + behind * CLOCK_MS + i, 0, NULL), NULL, NULL,
                              START + 50 * CLOCK_MS);
        evaluator_count(&e, 5, START + 50 * CLOCK_MS);
        evaluator_take(&e, START + 50 * CLOCK_MS);
        assert_true(!e.known && e.least == 5);
        evaluator_count(&e, 5, START + CLOCK_S);
        evaluator_take(&e, START + CLOCK_S);
        assert_true(e.known && e.value == 0);
        evaluator_end(&e);
    }
}

/* A burst around an instant is in windows that ended since either instant, and in the last window of one. */
TEST(a_burst_around_an_instant_is_in_the_last_window_of_one)
{
    const struct experiment_metric some = {.kind = METRIC_COUNT, .window = EVERY / 2};
    static const double any[] = {6, 12}, last[] = {6, 0};
    struct evaluator e = {0};
    assert_int_equal(evaluator_start(&e, &some), 0);
    for (int i = 0; i < 5; i++)
        evaluator_count(&e, 0, START + i * EVERY);
    for (int i = 0; i < 2; i++) {
        int64_t at = START + (5 + i) * EVERY;
        for (int k = 0; k < 6; k++)
            evaluator_records(&e, ONE_RECORD(i ? at - EVERY + k + 1 : at - 6 + k, 0, NULL), NULL, NULL, at);
        evaluator_count(&e, (uint64_t)(6 + 6 * i), at);
        evaluator_take(&e, at);
        double resolution;
        assert_float_equal(evaluator_for(&e, true, &resolution), any[i], 0);
        assert_float_equal(evaluator_for(&e, false, &resolution), last[i], 0);
    }
    evaluator_end(&e);
}

/* Records that are counted, and read a little later, as between any two polls. */
TEST(the_first_window_waits_for_the_records_of_its_end)
{
    for (int tumbles = 0; tumbles < 2; tumbles++) {
        char chosen[] = "level < 16";
        const struct experiment_metric some = {
            .kind = METRIC_COUNT, .window = 100 * CLOCK_MS, .where = chosen, .tumbles = tumbles};
        const struct where where = {.scale = 1};
        const uint64_t level = 1;
        struct evaluator e = {0};
        assert_int_equal(evaluator_start(&e, &some), 0);
        for (int i = 0; i < 20; i++) {
            int64_t at = CLOCK_S + i * 20 * CLOCK_MS;
            if (i > 1)
                evaluator_records(&e, ONE_RECORD(at - 21 * CLOCK_MS, 1, &level), NULL, &where, at);
            evaluator_count(&e, (uint64_t)(6 + i), at);
            evaluator_take(&e, at);
            assert_false(e.open);
        }
        assert_true(e.known);
        evaluator_end(&e);
    }
}
