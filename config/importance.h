// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** How important aspects are, as a map of patterns and weights. Internal to config/. */
#ifndef BEZEL_CONFIG_IMPORTANCE_H
#define BEZEL_CONFIG_IMPORTANCE_H

#include "config/schema.h"

/** Reads a map such as {frame_shown: 10} into *(struct experiment_importance **)to, for importance_free(). */
void importance_read(struct reader *r, const struct tree *t, void *to);

/** NULL is one of none. */
void importance_free(struct experiment_importance *rules);

#endif
