// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/run/progress.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct progress_view view = {.phase = "running",
                                          .left = 9500 * CLOCK_MS,
                                          .elapsed = 500 * CLOCK_MS,
                                          .records = 12345,
                                          .lost = 7,
                                          .periods = "desk1 polls every 4.00 ms"};

static void a_line_shows_time_records_rate_losses_and_adapted_periods(void **state)
{
    (void)state;
    char line[256];
    progress_format(&view, 24690, false, line, sizeof line);
    assert_string_equal(line,
                        "running, 9.5 s left: 12,345 records stored, 24,690/s, 7 lost, desk1 polls every 4.00 ms");
    struct progress_view endless = view;
    endless.left = -1;
    endless.lost = 0;
    endless.periods = "";
    progress_format(&endless, 0, false, line, sizeof line);
    assert_string_equal(line, "running for 0.5 s: 12,345 records stored, 0/s, 0 lost");
}

static void losses_are_red_only_where_colour_is_wanted(void **state)
{
    (void)state;
    char line[256];
    progress_format(&view, 0, true, line, sizeof line);
    assert_non_null(strstr(line, "\033[31m7 lost\033[0m"));
    struct progress_view clean = view;
    clean.lost = 0;
    progress_format(&clean, 0, true, line, sizeof line);
    assert_null(strchr(line, '\033'));
}

/* Shows three views, half a second apart, on a file. */
static char *shown(bool quiet)
{
    char *text;
    size_t n;
    FILE *file = tmpfile();
    struct progress p;
    assert_non_null(file);
    progress_init(&p, file, quiet, false);
    struct progress_view v = view;
    for (int i = 0; i < 3; i++, v.records += 100)
        progress_show(&p, &v, 100 * CLOCK_S + i * 500 * CLOCK_MS);
    progress_clear(&p);
    n = (size_t)ftell(file);
    rewind(file);
    text = calloc(1, n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, n, file), n);
    fclose(file);
    return text;
}

static void without_a_terminal_there_is_a_plain_line_each_second(void **state)
{
    (void)state;
    char *text = shown(false);
    assert_string_equal(text, "running, 9.5 s left: 12,345 records stored, 0/s, 7 lost, desk1 polls every 4.00 ms\n"
                              "running, 9.5 s left: 12,545 records stored, 200/s, 7 lost, desk1 polls every 4.00 ms\n");
    free(text);
}

static void quiet_shows_nothing(void **state)
{
    (void)state;
    char *text = shown(true);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_shows_time_records_rate_losses_and_adapted_periods),
        cmocka_unit_test(losses_are_red_only_where_colour_is_wanted),
        cmocka_unit_test(without_a_terminal_there_is_a_plain_line_each_second),
        cmocka_unit_test(quiet_shows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
