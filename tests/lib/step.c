// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/step.h"

#include "tests/lib/test.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__aarch64__) /* where anything is stepped */
/* In place of libc's, for libbezel too. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
    return (int)syscall(SYS_clock_gettime, clock, t);
}
#endif

void step_stop(void)
{
    static bool traced;
#if defined(__x86_64__) || defined(__aarch64__) /* elsewhere nothing steps, or only an emulator that cannot */
    traced = traced || ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
#endif
    if (!traced)
        _exit(77);
    raise(SIGSTOP);
}

bool step_wait(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGSTOP) { /* a signal that it had blocked so far: it gets it */
        step_continue(pid, WSTOPSIG(status));
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return false;
    assert_true(WIFSTOPPED(status));
    return true;
}

void step_continue(pid_t pid, int signal)
{
    assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signal), 0); /* NOLINT: so it is passed */
}

bool step_once(pid_t pid, int signal, int *status)
{
    int ended;
    if (!status)
        status = &ended;
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(intptr_t)signal), 0); /* NOLINT: so it is passed */
    assert_int_equal(waitpid(pid, status, 0), pid);
    if (WIFSTOPPED(*status) && WSTOPSIG(*status) != SIGTRAP) /* one of its own: it gets it */
        return step_once(pid, WSTOPSIG(*status), status);
    return WIFSTOPPED(*status);
}

void step_kill(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}
