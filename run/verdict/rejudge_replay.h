// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Judges the gaps of a run from its stored records: rejudge.h. */
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

#endif
