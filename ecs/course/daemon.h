// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A daemon of a run as `bezel run` sees it, with a control link. It is a child process in a process session of its own
 * (the terminal's signals do not reach it) with a log, a pipe on which it reports that it serves, and a parent pipe. A
 * bezeld then gets a request for a session (ecs/course/remote_session.h). A persistent bezeld, started by others, has
 * only that session, which is begun and stopped, never killed. A collector on a node is started by the launcher there
 * (ecs/course/remote_collector.h). One thread.
 */
#ifndef BEZEL_ECS_COURSE_DAEMON_H
#define BEZEL_ECS_COURSE_DAEMON_H

#include "bezeld/launch/launch_collector.h"
#include "ecs/course/remote_collector.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct message_command;

enum { DAEMON_ARGS_MAX = LAUNCH_COLLECTOR_ARGS, DAEMON_NAME_MAX = 160 };

struct daemon {
    /* Filled by the caller before daemon_start(). */
    char name[DAEMON_NAME_MAX];      /* for messages: "bezeld of node studio" */
    const char *program;             /* path; borrowed; NULL: it is no child of ours */
    char *args[DAEMON_ARGS_MAX + 1]; /* borrowed, args[0] included; daemon_start() appends --ready and --parent-pipe */
    char log[PATH_MAX];              /* its stdout and stderr are appended there */
    char control[LINK_ENDPOINT_MAX]; /* where it binds its control link; "": it has none */
    uint8_t run[16];                 /* that it serves, ... */
    char node[MESSAGE_NAME_MAX + 1]; /* ... and the node of its session; "": it has none */
    struct command_caller_access access; /* of its control link, if that is over tcp; borrowed */
    struct message_leadership owner;     /* who commands it: this `bezel run` */
    int keep;                            /* a descriptor that it is to inherit; -1: none */
    struct remote_collector *place; /* of a collector on a node, which the launcher there starts; NULL: it is none */
    struct remote_session session;  /* of a bezeld, with an address; without `program` it is all there is */
    /* The module's. */
    pid_t pid;              /* 0: not running, or no child */
    int ready, parent_pipe; /* our ends; -1: closed */
    off_t log_start;        /* where its lines in the log begin: since this start; of a bezeld, since it serves */
    bool stop_sent;         /* its session is over, and it was sent SIGTERM */
    bool serves;            /* it can be commanded; or, without a control link, it has reported that it is ready */
    struct command_caller caller;
};

/** Starts the daemon, which must not be running. Returns 0, or an error with errno set. */
int daemon_start(struct daemon *d) BEZEL_MUST_CHECK;

/**
 * Checks whether the daemon has begun to serve, which it reports once. Returns 1 with its line, without the newline; 0
 * where it has not reported yet, or did before; BEZEL_EUNREACH where it closed the pipe without a line: it is about to
 * end. On 1 the control link is connected, where the daemon has one.
 */
int daemon_serves(struct daemon *d, char *line, size_t size) BEZEL_MUST_CHECK;

/**
 * Sends `command`, or one that has only a `verb`. Returns 0; BEZEL_EAGAIN where the daemon has to introduce itself
 * first (mdr/command/command_caller.h), or its queue is full; BEZEL_EUNREACH while it does not serve; or another error
 * of command_caller_send().
 */
int daemon_command(struct daemon *d, const struct message_command *command) BEZEL_MUST_CHECK;
int daemon_ask(struct daemon *d, enum message_verb verb) BEZEL_MUST_CHECK;

/** Takes the next reply into *m: 0, or BEZEL_EAGAIN if there is none. Drops other messages. */
int daemon_answer(struct daemon *d, struct message *m) BEZEL_MUST_CHECK;

/** Whether it is a session at a persistent bezeld, which is not our child. */
bool daemon_is_session(const struct daemon *d);

/** Its process id, wherever it runs; 0: it has none. */
pid_t daemon_pid(const struct daemon *d);

/** Whether the daemon has ended; then *status is as of waitpid(). A session that is over has no *status. */
bool daemon_ended(struct daemon *d, int *status);

/**
 * The reason why its session is over, or does not serve yet; else the last line that it wrote into its log since its
 * start, without the newline; "" if there is none.
 */
void daemon_last_messages(const struct daemon *d, char *text, size_t size);

/** Why its session does not serve yet, as far as that is known, for a message; "": it is no session. */
const char *daemon_trouble(const struct daemon *d);

/** Where its log is, for a message. */
const char *daemon_log(const struct daemon *d);

/** Sends a signal to the process, if it runs. A session at a persistent bezeld gets SHUTDOWN, and counts as over. */
void daemon_signal(struct daemon *d, int signal);

/** Closes pipes and link; kills the process if it still runs, and waits for it. Idempotent. */
void daemon_close(struct daemon *d);

#endif
