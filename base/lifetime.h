// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** How long a daemon lives: from its report that it serves, to SIGTERM or the end of its parent. */
#ifndef BEZEL_BASE_LIFETIME_H
#define BEZEL_BASE_LIFETIME_H

#include "base/clock.h"
#include "base/err.h"

#include <signal.h>
#include <stdbool.h>

/** Options of daemons, rows of base/options.h; `fd`: where the descriptor goes, -1 before. */
#define LIFETIME_READY(what, fd)                                                                                       \
    {                                                                                                                  \
        "ready", 0, "FD",                                                                                              \
            "write " what " to descriptor FD when it serves; FD is closed without a line if it cannot start",          \
            .descriptor = (fd)                                                                                         \
    }
#define LIFETIME_PARENT_PIPE(fd)                                                                                       \
    {                                                                                                                  \
        "parent-pipe", 0, "FD", "FD is the read end of a pipe: end as on SIGTERM when its other end is closed",        \
            .descriptor = (fd)                                                                                         \
    }

/**
 * Returns a non-blocking descriptor from which SIGTERM, SIGHUP and the signals of `also` (its last element is 0) are
 * read, or -1 with errno. SIGHUP ends a daemon in the same order, when its terminal is gone; with nohup it is ignored.
 * Ignores SIGINT, which a terminal sends to the whole group, unless it is among `also`; SIGPIPE; and SIGXFSZ, so that
 * writing too large a file is an error. Call before any thread starts.
 */
int lifetime_signals(const int *also);
#define LIFETIME_NO_OTHER ((const int[]){0})

/** The signal with which this process is to end; 0: none came. The next two make signals set it. */
extern volatile sig_atomic_t lifetime_stop;

/** For what a terminal ends: SIGINT, SIGTERM and SIGHUP, but for those that are ignored (nohup). `flags`: SA_*. */
void lifetime_catch(int flags);

/** For a server that a user ends: SIGINT and SIGTERM, also in the background, and SIGHUP but for nohup. Ignores
 * SIGPIPE. */
void lifetime_catch_all(void);

/**
 * For a process beside a run, which the run's own go before: lowers its priority by `by` (nice), and bounds the size of
 * its threads' memory. Where that is refused it warns: `id` of the message, and `what` the process is ("view").
 */
void lifetime_step_back(const char *id, const char *what, int by);

/**
 * What ends a process often signals it twice: timeout(1) signals its child and then their group, a closed terminal is
 * told by the kernel and by the shell. Signals that come within this time of an order to end belong to that order.
 */
#define LIFETIME_ORDER (500 * CLOCK_MS)

struct lifetime_orders {
    int64_t given, looked; /* the last order, and the last look at signals; 0: none */
};

/** Whether a look at time `now` finds a further order. `came`: it finds a signal, which came since the look before. */
bool lifetime_is_order(struct lifetime_orders *o, bool came, int64_t now);

/** From the next order on, after one at this time, SIGTERM ends the process at once, whatever it waits for. */
void lifetime_end_on_next(void);

/** How many of these arrived at `signals` since the last call. */
unsigned lifetime_terms(int signals);

/** Makes the parent pipe `pipe` (-1: none) non-blocking, for lifetime_is_deserted(). */
void lifetime_parent_pipe(int pipe);

/** Whether the process that holds the other end of parent pipe `pipe` is gone; false for -1. */
bool lifetime_is_deserted(int pipe);

/** Reports to the parent that this daemon serves: writes `line` to *fd, closes it and sets it to -1. -1: no report. */
void lifetime_ready(int *fd, const char *line);

#endif
