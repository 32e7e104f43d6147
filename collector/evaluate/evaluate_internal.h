// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the evaluated metrics read of the records of one process (evaluate_watch.c). */
#ifndef BEZEL_COLLECTOR_EVALUATE_EVALUATE_INTERNAL_H
#define BEZEL_COLLECTOR_EVALUATE_EVALUATE_INTERNAL_H

#include "collector/evaluate/evaluate.h"
#include "run/model/interval_records.h"

/** One metric reads the records of one aspect. */
struct evaluate_point {
    uint32_t aspect, metric;
    struct interval_part part;
};

struct evaluate_watch {
    uint32_t configured; /* number of the configuration for which it was made */
    uint32_t aspects;    /* of the dictionary then */
    uint32_t count;
    uint64_t read[DICT_ASPECTS_MAX / 64 + 1]; /* by id, a bit for each aspect that a metric reads */
    struct evaluate_point points[];
};

/** Finds what limits of `e` read of process `p`, which has a dictionary. NULL where memory is short; free(). */
struct evaluate_watch *evaluate_watch_new(const struct experiment *e, uint32_t configured,
                                          const struct model_process *p);

static inline bool evaluate_watch_reads(const struct evaluate_watch *w, uint32_t aspect)
{
    return w->read[aspect / 64] >> aspect % 64 & 1;
}

#endif
