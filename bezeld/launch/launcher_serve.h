// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The work of a launcher process: it starts the programs of one node in one run, keeps their output, and ends them with
 * everything that they started. bezeld/launch/launcher.h is the other side.
 *
 * An *owned* launcher has one connection, and ends when that closes. It sends each change of its table (launched.h) of
 * its own accord, as soon as the socket has room; the table numbers changes, so none is missed. The other kind outlives
 * the bezelds that connect to it, and answers only. A command may therefore come twice, from one bezeld or the next:
 * LAUNCH of an incarnation that was started is answered by its row; an older incarnation is refused, and so is a newer
 * one while the older one runs. The spooled output of an incarnation shows the next launcher, after a kill of this one,
 * that it was started. A LAUNCH whose sender has hung up is not carried out, because nobody would observe the program.
 *
 * Ending has two times, one for SIGTERM to the tree, and one for SIGKILL, again and again until nothing is left. A
 * further reason to end may only make them earlier; the grace counts from when SIGTERM was sent. From the first one on
 * nothing is started. The launcher leaves when all of this holds: it is ending, no child is left, it was made to leave,
 * and, if owned, the owner has hung up. As a subreaper it has every descendant as a child in the end, so "no child"
 * means that nothing of the tree is left.
 *
 * Without a command for `silence`, which the programs' LAUNCH says, a launcher that is not owned ends them, and leaves
 * after LAUNCHER_KEEP more, in which their output can still be fetched.
 */
#ifndef BEZEL_BEZELD_LAUNCH_LAUNCHER_SERVE_H
#define BEZEL_BEZELD_LAUNCH_LAUNCHER_SERVE_H

#include "base/clock.h"
#include "bezeld/launch/launch_environment.h"

#include <stdbool.h>
#include <stdint.h>

#define LAUNCHER_FINISH  (5 * CLOCK_S)   /* for killed processes to be gone */
#define LAUNCHER_KEEP    (600 * CLOCK_S) /* how long what ended programs left is kept for a late asker */
#define LAUNCHER_SILENCE (30 * CLOCK_S)  /* that ends a launcher which has started nothing yet */

struct launcher_serving {
    struct launch_environment environment; /* of the programs */
    int64_t grace;                         /* until a program says otherwise, ns */
    int connection;                        /* of whoever began it */
    bool owned;            /* it ends with `connection`, which gets every change; there is no other one */
    int listening;         /* -1: none */
    int folder;            /* where output is spooled; -1: there is none, as for one that is owned */
    uint64_t output_bytes; /* of each program that are kept */
};

/**
 * Serves until all programs have ended and it was made to leave: by the end of `connection` if it is owned, else by
 * SHUTDOWN, by SIGTERM, or by the silence that the programs bound it to and LAUNCHER_KEEP after that. The caller is a
 * process of one thread. Returns when no process is left: whether nobody will ask for what it spooled.
 */
bool launcher_serve(const struct launcher_serving *how);

#endif
