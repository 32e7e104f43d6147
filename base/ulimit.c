// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/ulimit.h"

#include "base/log.h"
#include "base/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* ---- Reasons ----------------------------------------------------------------------------------------------------- */

static bool is_bounded(__rlimit_resource_t which, rlim_t *value)
{
    struct rlimit limit;
    bool bounded = getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    if (bounded)
        *value = limit.rlim_cur;
    return bounded;
}

/* Writes the limit that explains `sys`, and its remedy, with ": " before it; "" where no limit does. */
static void describe(int sys, char *text, size_t size)
{
    rlim_t value;
    text[0] = '\0';
    if (sys == EMFILE && is_bounded(RLIMIT_NOFILE, &value))
        snprintf(text, size,
                 ": this process may have %llu (ulimit -n); raise the limit, for example with `ulimit -n 1024`",
                 (unsigned long long)value);
    else if (sys == EFBIG && is_bounded(RLIMIT_FSIZE, &value))
        snprintf(text, size,
                 ": this process may write files of %s (ulimit -f); raise the limit, for example with `ulimit -f "
                 "unlimited`",
                 units_bytes(value).s);
    else if ((sys == ENOMEM || sys == EAGAIN) && is_bounded(RLIMIT_AS, &value))
        snprintf(text, size,
                 ": this process may have %s of memory (ulimit -v); raise the limit, for example with `ulimit -v "
                 "unlimited`",
                 units_bytes(value).s);
    else if (sys == EAGAIN && is_bounded(RLIMIT_NPROC, &value))
        snprintf(text, size,
                 ": this user may have %llu processes and threads (ulimit -u); raise the limit, or end some",
                 (unsigned long long)value);
}

/* Whether errno `sys` is likely the reason of `err`, and more precise. */
static bool is_reason(int err, int sys)
{
    if (sys == 0 || err == BEZEL_EINVAL || err == BEZEL_ETIMEDOUT)
        return false;
    return err == BEZEL_ESYS || err_from_errno(sys) == err;
}

const char *ulimit_reason(int err)
{
    static _Thread_local char text[256];
    char limit[160];
    int sys = errno;
    if (!is_reason(err, sys))
        return err_text(err);
    describe(sys, limit, sizeof limit);
    snprintf(text, sizeof text, "%s%s", strerror(sys), limit);
    errno = sys;
    return text;
}

/* ---- Looking ahead ----------------------------------------------------------------------------------------------- */

int ulimit_check_files(unsigned files)
{
    rlim_t value;
    if (!is_bounded(RLIMIT_NOFILE, &value) || value >= files)
        return 0;
    log_error("BEZEL-LIMIT-FILES",
              "this process may have %llu files open at once (ulimit -n), and needs %u: raise the limit, for example "
              "with `ulimit -n 1024`",
              (unsigned long long)value, files);
    errno = EMFILE;
    return BEZEL_ESYS;
}

bool ulimit_covers_clients(unsigned clients, unsigned others)
{
    rlim_t value;
    if (!is_bounded(RLIMIT_NOFILE, &value) || value >= (rlim_t)clients + others)
        return true;
    log_warn("BEZEL-LIMIT-FILES",
             "this process may have %llu files open at once (ulimit -n): it accepts some %llu connections at a time, "
             "but %u may come, and the others get no answer; raise the limit, or allow fewer",
             (unsigned long long)value, (unsigned long long)(value > others ? value - others : 0), clients);
    return false;
}

/* Whether `which` allows `bytes`; if not, says so, with what it bounds and its option of `ulimit`. Sets errno to `sys`.
 */
static int check_bytes(__rlimit_resource_t which, uint64_t bytes, const char *code, const char *what,
                       const char *option, int sys)
{
    rlim_t value;
    if (!is_bounded(which, &value) || value >= bytes)
        return 0;
    log_error(code,
              "this process may %s of %s (ulimit -%c), and needs %s: raise the limit, for example with `ulimit -%s`",
              what, units_bytes(value).s, option[0], units_bytes(bytes).s, option);
    errno = sys;
    return BEZEL_ESYS;
}

int ulimit_check_file_size(uint64_t bytes)
{
    return check_bytes(RLIMIT_FSIZE, bytes, "BEZEL-LIMIT-FILE-SIZE", "write files", "f unlimited", EFBIG);
}

int ulimit_check_stack(uint64_t bytes)
{
    return check_bytes(RLIMIT_STACK, bytes, "BEZEL-LIMIT-STACK", "have a stack", "s 8192", ENOMEM);
}
