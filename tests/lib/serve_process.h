// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A real bezel-serve as a child process. No test framework in here: functions that can fail return false. */
#ifndef BEZEL_TESTS_LIB_SERVE_PROCESS_H
#define BEZEL_TESTS_LIB_SERVE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct serve_process {
    pid_t pid; /* 0: none runs */
    int parent_pipe;
    char endpoint[256]; /* as bound */
};

/** Starts it on run directory `run`, and waits until it serves. `more`: further arguments, NULL-terminated, or NULL. */
bool serve_process_start(struct serve_process *s, const char *run, const char *listen, const char *const *more);

/** Ends it by `signal`, or where that is 0 by its parent pipe. Returns its wait status; -1: it had to be killed. */
int serve_process_end(struct serve_process *s, int signal);

#endif
