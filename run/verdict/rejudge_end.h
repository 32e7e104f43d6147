// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What a limit stood at when a process made its last record: rejudge_chosen(). */
#ifndef BEZEL_RUN_VERDICT_REJUDGE_END_H
#define BEZEL_RUN_VERDICT_REJUDGE_END_H

#include "config/experiment.h"
#include "run/history/summary.h"

#include <stdbool.h>

/**
 * Reads the value of limit c->limit at verdict_end() of process c->process, from ended run `run`, into `min` and `max`
 * of *c; NaN: it does not break the limit there, or is unknown. Returns whether all its records could be read.
 */
bool rejudge_read_end(const char *run, const struct summary *s, const struct experiment *e, struct summary_chosen *c);

#endif
