// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A daemon of a run as `bezel run` sees it, with a control link. It is a child process in a session of its own (the
 * terminal's signals do not reach it) with its log, a pipe on which it says that it serves, and a pipe that is its
 * lease; or a session at a bezeld that stands (ecs/standing.h), which is begun and stopped, never killed. One thread.
 */
#ifndef BEZEL_ECS_DAEMON_H
#define BEZEL_ECS_DAEMON_H

#include "ecs/standing.h"
#include "mdr/link.h"
#include "mdr/message.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { DAEMON_ARGS_MAX = 32, DAEMON_NAME_MAX = 96 };

struct daemon {
    /* Filled by the caller before daemon_start(). */
    char name[DAEMON_NAME_MAX];      /* for messages: "bezeld of node studio" */
    const char *program;             /* path; borrowed */
    char *args[DAEMON_ARGS_MAX + 1]; /* borrowed, args[0] included; daemon_start() appends --ready and --lease */
    char log[PATH_MAX];              /* its stdout and stderr are appended there */
    char control[LINK_ENDPOINT_MAX]; /* where it binds its control link; "": it has none */
    int keep;                        /* a descriptor that it is to inherit; -1: none */
    struct standing standing;        /* with an address: what it is, in place of program, args, log and keep */
    /* The module's. */
    pid_t pid;         /* 0: not running, or no child */
    int ready, lease;  /* our ends; -1: closed */
    off_t log_start;   /* where in the log its words of this start begin */
    struct link *link; /* NULL while it does not serve */
    uint32_t commands; /* sent so far: id of the last one */
};

/**
 * Finds program `name`: beside this executable, else in PATH. Returns 0 with its path, or BEZEL_ENOENT.
 */
int daemon_find_program(const char *name, char *path, size_t size) BEZEL_MUST_CHECK;

/** Starts the daemon, which must not be running. Returns 0, or an error with errno set. */
int daemon_start(struct daemon *d) BEZEL_MUST_CHECK;

/**
 * Looks whether the daemon serves, which it says once: 1 with its line, without the line's end; 0 where it has not said
 * so yet (or said it before); BEZEL_EUNREACH where it closed the pipe without a word: it is about to end. On 1 the
 * control link is connected, where it has one.
 */
int daemon_serves(struct daemon *d, char *line, size_t size) BEZEL_MUST_CHECK;

/** Sends `command`, whose id is chosen here, or one that is no more than `verb`. Returns 0, BEZEL_EUNREACH while it
 * does not serve, or link_send()'s error. */
int daemon_order(struct daemon *d, const struct message_command *command) BEZEL_MUST_CHECK;
int daemon_ask(struct daemon *d, enum message_verb verb) BEZEL_MUST_CHECK;

/** Takes the next reply into *m: 0, or BEZEL_EAGAIN where there is none. What is no reply is dropped. */
int daemon_answer(struct daemon *d, struct message *m) BEZEL_MUST_CHECK;

/** Whether it is a session at a bezeld that stands. */
bool daemon_is_session(const struct daemon *d);

/** Whether the daemon has ended, with *status as of waitpid(). It is then not running any more. */
bool daemon_ended(struct daemon *d, int *status);

/**
 * The last line that it wrote into its log since its start, without the line's end; of a session, why it is over; ""
 * where there is none.
 */
void daemon_last_words(const struct daemon *d, char *text, size_t size);

/** Where its log is, for people. */
const char *daemon_log(const struct daemon *d);

/** Sends a signal to the process, if it runs. A session is let go of: its bezeld ends it. */
void daemon_signal(struct daemon *d, int signal);

/** Lets go of pipes and link; kills the process if it still runs, and waits for it. Idempotent. */
void daemon_close(struct daemon *d);

#endif
