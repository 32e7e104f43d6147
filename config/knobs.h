// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The knobs that the agent or manager adjusts (`adapt.knobs`): keys, checks and printing. Internal to config/. */
#ifndef BEZEL_CONFIG_KNOBS_H
#define BEZEL_CONFIG_KNOBS_H

#include "config/schema.h"

extern const struct schema_field knob_fields[];
extern const struct experiment_knob knob_default;

/** Finds the limits and processes that knobs name. Call after the checks of processes, metrics and limits. */
void knobs_check(struct reader *r, const struct tree *root, struct experiment *e);

/** Warns about knobs of a file without errors. */
void knobs_warn(struct reader *r, const struct tree *root, const struct experiment *e);

/** Prints the entries of the list, separated by commas. */
void knobs_print(const struct experiment *e, FILE *out);

#endif
