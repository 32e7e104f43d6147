// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Answers to pages: what makes no sense is empty; what takes too long to read is cut, and says so. */
#include "ecs/view/run_view.h"
#include "base/clock.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char run[PATH_MAX];
static struct fake_sensor *sensor;
static struct stored_run stored;
static struct run_view *view;

/* A process with some hundred records; the view is open. */
static int begin(void **state)
{
    static const uint8_t id[16] = "a run's identity";
    int err = scratch_begin(state), more;
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    sensor = fake_new("desk", id, 1);
    if (err || !sensor || mkdir(run, 0777) != 0)
        return -1;
    fake_add_process(sensor, "app", 100, ROLE_SUT);
    fake_cut(sensor, 0, 0, 100);
    fake_cut(sensor, 0, 0, 100);
    memset(&stored, 0, sizeof stored);
    if (stored_start(&stored, run, sensor, STORE_SYNC_NEVER) || stored_feed(&stored, UINT64_MAX) ||
        stored_save(&stored) || run_view_open(run, &view) != 0)
        return -1;
    while ((more = run_view_update(view, CLOCK_S)) > 0)
        ;
    return more;
}

static int end(void **state)
{
    run_view_close(view);
    stored_drop(&stored);
    fake_free(sensor);
    return scratch_end(state);
}

static void ask(struct page_request *q, const char *request)
{
    char text[128];
    const char *why;
    snprintf(text, sizeof text, "%s", request);
    assert_int_equal(page_request_read(text, strlen(text), q, &why), 0);
}

/* Whether the list of all records says that it is cut; it has no records then. */
static bool list_is_cut(int64_t deadline)
{
    struct page_request q;
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    ask(&q, "records 1 -2000000000000000000 2000000000000000000 1/-1/0/-1/-1/0");
    assert_int_equal(run_view_records(view, &q, deadline, out), 0);
    fclose(out);
    bool is_cut = strstr(text, "\"cut\":true");
    assert_int_equal(strstr(text, "\"at\":") == NULL, is_cut);
    free(text);
    return is_cut;
}

static bool picture_is_cut(int64_t deadline)
{
    const struct run_view_state is = {.live = false};
    struct page_request q;
    char *bytes;
    size_t n;
    ask(&q, "want 1 -2000000000000000000 2000000000000000000 10 0 1/-1/0/-1/-1/2000");
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, deadline, &bytes, &n), 0);
    bool is_cut = memmem(bytes, n, "\"cut\":true", 10);
    assert_int_equal(memmem(bytes, n, "\"records\":[[", 12) == NULL, is_cut);
    free(bytes);
    return is_cut;
}

/* Rows that the run does not have have nothing. */
static void rows_that_make_no_sense_are_empty(void **state)
{
    static const char *const rows[] = {"1/-1/0/-1/0/2000",  "1/-1/0/0/-1/0", "1/-1/200/-1/-1/2000",
                                       "1/-1/1/11/-1/2000", "1/9/0/-1/-1/0", "9/-1/0/-1/-1/0"};
    const struct run_view_state is = {.live = false};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char request[128], *bytes;
        struct page_request q;
        size_t n;
        snprintf(request, sizeof request, "want 1 0 2000000000000000000 10 0 %s", rows[i]);
        ask(&q, request);
        assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
        assert_non_null(memmem(bytes, n, "\"rows\":[{}]", 11));
        free(bytes);
    }
}

/* What was right when it was taken in is damaged by now: the records up to there are shown, and that it is so. */
static void damage_is_told_and_the_rest_is_shown(void **state)
{
    const struct run_view_state is = {.live = false};
    char path[PATH_MAX + 32], *bytes, *text;
    struct page_request q;
    size_t n;
    (void)state;
    snprintf(path, sizeof path, "%s/trace/desk/app-100-0", run);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -5, SEEK_END), 0);
    assert_int_equal(ftruncate(fileno(f), ftell(f)), 0);
    fclose(f);
    ask(&q, "want 1 0 2000000000000000000 10 0 1/-1/1/-1/0/0 1/-1/0/-1/-1/2000");
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
    assert_non_null(memmem(bytes, n, "\"records\":[[", 12));
    assert_non_null(memmem(bytes, n, "\"damaged\":true}]", 16));
    free(bytes);
    FILE *out = open_memstream(&text, &n);
    ask(&q, "records 1 -2000000000000000000 2000000000000000000 1/-1/0/-1/-1/0");
    assert_int_equal(run_view_records(view, &q, INT64_MAX, out), 0);
    fclose(out);
    assert_true(strstr(text, "\"at\":") && strstr(text, "\"damaged\":true"));
    free(text);
}

static void what_takes_too_long_is_cut_and_says_so(void **state)
{
    (void)state;
    assert_true(list_is_cut(0));
    assert_true(picture_is_cut(0));
    assert_false(list_is_cut(INT64_MAX));
    assert_false(picture_is_cut(INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_that_make_no_sense_are_empty, begin, end),
        cmocka_unit_test_setup_teardown(damage_is_told_and_the_rest_is_shown, begin, end),
        cmocka_unit_test_setup_teardown(what_takes_too_long_is_cut_and_says_so, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
