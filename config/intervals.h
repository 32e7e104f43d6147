// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Metrics of the time between records of several aspects (`interval`): checks and printing. Internal to config/. */
#ifndef BEZEL_CONFIG_INTERVALS_H
#define BEZEL_CONFIG_INTERVALS_H

#include "config/schema.h"

/** For the keys `interval` and `match`. */
void intervals_read_aspects(struct reader *r, const struct tree *t, void *to);
void intervals_read_match(struct reader *r, const struct tree *t, void *to);

/** Whether entry `t` of `metrics` is an interval; then the keys of statistics have another meaning in it. */
bool intervals_has(const struct tree *t);

/** Completes and checks `m`, whose entry `t` is an interval. */
void intervals_check(struct reader *r, const struct tree *t, struct experiment_metric *m);

/** The keys of `m` that a table does not print. */
void intervals_print(const struct experiment_metric *m, FILE *out);

#endif
