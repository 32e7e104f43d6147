// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/state_file.h"

#include "base/file.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint8_t run[16] = "this run", other_run[16] = "another run";
static struct state_file f;

static int begin(void **state)
{
    int err = scratch_begin(state);
    state_file_init(&f, scratch_dir, "state", run, "what it was told");
    return err;
}

static void reads(const char *expected)
{
    char *text = state_file_read(&f);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

TEST_WITH(begin, scratch_end, what_was_written_last_is_read)
{
    assert_null(state_file_read(&f));
    state_file_write(&f, "first\nof two lines\n");
    reads("first\nof two lines\n");
    state_file_write(&f, "");
    reads("");
    state_file_remove(&f);
    assert_null(state_file_read(&f));
    state_file_remove(&f);
}

TEST_WITH(begin, scratch_end, a_file_of_another_run_counts_for_nothing)
{
    state_file_write(&f, "said");
    state_file_init(&f, scratch_dir, "state", other_run, "what it was told");
    assert_null(state_file_read(&f));
    state_file_init(&f, scratch_dir, "state", run, "what it was told");
    reads("said");
}

TEST_WITH(begin, scratch_end, the_longest_text_fits_and_a_longer_file_counts_for_nothing)
{
    static char text[STATE_FILE_MAX + 1], bytes[sizeof run + STATE_FILE_MAX + 1];
    memset(text, 'x', STATE_FILE_MAX);
    state_file_write(&f, text);
    reads(text);
    memcpy(bytes, run, sizeof run);
    assert_int_equal(file_replace(f.path, bytes, sizeof bytes), 0);
    assert_null(state_file_read(&f));
}

TEST_WITH(begin, scratch_end, a_file_that_is_cut_short_counts_for_nothing)
{
    for (size_t n = 0; n < sizeof run; n++) {
        assert_int_equal(file_replace(f.path, run, n), 0);
        assert_null(state_file_read(&f));
    }
    assert_int_equal(file_replace(f.path, run, sizeof run), 0);
    reads("");
}

/* In a folder that others can write to, a link could lead the daemon to any file. */
TEST_WITH(begin, scratch_end, no_link_is_followed)
{
    char other[PATH_MAX];
    snprintf(other, sizeof other, "%s/other", scratch_dir);
    state_file_write(&f, "said");
    assert_int_equal(rename(f.path, other), 0);
    assert_int_equal(symlink(other, f.path), 0);
    assert_null(state_file_read(&f));
    state_file_write(&f, "new");
    reads("new");
    char *old;
    size_t n;
    assert_int_equal(file_read(other, 64, &old, &n), 0);
    assert_memory_equal(old + sizeof run, "said", 4);
    free(old);
}

TEST_WITH(begin, scratch_end, what_cannot_be_written_is_logged)
{
    char path[PATH_MAX], *said;
    size_t n;
    snprintf(path, sizeof path, "%s/log", scratch_dir);
    int saved = dup(STDERR_FILENO), log = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(saved >= 0 && log >= 0);
    state_file_init(&f, "/proc/0", "state", run, "how it is to poll");
    dup2(log, STDERR_FILENO);
    state_file_write(&f, "said");
    dup2(saved, STDERR_FILENO);
    close(log);
    close(saved);
    assert_int_equal(file_read(path, 4096, &said, &n), 0);
    assert_non_null(strstr(said, "cannot write /proc/0/state: No such file or directory; after a restart, this "
                                 "daemon cannot restore how it is to poll"));
    free(said);
}
