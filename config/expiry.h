// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Latency bounds of aspects, as a map of patterns and durations. Internal to config/. */
#ifndef BEZEL_CONFIG_EXPIRY_H
#define BEZEL_CONFIG_EXPIRY_H

#include "config/schema.h"

/** Reads a map such as {frame_shown: 100 ms} into *(struct experiment_expiry **)to, to be freed with expiry_free(). */
void expiry_read(struct reader *r, const struct tree *t, void *to);

/** NULL is one of none. */
void expiry_free(struct experiment_expiry *expiries);

#endif
