// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The programs of a session: commands about them are passed on to the launcher of this machine, and its answers back.
 * The launcher outlives the bezeld, and remembers what it has started; here nothing is remembered. One thread.
 */
#ifndef BEZEL_BEZELD_PROGRAMS_H
#define BEZEL_BEZELD_PROGRAMS_H

#include "bezeld/launch/launch_collector.h"
#include "config/experiment.h"
#include "mdr/command/command_server.h"

struct node;
struct programs;

struct programs_options {
    const char *launcher;                /* folder of bezel-launcher; borrowed; NULL: there is none */
    const struct experiment *experiment; /* borrowed, as all of these */
    uint32_t node;
    const char *dir; /* BEZEL_DIR of the programs */
    struct command_server *control;
    uint8_t run[16];
    int64_t silence;        /* without a command after which the launcher ends the programs, ns; 0: for ever */
    struct node *const *of; /* the node, whose triggers have fired; NULL: none */
    struct launch_collector_options collector; /* with `program`: not of a session, but of the collector of `run` */
};

enum { PROGRAMS_WHY_MAX = 256 };

/** Whether this machine's launcher starts programs of node `node`, which `bezel run` does not start itself. Pure. */
bool programs_are_ours(const struct experiment *e, uint32_t node);

/**
 * Connects to the launcher. Returns 0 with *p for programs_close(), or an error: no launcher serves there, as `why`
 * says.
 */
int programs_open(const struct programs_options *options, struct programs **p,
                  char why[PROGRAMS_WHY_MAX]) BEZEL_MUST_CHECK;

/** Whether command `m` is about programs. Pure. */
bool programs_take(const struct message *m);

/** Passes the command in the control endpoint's message on; `from` gets the launcher's answer. */
void programs_receive(struct programs *p, const struct command_request *from);

/** Has all programs ended, as `how` says. Nobody gets the answer. NULL is allowed. */
void programs_end(struct programs *p, enum message_ending how);

/**
 * Nobody observes the node any more: no program is started from now on, nor one whose start the launcher has not
 * answered. NULL is allowed.
 */
void programs_fence(struct programs *p);

/** Passes answers back. NULL is allowed. */
void programs_turn(struct programs *p);

/** Readable when there is an answer; -1: there is none to wait for. NULL is allowed. */
int programs_fd(const struct programs *p);

/** Closes it. `forget`: the run is over, so that the launcher ends all and forgets their output. NULL is allowed. */
void programs_close(struct programs *p, bool forget);

#endif
