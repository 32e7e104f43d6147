// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The launcher: a separate process that owns the processes of the SUT. It has one thread, no ZeroMQ and no shared
 * memory with the monitor, so that a failure of the monitor cannot end it. It takes commands over the launcher socket.
 * When the other end of that socket closes, it ends the process tree of all that it started, and exits.
 *
 * The launcher is a subreaper: it inherits every descendant whose parent ended, daemons included, and so ends the
 * complete tree. It sends SIGTERM first, and SIGKILL after the grace, until no process is left.
 *
 * The process that forks the launcher is a subreaper too. If the launcher is killed, it inherits the tree, and
 * launcher_finish() ends it. If both are killed at once, the processes that the launcher started itself get SIGKILL
 * (PR_SET_PDEATHSIG); their own children are then left running.
 *
 * A process starts as it would from the shell in which `bezel run` was started (bezeld/launch/launch_environment.h):
 * default signals and mask, the shell's scheduling, no descriptors but those that `bezel run` itself got.
 */
#ifndef BEZEL_BEZELD_LAUNCH_LAUNCHER_H
#define BEZEL_BEZELD_LAUNCH_LAUNCHER_H

#include "base/clock.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** One process to be launched. */
struct launch {
    const char *path;         /* executable file, absolute */
    char *const *argv;        /* argv[0] as the user wrote it */
    char *const *environment; /* "NAME=value", added or replaced; NULL-terminated. NULL: none */
    const char *directory;    /* working directory; NULL: the launcher's */
    const char *output;       /* file to which stdout and stderr are appended; NULL: the launcher's own */
    bool aside;               /* if `output` is NULL: stdout goes to stderr, because stdout carries data */
    bool foreground; /* stays in the terminal's process group and keeps stdin; otherwise a session of its own */
};

enum launcher_verb {
    LAUNCHER_START,     /* start everything */
    LAUNCHER_STOP,      /* SIGTERM now, SIGKILL after the grace */
    LAUNCHER_INTERRUPT, /* as STOP, but one grace later: the terminal has sent SIGINT to the processes */
    LAUNCHER_KILL,      /* SIGKILL now */
};

enum launcher_event_type {
    LAUNCHER_STARTED, /* `error`, if not 0: setting `stage` was refused (see launch_environment_word()) */
    LAUNCHER_FAILED,  /* `error` and `stage` are the reason */
    LAUNCHER_EXITED,  /* `status` as of waitpid() */
    LAUNCHER_LEFT,    /* all launched processes had ended; `status` processes that they left behind got SIGTERM */
    LAUNCHER_EMPTY,   /* after STOP, INTERRUPT or KILL: the tree has no process left */
};

struct launcher_event {
    enum launcher_event_type type;
    uint32_t process; /* index of the launch */
    pid_t pid;
    int status, error;
    char stage[16]; /* what failed: "fork", "output", "directory", "exec" */
};

struct launcher {
    pid_t pid; /* 0: none */
    int fd;    /* readable when there is an event, or the launcher has ended */
    int64_t grace;
};

/**
 * Forks a launcher for the `n` launches. It uses its copy of them, so they must be complete. The process must have one
 * thread and no ZeroMQ context. `grace` in ns. Returns 0 or an error with errno set.
 */
int launcher_fork(const struct launch *launches, size_t n, int64_t grace, struct launcher *l) BEZEL_MUST_CHECK;

/** Sends a command. Returns 0, or BEZEL_EUNREACH if the launcher is gone. Does not block. */
int launcher_send(struct launcher *l, enum launcher_verb verb) BEZEL_MUST_CHECK;

/**
 * Takes the next event. Returns 0, BEZEL_EAGAIN if there is none, BEZEL_EUNREACH if the launcher is gone. Does not
 * block.
 */
int launcher_receive(struct launcher *l, struct launcher_event *event) BEZEL_MUST_CHECK;

/**
 * Closes the launcher socket and waits until the launcher has ended its tree and exited; sends it SIGCONT, in case it
 * was stopped. Returns false if it had to be killed, LAUNCHER_FINISH after the grace; then call launcher_finish().
 * Idempotent.
 */
bool launcher_close(struct launcher *l);

/**
 * After the launcher was killed: kills all descendants of the calling process, except the `spare_count` processes of
 * `spare` and their descendants. Returns false if some were still alive after LAUNCHER_FINISH. Leaves zombies.
 */
bool launcher_finish(const pid_t *spare, size_t spare_count);

#define LAUNCHER_FINISH (5 * CLOCK_S)

#endif
