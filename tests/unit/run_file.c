// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The names that files of a run can have when they come from another machine. */
#include "mdr/run_file.h"
#include "tests/lib/test.h"

#include <stdio.h>

TEST(files_of_a_run_are_accepted)
{
    assert_true(run_file_ok("trace/desk1/metadata"));
    assert_true(run_file_ok("trace/desk1-2/app.1-4711-0"));
    assert_true(run_file_ok("trace/a/b"));
    assert_true(run_file_ok("trace/desk..1/~x$(y);"));
}

TEST(other_names_are_refused)
{
    static const char *const wrong[] = {"",
                                        "/",
                                        "run.db",
                                        "/trace/desk1/a",
                                        "./run.db",
                                        "run.db-wal",
                                        "experiment.yaml",
                                        "trace",
                                        "trace/",
                                        "trace/desk1",
                                        "trace/desk1/",
                                        "trace//metadata",
                                        "trace/desk1/a/b",
                                        "trace/../metadata",
                                        "trace/desk1/..",
                                        "trace/desk1/.hidden",
                                        "trace/.hidden/a",
                                        "trace/./a",
                                        "../trace/desk1/a",
                                        "Trace/desk1/a",
                                        "trace/desk1/a b",
                                        "trace/desk1/a\n",
                                        "trace/desk1/\x7f",
                                        "trace/desk1/\xc3\xa4",
                                        "log/collector.log"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (run_file_ok(wrong[i]))
            fail_msg("'%s' was accepted", wrong[i]);
}

TEST(a_name_has_at_most_160_bytes)
{
    char name[256];
    snprintf(name, sizeof name, "trace/d/%0160d", 0);
    assert_true(run_file_ok(name));
    snprintf(name, sizeof name, "trace/d/%0161d", 0);
    assert_false(run_file_ok(name));
    snprintf(name, sizeof name, "trace/%0161d/d", 0);
    assert_false(run_file_ok(name));
}
