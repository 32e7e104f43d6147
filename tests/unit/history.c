// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/history/history.h"
#include "base/clock.h"
#include "mdr/parts.h"
#include "run/rundb/rundb.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>

enum { NODE = 7, UNKNOWN = 0, HELD = 1, VIOLATED = 2, MOST = 1 << 13 }; /* row of the second node */

#define TABLES (HISTORY_OF_LIMITS | HISTORY_OF_METRICS | HISTORY_OF_EVENTS | HISTORY_OF_LOSSES)

static void observe(struct history *h, int64_t limit, double seconds, int state, double value)
{
    struct builtin_observation o = {
        .node = 1, .at = (int64_t)(seconds * (double)CLOCK_S), .limit = limit, .state = state, .value = value};
    history_observe(h, &o);
}

TEST(a_violation_lasts_from_its_first_observation_to_the_first_without_it)
{
    struct history h = {.most = MOST};
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
        .node = 1, .at = 10 * CLOCK_S, .limit = 0, .state = VIOLATED, .value = 12, .gap = 4 * CLOCK_S};
    history_observe(&h, &behind_a_gap);
    assert_true(!h.violations[2].open && h.violations[2].end == 6 * CLOCK_S);
    assert_true(h.violation_count == 4 && h.violations[3].open && h.violations[3].begin == 10 * CLOCK_S);
    observe(&h, MESSAGE_LIMITS_MAX, 6, VIOLATED, 1);
    observe(&h, -1, 6, VIOLATED, 1);
    assert_int_equal(h.limit_count, 2);
    history_close(&h);
}

TEST(a_series_is_bounded_and_keeps_its_extremes)
{
    struct history h = {.most = MOST};
    for (int i = 0; i < 20000; i++)
        observe(&h, 0, 0.1 * i, HELD, i == 12345 ? 1000 : i == 54 ? -7 : i % 2 ? NAN : 1);
    const struct history_series *s = history_limit(&h, 1, 0);
    assert_in_range(s->columns.count, HISTORY_COLUMNS / 2, HISTORY_COLUMNS);
    assert_true(s->begin == 0 && s->end == (int64_t)(1999.9 * CLOCK_S) && s->min == -7 && s->max == 1000);
    double least = NAN, most = NAN;
    for (size_t i = 0; i < s->columns.count; i++) {
        const struct history_column *c = &s->columns.list[i];
        least = fmin(least, c->min);
        most = fmax(most, c->max);
        assert_true(i == 0 || c->at > c[-1].at);
        bool has = c->at >> s->columns.width == (int64_t)(1234.5 * CLOCK_S) >> s->columns.width;
        assert_int_equal(c->max == 1000, has);
    }
    assert_true(least == -7 && most == 1000);
    assert_null(history_limit(&h, 0, 0));
    history_close(&h);
}

TEST(violations_are_bounded_and_the_open_one_is_still_closed)
{
    struct history h = {.most = MOST};
    observe(&h, 1, 0, VIOLATED, 1);
    for (int i = 0; i < 3 * MOST; i++)
        observe(&h, 0, i + 1, i % 2 ? HELD : VIOLATED, 1);
    observe(&h, 2, 1e6, VIOLATED, 1);
    for (int i = 0; i < MOST; i++)
        observe(&h, 0, 1e6 + i + 1, i % 2 ? HELD : VIOLATED, 1);
    observe(&h, 2, 2e6, HELD, 1);
    observe(&h, 1, 2e6, HELD, 1); /* its beginning was dropped */
    assert_true(h.violation_count <= MOST && h.left_out > 0);
    bool found = false;
    for (size_t i = 0; i < h.violation_count; i++) {
        assert_int_not_equal(h.violations[i].limit, 1);
        found = found || (h.violations[i].limit == 2 && h.violations[i].end == 2000000 * CLOCK_S);
        assert_false(h.violations[i].open);
    }
    assert_true(found);
    history_close(&h);
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
    if (sqlite3_open(path, &db) != SQLITE_OK)
        return -1;
    insert("INSERT INTO nodes VALUES(3, 'desk', randomblob(16), zeroblob(16), 0, 'desk', 1, 0),"
           " (%d, 'rack', zeroblob(16), zeroblob(16), 0, 'rack', 1, 0)",
           NODE);
    return 0;
}

static int end_database(void **state)
{
    sqlite3_close(db);
    return scratch_end(state);
}

static void take_all(struct history *h)
{
    int more;
    h->read_at -= 2 * CLOCK_S; /* it has paused */
    while ((more = history_update(h, CLOCK_S)) > 0)
        ;
    assert_int_equal(more, 0);
}

static void decide(int64_t at, int64_t after)
{
    insert("INSERT INTO decisions VALUES(%d, %lld, 1, 1, 1000, %lld, -1, 0, 0, 0, 0)", NODE, (long long)at,
           (long long)after);
}

TEST(each_row_is_taken_once_while_the_run_grows)
{
    struct history h;
    decide(10, 2000);
    assert_int_equal(history_open(&h, scratch_dir, TABLES, MOST), 0);
    take_all(&h);
    assert_int_equal(h.event_count, 1);
    assert_true(h.events[0].table == BUILTIN_DECISION && h.events[0].node == 1);
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
    assert_true(h.losses[0].process == 5 && h.losses[0].ring == 2 && h.losses[0].count == 17 && h.losses[0].end == 200);
    assert_true(h.violation_count == 1 && h.violations[0].limit == 3 && h.violations[0].begin == 40);
    history_close(&h);
    insert("DELETE FROM decisions");
    insert("DELETE FROM knobs");
}

/* A node that is silent for long makes a gap of each instant, and the reader of a run sees one. */
TEST(gaps_that_touch_while_nothing_is_known_are_one)
{
    static const struct {
        int64_t at, gap;
        int state;
    } seen[] = {{1000, 0, HELD},   {2000, 800, 0}, {2100, 90, 0},    {2200, 95, HELD},
                {2400, 200, HELD}, {2500, 0, 0},   {2700, 200, HELD}};
    static const int64_t gaps[][2] = {{1200, 2200}, {2200, 2400}, {2500, 2700}};
    struct history h = {.most = MOST};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        history_observe(&h, &(struct builtin_observation){.at = seen[i].at * CLOCK_MS,
                                                          .state = seen[i].state,
                                                          .value = seen[i].state ? 1 : (double)NAN,
                                                          .gap = seen[i].gap * CLOCK_MS});
    assert_int_equal(h.gap_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(h.gaps[i].begin, gaps[i][0] * CLOCK_MS);
        assert_int_equal(h.gaps[i].end, gaps[i][1] * CLOCK_MS);
    }
    history_close(&h);
}

/* What was judged first was judged late: so long there had been something to judge. */
TEST(a_gap_may_be_before_the_first_judgement)
{
    struct history h = {.most = MOST};
    history_observe(&h,
                    &(struct builtin_observation){.at = 5 * CLOCK_S, .state = HELD, .value = 1, .gap = 2 * CLOCK_S});
    assert_int_equal(h.gap_count, 1);
    assert_true(h.gaps[0].begin == 3 * CLOCK_S && h.gaps[0].end == 5 * CLOCK_S && !h.gaps[0].restarted);
    assert_int_equal(history_limit(&h, 0, 0)->begin, 3 * CLOCK_S);
    history_close(&h);
}

/* A bezeld that was killed before it had judged leaves no observation: the gap reaches back to its begin. */
TEST(a_gap_of_a_restart_reaches_back_as_far_as_is_known)
{
    struct history h = {.most = MOST};
    struct builtin_observation o = {.at = 5 * CLOCK_S, .state = HELD, .value = 1, .gap = -2 * CLOCK_S};
    history_observe(&h, &o);
    assert_true(h.gap_count == 1 && h.gaps[0].begin == 3 * CLOCK_S && h.gaps[0].end == o.at && h.gaps[0].restarted);
    o.at += CLOCK_S;
    o.gap = 1 - CLOCK_S * 4;
    history_observe(&h, &o);
    assert_true(h.gap_count == 2 && h.gaps[1].begin == 5 * CLOCK_S && h.gaps[1].end == o.at && h.gaps[1].restarted);
    o = (struct builtin_observation){.at = 5 * CLOCK_S, .limit = 1, .state = HELD, .value = 1, .gap = -1};
    history_observe(&h, &o);
    assert_int_equal(h.gap_count, 2);
    history_close(&h);
}

/* What is not known, and no gap, is no judgement. */
TEST(a_limit_is_judged_from_its_first_state_on_or_the_gap_before_it)
{
    struct history h = {.most = MOST};
    observe(&h, 0, 1, UNKNOWN, NAN);
    assert_int_equal(history_limit(&h, 1, 0)->judged_from, 0);
    observe(&h, 0, 2, VIOLATED, 5);
    observe(&h, 0, 3, HELD, 1);
    assert_int_equal(history_limit(&h, 1, 0)->judged_from, 2 * CLOCK_S);
    history_observe(&h, &(struct builtin_observation){
                            .node = 1, .at = 5 * CLOCK_S, .limit = 1, .state = UNKNOWN, .value = NAN, .gap = CLOCK_S});
    assert_int_equal(history_limit(&h, 1, 1)->judged_from, 4 * CLOCK_S);
    history_close(&h);
}

/* Its line of values is broken there, a restart of bezeld is a gap, and none reaches behind the observation before. */
TEST(a_gap_breaks_the_line_of_a_limit)
{
    struct history h = {.most = MOST};
    static const int64_t gaps[] = {-1, 0, CLOCK_S / 2, 0, -1, 100 * CLOCK_S};
    for (int i = 0; i < 6; i++)
        history_observe(&h, &(struct builtin_observation){
                                .at = (i + 1) * CLOCK_S, .limit = 0, .state = HELD, .value = i, .gap = gaps[i]});
    const struct history_columns *c = &history_limit(&h, 0, 0)->columns;
    assert_int_equal(h.gap_count, 3);
    assert_true(h.gaps[0].begin == 5 * CLOCK_S / 2 && h.gaps[0].end == 3 * CLOCK_S && !h.gaps[0].restarted);
    assert_true(h.gaps[1].begin == 4 * CLOCK_S && h.gaps[1].end == 5 * CLOCK_S && h.gaps[1].restarted);
    assert_true(h.gaps[2].begin == 5 * CLOCK_S && h.gaps[2].end == 6 * CLOCK_S && !h.gaps[2].restarted);
    assert_int_equal(c->count, 7);
    assert_true(c->list[2].at == 5 * CLOCK_S / 2 && c->list[2].known == 0 && isnan(c->list[2].last));
    assert_true(isnan(c->list[4].last) && c->list[4].min == 3 && isnan(c->list[5].last));
    history_close(&h);
}

/* Of processes and metrics with their names; the mean is of the values that are numbers. */
TEST(metrics_have_their_statistics)
{
    struct history h;
    insert("INSERT INTO metrics VALUES(%d, 10, 'fps', 'client', 30, 0), (%d, 10, 'fps', 'cl\xff', 1, 0),"
           " (%d, 20, 'fps', 'client', 20, 0), (%d, 30, 'fps', 'client', NULL, 0), (3, 5, 'fps', 'client', 7, 0)",
           NODE, NODE, NODE, NODE);
    assert_int_equal(history_open(&h, scratch_dir, HISTORY_OF_METRICS, MOST), 0);
    take_all(&h);
    assert_int_equal(h.metric_count, 3);
    const struct history_series *m = history_metric(&h, 1, "fps", "client");
    assert_non_null(m);
    assert_true(m->count == 2 && m->mean == 25 && m->min == 20 && m->max == 30 && m->last == 20);
    assert_true(m->begin == 10 && m->end == 30 && history_metric(&h, 0, "fps", "client")->mean == 7);
    assert_non_null(history_metric(&h, 1, "fps", "cl\\xFF"));
    assert_null(history_metric(&h, 1, "fps", "server"));
    history_close(&h);
    insert("DELETE FROM metrics");
}

TEST(a_table_that_was_made_anew_is_read_anew)
{
    struct history h;
    decide(10, 2000);
    decide(20, 3000);
    assert_int_equal(history_open(&h, scratch_dir, TABLES, MOST), 0);
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
    history_close(&h);
}

TEST(events_are_bounded_and_the_newest_stay)
{
    struct history h;
    insert("BEGIN");
    insert("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO decisions"
           " SELECT %d, i, 1, 1, 1000, i, -1, 0, 0, 0, 0 FROM n",
           2 * MOST + 100, NODE);
    insert("COMMIT");
    assert_int_equal(history_open(&h, scratch_dir, TABLES, MOST), 0);
    take_all(&h);
    assert_in_range(h.event_count, MOST / 2, MOST);
    assert_int_equal(h.event_count + h.left_out, 2 * MOST + 100);
    assert_int_equal(h.events[h.event_count - 1].decision.at, 2 * MOST + 100);
    history_close(&h);
}

int main(void)
{
    return test_run(begin_database, end_database);
}
