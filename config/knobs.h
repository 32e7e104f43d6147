// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Knobs of programs that are steered (`adapt.knobs`): their keys, what is wrong with them, and printing. Internal to
 * config/. */
#ifndef BEZEL_CONFIG_KNOBS_H
#define BEZEL_CONFIG_KNOBS_H

#include "config/schema.h"

extern const struct schema_field knob_fields[];
extern const struct experiment_knob knob_default;

/** Finds the limits and the processes that knobs name. Processes, metrics and limits are checked before. */
void knobs_check(struct reader *r, const struct tree *root, struct experiment *e);

/** Warns about knobs of a file without errors. */
void knobs_doubt(struct reader *r, const struct tree *root, const struct experiment *e);

/** The entries of the list, separated by commas. */
void knobs_print(const struct experiment *e, FILE *out);

#endif
