// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/linked/linked.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char run[] = "12345678-0000-4000-8000-000000000000", other[] = "87654321-0000-4000-8000-000000000000";
/* Views meet in the scratch folder. */
static int make(void **state)
{
    int err = scratch_begin(state);
    return err ? err : setenv("XDG_RUNTIME_DIR", scratch_dir, 1);
}

static bool is_empty(void)
{
    return rmdir(scratch_dir) == 0 && mkdir(scratch_dir, 0700) == 0;
}

TEST_WITH(make, scratch_end, views_of_a_run_hear_of_each_other)
{
    const struct linked_state said = {.from = 10, .until = 20, .cursor = 15, .follow = true, .filter = "frame shown"};
    struct linked *a, *b, *c;
    struct linked_state heard;
    assert_int_equal(linked_open(run, &a), 0);
    assert_int_equal(linked_open(run, &b), 0);
    assert_int_equal(linked_open(other, &c), 0);
    assert_false(linked_receive(b, &heard));
    linked_send(a, &(struct linked_state){.from = 1, .until = 2});
    linked_send(a, &said);
    assert_true(linked_receive(b, &heard)); /* the newest */
    assert_memory_equal(&heard, &said, sizeof said);
    assert_false(linked_receive(b, &heard));
    assert_false(linked_receive(a, &heard));
    assert_false(linked_receive(c, &heard));
    linked_close(b);
    linked_send(a, &said);
    for (int i = 0; i < 10000; i++) /* one that takes nothing stops nobody */
        linked_send(a, &said);
    linked_close(a);
    linked_close(c);
    linked_close(NULL);
    assert_true(is_empty());
}

TEST_WITH(make, scratch_end, a_view_that_was_killed_is_forgotten)
{
    struct linked *a;
    struct linked_state heard;
    assert_int_equal(linked_open(run, &a), 0);
    if (fork() == 0) {
        struct linked *dies;
        _exit(linked_open(run, &dies) != 0);
    }
    int status;
    assert_true(wait(&status) > 0 && status == 0);
    linked_send(a, &(struct linked_state){.from = 1, .until = 2});
    assert_false(linked_receive(a, &heard));
    linked_close(a);
    assert_true(is_empty());
}

TEST_WITH(make, scratch_end, a_folder_of_others_is_not_used)
{
    char folder[SCRATCH_PATH + 32];
    struct linked *a;
    snprintf(folder, sizeof folder, "%s/bezel-12345678", scratch_dir);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(linked_open(run, &a), BEZEL_ESYS);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(symlink("/tmp", folder), 0);
    assert_int_equal(linked_open(run, &a), BEZEL_ESYS);
    assert_int_equal(unlink(folder), 0);
}

TEST(messages_that_make_no_sense_are_refused)
{
    static const char *const bad[] = {"",           "1 2 3 0 0",   "2 2 3 0 0 ",
                                      "1 3 2 0 0 ", "1 -2 3 0 0 ", "1 2 3 -1 0 ",
                                      "1 2 3 0 2 ", "1 2 3 0 x ",  "1 2 3 0 0 a\x1b[31m"};
    char text[LINKED_MESSAGE_MAX + 300];
    struct linked_state s = {.from = 1, .until = INT64_MAX}, read;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(linked_read(bad[i], &read));
    memset(s.filter, 'x', LINKED_FILTER_MAX);
    assert_true(linked_write(&s, text) < LINKED_MESSAGE_MAX);
    assert_true(linked_read(text, &read));
    assert_memory_equal(&s, &read, sizeof s);
    strcat(text, "x");
    assert_false(linked_read(text, &read));
}
