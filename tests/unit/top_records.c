// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Of more records than a list takes, it has the newest, and those that break the limit that is looked into. */
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "views/top/top_source.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { RINGS = 3, RECORDS = 3000, GUILTY = 10 };

static const char experiment[] = "experiment: loop\ncommand: [sleep, \"1\"]\n"
                                 "metrics: {worst: {max: latency, of: loop}}\nlimits: [{expect: worst <= 20 ms}]\n";

static void make_run(const char *run)
{
    static const uint8_t id[16] = "a run's identity";
    static const struct dict_aspect loop = {
        .name = "loop", .field_count = 1, .fields = {{DICT_INT64, "latency", "ns", ""}}};
    struct fake_sensor *f = fake_new("desk", id, 1);
    struct stored_run stored = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/experiment.yaml", run);
    assert_int_equal(mkdir(run, 0777), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(experiment, file);
    fclose(file);
    fake_add_process(f, "app", 100, ROLE_SUT);
    uint32_t aspect = fake_add_aspect_like(f, 0, &loop);
    for (unsigned ring = 0; ring < RINGS; ring++)
        for (uint64_t i = 0; i < RECORDS; i++)
            fake_cut_one(f, 0, ring, aspect, (const uint64_t[]){ring == 0 && i == GUILTY ? 45000000 : 100000});
    assert_int_equal(stored_start(&stored, run, f, STORE_SYNC_NEVER), 0);
    assert_int_equal(stored_feed(&stored, UINT64_MAX), 0);
    assert_int_equal(stored_save(&stored), 0);
    stored_drop(&stored);
    fake_free(f);
}

static void a_list_keeps_the_record_that_breaks_the_limit(void **state)
{
    char run[SCRATCH_PATH + 8];
    struct top_state shown = {.interval = CLOCK_S, .follow = true, .span = 60 * CLOCK_S};
    struct top_source *s;
    struct top_data d = {0};
    size_t marked = 0;
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_list_keeps_the_record_that_breaks_the_limit, scratch_begin, scratch_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
