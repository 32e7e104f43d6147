// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/rate.h"
#include "base/clock.h"
#include "config/experiment.h"
#include "tests/lib/one_record.h"
#include "tests/lib/rate_fixture.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void expect_unknown(const struct rate *r, int64_t now)
{
    double value = -1, resolution = -1;
    assert_false(rate_value(r, now, &value, &resolution));
    assert_true(value == -1 && resolution == -1);
}

static void expect(const struct rate *r, int64_t now, double value, double resolution)
{
    double v, res;
    assert_true(rate_value(r, now, &v, &res));
    assert_float_equal(v, value, 1e-6 * (1 + value));
    assert_float_equal(res, resolution, 1e-9);
}

enum { FRAME = 33333333 }; /* 30 a second */

/* A source that makes a record every FRAME from FRAME on, read every 100 ms. */
static uint64_t frames_until(int64_t now)
{
    return (uint64_t)(now / FRAME);
}

/* Feeds readings in (from, to], with the records (collected) or without. */
static void run_frames(struct rate *r, int64_t from, int64_t to, bool collected)
{
    for (int64_t now = from + 100 * CLOCK_MS; now <= to; now += 100 * CLOCK_MS) {
        if (collected)
            for (uint64_t i = frames_until(now - 100 * CLOCK_MS) + 1; i <= frames_until(now); i++)
                rate_record(r, (int64_t)i * FRAME);
        rate_count(r, frames_until(now), now);
    }
}

/* A source that has made nothing yet is slow, or has not begun: what it made is known, and how fast it is is not. */
TEST(is_known_from_a_window_after_the_first_reading_on_and_starts_until_one_after_the_first_record)
{
    struct rate *r = fresh(CLOCK_S);
    expect_unknown(r, 0);
    rate_count(r, 0, 0);
    rate_count(r, 0, CLOCK_S / 2);
    expect_unknown(r, CLOCK_S / 2);
    rate_count(r, 0, 3 * CLOCK_S);
    expect(r, 3 * CLOCK_S, 0, 0);
    rate_count(r, 2, 4 * CLOCK_S);
    expect(r, 4 * CLOCK_S, 2, 1);
    assert_true(rate_starts(r, 4 * CLOCK_S));
    rate_count(r, 10, 5 * CLOCK_S - CLOCK_S / RATE_GRAINS - 1);
    assert_true(rate_starts(r, 5 * CLOCK_S - CLOCK_S / RATE_GRAINS - 1));
    rate_count(r, 11, 5 * CLOCK_S);
    expect(r, 5 * CLOCK_S, 9, 1);
    assert_false(rate_starts(r, 5 * CLOCK_S));
    rate_free(r);
}

/* From the reading that found nothing, until there is a window; never what was there at the first reading. */
TEST(what_was_made_before_a_window_has_passed_is_known_to_be_there)
{
    for (int is_chosen = 0; is_chosen <= 1; is_chosen++)
        for (uint64_t before = 0; before <= 7; before += 7) {
            struct rate *r;
            uint64_t n = 99;
            assert_int_equal(rate_new(CLOCK_S, is_chosen, &r), 0);
            assert_false(rate_least(r, 0, &n));
            rate_count(r, before, 0);
            assert_false(rate_least(r, 0, &n) || n != 99);
            rate_record(r, 3);
            rate_others(r, ONE_RECORD(4, 0, NULL));
            rate_count(r, before + 2, 100 * CLOCK_MS);
            assert_true(rate_least(r, 100 * CLOCK_MS, &n));
            assert_int_equal(n, is_chosen ? 1 : 2);
            rate_count(r, before + 2, CLOCK_S);
            assert_true(rate_least(r, CLOCK_S, &n));
            assert_int_equal(n, is_chosen ? 1 : 2);
            rate_count(r, before + 2, CLOCK_S + 1);
            assert_true(rate_least(r, CLOCK_S + 1, &n)); /* its own records lie in it, the first two before it */
            assert_int_equal(n, 0);
            assert_false(rate_least(r, 2 * CLOCK_S + 2, &n));
            rate_free(r);
        }
}

/* The most that is known while readings come each `every` and 5 records before number 36, which come at number `come`;
 * and whether one of those readings leaves it open. */
static uint64_t most_of_first_burst(struct rate *r, int64_t every, int come, bool *open)
{
    uint64_t n, all, lowest, most = 0;
    for (int k = 30; k < 45; k++) {
        for (int j = 0; k == come && j < 5; j++)
            rate_record(r, 35 * every + every / 2 + j);
        rate_count(r, k >= 36 ? 5 : 0, k * every);
        if (rate_number(r, k * every, &n, &all, &lowest) && n > most)
            most = n;
        *open = *open || rate_is_open(r, k * every);
        assert_true(k != 36 || rate_is_open(r, k * every) || rate_starts(r, k * every));
    }
    return most;
}

/* Instants are further apart than the window, or a window of those that follow one another ends in between. */
TEST(the_first_records_of_a_source_are_in_a_window)
{
    static const struct {
        int64_t window;
        bool tumbles;
    } table[] = {{100 * CLOCK_MS, false}, {50 * CLOCK_MS, false}, {150 * CLOCK_MS, false}, {300 * CLOCK_MS, true}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int late = 0; late <= 2; late++) { /* 0: it is of all records; 1, 2: of chosen ones, as they come */
            struct rate *r;
            bool open = false;
            assert_int_equal(rate_new(table[i].window, late > 0, &r), 0);
            assert_int_equal(rate_refine(r, true), 0);
            if (table[i].tumbles)
                rate_tumble(r);
            uint64_t most = most_of_first_burst(r, 100 * CLOCK_MS + 100000, late == 2 ? 38 : 36, &open);
            assert_true(most == 5 || (late == 2 && open && most == 0));
            rate_free(r);
        }
}

/* The first window that has passed is that of all readings. */
TEST(what_was_made_before_the_second_reading_is_in_a_window)
{
    for (int is_number = 0; is_number <= 1; is_number++) {
        struct rate *r = fresh(300 * CLOCK_MS);
        uint64_t n, all, lowest;
        double value, resolution;
        assert_int_equal(rate_refine(r, is_number), 0);
        rate_count(r, 0, CLOCK_S);
        for (int64_t now = CLOCK_S + 30 * CLOCK_MS, i = 0; i <= 4; i++, now += 100 * CLOCK_MS) {
            rate_count(r, 5, now);
            assert_int_equal(rate_value(r, now, &value, &resolution), i >= 3);
            assert_int_equal(rate_number(r, now, &n, &all, &lowest), i >= 3);
            assert_true(i < 3 || (n == (i == 3 ? 5 : 0) && all == n && lowest == 0 && (value > 10) == (i == 3)));
        }
        rate_free(r);
    }
}

TEST(is_unknown_where_the_counter_was_not_read_for_a_window)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    run_frames(r, 0, 3 * CLOCK_S, true);
    expect(r, 4 * CLOCK_S, 30, 0);
    expect_unknown(r, 4 * CLOCK_S + 1);
    rate_free(r);
}

TEST(records_give_the_exact_rate_and_the_counter_one_to_within_a_record)
{
    struct rate *r = fresh(CLOCK_S), *blind = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    rate_count(blind, 0, 0);
    run_frames(r, 0, 3 * CLOCK_S, true);
    run_frames(blind, 0, 3 * CLOCK_S, false);
    expect(r, 3 * CLOCK_S, 1e9 / FRAME, 0);
    expect(blind, 3 * CLOCK_S, 30, 1);
    rate_free(r);
    rate_free(blind);
}

TEST(turning_collection_off_and_on_moves_the_value_by_no_more_than_the_resolution)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    for (int64_t now = 0; now < 20 * CLOCK_S; now += 100 * CLOCK_MS) {
        run_frames(r, now, now + 100 * CLOCK_MS, now / (700 * CLOCK_MS) % 2 == 0 || now < 3 * CLOCK_S);
        double v, res;
        if (rate_value(r, now + 100 * CLOCK_MS, &v, &res))
            assert_true(fabs(v - 30) <= 1.001);
        else
            assert_true(now < 1100 * CLOCK_MS);
    }
    rate_free(r);
}

TEST(a_source_that_falls_silent_falls_steadily_to_0_within_a_window)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    run_frames(r, 0, 3 * CLOCK_S, true);
    double v = 31, res;
    for (int64_t now = 3 * CLOCK_S; now < 4 * CLOCK_S; now += 100 * CLOCK_MS) {
        double before = v;
        rate_count(r, frames_until(3 * CLOCK_S), now);
        assert_true(rate_value(r, now, &v, &res));
        assert_true(res == 0 && v <= before && v > 0);
        assert_true(fabs(v - 30 * (1 - (double)(now - 3 * CLOCK_S) / 1e9)) <= 1.001);
    }
    rate_count(r, frames_until(3 * CLOCK_S), 4 * CLOCK_S);
    expect(r, 4 * CLOCK_S, 0, 0);
    rate_free(r);
}

TEST(late_records_do_not_make_a_source_silent)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    run_frames(r, 0, 3 * CLOCK_S, true);
    for (int polls = 0; polls < 3; polls++) {
        /* Ten seconds between two polls: exact for a window, then coarser, never far from 30. */
        int64_t poll = (3 + 10 * polls) * CLOCK_S;
        run_frames(r, poll, poll + CLOCK_S, false);
        expect(r, poll + CLOCK_S, 1e9 / FRAME, 0);
        run_frames(r, poll + CLOCK_S, poll + 9900 * CLOCK_MS, false);
        expect(r, poll + 9900 * CLOCK_MS, 30, 1);
        for (uint64_t i = frames_until(poll) + 1; i <= frames_until(poll + 10 * CLOCK_S); i++)
            rate_record(r, (int64_t)i * FRAME);
        run_frames(r, poll + 9900 * CLOCK_MS, poll + 10 * CLOCK_S, false);
        expect(r, poll + 10 * CLOCK_S, 1e9 / FRAME, 0);
    }
    rate_free(r);
}

TEST(a_fresh_count_overrules_late_records)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    run_frames(r, 0, 3 * CLOCK_S, true);
    uint64_t count = frames_until(3 * CLOCK_S);
    for (int i = 1; i <= 5; i++)
        rate_count(r, count += 1, 3 * CLOCK_S + i * 100 * CLOCK_MS);
    expect(r, 3500 * CLOCK_MS, 20, 1);
    rate_free(r);
}

TEST(lost_records_do_not_make_a_source_slow)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    for (int64_t now = 100 * CLOCK_MS; now <= 5 * CLOCK_S; now += 100 * CLOCK_MS) {
        rate_record(r, now - 1);
        rate_count(r, frames_until(now), now);
    }
    expect(r, 5 * CLOCK_S, 30, 1);
    rate_free(r);
}

TEST(records_of_several_rings_come_in_any_order)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    for (int64_t i = 1; i <= 10; i++)
        rate_count(r, (uint64_t)i * 4, i * 200 * CLOCK_MS);
    for (int64_t i = 40; i >= 1; i -= 2)
        rate_record(r, i * 50 * CLOCK_MS);
    for (int64_t i = 1; i <= 40; i += 2)
        rate_record(r, i * 50 * CLOCK_MS);
    expect(r, 2 * CLOCK_S, 20, 0);
    rate_free(r);
}

TEST(one_burst_is_no_high_rate)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 1, 0);
    rate_count(r, 1, 900 * CLOCK_MS);
    for (int i = 0; i < 6; i++)
        rate_record(r, 950 * CLOCK_MS);
    rate_count(r, 7, CLOCK_S);
    /* Six at one instant, nothing before: the open interval of 950 ms counts. */
    expect(r, CLOCK_S, 6 / 0.95, 0);
    rate_free(r);
}

TEST(time_that_runs_backwards_stands_still)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    run_frames(r, 0, 2 * CLOCK_S, false);
    rate_count(r, 61, CLOCK_S);
    /* The reading counts as one at 2 s: 61 counted by then, 30 by the second before. */
    expect(r, 2 * CLOCK_S, 61 - 30, 1);
    rate_free(r);
}

TEST(a_record_that_carries_a_later_time_than_its_reading_counts_as_at_the_reading)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 1, 0);
    rate_record(r, 500 * CLOCK_MS);
    rate_record(r, 100 * CLOCK_S);
    rate_count(r, 3, CLOCK_S);
    expect(r, CLOCK_S, 2, 0);
    rate_record(r, 100 * CLOCK_S);
    rate_record(r, 100 * CLOCK_S);
    rate_count(r, 5, 2 * CLOCK_S);
    expect(r, 2 * CLOCK_S, 2, 0);
    rate_free(r);
}

TEST(records_of_the_first_reading_or_before_are_outside)
{
    struct rate *r = fresh(CLOCK_S);
    rate_record(r, -1);
    rate_count(r, 2, 0);
    rate_record(r, -1);
    rate_record(r, 0);
    rate_record(r, 500 * CLOCK_MS);
    rate_count(r, 3, CLOCK_S);
    rate_record(r, 0);
    expect(r, CLOCK_S, 1, 0);
    rate_free(r);
}

TEST(a_counter_that_runs_backwards_starts_anew)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    run_frames(r, 0, 3 * CLOCK_S, true);
    rate_count(r, 5, 3100 * CLOCK_MS);
    expect_unknown(r, 3100 * CLOCK_MS);
    rate_count(r, 15, 4100 * CLOCK_MS);
    expect(r, 4100 * CLOCK_MS, 10, 1);
    rate_free(r);
}

TEST(hostile_timestamps_and_counters_do_no_harm)
{
    struct rate *r = fresh(CLOCK_S);
    const int64_t bad[] = {INT64_MIN, -1, 0, INT64_MAX, INT64_MAX - 1};
    double v, res;
    rate_count(r, 1, 0);
    for (int i = 1; i < 400; i++) {
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
            rate_record(r, bad[k]);
        rate_count(r, i < 200 ? (uint64_t)i : UINT64_MAX - 400 + (uint64_t)i, i * 20 * CLOCK_MS);
        if (rate_value(r, i * 20 * CLOCK_MS, &v, &res))
            assert_true(isfinite(v) && isfinite(res) && v >= 0);
    }
    rate_free(r);
}

TEST(dense_readings_are_merged_without_losing_a_count)
{
    struct rate *r = fresh(CLOCK_S);
    rate_count(r, 0, 0);
    uint64_t n = 0;
    for (int64_t now = 0; now <= 5 * CLOCK_S; now += 100 * CLOCK_US) {
        if (now > 0 && now % (5 * CLOCK_MS) == 0) {
            rate_record(r, now);
            n++;
        }
        rate_count(r, n, now);
        double v, res;
        if (rate_value(r, now, &v, &res))
            assert_true(res == 0 && fabs(v - 200) < 1e-6);
        else
            assert_true(now < 1005 * CLOCK_MS + CLOCK_S / RATE_GRAINS);
    }
    rate_free(r);
}

/* ---- Against the definition, over random histories --------------------------------------------------------------- */

enum { READINGS = 400, ARRIVALS = 8000 };

static struct history {
    int64_t window;
    int readings, arrivals, known; /* `known` of the arrivals were told to the rate, in told[] */
    int64_t read_at[READINGS];
    uint64_t counted[READINGS];
    int64_t arrival[ARRIVALS];
    int64_t told[ARRIVALS];
    int64_t next;
    int64_t slid_before, slid; /* up to when all records had come at the reading before, and at the last one */
} past;

/* Whether a window has passed from one reading to another. */
static bool is_window(int start, int end)
{
    return past.read_at[end] - past.read_at[start] >= past.window - past.window / RATE_GRAINS;
}

/* The reading from which a window that ends at reading `end` begins, of the first one the first of all; -1: none. */
static int window_start(int end)
{
    int start = end;
    while (start >= 0 && !is_window(start, end))
        start--;
    return start > 0 && !is_window(0, end - 1) ? 0 : start;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double defined_rate(const int64_t *times, int n, int64_t start, int64_t end)
{
    double w = (double)(end - start) / 1e9;
    if (n < 2)
        return n / w;
    double a = (double)(times[0] - start) / 1e9, b = (double)(end - times[n - 1]) / 1e9, s = w - a - b;
    double rate = (n + 1) / w;
    if ((double)(times[n - 1] - times[0]) > 0)
        rate = fmin(rate, (n - 1) / s);
    if (times[0] < end)
        rate = fmin(rate, n / (s + b));
    if (times[n - 1] > start)
        rate = fmin(rate, n / (a + s));
    return rate;
}

static struct {
    int64_t start, end, before; /* before: the reading before the end, or an earlier one */
    int64_t wide;               /* all records are known since then, too; before `before` by a window, where they are */
    int n;
    int64_t inside[ARRIVALS]; /* since `wide`, in order */
} complete;                   /* the window of which defined_value() knows all records */

/* Those that were told of times in (start, end]. */
static int records_inside(int64_t start, int64_t end)
{
    int n = 0;
    for (int i = 0; i < past.known; i++)
        if (past.told[i] > start && past.told[i] <= end)
            complete.inside[n++] = past.told[i];
    qsort(complete.inside, (size_t)n, sizeof complete.inside[0], compare_times);
    return n;
}

static void complete_window(int start, int end, int64_t before)
{
    int wide = start;
    complete.start = past.read_at[start];
    complete.end = past.read_at[end];
    complete.before = before < past.read_at[end - 1] ? before : past.read_at[end - 1];
    while (wide > 0 && complete.before - past.read_at[wide] < past.window)
        wide--;
    int n = records_inside(past.read_at[wide], complete.end);
    wide = (uint64_t)n < past.counted[end] - past.counted[wide] ? start : wide;
    complete.wide = past.read_at[wide];
    complete.n = records_inside(complete.wide, complete.end);
}

static bool defined_value(double *value, double *resolution)
{
    int newest = past.readings - 1, from = window_start(newest);
    if (from < 0)
        return false;
    double w = (double)(past.read_at[newest] - past.read_at[from]) / 1e9;
    double count = (double)(past.counted[newest] - past.counted[from]) / w;
    *value = count;
    *resolution = 1 / w;
    for (int end = newest; end >= 0 && past.read_at[newest] - past.read_at[end] <= past.window; end--) {
        int start = window_start(end);
        if (start < 0)
            break;
        int n = records_inside(past.read_at[start], past.read_at[end]);
        if ((uint64_t)n < past.counted[end] - past.counted[start])
            continue;
        double exact = defined_rate(complete.inside, n, past.read_at[start], past.read_at[end]);
        if (fabs(exact - count) <= *resolution * (1 + 1e-9)) {
            *value = exact;
            *resolution = 0;
        }
        complete_window(start, end, INT64_MAX);
        break;
    }
    return true;
}

/* The rate of the records inside from `start` on, for as long as a window of parts is. */
static double rate_inside(int64_t start, int64_t length)
{
    int from = 0, until = 0;
    while (from < complete.n && complete.inside[from] < start)
        from++;
    for (until = from; until < complete.n && complete.inside[until] < start + length;)
        until++;
    return defined_rate(complete.inside + from, until - from, start, start + length);
}

/* Sets the latest window of which all records came, for what came since the reading before. False: nothing did. */
static bool complete_anew(void)
{
    past.slid_before = past.slid;
    for (int end = past.readings - 1, start; (start = window_start(end)) >= 0; end--)
        if ((uint64_t)records_inside(past.read_at[start], past.read_at[end]) >=
            past.counted[end] - past.counted[start]) {
            past.slid = past.read_at[end];
            complete_window(start, end, past.slid_before);
            return past.slid > past.slid_before;
        }
    return false;
}

/* The first window, by its part, of those that ended since complete.before. */
static int64_t first_part(void)
{
    int64_t part = past.window / RATE_FINE;
    bool begins = complete.wide == past.read_at[0] && past.counted[0] == 0;
    int64_t first = complete.wide / part + !begins, since = complete.before / part - RATE_FINE + 1,
            kept = past.read_at[past.readings - 1] / part - EXPERIMENT_WINDOWS_TIMED * RATE_FINE + 1;
    first = first > since ? first : since;
    return first > kept ? first : kept;
}

/* The rate of the last window of whole parts, where the one that rate_value() is of is longer. */
static void expect_lowest(const struct rate *r, int64_t now, double value, bool exact)
{
    int64_t part = past.window / RATE_FINE, end = (complete.end + 1) / part * part;
    bool longer = complete.end - complete.start > past.window + past.window / RATE_GRAINS;
    double last = value, lowest, resolution;
    for (int64_t at = first_part() * part; exact && longer && at + RATE_FINE * part <= end; at += part)
        last = rate_inside(at, RATE_FINE * part);
    assert_true(rate_limit(r, now, false, &lowest, &resolution) && (resolution <= 0) == exact);
    assert_true(fabs(lowest - last) <= 1e-9 * (1 + last));
}

/* The largest of the rates of windows of whole parts that ended since all records had come at the reading before. */
static void expect_highest(const struct rate *r, int64_t now, double value, double resolution)
{
    double most = value, slid = -1, highest, half;
    bool anew = complete_anew();
    int64_t part = past.window / RATE_FINE, end = (complete.end + 1) / part * part, from = first_part(),
            start = complete.start / part;
    bool longer = complete.end - complete.start > past.window + past.window / RATE_GRAINS;
    int of_span = 0, of_parts = 0;
    for (int64_t at = from * part; anew && at + RATE_FINE * part <= end; at += part)
        slid = fmax(slid, rate_inside(at, RATE_FINE * part));
    for (int i = 0; i < complete.n; i++) {
        of_span += complete.inside[i] > complete.start;
        of_parts += complete.inside[i] >= (from > start ? from : start) * part && complete.inside[i] < end;
    }
    /* The span is none of its windows, unless it has records that are in no other. */
    if (slid > value - resolution || (slid >= 0 && resolution <= 0 && longer && of_parts >= of_span)) {
        most = slid;
        resolution = 0;
    }
    assert_true(rate_limit(r, now, true, &highest, &half));
    assert_true(fabs(highest - most) <= 1e-9 * (1 + most) && fabs(half - resolution) <= 1e-9 * (1 + resolution));
}

/* Arrivals in (from, to]: regular, Poisson, bursts at one instant, or none; now and then one at the reading itself. */
static void arrive(uint64_t *seed, int kind, int64_t mean, int64_t from, int64_t to)
{
    if (past.next < from)
        past.next = from + 1;
    while (past.next <= to && kind != 3) {
        int many = kind == 2 ? 1 + (int)(seed_next(seed) % 6) : 1;
        while (many-- > 0 && past.arrivals < ARRIVALS)
            past.arrival[past.arrivals++] = past.next;
        past.next += kind == 0 ? mean : 1 + (int64_t)(-log(1 - seed_unit(seed)) * (double)mean);
    }
    if (seed_next(seed) % 8 == 0)
        past.arrival[past.arrivals++] = to;
}

/* Tells the arrivals from *done on: of them those until now, in random order; some are lost where `lossy`. */
static void tell(uint64_t *seed, struct rate *r, int *done, bool lossy)
{
    int first = past.known;
    for (; *done < past.arrivals; ++*done)
        if (!lossy || seed_next(seed) % 4 != 0)
            past.told[past.known++] = past.arrival[*done];
    for (int i = past.known - 1; i > first; i--) {
        int other = first + (int)(seed_next(seed) % (uint64_t)(i - first + 1));
        int64_t t = past.told[i];
        past.told[i] = past.told[other];
        past.told[other] = t;
    }
    for (int i = first; i < past.known; i++)
        rate_record(r, past.told[i]);
}

static void compare_with_definition(const struct rate *r, int64_t now)
{
    double value, resolution, should = 0, should_resolution = 0;
    bool known = rate_value(r, now, &value, &resolution), should_know = defined_value(&should, &should_resolution);
    assert_int_equal(known, should_know);
    if (!known)
        return;
    assert_true(fabs(value - should) <= 1e-9 * (1 + should));
    assert_true(fabs(resolution - should_resolution) <= 1e-9 * (1 + should_resolution));
    expect_lowest(r, now, value, resolution == 0);
    expect_highest(r, now, value, resolution);
    /* Whatever was collected: never further from the truth than one record a window. */
    int from = window_start(past.readings - 1);
    double w = (double)(now - past.read_at[from]) / 1e9;
    double count = (double)(past.counted[past.readings - 1] - past.counted[from]) / w;
    assert_true(fabs(value - count) <= (1 + 1e-6) / w);
}

static int one_history(uint64_t *seed)
{
    enum { ON, LATE, OFF, LOSSY, MODES };
    memset(&past, 0, sizeof past);
    past.window = 10 * CLOCK_MS + (int64_t)(seed_next(seed) % (2 * CLOCK_S));
    int64_t every = past.window / 100 + (int64_t)(seed_next(seed) % (uint64_t)(past.window * 5 / 4));
    int64_t now = (int64_t)(seed_next(seed) % CLOCK_S), mean = 1 + past.window / (1 + (int64_t)(seed_next(seed) % 40));
    int mode = ON, kind = 0, done = 0, exact = 0;
    struct rate *r = fresh(past.window);
    assert_int_equal(rate_refine(r, false), 0);
    for (int i = 0; i < READINGS && past.arrivals < ARRIVALS - 1000; i++) {
        int64_t before = now;
        now += every + (int64_t)(seed_next(seed) % (uint64_t)(every / 4 + 1));
        if (seed_next(seed) % 16 == 0)
            mode = (int)(seed_next(seed) % MODES);
        if (seed_next(seed) % 16 == 0)
            kind = (int)(seed_next(seed) % 4);
        arrive(seed, kind, mean, before, now);
        if (mode == OFF)
            done = past.arrivals;
        else if (mode != LATE || seed_next(seed) % 8 == 0)
            tell(seed, r, &done, mode == LOSSY);
        past.read_at[past.readings] = now;
        past.counted[past.readings] = (uint64_t)past.arrivals;
        /* The writer may be between its record and its counter. */
        if (i > 0 && seed_next(seed) % 8 == 0 && past.counted[past.readings] > past.counted[past.readings - 1])
            past.counted[past.readings]--;
        rate_count(r, past.counted[past.readings++], now);
        compare_with_definition(r, now);
        double v, res;
        exact += rate_value(r, now, &v, &res) && res == 0;
    }
    rate_free(r);
    return exact;
}

TEST(equals_its_definition_over_random_histories)
{
    uint64_t seed = seed_start();
    int exact = 0;
    for (int i = 0; i < 60; i++)
        exact += one_history(&seed);
    assert_true(exact > 1000);
}
