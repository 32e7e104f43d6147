// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Numbers of records, and the largest and last rates: those of windows, wherever the instants lie. */
#include "base/clock.h"
#include "metric/rate.h"
#include "tests/lib/rate_fixture.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

enum { PLAN_MOST = 4096 };

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The most of `n` times, in order, that lie within `window`, of those in (from, to]. */
static uint64_t most_within(const int64_t *times, int n, int64_t from, int64_t to, int64_t window)
{
    uint64_t most = 0;
    for (int i = 0, k = 0; k < n && times[k] <= to; k++) {
        while (times[i] <= from || times[i] <= times[k] - window)
            if (i++ == k)
                break;
        most = i <= k && (uint64_t)(k - i + 1) > most ? (uint64_t)(k - i + 1) : most;
    }
    return most;
}

/* Readings come up to `late` ns late; one record in `lost` is lost, none if that is 0. */
static void number_is_that_of_a_window(uint64_t *seed, int64_t window, int64_t late, int lost)
{
    struct rate *r = fresh(window);
    int64_t times[PLAN_MOST], now = 0, before = 0, part = window / RATE_FINE;
    int n = 0, missing = 0, made = 0;
    assert_int_equal(rate_refine(r, true), 0);
    for (int64_t t = 0; n < PLAN_MOST && t < 20 * CLOCK_S; n++)
        times[n] = t += 1 + (int64_t)(seed_next(seed) % (20 * CLOCK_MS));
    rate_count(r, 0, 0);
    while ((now += 100 * CLOCK_MS + (late > 0 ? (int64_t)(seed_next(seed) % (uint64_t)late) : 0)) < times[n - 1]) {
        uint64_t got, all, least, most, lowest;
        for (; times[made] <= now; made++)
            if (lost > 0 && seed_next(seed) % (uint64_t)lost == 0)
                missing++;
            else
                rate_record(r, times[made]);
        rate_count(r, (uint64_t)made, now);
        if (rate_number(r, now, &got, &all, &lowest)) {
            assert_true(lowest >= most_within(times, made, now - window, now, window));
            most = most_within(times, made, now - window - part, now, INT64_MAX / 2) +
                   most_within(times, made, 0, now, 2 * part + 2); /* of parts at its begin */
            assert_true(lowest <= all && lowest <= most + (uint64_t)missing);
            least = most_within(times, made, now - window, now, window); /* the last window, at least, ... */
            assert_true(missing > 0 || /* ... and where all came each that ended since the reading before */
                        got >= most_within(times, made, before - window + 2 * part, now - part, window - 2 * part));
            most = most_within(times, made, 0, now, window + part) + missing +
                   most_within(times, made, 0, now, 2 * part + 2) + most_within(times, made, 0, now, part + 1);
            assert_true(got >= least && got <= most);
        }
        before = now;
    }
    rate_free(r);
}

/* Not of the time since the reading before it, too: 19 in 200 ms are no more than 10 in 100. */
TEST(a_number_of_records_is_that_of_a_window_however_late_it_is_read)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < 20; i++) {
        number_is_that_of_a_window(&seed, 100 * CLOCK_MS, 190 * CLOCK_MS, 0);
        number_is_that_of_a_window(&seed, CLOCK_S, 10 * CLOCK_MS, 0);
        number_is_that_of_a_window(&seed, CLOCK_S, 500 * CLOCK_MS, 20);
    }
}

/* A steady source makes no more in a window than it does, however its records and the instants lie to one another. */
TEST(a_steady_source_is_never_more_than_it_is)
{
    for (uint64_t turn = 0, seed = seed_start(); turn < 200; turn++) {
        int64_t window = turn % 2 ? CLOCK_S : 300 * CLOCK_MS,
                next = 2 * CLOCK_MS + (int64_t)(seed_next(&seed) % CLOCK_MS),
                period = 30 * CLOCK_MS + (int64_t)(seed_next(&seed) % (4 * CLOCK_MS));
        uint64_t made = 0, n, all, lowest, most = (uint64_t)((window + 2 * window / RATE_FINE) / period) + 1;
        struct rate *r = fresh(window);
        assert_int_equal(rate_refine(r, true), 0);
        for (int i = 0; i < 60; i++) {
            int64_t now = i * 100 * CLOCK_MS + (int64_t)(seed_next(&seed) % (2 * CLOCK_MS));
            for (; next <= now; next += period, made++)
                rate_record(r, next);
            rate_count(r, made, now);
            if (rate_number(r, now, &n, &all, &lowest)) /* from the begin on */
                assert_true(n <= most && (i <= 1 + window / (100 * CLOCK_MS) || n >= (uint64_t)(window / period)));
        }
        rate_free(r);
    }
}

/* The extremes at an instant of what was made so far, of which all but the last `late` records have come. */
static void read_extremes(struct rate *r, const int64_t *times, int made, int *came, int late, int64_t now,
                          double extremes[2])
{
    for (; *came < made - late; ++*came)
        rate_record(r, times[*came]);
    rate_count(r, (uint64_t)made, now);
    extremes[0] = extremes[1] = NAN;
    double resolution;
    (void)(rate_limit(r, now, true, &extremes[0], &resolution) && rate_limit(r, now, false, &extremes[1], &resolution));
}

/*
 * Instants come sooner than the window, which thus reaches back over two of them, or it is no multiple of theirs. A
 * burst of five within a tenth of a window, and nothing else near it, is 5 to 6 a window, at one of the instants at
 * least, and behind it there is nothing in the last window; a steady source is as fast as it is.
 */
TEST(a_rate_is_that_of_a_window_however_far_the_instant_before_is)
{
    const int64_t windows[] = {100 * CLOCK_MS, 130 * CLOCK_MS, 250 * CLOCK_MS};
    uint64_t seed = seed_start();
    for (int turn = 0; turn < 120; turn++) {
        int64_t times[PLAN_MOST], window = windows[turn % 3], now = 0;
        int n = 0, made = 0, came = 0, steady = turn / 3 % 2, late = turn / 6 % 2;
        double most = 0, got[2], unit = 1e9 / (double)window;
        struct rate *r = fresh(window);
        assert_int_equal(rate_refine(r, false), 0);
        for (int64_t t = window / 10; n + 5 < PLAN_MOST && t < 40 * window; t += steady ? window / 10 : 10 * window)
            for (int i = 0; i < (steady ? 1 : 5); i++)
                times[n++] = t + (steady ? 0 : i * window / 40 + (int64_t)(seed_next(&seed) % (uint64_t)(window / 50)));
        times[n] = INT64_MAX;
        rate_count(r, 0, 0);
        for (int i = 1; now < 30 * window; i++) {
            now = i * 99 * CLOCK_MS + (int64_t)(seed_next(&seed) % (300 * CLOCK_US));
            for (; times[made] <= now; made++)
                ;
            read_extremes(r, times, made, &came, late && i % 2, now, got);
            if (now < 3 * window)
                continue;
            most = fmax(most, got[0]);
            assert_true(steady ? got[0] >= 9.8 * unit && got[0] <= 10.2 * unit : got[0] <= 6.1 * unit);
            assert_true(!steady || late || (got[1] >= 9.8 * unit && got[1] <= 10.2 * unit));
            if (!steady && now - times[made - 1] > window + 2 * window / RATE_FINE && !(late && i % 2))
                assert_true(got[1] == 0);
        }
        assert_true(most >= (steady ? 9.8 : 4.9) * unit);
        rate_free(r);
    }
}

/* A burst between two windows that end at readings is in a window, too. */
TEST(no_time_between_windows_goes_unobserved)
{
    uint64_t n, all, lowest;
    struct rate *r = fresh(100 * CLOCK_MS);
    assert_int_equal(rate_refine(r, true), 0);
    rate_count(r, 1, CLOCK_S);
    rate_count(r, 1, 2 * CLOCK_S);
    for (int i = 0; i < 5; i++)
        rate_record(r, 2 * CLOCK_S + 300 * CLOCK_MS + i);
    rate_record(r, 2 * CLOCK_S + 350 * CLOCK_MS);
    rate_record(r, 2 * CLOCK_S + 800 * CLOCK_MS);
    rate_count(r, 8, 3 * CLOCK_S);
    assert_true(rate_number(r, 3 * CLOCK_S, &n, &all, &lowest));
    assert_int_equal(lowest, 0);
    assert_true(n >= 6 && n <= 8 && all == 7); /* parts older than four windows are not kept */
    rate_free(r);
}

/*
 * Bursts, with silences a little longer than the window between them, read at instants of a tenth of it that jitter: a
 * window that no record lies in is never judged by one that reaches back to the burst before.
 */
TEST(a_silence_a_little_longer_than_the_window_is_seen_however_instants_jitter)
{
    enum { JITTER = 300 * 1000 };
    uint64_t seed = seed_start(), made = 0, seen[2] = {0};
    struct rate *r = fresh(CLOCK_S), *number = fresh(CLOCK_S);
    int64_t last = 0, next = CLOCK_MS;
    assert_int_equal(rate_refine(number, true), 0);
    for (int i = 0; i < 2000; i++) {
        int64_t now = CLOCK_S + i * 100 * CLOCK_MS + (int64_t)(seed_next(&seed) % JITTER);
        for (; next <= now; next += ++made % 100 ? CLOCK_MS : 1040 * CLOCK_MS) {
            rate_record(r, last = next);
            rate_record(number, next);
        }
        rate_count(r, made, now);
        rate_count(number, made, now);
        double value, resolution;
        uint64_t n, all, lowest;
        if (i < 20)
            continue;
        assert_true(rate_value(r, now, &value, &resolution));
        assert_true(rate_number(number, now, &n, &all, &lowest));
        bool silent = now - last > CLOCK_S + JITTER, clearly = now - last > CLOCK_S + CLOCK_S / RATE_FINE;
        assert_true(!silent || value == 0);
        assert_true(!clearly || lowest == 0);
        seen[0] += silent;
        seen[1] += clearly;
    }
    assert_in_range(seen[0], 20, 200);
    assert_in_range(seen[1], 20, 200);
    rate_free(r);
    rate_free(number);
}

/* The highest rate of ten records `from` ms behind the first reading, and ten more at `until`, read each 100 ms. */
static double highest_of_two(int64_t window, int64_t from, int64_t until)
{
    const int64_t bursts[] = {from * CLOCK_MS, until * CLOCK_MS};
    struct rate *r = fresh(window * CLOCK_MS);
    double value, resolution, most = 0;
    uint64_t made = 0;
    assert_int_equal(rate_refine(r, false), 0);
    for (int64_t now = 0; now < 3 * CLOCK_S; now += 100 * CLOCK_MS) {
        for (; made < 20 && bursts[made / 10] < now; made++)
            rate_record(r, bursts[made / 10] + (int64_t)(made % 10));
        rate_count(r, made, now);
        if (rate_limit(r, now, true, &value, &resolution))
            most = fmax(most, value);
    }
    rate_free(r);
    return most;
}

/* Ten records, and more than a window later ten more, are in one span of three or four sampling periods. */
TEST(a_span_that_is_longer_than_the_window_is_none)
{
    assert_float_equal(highest_of_two(250, 1010, 1285), 44, 1e-6);
    assert_float_equal(highest_of_two(300, 1, 330), 11 / 0.3, 1e-6);
    assert_float_equal(highest_of_two(250, 1010, 1240), 19 / 0.23, 1e-2);
}

/* A steady source or none, and bursts: in `times`, in order; their number. */
static int draw_bursts(uint64_t *seed, int64_t *times)
{
    int n = 0, bursts = 1 + (int)(seed_next(seed) % 8);
    int64_t every = (2 + (int64_t)(seed_next(seed) % 30)) * CLOCK_MS;
    for (int64_t at = every; at < 3 * CLOCK_S && seed_next(seed) % 8 > 0; at += every)
        times[n++] = at;
    for (int b = 0; b < bursts; b++) {
        int64_t at = (int64_t)(seed_next(seed) % (2500 * CLOCK_MS)),
                gap = 1 + (int64_t)(seed_next(seed) % (4 * CLOCK_MS));
        for (int i = (int)(seed_next(seed) % 30); i >= 0; i--, at += gap)
            times[n++] = at;
    }
    qsort(times, (size_t)n, sizeof *times, by_time);
    return n;
}

/* What is surely the highest at any instant, where records come in polls, and the counter is fresh. */
static double highest_in_polls(const int64_t *times, int n, int64_t window, int64_t every, int64_t poll, bool number)
{
    struct rate *r = fresh(window);
    double value, resolution, most = 0;
    uint64_t count, all, lowest;
    int made = 0, came = 0;
    int64_t polled = poll;
    assert_int_equal(rate_refine(r, number), 0);
    rate_count(r, 0, 0);
    for (int64_t now = every; now <= 4 * CLOCK_S; now += every) {
        for (; polled <= now; polled += poll)
            for (; came < n && times[came] <= polled; came++)
                rate_record(r, times[came]);
        for (; made < n && times[made] <= now; made++)
            ;
        rate_count(r, (uint64_t)made, now);
        if (number && rate_number(r, now, &count, &all, &lowest))
            most = fmax(most, (double)count);
        else if (!number && rate_limit(r, now, true, &value, &resolution))
            most = fmax(most, value - resolution);
    }
    rate_free(r);
    return most;
}

/* Whatever a poll brings late, and however much was made meanwhile: each window is looked at once all of it has come.
 */
TEST(no_window_is_missed_however_late_its_records_come)
{
    static int64_t times[PLAN_MOST];
    uint64_t seed = seed_start();
    for (int turn = 0; turn < 400; turn++) {
        int64_t every = (int64_t[]){100, 200, 500}[turn % 3] * CLOCK_MS,
                window = every + (int64_t)(seed_next(&seed) % (400 * CLOCK_MS)),
                poll = (1 + (int64_t)(seed_next(&seed) % (turn % 2 ? 5 : 120))) * CLOCK_MS;
        int n = draw_bursts(&seed, times);
        uint64_t most =
            most_within(times, n, window, INT64_MAX, window - 3 * window / RATE_FINE); /* behind the first */
        double rate = most > 0 ? (double)(most - 1) * 1e9 / (double)window : 0;
        assert_true(highest_in_polls(times, n, window, every, poll, false) >= rate * (1 - 1e-9));
        assert_true(highest_in_polls(times, n, window, every, poll, true) >= (double)most);
    }
}
