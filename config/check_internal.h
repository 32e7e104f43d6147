// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the checks' files share: each checks a part of the model against `root`. check.h is the others' view of it. */
#ifndef BEZEL_CONFIG_CHECK_OWN_H
#define BEZEL_CONFIG_CHECK_OWN_H

#include "config/schema.h"

/** The first entry of a section; NULL where it is not there or was refused: then its array is empty as well. */
static inline const struct tree *check_entries(const struct tree *section, uint32_t count)
{
    return section && count > 0 ? section->first : NULL;
}

/** Where the file names no node, there is one, `local`. */
void check_nodes(struct reader *r, const struct tree *root, struct experiment *e);

/** Where the file has `command` at the top, that is its one process. Nodes are checked before. */
void check_processes(struct reader *r, const struct tree *root, struct experiment *e);

/** Metrics, then limits, which may add a metric that is built in; then policy and hysteresis. */
void check_metrics(struct reader *r, const struct tree *root, struct experiment *e);
void check_limits(struct reader *r, const struct tree *root, struct experiment *e);
bool check_needs_records(const struct experiment *e);
void check_choose_policy(const struct tree *adapt, struct experiment *e, bool holds);
void check_policy(struct reader *r, const struct tree *policy, const struct experiment *e);
void check_hysteresis(struct reader *r, const struct tree *root, struct experiment *e);

/** Limits on the whole; where one is to be held and the file does not say who decides, the manager does. */
void check_whole(struct reader *r, const struct tree *root, struct experiment *e);

/**
 * The first limit to be held, on a metric with a window above `window` where that is not 0; *tree is where it stands.
 */
const struct experiment_limit *check_first_hold(const struct tree *root, const struct experiment *e, int64_t window,
                                                const struct tree **tree);

/** Warns about a file without errors. */
void check_doubt(struct reader *r, const struct tree *root, const struct experiment *e);

/** The part of it that is about what is right each by itself and does not fit each other. */
void check_doubt_fits(struct reader *r, const struct tree *root, const struct experiment *e);

#endif
