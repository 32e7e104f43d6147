// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** `sensing.real-time`: its keys, checks and warnings. Internal to config/. */
#ifndef BEZEL_CONFIG_REAL_TIME_H
#define BEZEL_CONFIG_REAL_TIME_H

#include "config/schema.h"

extern const struct schema_field real_time_fields[];

/** After all keys are read: checks them, and sets defaults that follow from the polling period. */
void real_time_check(struct reader *r, const struct tree *root, struct experiment *e);

/** Warns about a file without errors. */
void real_time_warn(struct reader *r, const struct tree *root, const struct experiment *e);

#endif
