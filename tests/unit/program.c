// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Paths of programs: joined as they are, found in PATH in its order, and refused with the reason. */
#include "base/program.h"

#include "base/file.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

TEST(a_path_is_joined_as_it_is)
{
    char path[32];
    assert_true(program_join("/a%s", "b%d", path, sizeof path));
    assert_string_equal(path, "/a%s/b%d");
    assert_true(program_join("/a", "/b%s%n", path, sizeof path));
    assert_string_equal(path, "/b%s%n");
    assert_true(program_join("/a", "b", path, 5));
    assert_string_equal(path, "/a/b");
    assert_false(program_join("/a", "b", path, 4));
    assert_true(program_join("/a", "/bcd", path, 5));
    assert_false(program_join("/a", "/bcd", path, 4));
}

static void make(const char *folder, const char *name, mode_t mode)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(file_replace(path, "#!/bin/true\n", 12), 0);
    assert_int_equal(chmod(path, mode), 0);
}

TEST(the_first_that_can_be_executed_is_found)
{
    char one[SCRATCH_PATH], two[SCRATCH_PATH], three[SCRATCH_PATH], search[4 * SCRATCH_PATH], path[PATH_MAX],
        expected[2 * SCRATCH_PATH];
    scratch_make(one), scratch_make(two), scratch_make(three);
    make(one, "tool", 0600);
    make(two, "tool", 0700);
    make(three, "tool", 0700);
    make(one, "text", 0600);
    snprintf(search, sizeof search, "/no-such-folder:%s:%s:%s", one, two, three);
    assert_int_equal(program_find(search, "/", "tool", path, sizeof path), 0);
    snprintf(expected, sizeof expected, "%s/tool", two);
    assert_string_equal(path, expected);
    assert_int_equal(program_find(search, "/", "text", path, sizeof path), EACCES);
    assert_int_equal(program_find(search, "/", "none", path, sizeof path), ENOENT);
    snprintf(search, sizeof search, "%s:", one); /* an empty part is the folder */
    assert_int_equal(program_find(search, three, "tool", path, sizeof path), 0);
    snprintf(expected, sizeof expected, "%s/./tool", three);
    assert_string_equal(path, expected);
}
