// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Phases of a part of a run are those of all that threads did in it, also of what was recorded behind it. */
#include "run/read/run_reader.h"
#include "tests/lib/interval_aspect.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"
#include "views/why/why.h"
#include <sys/stat.h>

enum { MS = 1000000, RAN = 10 * MS, AGE = 100 * MS, INTERVALS = 200 };

/* A thread runs all of the time, and each of its intervals is recorded 0.1 s after its end. */
static void make_run(const char *run)
{
    static const uint8_t id[16] = "a run's identity";
    struct fake_sensor *f = fake_new("desk", id, 1);
    assert_int_equal(mkdir(run, 0777), 0);
    fake_add_process(f, "app", 100, ROLE_SUT);
    fake_cut(f, 0, 0, 1);
    unsigned daemon = fake_add_process(f, "bezeld", 50, ROLE_DAEMON);
    uint32_t aspect = fake_add_aspect_like(f, daemon, &interval_aspect_recorded),
             app = fake_add_string(f, daemon, "app");
    fake_cut(f, daemon, 0, 1);
    for (int i = 0; i < INTERVALS; i++) {
        f->processes[daemon]->rings[0].time += RAN;
        fake_cut_one(f, daemon, 0, aspect, (const uint64_t[]){app, 7, RAN, AGE, 0, 3, i ? 0 : UINT64_MAX, 0, 0});
    }
    assert_int_equal(stored_whole(run, f), 0);
    fake_free(f);
}

TEST(what_is_recorded_behind_the_end_is_no_phase)
{
    char run[SCRATCH_PATH + 8];
    int64_t newest;
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    make_run(run);
    assert_int_equal(run_reader_newest(run, &RECORD_FILTER_ALL, &newest), 0);
    struct why_question q = {.of = WHY_PATH, .from = INT64_MIN, .until = newest - (int64_t)500 * MS};
    for (enum why_phases by = WHY_FOUND; by <= WHY_SQUARES; by++) {
        struct why_limits w = {0};
        assert_int_equal(why_find_phases(run, by, &q, &w), 0);
        assert_int_equal(w.question_count, 1);
        assert_int_equal(w.questions[0].until, q.until);
    }
}

/* Of five that are too long the windows have one: the others are not slow. */
TEST(what_is_too_long_outside_of_violations_is_not_slow)
{
    static const uint8_t id[16] = "a run's identity";
    static const struct dict_aspect step = {
        .name = "step", .kind = DICT_EVENT, .field_count = 1, .fields = {{DICT_INT64, "took", "ns", ""}}};
    char run[SCRATCH_PATH + 16];
    struct why_answer a;
    struct why_question q = {.aspect = "step", .share = 1, .beyond = 5, .from = INT64_MIN, .until = INT64_MAX};
    struct fake_sensor *f = fake_new("desk", id, 1);
    snprintf(run, sizeof run, "%s/windows", scratch_dir);
    assert_int_equal(mkdir(run, 0777), 0);
    fake_add_process(f, "app", 100, ROLE_SUT);
    uint32_t aspect = fake_add_aspect_like(f, 0, &step);
    for (int i = 0; i < 5; i++) {
        f->processes[0]->rings[0].time += MS;
        fake_cut_one(f, 0, 0, aspect, (const uint64_t[]){7});
        fake_cut_one(f, 0, 0, aspect, (const uint64_t[]){3});
    }
    assert_int_equal(stored_whole(run, f), 0);
    fake_free(f);
    assert_int_equal(why_read(run, &q, &a), 0);
    assert_true(a.choice.count == 10 && a.choice.over == 5 && a.elsewhere == 0);
    struct activity_window windows[] = {{INT64_MIN, INT64_MIN}, {a.choice.slow[0].until, a.choice.slow[0].until}};
    why_free(&a);
    q.windows = windows;
    q.window_count = 2;
    assert_int_equal(why_read(run, &q, &a), 0);
    assert_true(a.choice.count == 6 && a.choice.over == 1 && a.elsewhere == 4);
    assert_int_equal(a.choice.slow[0].until, windows[1].from);
    why_free(&a);
}

/* The report's table and the collector know a time that is longer than the window, and so does this. */
TEST(a_time_that_is_longer_than_the_window_is_the_slowest)
{
    static const uint8_t id[16] = "a run's identity";
    static const struct dict_aspect
        in = {.name = "in", .kind = DICT_EVENT, .field_count = 1, .fields = {{DICT_INT64, "n", "", ""}}},
        out = {.name = "out", .kind = DICT_EVENT, .field_count = 1, .fields = {{DICT_INT64, "n", "", ""}}};
    static char first_name[] = "in", last_name[] = "out", match[] = "n", *aspects[] = {first_name, last_name};
    const struct experiment_metric m = {
        .kind = METRIC_INTERVAL,
        .window = 100 * MS,
        .interval = {.count = 2, .aspects = aspects, .match = match, .statistic = METRIC_MAX, .memory = 16}};
    char run[SCRATCH_PATH + 16];
    struct why_answer a;
    struct why_question q = {.of = WHY_INTERVAL,
                             .limit = "through <= 1 s",
                             .aspect = "out",
                             .interval = &m,
                             .wait = CLOCK_S,
                             .share = 1,
                             .from = INT64_MIN,
                             .until = INT64_MAX};
    struct fake_sensor *f = fake_new("desk", id, 1);
    snprintf(run, sizeof run, "%s/long", scratch_dir);
    assert_int_equal(mkdir(run, 0777), 0);
    fake_add_process(f, "app", 100, ROLE_SUT);
    uint32_t first = fake_add_aspect_like(f, 0, &in), last = fake_add_aspect_like(f, 0, &out);
    for (uint64_t i = 0; i < 3; i++) {
        fake_cut_one(f, 0, 0, first, (const uint64_t[]){i});
        f->processes[0]->rings[0].time += i == 1 ? 300 * MS : MS;
        fake_cut_one(f, 0, 0, last, (const uint64_t[]){i});
    }
    assert_int_equal(stored_whole(run, f), 0);
    fake_free(f);
    assert_int_equal(why_read(run, &q, &a), 0);
    assert_int_equal(a.choice.count, 3);
    assert_true(a.choice.slow[0].until - a.choice.slow[0].from >= 300 * MS && a.too_long == 0);
    why_free(&a);
    q.wait = MS;
    assert_int_equal(why_read(run, &q, &a), 0);
    assert_true(a.choice.count == 2 && a.too_long == 1 && a.longest >= 300 * MS);
    why_free(&a);
}

/* Of the instances that are stored it is said that there may be more, if records were lost where they are. */
TEST(what_was_lost_may_have_been_instances)
{
    static const uint8_t id[16] = "a run's identity";
    static const struct dict_aspect step = {
        .name = "step", .kind = DICT_EVENT, .field_count = 1, .fields = {{DICT_INT64, "took", "ns", ""}}};
    for (uint64_t lost = 0; lost < 20; lost += 13) {
        char run[SCRATCH_PATH + 16];
        struct why_answer a;
        struct why_question q = {.aspect = "step", .share = 1, .from = INT64_MIN, .until = INT64_MAX};
        struct fake_sensor *f = fake_new("desk", id, 1);
        snprintf(run, sizeof run, "%s/lost%d", scratch_dir, (int)lost);
        assert_int_equal(mkdir(run, 0777), 0);
        fake_add_process(f, "app", 100, ROLE_SUT);
        uint32_t aspect = fake_add_aspect_like(f, 0, &step);
        fake_cut_one(f, 0, 0, aspect, (const uint64_t[]){5});
        fake_lose(f, 0, 0, lost);
        fake_cut_one(f, 0, 0, aspect, (const uint64_t[]){7});
        assert_int_equal(stored_whole(run, f), 0);
        fake_free(f);
        assert_int_equal(why_read(run, &q, &a), 0);
        assert_int_equal(a.choice.count, 2);
        assert_int_equal(a.missing, lost);
        why_free(&a);
    }
}

int main(void)
{
    return test_run(scratch_begin, scratch_end);
}
