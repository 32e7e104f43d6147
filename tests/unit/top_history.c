// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_history.h"
#include "base/clock.h"
#include "run/rundb/rundb_live.h"
#include "tests/lib/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODE = 1, HELD = 1, VIOLATED = 2 };

static void observe(struct top_history *h, int64_t limit, double seconds, int state, double value)
{
    struct builtin_observation o = {
        .at = (int64_t)(seconds * (double)CLOCK_S), .limit = limit, .state = state, .value = value};
    top_history_observe(h, NODE, &o);
}

static void a_violation_lasts_from_its_first_observation_to_the_first_without_it(void **state)
{
    (void)state;
    struct top_history h = {0};
    observe(&h, 0, 1, HELD, 5);
    observe(&h, 1, 1, VIOLATED, 50);
    observe(&h, 0, 2, VIOLATED, 9);
    observe(&h, 1, 2, HELD, 40);
    observe(&h, 0, 3, VIOLATED, 11);
    observe(&h, 0, 4, HELD, 5);
    observe(&h, 0, 5, VIOLATED, NAN);
    assert_int_equal(h.violation_count, 3);
    assert_int_equal(h.violations[0].begin, CLOCK_S);
    assert_int_equal(h.violations[0].end, 2 * CLOCK_S);
    assert_int_equal(h.violations[1].begin, 2 * CLOCK_S);
    assert_int_equal(h.violations[1].end, 4 * CLOCK_S);
    assert_false(h.violations[1].open);
    assert_true(h.violations[2].open && h.violations[2].begin == 5 * CLOCK_S);
    struct builtin_observation behind_a_gap = {
        .at = 10 * CLOCK_S, .limit = 0, .state = VIOLATED, .value = 12, .gap = 4 * CLOCK_S};
    top_history_observe(&h, NODE, &behind_a_gap);
    assert_true(!h.violations[2].open && h.violations[2].end == 6 * CLOCK_S);
    assert_true(h.violation_count == 4 && h.violations[3].open && h.violations[3].begin == 10 * CLOCK_S);
    observe(&h, MESSAGE_LIMITS_MAX, 6, VIOLATED, 1);
    observe(&h, -1, 6, VIOLATED, 1);
    assert_int_equal(h.series_count, 2);
    top_history_close(&h);
}

static void a_series_is_bounded_and_keeps_its_extremes(void **state)
{
    (void)state;
    struct top_history h = {0};
    for (int i = 0; i < 20000; i++)
        observe(&h, 0, 0.1 * i, HELD, i == 12345 ? 1000 : i == 54 ? -7 : i % 2 ? NAN : 1);
    const struct top_series *s = top_history_series(&h, NODE, 0);
    assert_in_range(s->count, TOP_SERIES_COLUMNS / 2, TOP_SERIES_COLUMNS);
    double least = NAN, most = NAN;
    for (size_t i = 0; i < s->count; i++) {
        least = fmin(least, s->columns[i].min);
        most = fmax(most, s->columns[i].max);
        assert_true(i == 0 || s->columns[i].index > s->columns[i - 1].index);
        bool has = s->columns[i].index == (int64_t)(1234.5 * CLOCK_S) >> s->width;
        assert_int_equal(s->columns[i].max == 1000, has);
    }
    assert_true(least == -7 && most == 1000);
    assert_null(top_history_series(&h, NODE + 1, 0));
    top_history_close(&h);
}

static void violations_are_bounded_and_the_open_one_is_still_closed(void **state)
{
    (void)state;
    struct top_history h = {0};
    observe(&h, 1, 0, VIOLATED, 1);
    for (int i = 0; i < 3 * TOP_VIOLATIONS_MAX; i++)
        observe(&h, 0, i + 1, i % 2 ? HELD : VIOLATED, 1);
    observe(&h, 2, 1e6, VIOLATED, 1);
    for (int i = 0; i < TOP_VIOLATIONS_MAX; i++)
        observe(&h, 0, 1e6 + i + 1, i % 2 ? HELD : VIOLATED, 1);
    observe(&h, 2, 2e6, HELD, 1);
    observe(&h, 1, 2e6, HELD, 1); /* its beginning was dropped */
    assert_true(h.violation_count <= TOP_VIOLATIONS_MAX && h.left_out > 0);
    bool found = false;
    for (size_t i = 0; i < h.violation_count; i++) {
        assert_int_not_equal(h.violations[i].limit, 1);
        found = found || (h.violations[i].limit == 2 && h.violations[i].end == 2000000 * CLOCK_S);
        assert_false(h.violations[i].open);
    }
    assert_true(found);
    top_history_close(&h);
}

/* ---- of a database ----------------------------------------------------------------------------------------------- */

static sqlite3 *db;

static void insert(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
}

static int begin_database(void **state)
{
    char path[SCRATCH_PATH + 16];
    struct rundb *f;
    if (scratch_begin(state) != 0 || rundb_open(scratch_dir, &f) != 0 || rundb_close(f) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/run.db", scratch_dir);
    return sqlite3_open(path, &db) == SQLITE_OK ? 0 : -1;
}

static int end_database(void **state)
{
    sqlite3_close(db);
    return scratch_end(state);
}

static void take_all(struct top_history *h)
{
    int more;
    while ((more = top_history_update(h, CLOCK_S)) > 0)
        ;
    assert_int_equal(more, 0);
}

static void decide(int64_t at, int64_t after)
{
    insert("INSERT INTO decisions VALUES(%d, %lld, 1, 1, 1000, %lld, -1, 0, 0, 0, 0)", NODE, (long long)at,
           (long long)after);
}

static void each_row_is_taken_once_while_the_run_grows(void **state)
{
    (void)state;
    struct top_history h;
    decide(10, 2000);
    assert_int_equal(top_history_open(&h, scratch_dir), 0);
    take_all(&h);
    assert_int_equal(h.event_count, 1);
    assert_true(h.events[0].table == BUILTIN_DECISION && h.events[0].owner == NODE);
    assert_int_equal(h.events[0].decision.after, 2000);
    take_all(&h);
    decide(20, 4000);
    insert("INSERT INTO knobs VALUES(%d, 30, 'client\033[2J', 'quality', '%%', 7, 0, 75, 90, -1, NULL, 0, 0, 0)", NODE);
    insert("INSERT INTO losses VALUES(5, 2, 100, 200, 40, 17, 0)");
    insert("INSERT INTO observations VALUES(%d, 40, 3, 2, NULL, 0, 0)", NODE);
    take_all(&h);
    assert_int_equal(h.event_count, 3);
    assert_int_equal(h.events[1].decision.at, 20);
    assert_true(h.events[2].table == BUILTIN_KNOB && h.events[2].knob.after == 90 && isnan(h.events[2].knob.value));
    assert_string_equal(h.events[2].knob.knob, "quality");
    assert_int_equal(h.loss_count, 1);
    assert_true(h.losses[0].owner == 5 && h.losses[0].loss.ring == 2 && h.losses[0].loss.count == 17 &&
                h.losses[0].loss.end == 200);
    assert_true(h.violation_count == 1 && h.violations[0].limit == 3 && h.violations[0].begin == 40);
    top_history_close(&h);
    insert("DELETE FROM decisions");
    insert("DELETE FROM knobs");
}

static void a_table_that_was_made_anew_is_read_anew(void **state)
{
    (void)state;
    struct top_history h;
    decide(10, 2000);
    decide(20, 3000);
    assert_int_equal(top_history_open(&h, scratch_dir), 0);
    take_all(&h);
    assert_int_equal(h.event_count, 2);
    insert("DELETE FROM decisions");
    decide(11, 2500);
    decide(21, 3500);
    decide(31, 4500);
    take_all(&h);
    assert_int_equal(h.event_count, 3);
    assert_int_equal(h.events[0].decision.after, 2500);
    insert("DELETE FROM decisions");
    take_all(&h);
    assert_int_equal(h.event_count, 0);
    top_history_close(&h);
}

static void events_are_bounded_and_the_newest_stay(void **state)
{
    (void)state;
    struct top_history h;
    insert("BEGIN");
    insert("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO decisions"
           " SELECT %d, i, 1, 1, 1000, i, -1, 0, 0, 0, 0 FROM n",
           2 * TOP_EVENTS_MAX + 100, NODE);
    insert("COMMIT");
    assert_int_equal(top_history_open(&h, scratch_dir), 0);
    take_all(&h);
    assert_in_range(h.event_count, TOP_EVENTS_MAX / 2, TOP_EVENTS_MAX);
    assert_int_equal(h.event_count + h.left_out, 2 * TOP_EVENTS_MAX + 100);
    assert_int_equal(h.events[h.event_count - 1].decision.at, 2 * TOP_EVENTS_MAX + 100);
    top_history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_violation_lasts_from_its_first_observation_to_the_first_without_it),
        cmocka_unit_test(a_series_is_bounded_and_keeps_its_extremes),
        cmocka_unit_test(violations_are_bounded_and_the_open_one_is_still_closed),
        cmocka_unit_test(each_row_is_taken_once_while_the_run_grows),
        cmocka_unit_test(a_table_that_was_made_anew_is_read_anew),
        cmocka_unit_test(events_are_bounded_and_the_newest_stay),
    };
    return cmocka_run_group_tests(tests, begin_database, end_database);
}
