// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The launcher: a process of its own to which the processes of the SUT belong. It has one thread, no ZeroMQ and no
 * memory of what is measured, so that nothing but its own task can end it. It is told what to do over a socket, and
 * that socket is also its lease: when the other end is gone, it ends all that it started and leaves.
 *
 * "All" is the whole tree: as a subreaper the launcher inherits every descendant whose parent ended, daemons included.
 * SIGTERM first, SIGKILL after the grace, until none is left.
 *
 * Who forks it is a subreaper too, and so inherits the tree where the launcher is killed: launcher_finish() ends it.
 * Where both are killed at once, those that the launcher itself started get SIGKILL (PR_SET_PDEATHSIG); what they have
 * started in turn is then nobody's.
 *
 * A process starts as it would from the shell that `bezel run` was started from (ecs/inheritance.h): default signals
 * and mask, the shell's scheduling, no descriptor but those that `bezel run` itself was given.
 */
#ifndef BEZEL_ECS_LAUNCHER_H
#define BEZEL_ECS_LAUNCHER_H

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
    char *const *environment; /* "NAME=value" that are added, or replace, NULL-terminated; NULL: none */
    const char *directory;    /* working directory; NULL: the launcher's */
    const char *output;       /* file to which stdout and stderr are appended; NULL: the launcher's own */
    bool aside;               /* where `output` is NULL: stdout goes to stderr, because stdout carries data */
    bool foreground; /* stays in the terminal's process group and keeps stdin; otherwise a session of its own */
};

enum launcher_verb {
    LAUNCHER_START,     /* start everything */
    LAUNCHER_STOP,      /* SIGTERM now, SIGKILL after the grace */
    LAUNCHER_INTERRUPT, /* as STOP, but one grace later: the terminal's own SIGINT has reached them */
    LAUNCHER_KILL,      /* SIGKILL now */
};

enum launcher_event_type {
    LAUNCHER_STARTED, /* `error`, where not 0: it could not be given back `stage` (see inheritance_word()) */
    LAUNCHER_FAILED,  /* `error` and `stage` tell why */
    LAUNCHER_EXITED,  /* `status` as of waitpid() */
    LAUNCHER_LEFT,  /* those that were started had all ended; `status` others, that they left behind, were sent SIGTERM
                     */
    LAUNCHER_EMPTY, /* after STOP, INTERRUPT or KILL: nothing is left of the tree */
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
    int fd;    /* readable when an event, or the launcher's end, is there */
    int64_t grace;
};

/**
 * Forks a launcher for the `n` launches, which it inherits: they must be complete. Call while the process has one
 * thread and no ZeroMQ context. `grace` in ns. Returns 0 or an error with errno set.
 */
int launcher_fork(const struct launch *launches, size_t n, int64_t grace, struct launcher *l) BEZEL_MUST_CHECK;

/** Sends a command. Returns 0, or BEZEL_EUNREACH where the launcher is gone. Does not block. */
int launcher_tell(struct launcher *l, enum launcher_verb verb) BEZEL_MUST_CHECK;

/**
 * Takes the next event: 0, BEZEL_EAGAIN where there is none, BEZEL_EUNREACH where the launcher is gone. Does not block.
 */
int launcher_receive(struct launcher *l, struct launcher_event *event) BEZEL_MUST_CHECK;

/**
 * Gives up the lease and waits until the launcher has ended its tree and itself, which it is continued for where it was
 * stopped. One that does not come to its end is killed: false then, and launcher_finish() is called for. Idempotent.
 */
bool launcher_close(struct launcher *l);

/**
 * After the launcher was killed: kills all descendants of the calling process but the `spare_count` of `spare`, and
 * what is below those. False: some cannot be killed, and were tried for LAUNCHER_FINISH. Leaves zombies.
 */
bool launcher_finish(const pid_t *spare, size_t spare_count);

#define LAUNCHER_FINISH (5 * CLOCK_S)

#endif
