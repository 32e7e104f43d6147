// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The system calls of a child process, one by one, by ptrace. One traced child at a time. */
#ifndef BEZEL_TESTS_LIB_CALLS_H
#define BEZEL_TESTS_LIB_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** A call that begins (`entry`: nothing is done yet) or has ended with `result` (negative: an errno). */
struct call {
    pid_t thread; /* 0: of this process itself */
    bool entry;
    long number; /* SYS_* */
    uint64_t args[6];
    int64_t result;
};

/**
 * Forks, lets `child` run there and shows each call of each of its threads to `see`, until it exits with what `child`
 * returned, or `see` returns false: then it is killed. Returns its wait status; -1 where it cannot be traced.
 */
int calls_trace(int (*child)(void *context), void *child_context, bool (*see)(const struct call *call, void *context),
                void *context);

/** Copies `n` bytes, or a text of less than `n`, from the memory of the call's thread, which is being shown. */
bool calls_read(const struct call *call, uint64_t from, void *to, size_t n);
bool calls_read_text(const struct call *call, uint64_t from, char *to, size_t n);

#endif
