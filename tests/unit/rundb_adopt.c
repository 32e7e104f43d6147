// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The database of a collector elsewhere and that of `bezel run` are joined. */
#include "base/file.h"
#include "mdr/message.h"
#include "run/history/summary.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char home[SCRATCH_PATH], away[SCRATCH_PATH];

static const char *node_of(const void *context, const char *process)
{
    (void)context;
    return strcmp(process, "nav") == 0 ? "desk1" : NULL;
}

static void make_home(void)
{
    struct rundb *f;
    struct message_launched row = {.of = {.process = "nav", .incarnation = 2}, .pid = 17, .state = LAUNCHED_ENDED};
    assert_int_equal(rundb_open(home, &f), 0);
    assert_int_equal(rundb_put(f, "name", "survey"), 0);
    assert_int_equal(rundb_put_int(f, "ended", 12), 0);
    assert_int_equal(rundb_event(f, 11, true, "the line was cut"), 0);
    assert_int_equal(rundb_program(f, "desk1", &row, 5), 0);
    assert_int_equal(rundb_silent(f, "desk1", "nav", 17, "recorded nothing"), 0);
    assert_int_equal(rundb_silent(f, "desk1", "stranger", 18, "recorded nothing"), 0);
    assert_int_equal(rundb_close(f), 0);
}

static void adopt(void)
{
    struct rundb *f;
    assert_int_equal(rundb_open(away, &f), 0);
    assert_int_equal(rundb_put(f, "run", "b0e1d2c3-0000-4000-8000-00000000beef"), 0);
    assert_int_equal(rundb_adopt(f, home, node_of, NULL), 0);
    assert_int_equal(rundb_close(f), 0);
}

static void what_bezel_run_wrote_is_in_the_joined_one(void **state)
{
    (void)state;
    struct summary *s;
    make_home();
    adopt();
    assert_int_equal(summary_load(away, &s), 0);
    assert_string_equal(summary_property(s, "name"), "survey");
    assert_string_equal(summary_property(s, "ended"), "12");
    assert_string_equal(summary_property(s, "run"), "b0e1d2c3-0000-4000-8000-00000000beef");
    assert_int_equal(s->event_count, 1);
    assert_string_equal(s->events[0].text, "the line was cut");
    assert_int_equal(s->program_count, 1);
    assert_int_equal(s->programs[0].incarnation, 2);
    assert_int_equal(s->note_count, 1); /* nobody knows the stranger's node */
    assert_string_equal(s->notes[0].name, "nav");
    summary_free(s);
}

static void a_home_without_a_database_is_an_error(void **state)
{
    (void)state;
    struct rundb *f;
    char nowhere[SCRATCH_PATH];
    scratch_make(nowhere);
    assert_int_equal(rundb_open(away, &f), 0);
    assert_int_equal(rundb_adopt(f, nowhere, node_of, NULL), BEZEL_ENOENT);
    assert_int_equal(rundb_close(f), 0);
}

int main(void)
{
    scratch_make(home);
    scratch_make(away);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_bezel_run_wrote_is_in_the_joined_one),
        cmocka_unit_test(a_home_without_a_database_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
