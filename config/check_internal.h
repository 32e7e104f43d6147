// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Checks beyond a single key: references between sections, alternatives, defaults that depend on other keys. Each
 * function checks a part of the model against `root`.
 */
#ifndef BEZEL_CONFIG_CHECK_INTERNAL_H
#define BEZEL_CONFIG_CHECK_INTERNAL_H

#include "config/schema.h"

/** Completes and checks model `e`, which schema_read_map() has filled from `root`. Warns if there are no errors. */
void experiment_check(struct reader *r, const struct tree *root, struct experiment *e);

/** The first entry of a section; NULL if the section is missing or was refused: then its array is empty as well. */
static inline const struct tree *check_entries(const struct tree *section, uint32_t count)
{
    return section && count > 0 ? section->first : NULL;
}

/** Whether only this machine reaches the endpoint `listen`, or what it is is wrong. */
bool check_is_of_this_machine(const char *listen);

/** Checks nodes. Adds one, `local`, if the file names none. */
void check_nodes(struct reader *r, const struct tree *root, struct experiment *e);

/** Checks processes, after nodes. `command` at the top of the file becomes the only process. */
void check_processes(struct reader *r, const struct tree *root, struct experiment *e);

/** The number of the process of that name; -1: there is none, which check_find_process() reports (reader_no_such()). */
int check_process_named(const struct experiment *e, const char *name);
int check_find_process(struct reader *r, const struct tree *t, const struct experiment *e, const char *name,
                       const char *otherwise);

/** Metrics, then limits, which may add a built-in metric. */
void check_metrics(struct reader *r, const struct tree *root, struct experiment *e);

/** Where metrics are to be computed (`at`), after collectors. */
void check_places(struct reader *r, const struct tree *root, const struct experiment *e);
void check_limits(struct reader *r, const struct tree *root, struct experiment *e);

/** Removes the entry of sensor_cpu from the metrics, as the last check: it is no metric but a window. */
void check_drop_sensor_cpu(struct experiment *e);

/** Checks global limits. If one says 'hold' and the file has no adapt.by, the manager decides. */
void check_global(struct reader *r, const struct tree *root, struct experiment *e);

/**
 * The first 'hold' limit, and in *tree its entry in the file; NULL if there is none. With `window` (ns) above 0, the
 * first one whose metric has a longer window.
 */
const struct experiment_limit *check_first_hold(const struct tree *root, const struct experiment *e, int64_t window,
                                                const struct tree **tree);

/** Sets how long the polling period may become while little is recorded, in a model without errors. */
void check_quiet_period(const struct tree *root, struct experiment *e);

/** Turns the sampler `scheduling` on where the file leaves it open, as it has a limit that asks for reasons. */
void check_unasked(const struct tree *root, struct experiment *e);

/** Warns about a file without errors. */
void check_warn(struct reader *r, const struct tree *root, const struct experiment *e);

#endif
