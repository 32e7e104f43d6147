// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the files of evaluate: its state, and what it reads of the records of one process. */
#ifndef BEZEL_COLLECTOR_EVALUATE_EVALUATE_INTERNAL_H
#define BEZEL_COLLECTOR_EVALUATE_EVALUATE_INTERNAL_H

#include "base/bitset.h"
#include "collector/evaluate/evaluate.h"
#include "run/model/interval_records.h"
#include "run/model/interval_times.h"
#include "run/rundb/rundb_live.h"

enum { EVALUATE_KEY_MAX = 64, EVALUATE_COUNTS_MAX = 1024, EVALUATE_TEXT_MAX = 1 << 20 };

struct evaluated {
    struct interval *interval; /* NULL: no limit is on this metric */
    struct evaluate *of;
    char *before;      /* counts of earlier lives of the collector, as text; NULL: none */
    bool any;          /* a process has had one of its aspects */
    int64_t newest;    /* run's time of the latest end, ... */
    int64_t collected; /* ... and how long it took to get here */
};

struct evaluate {
    const struct model *model;
    struct rundb *rundb;           /* NULL: values are kept nowhere */
    struct experiment *experiment; /* NULL: there is none yet */
    char *text;                    /* as it was given */
    uint32_t configured;           /* how often one was */
    uint64_t life;
    int64_t began, now; /* run's time: of the configuration; the latest */
    bool follows;       /* others evaluated before: no value is known until a window has passed */
    struct evaluated metrics[EXPERIMENT_METRICS_MAX];
    struct interval_times times; /* of metrics whose records end here */
    bool times_full;             /* which was told */
};

/** One metric reads the records of one aspect. */
struct evaluate_point {
    uint32_t aspect, metric;
    struct interval_part part;
};

struct evaluate_watch {
    uint32_t configured; /* number of the configuration for which it was made */
    uint32_t aspects;    /* of the dictionary then */
    uint32_t count;
    bool reduces_any;
    struct bitset read;    /* by id, a bit for each aspect that a metric reads ... */
    struct bitset reduces; /* ... and whose records end here */
    struct evaluate_point points[];
};

/** Finds what limits of `e` read of process `p`, which has a dictionary. NULL where memory is short; free(). */
struct evaluate_watch *evaluate_watch_new(const struct experiment *e, uint32_t configured,
                                          const struct model_process *p);

/** What is read of a process; NULL: nothing. Found anew where the experiment or the dictionary is. */
const struct evaluate_watch *evaluate_watch_of(struct evaluate *e, struct model_process *p);

/** Reads what earlier lives of the collector have stored. Returns 0 or an error. */
int evaluate_load(struct evaluate *e) BEZEL_MUST_CHECK;

#endif
