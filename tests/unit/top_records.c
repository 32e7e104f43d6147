// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Of more records than a list takes, it has the newest, and those that break the limit that is looked into; and threads
 * have their own row and strip. */
#include "mdr/builtin.h"
#include "mdr/manage.h"
#include "tests/lib/interval_aspect.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"
#include "views/top/top_source.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { RINGS = 3, RECORDS = 3000, GUILTY = 10 };

static const char experiment[] = "experiment: loop\ncommand: [sleep, \"1\"]\n"
                                 "metrics: {worst: {max: latency, of: loop}}\nlimits: [{expect: worst <= 20 ms}]\n";

static struct fake_sensor *begin_run(const char *run)
{
    static const uint8_t id[16] = "a run's identity";
    struct fake_sensor *f = fake_new("desk", id, 1);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/experiment.yaml", run);
    assert_int_equal(mkdir(run, 0777), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(experiment, file);
    fclose(file);
    return f;
}

static void make_run(const char *run)
{
    static const struct dict_aspect loop = {
        .name = "loop", .field_count = 1, .fields = {{DICT_INT64, "latency", "ns", ""}}};
    struct fake_sensor *f = begin_run(run);
    fake_add_process(f, "app", 100, ROLE_SUT);
    uint32_t aspect = fake_add_aspect_like(f, 0, &loop);
    for (unsigned ring = 0; ring < RINGS; ring++)
        for (uint64_t i = 0; i < RECORDS; i++)
            fake_cut_one(f, 0, ring, aspect, (const uint64_t[]){ring == 0 && i == GUILTY ? 45000000 : 100000});
    assert_int_equal(stored_whole(run, f), 0);
    fake_free(f);
}

TEST_WITH(scratch_begin, scratch_end, a_list_keeps_the_record_that_breaks_the_limit)
{
    char run[SCRATCH_PATH + 8];
    struct top_state shown = {.interval = CLOCK_S, .follow = true, .span = 60 * CLOCK_S};
    struct top_source *s;
    struct top_data d = {0};
    size_t marked = 0;
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    make_run(run);
    assert_int_equal(top_source_open(run, &s), 0);
    while (top_source_update(s, CLOCK_S) > 0)
        ;
    shown.stack[0] = (struct top_place){.view = TOP_RECORDS, .scope = TOP_ALL};
    shown.stack[0].scope.limit = 0;
    assert_int_equal(top_source_take(s, &shown, &d), 0);
    assert_in_range(d.count, TOP_RECORDS_MAX, TOP_RECORDS_MAX + 2);
    for (size_t i = 0; i < d.count; i++)
        marked += d.items[i].mark == '!';
    assert_int_equal(marked, 1);
    assert_non_null(strstr(d.note, "left out"));
    top_source_close(s);
}

enum { MS = 1000000 };

static void judge(struct fake_sensor *f, uint32_t aspect, int after, uint64_t state)
{
    f->processes[0]->rings[0].time += (uint64_t)after * MS;
    fake_cut_one(f, 0, 0, aspect, (const uint64_t[]){0, state, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

static void forget_observations(const char *run)
{
    sqlite3 *db;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/run.db", run);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM observations", NULL, NULL, NULL), SQLITE_OK);
    assert_true(sqlite3_changes(db) > 0);
    sqlite3_close(db);
}

/* The run database has not got the violation yet, which began 900 ms before the latest that is known. */
TEST_WITH(scratch_begin, scratch_end, a_limit_is_violated_since_its_first_observation_that_is)
{
    char run[SCRATCH_PATH + 8];
    struct top_state shown = {.interval = CLOCK_S, .follow = true, .span = 60 * CLOCK_S};
    struct top_source *s;
    struct top_data d = {0};
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    struct fake_sensor *f = begin_run(run);
    fake_add_process(f, "bezeld", 50, ROLE_DAEMON);
    uint32_t usage = fake_add_aspect_like(f, 0, &builtin_aspects[BUILTIN_USAGE]);
    uint32_t seen = fake_add_aspect_like(f, 0, &builtin_aspects[BUILTIN_OBSERVATION]);
    uint32_t limit = fake_add_aspect_like(f, 0, &builtin_aspects[BUILTIN_LIMIT]);
    judge(f, usage, 0, 0);
    judge(f, seen, 300, MESSAGE_LIMIT_HELD);
    judge(f, seen, 300, MESSAGE_LIMIT_VIOLATED);
    judge(f, limit, 0, MESSAGE_LIMIT_VIOLATED);
    judge(f, seen, 400, MESSAGE_LIMIT_VIOLATED);
    judge(f, limit, 500, MESSAGE_LIMIT_VIOLATED);
    assert_int_equal(stored_whole(run, f), 0);
    fake_free(f);
    forget_observations(run);
    assert_int_equal(top_source_open(run, &s), 0);
    while (top_source_update(s, CLOCK_S) > 0)
        ;
    shown.stack[0] = (struct top_place){.view = TOP_LIMITS, .scope = TOP_ALL};
    assert_int_equal(top_source_take(s, &shown, &d), 0);
    assert_int_equal(d.count, 1);
    assert_in_range((int64_t)d.items[0].values[2], 899 * MS, 901 * MS);
    top_source_close(s);
}

static unsigned daemon_of;

static void record(struct fake_sensor *f, uint32_t aspect, uint64_t name, uint64_t thread, int64_t ran, int64_t off,
                   int64_t least, int64_t most)
{
    f->processes[daemon_of]->rings[0].time += (uint64_t)(ran + (off > 0 ? off : 0));
    fake_cut_one(
        f, daemon_of, 0, aspect,
        (const uint64_t[]){name, thread, (uint64_t)ran, 0, 0, 0, (uint64_t)off, (uint64_t)least, (uint64_t)most});
}

/* Of `app` thread 7 ran for 100 ms, waited for 400, was either for 100, ready for 200, and ran for 200. */
static void make_threads(const char *run)
{
    static const uint8_t id[16] = "a run's identity";
    struct fake_sensor *f = fake_new("desk", id, 1);
    assert_int_equal(mkdir(run, 0777), 0);
    fake_add_process(f, "app", 100, ROLE_SUT);
    fake_cut(f, 0, 0, 1);
    daemon_of = fake_add_process(f, "bezeld", 50, ROLE_DAEMON);
    uint32_t aspect = fake_add_aspect_like(f, daemon_of, &interval_aspect_recorded);
    uint32_t wait = fake_add_aspect_like(f, daemon_of, &wait_aspect_recorded);
    uint32_t app = fake_add_string(f, daemon_of, "app");
    fake_cut(f, daemon_of, 0, 1); /* from now on */
    record(f, aspect, app, 7, 100 * MS, -1, -1, -1);
    record(f, aspect, app, 7, 200 * MS, 700 * MS, 200 * MS, 300 * MS);
    fake_cut_one(f, daemon_of, 0, wait,
                 (const uint64_t[]){app, 8, 500 * MS, 0, 1, 4, 0, (uint64_t)-1, (uint64_t)-1}); /* has only waited */
    record(f, aspect, 1, 9, MS, MS, 0, 0); /* of a process that there is not */
    assert_int_equal(stored_whole(run, f), 0);
    fake_free(f);
}

TEST_WITH(scratch_begin, scratch_end, a_thread_has_a_row_and_a_strip)
{
    char run[SCRATCH_PATH + 8], did[21] = "";
    struct top_state shown = {.interval = CLOCK_S + 2 * MS, .follow = true, .span = CLOCK_S};
    struct top_source *s;
    struct top_data d = {0};
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    make_threads(run);
    assert_int_equal(top_source_open(run, &s), 0);
    while (top_source_update(s, CLOCK_S) > 0)
        ;
    shown.stack[0] = (struct top_place){.view = TOP_THREADS, .scope = TOP_ALL};
    assert_int_equal(top_source_take(s, &shown, &d), 0);
    assert_int_equal(d.count, 2);
    assert_string_equal(d.items[1].texts[0], "app");
    assert_int_equal(d.items[1].id.field, 8);
    assert_int_equal((int)(d.items[1].values[2] + 0.5), 50);
    assert_string_equal(d.items[0].texts[0], "app");
    assert_int_equal(d.items[0].id.field, 7);
    static const int percent[] = {30, 20, 40, 10};
    for (int i = 0; i < 4; i++)
        assert_int_equal((int)(d.items[0].values[i] + 0.5), percent[i]);
    shown.end = d.time - 2 * MS - 2000; /* each record is 1 us behind the one before */
    assert_int_equal(top_source_plot(s, &shown, &d.items[0], 20, &d), 0);
    for (int i = 0; i < 20; i++)
        did[i] = d.plot.dots[i].did ? d.plot.dots[i].did : '-';
    assert_string_equal(did, "##........~~++++####");
    assert_true(d.plot.dots[0].max > 90 && d.plot.dots[0].max <= 100.5 && d.plot.dots[5].max == 0);
    shown.stack[0].scope.instance = 1;
    shown.stack[0].scope.node = 0;
    assert_int_equal(top_source_take(s, &shown, &d), 0); /* of another process */
    assert_int_equal(d.count, 0);
    top_source_close(s);
}
