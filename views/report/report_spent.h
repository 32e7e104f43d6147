// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** How run, nodes, processes and threads spent their time: analysis/spent.h. Shared by report_*.c. */
#ifndef BEZEL_VIEWS_REPORT_REPORT_SPENT_H
#define BEZEL_VIEWS_REPORT_REPORT_SPENT_H

#include "analysis/spent.h"
#include "run/read/run_reader.h"
#include "views/report/report.h"

struct report_spent {
    struct activity activity;
    struct spent spent;
};

/**
 * Reads it of run directory `run`, which has ended. NULL: no intervals of sampler `switches` are stored, there are too
 * many records, or they cannot be read; else for report_spent_free(). Blocks on the disk.
 */
struct report_spent *report_spent_find(const char *run, bool running, const struct report *r);
void report_spent_free(struct report_spent *l);

#endif
