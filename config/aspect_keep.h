// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Aspects whose records end where they are evaluated (`sensing.keep`): checks. Internal to config/. */
#ifndef BEZEL_CONFIG_ASPECT_KEEP_H
#define BEZEL_CONFIG_ASPECT_KEEP_H

#include "config/schema.h"

/** Words of its values, enum experiment_keep. */
extern const struct schema_word aspect_keep_words[];

/** Refuses to reduce records that are needed elsewhere. Call after the checks of metrics, limits and adapt. */
void aspect_keep_check(struct reader *r, const struct tree *root, const struct experiment *e);

/** Warns about patterns of a file without errors that reduce nothing. */
void aspect_keep_warn(struct reader *r, const struct tree *root, const struct experiment *e);

#endif
