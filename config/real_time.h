// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** `sensing.real-time`: what its keys are, mean together, and look like printed. Internal to config/. */
#ifndef BEZEL_CONFIG_REAL_TIME_H
#define BEZEL_CONFIG_REAL_TIME_H

#include "config/schema.h"

extern const struct schema_field real_time_fields[];

/** Checks the keys against each other, and fills in what follows from the polling period. After all keys were read. */
void real_time_check(struct reader *r, const struct tree *root, struct experiment *e);

/** Doubts about a file without errors. */
void real_time_doubt(struct reader *r, const struct tree *root, const struct experiment *e);

/** One line of `sensing`. */
void real_time_print(const struct experiment_real_time *rt, FILE *out);

#endif
