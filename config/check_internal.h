// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the check_*.c files share: each checks a part of the model against `root`. Other files include check.h. */
#ifndef BEZEL_CONFIG_CHECK_INTERNAL_H
#define BEZEL_CONFIG_CHECK_INTERNAL_H

#include "config/schema.h"

/** The first entry of a section; NULL if the section is missing or was refused: then its array is empty as well. */
static inline const struct tree *check_entries(const struct tree *section, uint32_t count)
{
    return section && count > 0 ? section->first : NULL;
}

/** Checks nodes. Adds one, `local`, if the file names none. */
void check_nodes(struct reader *r, const struct tree *root, struct experiment *e);

/** Checks processes, after nodes. `command` at the top of the file becomes the only process. */
void check_processes(struct reader *r, const struct tree *root, struct experiment *e);

/** Metrics, then limits, which may add a built-in metric; then policy and max-age. */
void check_metrics(struct reader *r, const struct tree *root, struct experiment *e);
void check_limits(struct reader *r, const struct tree *root, struct experiment *e);

/** Whether a metric with a 'hold' limit is made of records, and therefore unknown while collection is off. */
bool check_needs_records(const struct experiment *e);

/** Sets the policy and the bounds of the polling period that the file leaves out; `holds`: there is a 'hold' limit. */
void check_choose_policy(const struct tree *adapt, struct experiment *e, bool holds);

void check_policy(struct reader *r, const struct tree *policy, const struct experiment *e);
void check_max_age(struct reader *r, const struct tree *root, struct experiment *e);

/** Checks global limits. If one says 'hold' and the file has no adapt.by, the manager decides. */
void check_global(struct reader *r, const struct tree *root, struct experiment *e);

/**
 * The first 'hold' limit, and in *tree its entry in the file; NULL if there is none. With `window` (ns) above 0, the
 * first one whose metric has a longer window.
 */
const struct experiment_limit *check_first_hold(const struct tree *root, const struct experiment *e, int64_t window,
                                                const struct tree **tree);

/** Keys of nodes and of the collector; gives them their default names. */
void check_keys(struct reader *r, const struct tree *root, struct experiment *e);

/** Warns about a file without errors. */
void check_warn(struct reader *r, const struct tree *root, const struct experiment *e);

#endif
