// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/calls.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 64 };

/* The call that each thread is in: at its end only the result is told. */
static struct call within[THREADS];

static struct call *slot_of(pid_t thread)
{
    for (int i = 0; i < THREADS; i++)
        if (within[i].thread == thread || within[i].thread == 0) {
            within[i].thread = thread;
            return &within[i];
        }
    return &within[0];
}

/* Shows the call at which `thread` stopped. */
static bool show(pid_t thread, bool (*see)(const struct call *call, void *context), void *context)
{
    struct __ptrace_syscall_info info;
    struct call *c = slot_of(thread);
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0)
        return true; /* it was killed meanwhile */
    c->entry = info.op == PTRACE_SYSCALL_INFO_ENTRY;
    if (c->entry) {
        c->number = (long)info.entry.nr;
        memcpy(c->args, info.entry.args, sizeof c->args);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        c->result = info.exit.rval;
    } else {
        return true;
    }
    return see(c, context);
}

static void go_on(pid_t thread, int signal)
{
    (void)ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(intptr_t)signal); /* NOLINT: so it is passed */
}

/* What a stopped thread needs to go on; false: kill. */
static bool take_stop(pid_t thread, int status, bool (*see)(const struct call *call, void *context), void *context)
{
    int signal = WSTOPSIG(status);
    bool goes_on = true;
    if (signal == (SIGTRAP | 0x80))
        goes_on = show(thread, see, context);
    bool ours = signal == (SIGTRAP | 0x80) || status >> 16 != 0 || signal == SIGSTOP || signal == SIGTRAP;
    go_on(thread, ours ? 0 : signal);
    return goes_on;
}

int calls_trace(int (*child)(void *context), void *child_context, bool (*see)(const struct call *call, void *context),
                void *context)
{
    int status;
    memset(within, 0, sizeof within);
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0)
            _exit(127);
        _exit(child(child_context));
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return -1;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(intptr_t)options) != 0) { /* NOLINT: so it is passed */
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return -1;
    }
    go_on(pid, 0);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno != EINTR)
            return -1;
        if (thread == pid && !WIFSTOPPED(status))
            return status;
        if (thread > 0 && WIFSTOPPED(status) && !take_stop(thread, status, see, context))
            kill(pid, SIGKILL);
    }
}

bool calls_read(const struct call *call, uint64_t from, void *to, size_t n)
{
    if (call->thread == 0) {
        memcpy(to, (const void *)(uintptr_t)from, n); /* NOLINT: an address of this process */
        return true;
    }
    struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n}; /* NOLINT: an address of another process */
    return process_vm_readv(call->thread, &here, 1, &there, 1, 0) == (ssize_t)n;
}

bool calls_read_text(const struct call *call, uint64_t from, char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!calls_read(call, from + i, to + i, 1) || to[i] == '\0')
            return i < n && to[i] == '\0';
    return false;
}
