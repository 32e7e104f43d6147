// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Judges the gaps of a run, and what limits stood at behind them, from its stored records: rejudge.h. */
#ifndef BEZEL_RUN_VERDICT_REJUDGE_REPLAY_H
#define BEZEL_RUN_VERDICT_REJUDGE_REPLAY_H

#include "config/experiment.h"
#include "run/history/summary.h"

/** Violations in gaps, for free(). */
struct replay_found {
    struct history_violation *violations;
    size_t count, capacity;
};

/**
 * Judges the gaps without a `why`; each then is `judged`, or has one. Adds the violations to *found. Returns 0 or
 * BEZEL_ENOMEM.
 */
int replay_gaps(const char *run, struct summary *s, const struct experiment *e,
                struct replay_found *found) BEZEL_MUST_CHECK;

/**
 * Reads the value of limit c->limit at verdict_end() of process c->process, from ended run `run`, into `min` and `max`
 * of *c; NaN: it does not break the limit there, or is unknown. It is as if a sampling instant had been there. Returns
 * whether all its records could be read.
 */
bool replay_end(const char *run, struct summary *s, const struct experiment *e, struct summary_chosen *c);

#endif
