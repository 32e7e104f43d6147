// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Records of a run as events of an interval (metric/interval.h). Pure. */
#ifndef BEZEL_RUN_MODEL_INTERVAL_RECORDS_H
#define BEZEL_RUN_MODEL_INTERVAL_RECORDS_H

#include "metric/interval.h"
#include "run/model/run_model.h"

enum interval_has { INTERVAL_HAS_NO_PART, INTERVAL_HAS_NO_KEY, INTERVAL_HAS_PART };

/** What an aspect of a process is for an interval. */
struct interval_part {
    enum interval_has has; /* NO_KEY: it is one of its aspects, without the field, or without messages of the kind */
    uint32_t position;
    uint32_t field; /* by which it matches; unless it does so by messages */
    enum dict_type type;
};

/** Of aspect `a` of a process called `process`. */
struct interval_part interval_part_of(const struct experiment_metric *m, const char *process,
                                      const struct dict_aspect *a);

/** The end that records of process `p` at the last position belong to, by the metric's `per`. */
uint32_t interval_end_of(const struct experiment_metric *m, const struct model_process *p);

/**
 * The event of record `r` of process `p`, of an aspect with `part`, which has one: at `at` of the run's time. Sources
 * are rows of processes, clocks those of machines, ends by the metric's `per`: 0, or rows of processes or nodes.
 */
struct interval_event interval_event_of(const struct experiment_metric *m, const struct interval_part *part,
                                        const struct model_process *p, const struct packet_record *r,
                                        struct clock_reading at);

#endif
