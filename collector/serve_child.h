// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Programs as children of the collector that hand its run on: bezel-serve to consumers, bezel-metrics to tools,
 * bezel-engine to an engine that stores it, too. They
 * read files alone: the collector starts one, again if it has died, and ends it with itself, and knows no more of it.
 * One that `bezel run` has started leaves it to `bezel run`, whose last rows it still sends. One owner.
 */
#ifndef BEZEL_COLLECTOR_SERVE_CHILD_H
#define BEZEL_COLLECTOR_SERVE_CHILD_H

#include "collector/collector_daemon.h"

#include <limits.h>
#include <sys/types.h>

enum { SERVE_CHILD_RESTARTS = 5 };

enum { SERVE_CHILD_ARGUMENTS = 16 };

/** What a child is. */
struct serve_child_kind {
    const char *program, *follows; /* without it the run goes on, and ... */
    /** Adds its own arguments, SERVE_CHILD_ARGUMENTS at most. Returns their number; 0: it is not wanted. */
    size_t (*arguments)(const struct collector_daemon_options *o, const char **arguments);
};
extern const struct serve_child_kind serve_child_serve, serve_child_metrics, serve_child_engine;

struct serve_child {
    const struct serve_child_kind *kind;
    const struct collector_daemon_options *options; /* NULL: there is none to be */
    char program[PATH_MAX];
    pid_t pid; /* 0: it does not run */
    int pipe;  /* the write end of its parent pipe; -1: none */
    unsigned restarts;
    int64_t look_at; /* when it is looked at next; INT64_MAX: it is given up */
};

/** Starts it, if `options` want it. An error is logged; the collector goes on without it. */
void serve_child_open(struct serve_child *c, const struct serve_child_kind *kind,
                      const struct collector_daemon_options *options);

/** Starts it again where it has died, a second later, SERVE_CHILD_RESTARTS times. */
void serve_child_look(struct serve_child *c, int64_t now);

/**
 * Ends it: consumers get what is stored, for 5 s, or while they take it for up to 10 s. Waits for its end, unless the
 * parent of the collector does, who has a parent pipe.
 */
void serve_child_close(struct serve_child *c);

#endif
