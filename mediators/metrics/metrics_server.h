// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What bezel-metrics does: again and again it has the metrics of its runs made, in a process of its own, and gives the
 * newest text to who asks by HTTP, and to a server that it is sent to. Who asks never waits for the disk, and nobody is
 * waited for. A text that could not be made anew is not shown as if it were new.
 */
#ifndef BEZEL_MEDIATORS_METRICS_METRICS_SERVER_H
#define BEZEL_MEDIATORS_METRICS_METRICS_SERVER_H

#include "base/address.h"
#include "mediators/metrics/push.h"

enum { METRICS_SERVER_RUNS = 64, METRICS_SERVER_SERIES = 10000, METRICS_SERVER_SERIES_MAX = 50000 };

#define METRICS_SERVER_PATH "/metrics"

struct metrics_server_options {
    const char *const *runs; /* run directories, whose names differ */
    size_t run_count;
    const char *folder;  /* instead: that of runs, of which those are shown that go on, or were written within `keep` */
    int64_t keep, every; /* ns; every: between two texts, at least */
    uint64_t series;     /* lines of samples at most */
    bool listens;
    struct address address; /* where it listens */
    struct push *push;      /* which is closed at the end; NULL: none */
    const char *self;       /* this program, which prints metrics with option --print */
    int ready, parent_pipe; /* descriptors; -1: none */
};

/** Serves until SIGTERM, or until its parent is gone and the run has ended. Returns an exit code. */
int metrics_server_run(const struct metrics_server_options *o);

#endif
