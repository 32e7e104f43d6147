// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/ulimit.h"

#include "base/file.h"
#include "base/log.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* Sets a limit for one scene; only the soft one, so that it can be given back. */
static struct rlimit limited(__rlimit_resource_t which, rlim_t value)
{
    struct rlimit before, now;
    assert_int_equal(getrlimit(which, &before), 0);
    now = before;
    now.rlim_cur = value;
    assert_int_equal(setrlimit(which, &now), 0);
    return before;
}

static void expect_reason(int err, int sys, const char *reason)
{
    errno = sys;
    assert_string_equal(ulimit_reason(err), reason);
    assert_int_equal(errno, sys);
}

TEST(a_limit_that_is_behind_an_error_is_named_with_its_value)
{
    struct rlimit before = limited(RLIMIT_NOFILE, 40);
    expect_reason(BEZEL_ESYS, EMFILE,
                  "Too many open files: this process may have 40 (ulimit -n); raise the limit, for example with "
                  "`ulimit -n 1024`");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    before = limited(RLIMIT_FSIZE, 100 << 10);
    expect_reason(BEZEL_ENOSPC, EFBIG,
                  "File too large: this process may write files of 100 KiB (ulimit -f); raise the limit, for example "
                  "with `ulimit -f "
                  "unlimited`");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_reason(BEZEL_ENOSPC, ENOSPC, "No space left on device");
    before = limited(RLIMIT_NPROC, 50);
    errno = EAGAIN;
    assert_non_null(strstr(ulimit_reason(BEZEL_EAGAIN), "this user may have 50 processes and threads (ulimit -u)"));
    assert_int_equal(setrlimit(RLIMIT_NPROC, &before), 0);
}

TEST(what_errno_does_not_explain_is_explained_by_the_code)
{
    expect_reason(BEZEL_EMALFORMED, EMFILE, "malformed bytes");
    expect_reason(BEZEL_EBUSY, ENOENT, "in use by somebody else");
    expect_reason(BEZEL_EINVAL, EINVAL, "a value that is not allowed here");
    expect_reason(BEZEL_ESYS, 0, "refused by the system");
    expect_reason(BEZEL_ESYS, ENOTDIR, "Not a directory");
}

TEST(too_low_a_limit_is_found_before_it_hurts)
{
    struct rlimit before = limited(RLIMIT_NOFILE, 40);
    assert_int_equal(ulimit_check_files(40), 0);
    log_forget_error();
    assert_int_equal(ulimit_check_files(41), BEZEL_ESYS);
    assert_string_equal(log_last_error(),
                        "this process may have 40 files open at once (ulimit -n), and needs 41: raise "
                        "the limit, for example with `ulimit -n 1024`");
    assert_true(ulimit_covers_clients(30, 10));
    assert_false(ulimit_covers_clients(31, 10));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    before = limited(RLIMIT_FSIZE, 1 << 20);
    assert_int_equal(ulimit_check_file_size(1 << 20), 0);
    log_forget_error();
    assert_int_equal(ulimit_check_file_size(17 << 20), BEZEL_ESYS);
    assert_string_equal(log_last_error(), "this process may write files of 1.00 MiB (ulimit -f), and needs 17.0 MiB: "
                                          "raise the limit, for example with `ulimit -f unlimited`");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    before = limited(RLIMIT_STACK, 1 << 20);
    assert_int_equal(ulimit_check_stack(1 << 20), 0);
    log_forget_error();
    assert_int_equal(ulimit_check_stack(2 << 20), BEZEL_ESYS);
    assert_string_equal(log_last_error(), "this process may have a stack of 1.00 MiB (ulimit -s), and needs 2.00 MiB: "
                                          "raise the limit, for example with `ulimit -s 8192`");
    assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
}

TEST(the_limit_of_open_files_is_raised_to_the_hard_one)
{
    struct rlimit before = limited(RLIMIT_NOFILE, 40), now;
    file_raise_limit();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(now.rlim_cur, before.rlim_max);
    assert_int_equal(now.rlim_max, before.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}
