// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Times between records: what belongs together, what is counted, what is known of the statistic. */
#include "metric/interval.h"

#include "base/clock.h"
#include "metric/statistic.h"
#include "tests/lib/test.h"

#include <math.h>
#include <time.h>

#define NOW (INT64_C(1000) * CLOCK_S)
#define MS  CLOCK_MS

static struct experiment_metric metric;
static struct interval *in;

static void begin(uint32_t positions, enum experiment_metric_kind statistic)
{
    metric = (struct experiment_metric){
        .kind = METRIC_INTERVAL,
        .share = 0.5,
        .window = 10 * CLOCK_S,
        .interval = {.count = positions, .memory = EXPERIMENT_MATCH_MEMORY_MIN, .statistic = statistic}};
    assert_int_equal(interval_new(&metric, CLOCK_S, &in), 0);
}

/* What interval_keep_late() finds. */
static struct interval_time pairs[4];
static int pair_count;

static void take_late(void *context, const struct interval_time *time)
{
    (void)context;
    if (time->late)
        pairs[pair_count++] = *time;
}

static void begin_late(void)
{
    begin(2, METRIC_MAX);
    assert_int_equal(interval_keep_late(in), 0);
    interval_tell(in, take_late, NULL);
    pair_count = 0;
}

static int end(void **state)
{
    (void)state;
    interval_free(in);
    in = NULL;
    return 0;
}

/* A record of process `source`, which is also its clock, at `ns` after NOW. */
static struct interval_event event(uint32_t position, int64_t key, uint32_t source, int64_t ns, int64_t bound)
{
    return (struct interval_event){.position = position,
                                   .key = interval_key_of_integer(key),
                                   .source = source,
                                   .clock = source,
                                   .own = ns + (int64_t)source * 77 * CLOCK_S,
                                   .at = {.ns = NOW + ns, .bound = bound}};
}

static void add(uint32_t position, int64_t key, uint32_t source, int64_t ns)
{
    struct interval_event e = event(position, key, source, ns, 100);
    interval_add(in, &e, NOW + ns);
}

static struct interval_value value_at(int64_t now)
{
    struct interval_value v;
    assert_true(interval_value(in, 0, INTERVAL_WHOLE, 0, NOW + now, &v));
    return v;
}

static bool is_known_at(int64_t now)
{
    struct interval_value v;
    return interval_value(in, 0, INTERVAL_WHOLE, 0, NOW + now, &v);
}

TEST(keys_differ_by_type_and_value)
{
    struct interval_key one = interval_key_of_integer(1), real = interval_key_of_float(1),
                        text = interval_key_of_text("1", 1), zero = interval_key_of_float(0.0),
                        minus = interval_key_of_float(-0.0), longer = interval_key_of_text("abcdefghi", 9),
                        shorter = interval_key_of_text("abcdefgh", 8);
    assert_int_not_equal(one.more, real.more);
    assert_int_not_equal(one.more, text.more);
    assert_int_not_equal(real.more, text.more);
    assert_memory_equal(&zero.bits, &minus.bits, sizeof zero.bits);
    assert_int_equal(interval_key_of_float((double)NAN).more, 0);
    assert_int_not_equal(longer.bits, shorter.bits);
    assert_int_equal(interval_key_of_text("abcdefghi", 9).bits, longer.bits);
    assert_int_not_equal(text.more, 0);
}

TEST_WITH(NULL, end, the_time_between_nodes_has_both_bounds_and_that_of_one_clock_none)
{
    begin(2, METRIC_MAX);
    add(0, 7, 1, 0);
    add(1, 7, 2, 30 * MS);
    struct interval_value v = value_at(30 * MS);
    assert_true(v.value == 30e6 && v.low == 30e6 - 200 && v.high == 30e6 + 200);
    assert_int_equal(v.newest, NOW + 30 * MS);
    add(0, 8, 1, 40 * MS);
    struct interval_event same = event(1, 8, 1, 75 * MS, 100);
    same.at.ns += 12345; /* how the clocks stand to each other was learned in between */
    interval_add(in, &same, NOW + 76 * MS);
    assert_true(value_at(76 * MS).value == 35e6);
    assert_int_equal(interval_counts(in).matched, 2);
}

TEST_WITH(NULL, end, an_end_may_come_before_its_beginning)
{
    begin(2, METRIC_LAST);
    add(1, 7, 2, 30 * MS);
    assert_false(is_known_at(30 * MS));
    assert_int_equal(interval_counts(in).waiting, 1);
    struct interval_event late = event(0, 7, 1, 0, 100);
    interval_add(in, &late, NOW + 60 * MS);
    assert_true(value_at(60 * MS).value == 30e6);
    assert_int_equal(interval_counts(in).waiting, 0);
    assert_int_equal(interval_counts(in).open, 0);
}

TEST_WITH(NULL, end, a_chain_gives_each_stage_and_the_whole)
{
    static const int64_t at[] = {0, 5 * MS, 7 * MS, 40 * MS}, took[] = {5 * MS, 2 * MS, 33 * MS};
    static const uint32_t order[] = {3, 1, 0, 2}, source[] = {1, 1, 2, 3};
    begin(4, METRIC_MEAN);
    for (int i = 0; i < 4; i++) {
        struct interval_event e = event(order[i], 9, source[order[i]], at[order[i]], 10);
        interval_add(in, &e, NOW + 50 * MS);
    }
    for (uint32_t part = 0; part < 3; part++) {
        struct interval_value v;
        assert_true(interval_value(in, 0, part, 0, NOW + 50 * MS, &v));
        assert_true(v.value == (double)took[part]);
        assert_true(v.high - v.value == (part == 0 ? 0 : 20));
    }
    assert_true(value_at(50 * MS).value == 40e6);
    struct interval_value none;
    assert_false(interval_value(in, 0, 3, 0, NOW + 50 * MS, &none));
}

TEST_WITH(NULL, end, each_client_has_its_own_value_and_its_own_stages)
{
    begin(3, METRIC_MEAN);
    add(0, 1, 1, 0);
    for (uint32_t client = 2; client < 5; client++)
        for (uint32_t position = 1; position < 3; position++) {
            struct interval_event e =
                event(position, 1, client, (int64_t)client * 10 * MS + (int64_t)position * MS, 10);
            e.end = client;
            interval_add(in, &e, NOW + 100 * MS);
        }
    uint32_t count;
    const uint32_t *ends = interval_ends(in, &count);
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        struct interval_value whole, stage;
        assert_int_equal(ends[i], i + 2);
        assert_true(interval_value(in, ends[i], INTERVAL_WHOLE, 0, NOW + 100 * MS, &whole));
        assert_true(interval_value(in, ends[i], 1, 0, NOW + 100 * MS, &stage));
        assert_true(whole.value == (double)ends[i] * 10e6 + 2e6);
        assert_true(stage.value == 1e6 && stage.high == 1e6);
    }
}

TEST_WITH(NULL, end, an_end_of_several_beginnings_is_ambiguous_and_any_value)
{
    begin(2, METRIC_MAX);
    add(0, 1, 1, 0);
    add(1, 1, 3, 10 * MS);
    add(0, 2, 1, 20 * MS);
    add(0, 2, 2, 21 * MS);
    add(1, 2, 3, 30 * MS);
    struct interval_value v = value_at(30 * MS);
    assert_int_equal(v.unknown, 1);
    assert_true(v.value == 10e6 && v.low == 10e6 - 200 && isinf(v.high));
    interval_advance(in, NOW + 30 * CLOCK_S);
    assert_int_equal(interval_counts(in).ends[INTERVAL_AMBIGUOUS], 1);
}

TEST_WITH(NULL, end, a_beginning_again_begins_anew)
{
    begin(2, METRIC_LAST);
    add(0, 1, 1, 0);
    add(0, 1, 1, 10 * MS); /* no end in between: repeated */
    add(1, 1, 2, 30 * MS);
    assert_true(value_at(30 * MS).value == 20e6);
    assert_int_equal(interval_counts(in).repeated[0], 1);
    add(0, 1, 1, 50 * MS); /* the key is used again */
    add(1, 1, 2, 55 * MS);
    assert_true(value_at(55 * MS).value == 5e6);
    assert_int_equal(interval_counts(in).repeated[0], 1);
    assert_int_equal(interval_counts(in).matched, 2);
}

TEST_WITH(NULL, end, an_end_again_is_counted_and_belongs_to_a_later_beginning)
{
    begin(2, METRIC_LAST);
    add(0, 1, 1, 0);
    add(1, 1, 2, 10 * MS);
    add(1, 1, 2, 50 * MS);
    assert_true(value_at(50 * MS).value == 10e6);
    assert_int_equal(interval_counts(in).repeated[1], 1);
    assert_int_equal(interval_counts(in).matched, 1);
    struct interval_event late = event(0, 1, 1, 45 * MS, 100);
    interval_add(in, &late, NOW + 60 * MS);
    assert_true(value_at(60 * MS).value == 5e6);
    assert_int_equal(interval_counts(in).matched, 2);
}

TEST_WITH(NULL, end, a_time_that_clocks_make_negative_is_no_value)
{
    begin(2, METRIC_MIN);
    add(0, 1, 1, 0);
    add(1, 1, 2, -100); /* within the bounds, 200 */
    struct interval_value v = value_at(0);
    assert_true(v.value == -100 && v.low == -300 && v.high == 100);
    add(0, 2, 1, 0);
    add(1, 2, 2, -201);
    assert_int_equal(interval_counts(in).negative, 1);
    assert_int_equal(value_at(0).count, 1);
    assert_int_equal(value_at(0).unknown, 1);
}

TEST_WITH(NULL, end, an_unknown_bound_leaves_every_comparison_open)
{
    begin(2, METRIC_MAX);
    add(0, 1, 1, 0);
    struct interval_event e = event(1, 1, 2, 10 * MS, INT64_MAX);
    interval_add(in, &e, NOW + 10 * MS);
    struct interval_value v = value_at(10 * MS);
    bool holds;
    assert_true(v.value == 10e6);
    assert_false(interval_decides(&v, COMPARE_AT_MOST, 1e12, &holds));
    assert_false(interval_decides(&v, COMPARE_AT_LEAST, 1, &holds));
}

TEST(a_comparison_is_decided_only_beyond_the_bound)
{
    static const struct {
        enum experiment_compare compare;
        double bound;
        bool decided, holds;
    } cases[] = {{COMPARE_AT_MOST, 119, true, false},   {COMPARE_AT_MOST, 120, false, false},
                 {COMPARE_AT_MOST, 150, false, false},  {COMPARE_AT_MOST, 180, true, true},
                 {COMPARE_AT_LEAST, 119, true, true},   {COMPARE_AT_LEAST, 120, true, true},
                 {COMPARE_AT_LEAST, 150, false, false}, {COMPARE_AT_LEAST, 180, false, false},
                 {COMPARE_AT_LEAST, 181, true, false}};
    struct interval_value v = {.value = 150, .low = 120, .high = 180};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool holds;
        assert_int_equal(interval_decides(&v, cases[i].compare, cases[i].bound, &holds), cases[i].decided);
        assert_int_equal(holds, cases[i].holds);
    }
}

TEST(what_a_loss_may_explain_widens_the_value)
{
    static const struct {
        enum experiment_metric_kind kind;
        double low, high;
    } cases[] = {{METRIC_MAX, 10e6, INFINITY},
                 {METRIC_MIN, 0, 10e6},
                 {METRIC_LAST, 0, INFINITY},
                 {METRIC_MEAN, 5e6, INFINITY},
                 {METRIC_QUANTILE, 0, 10e6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(2, cases[i].kind);
        add(0, 1, 1, 0);
        add(1, 1, 1, 10 * MS);
        add(1, 2, 1, 20 * MS); /* no beginning: it may never have had one */
        assert_int_equal(value_at(20 * MS).unknown, 0);
        interval_lost(in, 0, 0, NOW, NOW + 5 * MS, 1, NOW + 20 * MS);
        struct interval_value v = value_at(20 * MS);
        assert_int_equal(v.unknown, 1);
        assert_true(v.value == 10e6 && v.high == cases[i].high);
        assert_true(fabs(v.low - cases[i].low) <= cases[i].low / 32);
        interval_advance(in, NOW + 30 * CLOCK_S);
        assert_int_equal(interval_counts(in).ends[INTERVAL_LOST], 1);
        end(test_state);
    }
}

TEST_WITH(NULL, end, an_end_that_is_lost_is_any_value_and_its_beginning_is_lost)
{
    begin(2, METRIC_MAX);
    add(0, 1, 1, 0);
    add(1, 1, 1, 10 * MS);
    add(0, 2, 1, 20 * MS);
    interval_lost(in, 1, 0, NOW + 15 * MS, NOW + 25 * MS, 3, NOW + 30 * MS);
    assert_int_equal(value_at(30 * MS).unknown, 3);
    interval_advance(in, NOW + 30 * CLOCK_S);
    assert_int_equal(interval_counts(in).beginnings[INTERVAL_LOST], 1);
}

TEST_WITH(NULL, end, a_loss_at_an_unknown_time_widens_every_window)
{
    begin(2, METRIC_MAX);
    interval_lost(in, 1, 0, INT64_MIN, INT64_MAX, 2, 0);
    interval_lost(in, 0, 0, INT64_MIN, INT64_MAX, 1, 0);
    for (int64_t ns = 0; ns < 100 * CLOCK_S; ns += 20 * CLOCK_S) {
        add(0, ns, 1, ns);
        add(1, ns, 1, ns + MS);
        assert_int_equal(value_at(ns + MS).unknown, 2);
        add(1, -ns - 1, 1, ns + MS);
        assert_int_equal(value_at(ns + MS).unknown, 3);
    }
}

TEST_WITH(NULL, end, what_does_not_come_in_time_is_late)
{
    begin(2, METRIC_MAX);
    add(0, 1, 1, 0);
    add(1, 2, 1, 0);
    interval_advance(in, NOW + 11 * CLOCK_S - 1);
    assert_int_equal(interval_counts(in).open, 1);
    assert_int_equal(interval_counts(in).waiting, 1);
    interval_advance(in, NOW + 11 * CLOCK_S);
    assert_int_equal(interval_counts(in).beginnings[INTERVAL_LATE], 1);
    assert_int_equal(interval_counts(in).ends[INTERVAL_LATE], 1);
    assert_int_equal(interval_counts(in).open + interval_counts(in).waiting, 0);
    add(0, 3, 1, 12 * CLOCK_S); /* now an end may have had a beginning that is forgotten */
    add(1, 3, 1, 12 * CLOCK_S + MS);
    add(1, 1, 1, 12 * CLOCK_S + MS);
    assert_int_equal(value_at(12 * CLOCK_S + MS).unknown, 1);
}

TEST_WITH(NULL, end, memory_is_bounded_and_what_makes_room_is_counted)
{
    begin(2, METRIC_MAX);
    for (int64_t key = 0; key < EXPERIMENT_MATCH_MEMORY_MIN + 10; key++)
        add(0, key, 1, 0);
    assert_int_equal(interval_counts(in).beginnings[INTERVAL_EVICTED], 10);
    add(1, 11, 1, MS);
    add(1, 9, 1, MS); /* is forgotten; takes the place of 10 */
    assert_int_equal(interval_counts(in).matched, 1);
    assert_int_equal(interval_counts(in).beginnings[INTERVAL_EVICTED], 11);
    assert_int_equal(value_at(MS).unknown, 1);
}

TEST_WITH(NULL, end, a_million_ends_without_beginnings_take_bounded_time_and_memory)
{
    begin(2, METRIC_QUANTILE);
    for (uint32_t i = 0; i < 1000000; i++) {
        add(1, i, i % 1000, (int64_t)i);
        if (i % 10 == 0)
            add(1, 1, i, (int64_t)i);
    }
    struct interval_counts c = interval_counts(in);
    assert_int_equal(c.matched, 0);
    assert_in_range(c.waiting, 1, 2 * EXPERIMENT_MATCH_MEMORY_MIN);
    assert_int_equal(c.records, 1100000);
    assert_int_equal(c.ends[INTERVAL_EVICTED] + c.waiting + c.crowded + c.repeated[1], 1100000);
}

TEST_WITH(NULL, end, extremes_are_taken)
{
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    enum { TIMES = sizeof times / sizeof *times };
    begin(3, METRIC_QUANTILE);
    for (int i = 0; i < TIMES * TIMES * TIMES; i++) {
        int64_t a = times[i % TIMES], b = times[i / TIMES % TIMES], c = times[i / TIMES / TIMES];
        for (uint32_t position = 0; position < 3; position++) {
            struct interval_event e = {.position = position,
                                       .key = interval_key_of_integer(i % 2 ? c : a),
                                       .source = position % 2 ? UINT32_MAX : 0,
                                       .clock = (uint32_t)i % 3,
                                       .end = UINT32_MAX,
                                       .own = position % 2 ? a : b,
                                       .at = {.ns = position % 2 ? b : a, .bound = c}};
            interval_add(in, &e, INT64_MAX);
            interval_lost(in, position, UINT32_MAX, a, b, UINT64_MAX, INT64_MAX);
        }
        struct interval_value v;
        (void)interval_value(in, UINT32_MAX, INTERVAL_WHOLE, a, c, &v);
    }
    struct interval_counts c = interval_counts(in);
    assert_int_equal(c.records, 3 * TIMES * TIMES * TIMES);
}

TEST_WITH(NULL, end, a_record_without_a_key_matches_none)
{
    begin(2, METRIC_MAX);
    for (uint32_t position = 0; position < 2; position++) {
        struct interval_event e = event(position, 0, 1, 0, 0);
        e.key = interval_key_of_float((double)NAN);
        interval_add(in, &e, NOW);
    }
    assert_int_equal(interval_counts(in).keyless, 2);
    assert_false(is_known_at(0));
}

/* A text that found no room, a float that is NaN: whichever record it belongs to, how long that took is not known. */
TEST_WITH(NULL, end, a_record_without_a_value_of_the_field_leaves_it_open)
{
    for (uint32_t position = 0; position < 2; position++) {
        bool holds;
        begin(2, METRIC_MAX);
        interval_free(in);
        metric.interval.match = (char *)"name";
        assert_int_equal(interval_new(&metric, CLOCK_S, &in), 0);
        add(0, 1, 0, 0);
        add(1, 1, 0, 10 * MS);
        struct interval_event e = event(position, 0, 0, 20 * MS, 0);
        e.key = interval_key_of_float((double)NAN);
        interval_add(in, &e, NOW + 20 * MS);
        add(1, 2, 0, 30 * MS); /* its first record may be that one, or never came */
        struct interval_value v = value_at(40 * MS);
        assert_true(v.value == 10e6 && v.unknown == 1);
        assert_false(interval_decides(&v, COMPARE_AT_MOST, 50e6, &holds));
        assert_true(interval_decides(&v, COMPARE_AT_MOST, 5e6, &holds) && !holds);
        if (position == 0)
            end(NULL);
    }
}

/* The first process, 1, was restarted as 2, and numbers its records from the same number. */
TEST_WITH(NULL, end, who_repeats_an_answered_key_goes_on_for_another_process)
{
    begin(2, METRIC_LAST);
    add(0, 7, 1, 0);
    add(1, 7, 3, 10 * MS);
    add(0, 7, 2, 500 * MS);
    add(1, 7, 3, 800 * MS);
    assert_true(value_at(800 * MS).value == 300e6);
    add(1, 7, 3, 900 * MS);
    struct interval_counts c = interval_counts(in);
    assert_true(c.matched == 2 && c.repeated[1] == 1 && c.open == 0 && c.waiting == 0);
}

/* Of three receivers one has ended before, so its beginning of the first life is not answered by all. */
TEST_WITH(NULL, end, who_follows_one_that_not_all_have_ended_is_followed_too)
{
    begin(2, METRIC_MAX);
    for (uint32_t r = 3; r <= 5; r++)
        add(1, 1, r, r * MS);
    add(0, 1, 1, 0);
    add(0, 7, 1, 20 * MS);
    add(1, 7, 3, 25 * MS);
    add(1, 7, 4, 26 * MS);
    add(0, 7, 2, 500 * MS);
    add(1, 7, 3, 505 * MS);
    add(1, 7, 4, 900 * MS);
    assert_true(value_at(900 * MS).value == 400e6);
    struct interval_counts c = interval_counts(in);
    assert_true(c.matched == 7 && c.answers == 3 && c.repeated[1] == 0 && c.waiting == 0);
}

/* Sender and receiver are restarted together; or of several workers another one gets it in the second life. */
TEST_WITH(NULL, end, who_has_ended_none_follows_one_that_has_all_its_ends)
{
    begin(2, METRIC_LAST);
    add(0, 7, 1, 0);
    add(1, 7, 3, 5 * MS);
    add(0, 7, 2, 500 * MS);
    struct interval_event next = event(1, 7, 4, 520 * MS, 100);
    next.started = next.own - 400 * MS;
    interval_add(in, &next, NOW + 520 * MS);
    assert_true(value_at(520 * MS).value == 20e6 && interval_counts(in).matched == 2);
}

/* Of workers another one gets it in the second life, and its record comes before that of the sender. */
TEST_WITH(NULL, end, who_has_passed_one_that_has_all_its_ends_waits_for_the_next)
{
    for (int comes = 0; comes < 2; comes++) {
        begin(2, METRIC_MAX);
        add(0, 7, 1, 0);
        add(1, 7, 3, 5 * MS);
        add(0, 8, 1, 10 * MS);
        add(1, 8, 4, 15 * MS);
        add(0, 1, 2, 490 * MS);
        add(1, 7, 4, 520 * MS);
        assert_true(value_at(520 * MS).value == 5e6);
        struct interval_event next = event(0, 7, 2, 500 * MS, 100);
        if (comes)
            interval_add(in, &next, NOW + 530 * MS);
        interval_finish(in, NOW + 600 * MS, true);
        assert_int_equal(interval_counts(in).matched, 2 + comes);
        assert_int_equal(interval_counts(in).ends[INTERVAL_AMBIGUOUS], !comes);
        if (!comes)
            end(NULL);
    }
}

/* Which of the two it had missed is not known: the time may be any. */
TEST_WITH(NULL, end, who_has_ended_neither_of_two_is_not_known)
{
    begin(2, METRIC_MAX);
    add(0, 1, 1, -20 * MS);
    add(1, 1, 3, -15 * MS);
    add(1, 1, 4, -15 * MS);
    add(0, 7, 1, 0);
    add(1, 7, 3, 5 * MS);
    add(0, 7, 2, 500 * MS);
    add(1, 7, 3, 505 * MS);
    add(1, 7, 4, 510 * MS);
    struct interval_value v = value_at(600 * MS);
    bool holds;
    assert_true(v.value == 5e6 && v.unknown == 1 && !interval_decides(&v, COMPARE_AT_MOST, 10e6, &holds));
}

/* 4 has missed 7 of the first life, which 3 has ended, and has ended a later one. */
static void miss_one(void)
{
    add(0, 7, 1, 0);
    add(1, 7, 3, 5 * MS);
    add(0, 8, 1, 20 * MS);
    add(1, 8, 3, 25 * MS);
    add(1, 8, 4, 25 * MS);
    add(0, 7, 2, 500 * MS);
    add(1, 7, 4, 900 * MS);
}

TEST_WITH(NULL, end, who_has_ended_a_later_one_does_not_go_back)
{
    begin(2, METRIC_MAX);
    miss_one();
    struct interval_value v = value_at(900 * MS);
    assert_true(v.value == 400e6 && v.unknown == 0 && interval_counts(in).matched == 4);
}

/* Then it had not missed it, or repeats itself. */
TEST_WITH(NULL, end, who_ends_more_than_it_can_have_is_not_known)
{
    begin(2, METRIC_MAX);
    miss_one();
    add(1, 7, 4, 950 * MS);
    assert_int_equal(value_at(950 * MS).unknown, 1);
    interval_finish(in, NOW + 950 * MS, true);
    struct interval_counts c = interval_counts(in);
    assert_true(c.matched == 4 && c.ends[INTERVAL_AMBIGUOUS] == 1 && c.repeated[1] == 0);
}

/* Nobody has ended the first one: it may have been slow, in another thread. */
TEST_WITH(NULL, end, what_nobody_has_ended_may_be_ended_yet)
{
    begin(2, METRIC_MAX);
    add(0, 7, 1, 0);
    add(0, 8, 1, 20 * MS);
    add(1, 8, 3, 25 * MS);
    add(0, 7, 2, 500 * MS);
    add(1, 7, 3, 900 * MS);
    struct interval_value v = value_at(900 * MS);
    assert_true(v.value == 5e6 && v.unknown == 1);
}

TEST_WITH(NULL, end, what_may_be_under_way_at_the_end_is_not_late)
{
    for (int ended = 0; ended < 2; ended++) {
        begin(2, METRIC_MAX);
        for (uint32_t source = 1; source <= 2; source++)
            add(0, 1, source, 0);
        add(1, 1, 3, MS); /* is ambiguous, and waits for nothing */
        add(0, 2, 1, MS);
        add(1, 3, 3, MS);
        add(0, 4, 1, 20 * MS);
        interval_lost(in, 1, 0, NOW + 20 * MS, NOW + 30 * MS, 1, NOW + 30 * MS);
        interval_finish(in, NOW + 30 * MS, ended);
        struct interval_counts c = interval_counts(in);
        assert_true(c.ends[INTERVAL_AMBIGUOUS] == 1 && c.ends[INTERVAL_LATE] == 0 && c.waiting == 1);
        assert_int_equal(c.beginnings[INTERVAL_LOST], ended ? 4 : 0);
        assert_int_equal(c.open, ended ? 0 : 4);
        if (!ended)
            end(NULL);
    }
}

/* On one clock: it is the end of a beginning that was forgotten, or lost. */
TEST_WITH(NULL, end, an_end_before_the_beginning_is_none_of_its)
{
    begin(2, METRIC_MAX);
    struct interval_event e = event(1, 7, 3, 5 * MS, 0);
    e.clock = 1, e.own = 77 * CLOCK_S + 5 * MS;
    interval_add(in, &e, NOW + 5 * MS);
    add(0, 7, 1, 10 * MS);
    assert_int_equal(interval_counts(in).waiting, 1);
    assert_int_equal(interval_counts(in).matched + interval_counts(in).negative, 0);
}

/* Both are there: which of them the end belongs to is not known. */
TEST_WITH(NULL, end, who_repeats_a_key_that_waits_makes_it_ambiguous)
{
    begin(2, METRIC_LAST);
    add(0, 7, 1, 0);
    add(0, 7, 2, 5 * MS);
    add(1, 7, 3, 10 * MS);
    interval_advance(in, NOW + 20 * CLOCK_S);
    struct interval_counts c = interval_counts(in);
    assert_true(c.matched == 0 && c.ends[INTERVAL_AMBIGUOUS] == 1);
}

/* 1 answers its key twice; 2 has begun the same key anew in between. */
TEST_WITH(NULL, end, what_another_process_begins_anew_leaves_an_end_used)
{
    begin(2, METRIC_MAX);
    for (uint32_t source = 1; source <= 2; source++) {
        add(0, 7, source, (int64_t)source * MS);
        add(1, 7, source, (int64_t)(source + 7) * MS);
    }
    add(0, 7, 2, 500 * MS);
    add(1, 7, 2, 506 * MS);
    add(1, 7, 1, 700 * MS);
    assert_true(value_at(700 * MS).value == 7e6);
    struct interval_counts c = interval_counts(in);
    assert_true(c.matched == 3 && c.repeated[1] == 1);
}

/* The window is 10 s, and records may come a second later. */
TEST_WITH(NULL, end, a_time_that_is_too_long_is_known_behind_the_run)
{
    begin_late();
    add(0, 1, 0, 0);
    add(1, 1, 3, 20 * CLOCK_S);
    interval_advance(in, NOW + 40 * CLOCK_S);
    assert_true(pair_count == 1 && pairs[0].took.ns == 20 * CLOCK_S && pairs[0].took.bound == 200);
    assert_true(pairs[0].part == INTERVAL_WHOLE && pairs[0].from.source == 0 && pairs[0].to.source == 3);
    struct interval_counts c = interval_counts(in);
    assert_true(c.matched == 1 && c.beginnings[INTERVAL_LATE] == 0 && c.ends[INTERVAL_LATE] == 0);
}

/* Numbers that begin again, and records that were lost: the end has, or may have, a nearer beginning. */
TEST_WITH(NULL, end, an_end_with_a_nearer_beginning_is_not_late)
{
    begin_late();
    add(0, 1, 0, 0);
    add(0, 1, 0, 20 * CLOCK_S);
    add(1, 1, 3, 21 * CLOCK_S);
    interval_lost(in, 0, 0, NOW + 40 * CLOCK_S, NOW + 41 * CLOCK_S, 1, NOW + 41 * CLOCK_S);
    add(1, 1, 3, 42 * CLOCK_S);
    struct interval_event earlier = event(1, 1, 0, 19 * CLOCK_S, 0); /* comes late itself */
    interval_add(in, &earlier, NOW + 60 * CLOCK_S);
    interval_advance(in, NOW + 80 * CLOCK_S);
    assert_int_equal(pair_count, 0);
}

/* Of two receivers one had it in time, and once more later, and the other one too late. */
TEST_WITH(NULL, end, one_of_several_ends_may_be_late)
{
    begin_late();
    for (int key = 1; key <= 2; key++) {
        add(0, key, 0, key * MS);
        add(1, key, 3, key * MS);
        if (key == 1)
            add(1, key, 4, key * MS);
    }
    add(1, 2, 3, 20 * CLOCK_S);
    add(1, 2, 4, 20 * CLOCK_S);
    add(1, 2, 4, 21 * CLOCK_S);
    interval_advance(in, NOW + 60 * CLOCK_S);
    assert_int_equal(pair_count, 1);
    assert_true(pairs[0].to.source == 4 && pairs[0].from.own == 2 * MS);
    assert_int_equal(interval_counts(in).beginnings[INTERVAL_LATE], 0);
}

/* One that is late from its first record on, while another one is not. */
TEST_WITH(NULL, end, an_end_may_be_later_than_all_that_there_were)
{
    begin_late();
    add(0, 1, 0, 0);
    add(1, 1, 3, MS);
    add(1, 1, 4, 20 * CLOCK_S);
    interval_advance(in, NOW + 60 * CLOCK_S);
    assert_true(pair_count == 1 && pairs[0].to.source == 4 && interval_counts(in).matched == 2);
}

/* Sender and receiver are restarted, and the receiver's records are read before those of the sender. */
TEST_WITH(NULL, end, an_end_that_comes_first_is_not_of_what_was_before_its_process)
{
    begin(2, METRIC_MAX);
    add(0, 7, 1, 0);
    add(1, 7, 3, MS);
    struct interval_event first = event(1, 7, 4, 4 * CLOCK_S + MS, 100);
    first.started = first.own - CLOCK_S;
    interval_add(in, &first, first.at.ns);
    assert_int_equal(interval_counts(in).matched, 1);
    add(0, 7, 2, 4 * CLOCK_S);
    assert_int_equal(interval_counts(in).matched, 2);
    struct interval_value v;
    assert_true(interval_value(in, 0, INTERVAL_WHOLE, 0, NOW + 5 * CLOCK_S, &v) && v.value < 2e6);
}

/* Only the sender is restarted, and another worker has its message. */
TEST_WITH(NULL, end, an_end_that_comes_first_is_not_of_what_another_worker_had)
{
    begin(2, METRIC_MAX);
    for (int key = 7; key <= 8; key++) {
        add(0, key, 1, key * MS);
        add(1, key, (uint32_t)key - 4, key * MS);
    }
    add(1, 7, 4, 4 * CLOCK_S + MS);
    assert_int_equal(interval_counts(in).matched, 2);
    add(0, 7, 2, 4 * CLOCK_S);
    struct interval_value v;
    assert_int_equal(interval_counts(in).matched, 3);
    assert_true(interval_value(in, 0, INTERVAL_WHOLE, 0, NOW + 5 * CLOCK_S, &v) && v.value < 2e6);
}

/* Of more than 64 processes two may have the same bit: what one has ended the other one may end yet. */
TEST_WITH(NULL, end, a_late_end_is_told_from_that_of_the_64th_process_before_it)
{
    begin_late();
    add(0, 1, 0, 0);
    add(1, 1, 3, MS);
    add(1, 1, 3 + 64, 20 * CLOCK_S);
    interval_advance(in, NOW + 60 * CLOCK_S);
    assert_true(pair_count == 1 && pairs[0].to.source == 3 + 64 && interval_counts(in).matched == 2);
    add(1, 1, 3 + 64, 60 * CLOCK_S);
    interval_finish(in, NOW + 90 * CLOCK_S, true);
    struct interval_counts c = interval_counts(in);
    assert_true(pair_count == 1 && c.ends[INTERVAL_AMBIGUOUS] == 1 && c.ends[INTERVAL_LATE] == 0);
}

/* One of the two that it ends may be that of the first life, which it had not missed then. */
TEST_WITH(NULL, end, who_ends_more_than_it_can_have_may_be_late)
{
    begin_late();
    add(0, 7, 1, 0);
    add(1, 7, 3, MS);
    add(0, 9, 1, 2 * MS);
    for (uint32_t source = 3; source <= 4; source++)
        add(1, 9, source, 3 * MS);
    add(0, 7, 2, 20 * CLOCK_S);
    add(1, 7, 4, 20 * CLOCK_S + MS);
    add(1, 7, 4, 20 * CLOCK_S + 500 * MS);
    interval_finish(in, NOW + 60 * CLOCK_S, true);
    struct interval_counts c = interval_counts(in);
    assert_true(c.ends[INTERVAL_AMBIGUOUS] == 1 && c.repeated[1] == 0);
}

/* The sender was restarted before the receiver had its number of the first life, or has missed that. */
TEST_WITH(NULL, end, an_end_may_be_of_a_late_beginning_or_of_the_next)
{
    begin_late();
    add(0, 7, 1, 0);
    add(0, 7, 2, 20 * CLOCK_S);
    add(1, 7, 3, 20 * CLOCK_S + 500 * MS);
    interval_finish(in, NOW + 60 * CLOCK_S, true);
    assert_int_equal(interval_counts(in).matched, 0);
    assert_int_equal(interval_counts(in).ends[INTERVAL_AMBIGUOUS], 1);
}

/* Numbers begin again, on one clock: the next end does not take the place of one that was late. */
TEST_WITH(NULL, end, an_end_may_be_late_shortly_before_its_number_is_used_again)
{
    static const int64_t at[] = {0, 25 * CLOCK_S, 25 * CLOCK_S + 10 * MS, 25 * CLOCK_S + 30 * MS};
    begin_late();
    for (uint32_t i = 0; i < 4; i++) {
        struct interval_event e = event(i % 2, 7, i % 2, at[i], 0);
        e.clock = 0;
        e.own = at[i];
        interval_add(in, &e, NOW + at[i]);
    }
    assert_int_equal(pair_count, 1);
    assert_true(pairs[0].took.ns == 25 * CLOCK_S && interval_counts(in).matched == 2);
}

/* The oldest gives way. */
TEST_WITH(NULL, end, late_beginnings_are_bounded)
{
    begin_late();
    for (int i = 0; i <= EXPERIMENT_MATCH_MEMORY_MIN; i++)
        add(0, i, 0, i * (MS + 11 * CLOCK_S));
    int64_t end = (EXPERIMENT_MATCH_MEMORY_MIN + 1) * (MS + 11 * CLOCK_S);
    for (int i = 0; i < 2; i++)
        add(1, i, 0, end);
    interval_advance(in, NOW + end + 40 * CLOCK_S);
    assert_int_equal(pair_count, 1);
    assert_true(pairs[0].from.own == MS + 11 * CLOCK_S && pairs[0].took.ns == end - pairs[0].from.own);
}
