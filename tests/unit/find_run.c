// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "ecs/cli/command.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/bezel-run-XXXXXX";

TEST(a_run_is_found_by_its_path_and_by_its_name_and_as_the_newest)
{
    char run[PATH_MAX], expected[PATH_MAX], part[PATH_MAX + 8];
    struct command_target t = {.runs = folder};
    snprintf(expected, sizeof expected, "%s/first", folder);
    assert_int_equal(command_find_run(&t, NULL, run), EXIT_USAGE);
    assert_int_equal(command_find_run(&t, "first", run), EXIT_USAGE);
    assert_int_equal(mkdir(expected, 0700), 0);
    assert_int_equal(command_find_run(&t, "first", run), EXIT_USAGE); /* nothing of a run is in it */
    assert_int_equal(command_find_run(&t, expected, run), EXIT_USAGE);
    snprintf(part, sizeof part, "%s/trace", expected);
    assert_int_equal(mkdir(part, 0700), 0);
    assert_int_equal(command_find_run(&t, "first", run), OPTIONS_GO_ON);
    assert_string_equal(run, expected);
    assert_int_equal(command_find_run(&t, expected, run), OPTIONS_GO_ON);
    assert_string_equal(run, expected);
    assert_int_equal(command_find_run(&t, "second", run), EXIT_USAGE);
    assert_int_equal(command_find_run(&t, "", run), EXIT_USAGE);
    snprintf(expected, sizeof expected, "%s/latest", folder);
    assert_int_equal(symlink("first", expected), 0);
    snprintf(expected, sizeof expected, "%s/first", folder); /* without the link, which may lead elsewhere soon */
    assert_int_equal(command_find_run(&t, NULL, run), OPTIONS_GO_ON);
    assert_string_equal(run, expected);
    snprintf(part, sizeof part, "%s/latest/", folder);
    assert_int_equal(command_find_run(&t, part, run), OPTIONS_GO_ON);
    assert_string_equal(run, expected);
    assert_int_equal(command_open_real(&t, NULL, run), OPTIONS_GO_ON);
    assert_string_equal(run, expected);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder);
}

int main(void)
{
    return test_run(make_folder, remove_folder);
}
