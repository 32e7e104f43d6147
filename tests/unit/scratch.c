// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What tests leave in shared memory. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A test whose output nobody reads. */
static void write_to_nobody(int path)
{
    char made[SCRATCH_PATH];
    int out[2];
    scratch_make(made);
    if (write(path, made, sizeof made) != sizeof made || pipe(out) != 0)
        _exit(1);
    close(out[0]);
    _exit(write(out[1], "", 1) == 1 ? 2 : 3);
}

TEST(a_test_that_sigpipe_ends_leaves_no_folder)
{
    char made[SCRATCH_PATH] = "";
    int path[2], status;
    assert_int_equal(pipe(path), 0);
    pid_t child = fork();
    if (child == 0)
        write_to_nobody(path[1]);
    assert_int_equal(read(path[0], made, sizeof made), sizeof made);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    assert_int_equal(access(made, F_OK), -1);
    close(path[0]);
    close(path[1]);
}
