// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Summaries of databases with impossible values, from nodes or forged. */
#include "run/history/summary.h"

#include "run/rundb/rundb.h"
#include "run/rundb/rundb_sqlite.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#define NODE    "INSERT INTO nodes VALUES(1, 'desk', zeroblob(16), zeroblob(16), 0, 'desk', 1, 0);"
#define PROCESS "INSERT INTO processes(id, node, instance, stream_id, pid, role, name, executable, started, base,"
#define DAEMONS                                                                                                        \
    PROCESS " dictionary, overwrites) VALUES(1, 1, 1, 1, 1, 1, 'bezeld', '', 0, 'a', '', 0);" PROCESS                  \
            " dictionary, overwrites) VALUES(2, 1, 2, 2, 2, 1, 'bezeld', '', 0, 'b', '', 0);"

static struct summary *load(const char *statements)
{
    struct rundb *f;
    struct summary *s;
    char path[SCRATCH_PATH + 8];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/run.db", scratch_dir);
    assert_int_equal(rundb_open(scratch_dir, &f), 0);
    assert_int_equal(rundb_close(f), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return summary_load(scratch_dir, &s) ? NULL : s;
}

/* SQLite's own sum() would fail. */
TEST_WITH(scratch_begin, scratch_end, sums_stop_at_the_end_of_their_range)
{
    struct summary *s =
        load(NODE DAEMONS "INSERT INTO clocks VALUES(1, 0, 0, 0, 0, 0, 9223372036854775807, 3, 0);"
                          "INSERT INTO clocks VALUES(2, 0, 0, 0, 0, 0, 9223372036854775807, 4, 0);"
                          "INSERT INTO usage VALUES(1, 5, 0, 9223372036854775807, 0, 0, 0, 0, 0, 0, 0, 0);"
                          "INSERT INTO usage VALUES(2, 5, 0, 9223372036854775807, 0, 0, 0, 0, 0, 0, 0, 0)");
    assert_non_null(s);
    assert_true(s->nodes[0].clock.jumps == INT64_MAX && s->nodes[0].clock.clamped == 7);
    assert_true(s->nodes[0].wakeups == INT64_MAX);
    summary_free(s);
}

/* Samples of one or two daemons, near each other and far, of CPU times that may run backwards too. */
TEST_WITH(scratch_begin, scratch_end, the_mean_of_what_a_daemon_cost_is_never_above_the_largest)
{
    uint64_t seed = seed_start();
    for (int round = 0; round < 60; round++) {
        char text[8192] = NODE DAEMONS;
        int64_t at = 1000, cpu = 0;
        int rows = (int)(seed_next(&seed) % 12), second = (int)(seed_next(&seed) % 12);
        for (int i = 0; i < rows; i++) {
            size_t n = strlen(text);
            at += (int64_t)(seed_next(&seed) % (seed_next(&seed) % 2 ? 5000000 : 200000000));
            cpu += (int64_t)(seed_next(&seed) % 30000000) - (round % 4 == 0 ? 10000000 : 0);
            snprintf(text + n, sizeof text - n, "INSERT INTO usage VALUES(%d, %lld, %lld, 0, 0, 0, 0, 0, 0, 99, 0, 0);",
                     i < second ? 1 : 2, (long long)at, (long long)cpu);
        }
        struct summary *s = load(text);
        assert_non_null(s);
        const struct summary_node *n = &s->nodes[0];
        assert_true(isnan(n->sensor_cpu_mean) == isnan(n->sensor_cpu_max));
        if (!isnan(n->sensor_cpu_mean))
            assert_true(n->sensor_cpu_mean <= n->sensor_cpu_max);
        summary_free(s);
        scratch_end(NULL);
        scratch_begin(NULL);
    }
}

TEST_WITH(scratch_begin, scratch_end, what_a_daemon_cost_is_of_its_samples)
{
    static const struct {
        const char *rows; /* ms, ms of CPU */
        double mean, max;
    } cases[] = {
        {"", NAN, NAN},
        {"(1, 100, 3)", NAN, NAN},                         /* no time */
        {"(1, 100, 3), (1, 110, 5)", 20, 20},              /* a short run is one sample */
        {"(1, 0, 0), (1, 100, 10), (1, 200, 40)", 20, 30}, /* the usual case */
        {"(1, 0, 0), (1, 100, 10), (1, 110, 20)", 100. * 20 / 110,
         100. * 20 / 110},                                              /* the end is no sample of its own */
        {"(1, 0, 0), (1, 10, 5), (1, 20, 5), (1, 100, 10)", 10, 10},    /* nor is the start */
        {"(1, 0, 0), (1, 100, 10), (2, 500, 90), (2, 600, 92)", 6, 10}, /* each daemon from its own start on */
        {"(1, 500, 0), (1, 510, 8), (2, 0, 0), (2, 100, 3)", 10, 80},   /* one that ended soon, too */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 NODE DAEMONS
                 "CREATE TABLE t(p, at, cpu); %s%s;"
                 "INSERT INTO usage SELECT p, at * 1000000, cpu * 1000000, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM t;"
                 "DROP TABLE t",
                 *cases[i].rows ? "INSERT INTO t VALUES " : "", cases[i].rows);
        struct summary *s = load(text);
        assert_non_null(s);
        const struct summary_node *n = &s->nodes[0];
        if (isnan(cases[i].mean))
            assert_true(isnan(n->sensor_cpu_mean) && isnan(n->sensor_cpu_max));
        else
            assert_true(fabs(n->sensor_cpu_mean - cases[i].mean) < 1e-9 &&
                        fabs(n->sensor_cpu_max - cases[i].max) < 1e-9);
        summary_free(s);
        scratch_end(NULL);
        scratch_begin(NULL);
    }
}

/* A row of table `table` whose first column names node or process 77, which does not exist; false: it has no such. */
static bool foreign_row(sqlite3 *db, const char *table, char *text, size_t size)
{
    char query[256];
    sqlite3_stmt *s;
    bool owned = false;
    int n = snprintf(text, size,
                     NODE PROCESS " dictionary, overwrites) VALUES(1, 1, 1, 1, 1, 1, 'bezeld', '', 0, 'a', '', 0);"
                                  "INSERT INTO %s VALUES(",
                     table);
    snprintf(query, sizeof query, "SELECT cid, name, type FROM pragma_table_info('%.60s')", table);
    assert_int_equal(sqlite3_prepare_v2(db, query, -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 1), *type = (const char *)sqlite3_column_text(s, 2);
        bool first = sqlite3_column_int(s, 0) == 0;
        owned = owned || (first && strcmp(type, "INTEGER") == 0 && (!strcmp(name, "node") || !strcmp(name, "process")));
        n += snprintf(text + n, size - (size_t)n, "%s%s", first ? "" : ", ",
                      first                       ? "77"
                      : strcmp(type, "TEXT") == 0 ? "'x'"
                                                  : "1");
    }
    sqlite3_finalize(s);
    snprintf(text + n, size - (size_t)n, ")");
    return owned;
}

TEST_WITH(scratch_begin, scratch_end, a_row_of_a_node_or_process_that_is_not_there_is_refused)
{
    static const char not_read[] = "threads"; /* rundb_load_threads(), which leaves such out */
    char path[SCRATCH_PATH + 8], tables[32][64], text[2048];
    unsigned count = 0, refused = 0;
    struct rundb *f;
    sqlite3 *db;
    sqlite3_stmt *s;
    snprintf(path, sizeof path, "%s/run.db", scratch_dir);
    assert_int_equal(rundb_open(scratch_dir, &f), 0);
    assert_int_equal(rundb_close(f), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = 'table'", -1, &s, NULL),
                     SQLITE_OK);
    for (; sqlite3_step(s) == SQLITE_ROW && count < 32; count++)
        snprintf(tables[count], sizeof *tables, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    for (unsigned i = 0; i < count; i++) {
        if (!foreign_row(db, tables[i], text, sizeof text))
            continue;
        scratch_end(NULL);
        scratch_begin(NULL);
        struct summary *loaded = load(text);
        if (!loaded != !strstr(not_read, tables[i]))
            fail_msg("%s: %s", tables[i], loaded ? "it is taken" : "it is refused");
        refused += !loaded;
        summary_free(loaded);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(refused > 10);
}

TEST_WITH(scratch_begin, scratch_end, times_are_cut_to_what_clocks_can_reach)
{
    struct summary *s = load(NODE "INSERT INTO decisions VALUES(1, 9223372036854775807, 0, 0, -9223372036854775808, 7,"
                                  " 0, 0, 0, 0, 0)");
    assert_non_null(s);
    assert_true(s->decisions[0].at == INT64_C(1) << 61 && s->decisions[0].before == -(INT64_C(1) << 61));
    assert_int_equal(s->decisions[0].after, 7);
    summary_free(s);
}

TEST_WITH(scratch_begin, scratch_end, a_copy_has_another_inode_than_the_run_and_a_mirror_may)
{
    struct stat st;
    const struct mirror_state mirror = {.is = MIRROR_COMPLETE};
    assert_int_equal(stat(scratch_dir, &st), 0);
    for (int round = 0; round < 3; round++) {
        char text[128];
        snprintf(text, sizeof text, "INSERT OR REPLACE INTO properties VALUES('inode', '%lld')",
                 (long long)st.st_ino + (round > 0));
        if (round == 2)
            assert_int_equal(mirror_state_write(scratch_dir, &mirror), 0);
        struct summary *s = load(text);
        assert_non_null(s);
        assert_int_equal(s->copied, round == 1);
        summary_free(s);
    }
    assert_int_equal(mirror_state_remove(scratch_dir), 0);
}

TEST_WITH(scratch_begin, scratch_end, a_long_run_may_take_longer_to_read)
{
    assert_int_equal(rundb_read_seconds(0), RUNDB_READ_S);
    assert_int_equal(rundb_read_seconds(INT64_C(400) << 20), RUNDB_READ_S + 100);
    assert_true(rundb_read_seconds(INT64_MAX) > RUNDB_READ_S + 100);
}

/* In any order, of any length of time, and up to the ends of time: the columns have each observation once. */
TEST_WITH(scratch_begin, scratch_end, columns_have_each_observation_in_order_of_time)
{
    static const int64_t spans[] = {1, 1000, INT64_C(100000000000), INT64_C(1) << 60, INT64_MAX};
    uint64_t seed = seed_start();
    for (size_t span = 0; span < sizeof spans / sizeof *spans; span++) {
        static char text[1 << 17];
        double least = INFINITY, most = -INFINITY;
        int64_t first = INT64_MAX, last = INT64_MIN;
        uint32_t count = 0;
        snprintf(text, sizeof text, "%s", NODE);
        for (int i = 0; i < 900; i++) {
            size_t n = strlen(text);
            int64_t at = (int64_t)(seed_next(&seed) % (uint64_t)spans[span]);
            double value = (double)(seed_next(&seed) % 1000000);
            snprintf(text + n, sizeof text - n, "INSERT INTO observations VALUES(1, %lld, 0, 1, %.1f, 0, 0);",
                     (long long)at, value);
            at = at < (INT64_C(1) << 61) ? at : INT64_C(1) << 61;
            first = at < first ? at : first;
            last = at > last ? at : last;
            least = fmin(least, value);
            most = fmax(most, value);
        }
        struct summary *s = load(text);
        assert_non_null(s);
        assert_int_equal(s->series_count, 1);
        assert_true(s->series[0].begin == first && s->series[0].end == last);
        int64_t before = INT64_MIN;
        for (size_t i = 0; i < s->series[0].columns.count; i++) {
            const struct history_column *c = &s->series[0].columns.list[i];
            assert_true(c->at > before && c->min >= least && c->max <= most && c->count == c->known);
            before = c->at;
            count += c->count;
            least = c->min == least ? -INFINITY : least; /* found */
            most = c->max == most ? INFINITY : most;
        }
        assert_int_equal(count, 900);
        assert_true(isinf(least) && isinf(most));
        summary_free(s);
        scratch_end(NULL);
        scratch_begin(NULL);
    }
}

/* Each would take the memory of a plotted line. */
TEST_WITH(scratch_begin, scratch_end, observations_of_limits_that_no_experiment_has_are_left_out)
{
    struct summary *s = load(NODE "INSERT INTO observations VALUES(1, 5, 63, 2, 1.5, 0, 0), (1, 6, 64, 2, 1.5, 0, 0),"
                                  " (1, 7, -1, 2, 1.5, 0, 0), (1, 8, 4294967296, 2, 1.5, 0, 0)");
    assert_non_null(s);
    assert_int_equal(s->series_count, 1);
    assert_int_equal(s->series[0].limit, 63);
    assert_int_equal(s->violation_count, 1);
    summary_free(s);
}

/* Of a gap that is told twice, or reaches back too far, what lies before the observation before is none. */
TEST_WITH(scratch_begin, scratch_end, gaps_lie_between_two_observations)
{
    struct summary *s =
        load(NODE "INSERT INTO observations VALUES(1, 1000, 0, 1, 1.5, -1, 0), (1, 5000, 0, 2, 1.5, 3000, 0),"
                  " (1, 5010, 0, 0, NULL, 3000, 0), (1, 6000, 0, 1, 1.5, 0, 0), (1, 8000, 0, 1, 1.5, -1, 0)");
    assert_non_null(s);
    assert_int_equal(s->gap_count, 3);
    assert_true(s->gaps[0].begin == 2000 && s->gaps[0].end == 5000 && !s->gaps[0].restarted);
    assert_true(s->gaps[1].begin == 5000 && s->gaps[1].end == 5010);
    assert_true(s->gaps[2].begin == 6000 && s->gaps[2].end == 8000 && s->gaps[2].restarted);
    assert_int_equal(s->violation_count, 1);
    assert_true(s->violations[0].begin == 5000 && s->violations[0].end == 5000 && !s->violations[0].open);
    summary_free(s);
}

/* Observations stand where something changed: 1 second, 3 seconds. The row of the limit says that it lasted for 9. */
TEST_WITH(scratch_begin, scratch_end, a_violation_that_is_open_lasts_as_long_as_its_limit_says)
{
    struct summary *s =
        load(NODE PROCESS
             " dictionary, overwrites) VALUES(1, 1, 1, 1, 1, 1, 'bezeld', '', 0, 'a', '', 0);"
             "INSERT INTO observations VALUES(1, 1000, 0, 2, 1.5, 0, 0), (1, 3000, 0, 2, 2.5, 0, 0),"
             " (1, 1000, 1, 2, 1.5, 0, 0), (1, 3000, 1, 1, 2.5, 0, 0), (1, 1000, 2, 2, 1.5, 0, 0);"
             "INSERT INTO limits VALUES(1, 9010, 0, 2, 0, 0, 0, 0, 0, 0, 9000, 0, 0, 0),"
             " (1, 9010, 1, 1, 0, 0, 0, 0, 0, 0, 9000, 0, 0, 0), (1, 9010, 2, 2, 0, 0, 0, 0, 0, 0, 500, 0, 0, 0)");
    assert_non_null(s);
    assert_int_equal(s->violation_count, 3);
    assert_true(s->violations[0].open && s->violations[0].end == 9000);
    assert_true(!s->violations[1].open && s->violations[1].end == 3000);
    assert_true(s->violations[2].open && s->violations[2].end == 1000);
    summary_free(s);
}

/* The run began to end at 10000. A wait began `since`, and was seen to have an end later; the longest is stored. */
TEST_WITH(scratch_begin, scratch_end, a_wait_that_ended_after_the_run_began_to_end_was_open_until_then)
{
    static const struct {
        int ended, since, seen, longest, state;
        bool open;
    } cases[] = {{10000, 4000, 10500, 6200, OPEN_ENDED, true},   {10000, 4000, 9900, 6200, OPEN_ENDED, false},
                 {10000, 4000, 10500, 5900, OPEN_ENDED, false},  {10000, 4000, 10500, 5900, OPEN_LEFT, true},
                 {10000, 9999, 10500, 5900, OPEN_LEFT, true},    {10000, 10027, 10200, 5900, OPEN_LEFT, false},
                 {10000, 10027, 10200, 5900, OPEN_ENDED, false}, {10000, 10027, 10200, 5900, OPEN_NOW, false},
                 {0, 4000, 10500, 6200, OPEN_ENDED, false},      {0, 4000, 9900, 0, OPEN_NOW, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 NODE PROCESS " dictionary, overwrites) VALUES(1, 1, 1, 1, 1, 0, 'server', '', 0, 'a', '', 0);"
                              "INSERT INTO properties VALUES('ended', '%d');"
                              "INSERT INTO books VALUES(1, 1, 'grab', 0, 9, 0, 0, 0, 0, 0, 9, 1000, 10200);"
                              "INSERT INTO fields VALUES(1, 1, 0, 'duration', 'ns', 9, 0, 9, 1, 1, 1, %d, 1, 1);"
                              "INSERT INTO open_spans VALUES(1, 5000, 'server', 1, 0, 7, 'grab', 'lock', 4000, 0, 0),"
                              " (1, %d, 'server', 1, 0, 7, 'grab', 'lock', %d, %d, 0)",
                 cases[i].ended, cases[i].longest, cases[i].seen, cases[i].since, cases[i].state);
        struct summary *s = load(text);
        assert_non_null(s);
        if (s->open_count != cases[i].open)
            fail_msg("case %zu: %zu", i, s->open_count);
        summary_free(s);
        scratch_end(NULL);
        scratch_begin(NULL);
    }
}

/* Node 1 recorded it for the second manager, node 2 for the first; both for the third, for which 2 has it longer. */
TEST_WITH(scratch_begin, scratch_end, a_limit_on_the_whole_is_told_in_the_order_of_managers)
{
    struct summary *s = load(
        NODE "INSERT INTO nodes VALUES(2, 'lab', randomblob(16), zeroblob(16), 0, 'lab', 1, 0);" PROCESS
             " dictionary, overwrites) VALUES(1, 1, 1, 1, 1, 1, 'bezeld', '', 0, 'a', '', 0);" PROCESS
             " dictionary, overwrites) VALUES(2, 2, 2, 2, 2, 1, 'bezeld', '', 0, 'b', '', 0);"
             "CREATE TABLE t(daemon, at, epoch, held, unknown, unjudged);"
             "INSERT INTO t VALUES(1, 7, 2, 20, 5, 2), (2, 5, 1, 10, 5, 2), (2, 9, 3, 31, 9, 8), (1, 8, 3, 30, 5, 2),"
             " (2, 9, 4, 31, 9, 2), (1, 12, 4, 40, 12, 12);"
             "INSERT INTO limits SELECT daemon, at, 0, 2 * (epoch != 4), 0, 0, 0, held, 0, unknown, 0, unjudged, "
             "epoch, 0 FROM t;"
             "DROP TABLE t");
    assert_non_null(s);
    assert_int_equal(s->limit_count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(s->limits[i].epoch, 1 + i);
    assert_int_equal(s->limits[2].held, 31);
    assert_int_equal(s->limits[1].unjudged, 2);
    assert_int_equal(s->limits[2].unjudged, 2 + 9 - 5); /* no more has become unknown since node 1 had its part */
    assert_int_equal(s->limits[3].unjudged, 12);        /* node 2 may not have counted yet what was unknown there */
    summary_free(s);
}

TEST_WITH(scratch_begin, scratch_end, texts_are_utf_8_whatever_stands_there)
{
    struct summary *s = load("INSERT INTO properties VALUES('name', CAST(x'41ff42c3' AS TEXT))");
    assert_non_null(s);
    assert_string_equal(summary_property(s, "name"), "A\\xFFB\\xC3");
    summary_free(s);
}

TEST_WITH(scratch_begin, scratch_end, a_node_whose_name_is_none_is_refused)
{
    assert_null(load("INSERT INTO nodes VALUES(1, char(27), zeroblob(16), zeroblob(16), 0, 'desk', 1, 0)"));
}

/* A query whose rows have no end. */
TEST_WITH(scratch_begin, scratch_end, a_view_in_place_of_a_table_is_refused)
{
    assert_null(load("ALTER TABLE nodes RENAME TO old; CREATE VIEW nodes AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL"
                     " SELECT id + 1 FROM n) SELECT id, 'desk' AS name, zeroblob(16) AS uuid, zeroblob(16) AS clock,"
                     " 0 AS realtime_offset, 'desk' AS dir, 1 AS left FROM n"));
}
