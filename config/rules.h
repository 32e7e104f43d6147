// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Maps from patterns of aspects to values: latency bounds, importances. Internal to config/. */
#ifndef BEZEL_CONFIG_RULES_H
#define BEZEL_CONFIG_RULES_H

#include "config/schema.h"

/** Reads a map such as {frame_shown: 100 ms} into *(struct experiment_rule **)to, to be freed with rules_free(). */
void rules_read_bounds(struct reader *r, const struct tree *t, void *to);

/** The same for a map such as {frame_shown: 10}. */
void rules_read_weights(struct reader *r, const struct tree *t, void *to);

/** Frees rules; `rules` may be NULL. */
void rules_free(struct experiment_rule *rules);

#endif
