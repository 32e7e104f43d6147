// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Metrics made of the values of two others (`ratio`, `difference`): reading and checks. Internal to config/. */
#ifndef BEZEL_CONFIG_OPERANDS_H
#define BEZEL_CONFIG_OPERANDS_H

#include "config/schema.h"

/** For the keys `ratio` and `difference`. */
void operands_read(struct reader *r, const struct tree *t, void *to);

/** Whether entry `t` of `metrics` is such a metric. */
bool operands_has(const struct tree *t);

/** Completes and checks metric `m` of `e`, whose entry `t` is one. All metrics of `e` are read. */
void operands_check(struct reader *r, const struct tree *t, const struct experiment *e, struct experiment_metric *m);

/** Values that are subtracted or divided are both in ns if a limit on one of them has a unit of time. */
void operands_share_time(struct experiment *e);

#endif
