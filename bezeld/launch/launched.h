// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What a launcher has started, and what became of it: a table whose changes are numbered. One thread. */
#ifndef BEZEL_BEZELD_LAUNCH_LAUNCHED_H
#define BEZEL_BEZELD_LAUNCH_LAUNCHED_H

#include "bezeld/launch/output_spool.h"
#include "bezeld/launch/spawn.h"

#include <sys/resource.h>

struct message_launched_list;

enum { LAUNCHED_FILE_MAX = MESSAGE_NAME_MAX + 20 };

/** One incarnation of a program. */
struct job {
    struct message_launched row;
    uint64_t change; /* its last */
    pid_t pid;       /* 0: it does not run */
    uint32_t port;   /* that it is to listen at; 0: none, or it does */
    int64_t due;     /* ns: when it is to be ended, or killed; 0: never */
    bool late;       /* it got SIGTERM for that */
    struct output_spool output;
};

struct launched {
    struct job **jobs;
    size_t count, room;
    uint64_t change; /* the last one of all */
    bool empty;
    uint32_t left;
};

/**
 * Begins with what an earlier launcher has left in `folder` (-1: there is none): those programs are lost, and their
 * output can be read. Returns 0 with *all for launched_free(), or BEZEL_ENOMEM.
 */
int launched_init(struct launched *all, int folder) BEZEL_MUST_CHECK;
void launched_free(struct launched *all);

/** The incarnation, or NULL. */
struct job *launched_find(const struct launched *all, const struct message_start *of);

/** Why this incarnation may not be started, or NULL: an earlier one runs, or a later one was started. */
const char *launched_forbids(const struct launched *all, const struct message_start *of);

/** Adds an incarnation, which has not begun. NULL: no memory. */
struct job *launched_add(struct launched *all, const struct message_start *of);

/** Notes how starting it went. */
void launched_begin(struct launched *all, struct job *job, const struct spawned *child, uint32_t port, int64_t now);

/** Notes that child `pid` has ended; it may be none of the programs. */
void launched_end(struct launched *all, pid_t pid, int status, const struct rusage *usage, int64_t now);

/** Notes that those which run now are ended because nobody has asked about them for long. */
void launched_note_silence(struct launched *all);

/** Whether any program runs. */
bool launched_runs(const struct launched *all);

/** Notes that nothing is left of the tree; that `n` processes were left when all programs had ended. */
void launched_note_empty(struct launched *all);
void launched_note_left(struct launched *all, uint32_t n);

/**
 * Ends the programs whose time is over: with SIGTERM, and a `grace` later with SIGKILL, and what they have started in
 * their sessions. Returns when the next one is due, ns; INT64_MAX: none is.
 */
int64_t launched_end_late(struct launched *all, int64_t grace, int64_t now);

/** Finds out which programs listen at their ports by now. Returns whether some do not yet. */
bool launched_look_at_ports(struct launched *all);

/** Lists what has changed after change `since`. */
void launched_list(struct launched *all, uint64_t since, struct message_launched_list *list);

#endif
