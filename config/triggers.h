// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What is done when a condition comes true (`triggers`): keys, checks and printing. Internal to config/. */
#ifndef BEZEL_CONFIG_TRIGGERS_H
#define BEZEL_CONFIG_TRIGGERS_H

#include "config/schema.h"

extern const struct schema_field triggers_fields[];
extern const struct experiment_trigger triggers_default;

/**
 * Finds the limits and processes that triggers name, and adds a trigger for each on-violation of a limit. Call after
 * the checks of processes, limits and knobs.
 */
void triggers_check(struct reader *r, const struct tree *root, struct experiment *e);

/** Warns about triggers of a file without errors. */
void triggers_warn(struct reader *r, const struct tree *root, const struct experiment *e);

/** Whether an action of a trigger has `aspect` recorded; `counted`: or counted. */
bool triggers_turn_on(const struct experiment *e, const char *aspect, bool counted);

/** Prints the section; nothing where there is no trigger. */
void triggers_print(const struct experiment *e, FILE *out);

void triggers_free(struct experiment *e);

#endif
