// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A real bezel-collector as a child process. Functions that can fail return false; nothing here asserts. */
#ifndef BEZEL_TESTS_LIB_COLLECTOR_PROCESS_H
#define BEZEL_TESTS_LIB_COLLECTOR_PROCESS_H

#include "base/clock.h"
#include "mdr/link/link.h"
#include "mdr/parts.h"

#include <sys/resource.h>
#include <sys/types.h>

struct message;

struct collector_process {
    pid_t pid;    /* 0: none runs */
    char dir[64]; /* holds run/, the control socket, and stderr of the last start in `log` */
    char run[96];
    char endpoint[LINK_ENDPOINT_MAX]; /* as bound */
    char control[LINK_ENDPOINT_MAX];
    int parent_pipe;               /* write end */
    rlim_t file_limit;             /* RLIMIT_FSIZE of the next start, 0: none */
    const char *sync;              /* start it with --sync so; NULL: without */
    const char *const *parents;    /* endpoints, NULL-terminated: it is an inner collector; NULL: it has the run */
    const char *const *more;       /* more arguments of the next start, at most 12, NULL-terminated; NULL: none */
    const struct message *message; /* the answer to the last command that any of them got; NULL: none yet */
};

/** Makes a directory with an empty run directory in it; `c` is otherwise all zeros. */
bool collector_make(struct collector_process *c);

/** Starts the collector of build target bezel-collector on `listen` and waits until it serves. */
bool collector_start(struct collector_process *c, const char *listen);

/** Sends a command; c->message->reply is the answer. */
bool collector_command(struct collector_process *c, enum message_verb verb);

/** The value `name` of its status; -1 where it has none, or does not answer. */
int64_t collector_status(struct collector_process *c, const char *name);

/** Ends it by `signal`; returns its wait status, or -1 after a deadline (it is killed then). */
int collector_end(struct collector_process *c, int signal);

/** Waits for its end. Returns as collector_end(). */
int collector_wait(struct collector_process *c);

/** Removes the directory. */
void collector_remove(struct collector_process *c);

/**
 * Starts the program with these arguments, waits for its end, returns its exit code. Its stderr goes to file `log` in
 * c->dir.
 */
int collector_try(struct collector_process *c, const char *const argv[]);

/** Whether file `log` in c->dir holds `text`; then it shows what follows there. */
bool collector_said(const struct collector_process *c, const char *text);

#endif
