// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The inside of a verdict: verdict.c judges the run and its books, verdict_limits.c its limits. */
#ifndef BEZEL_ECS_VERDICT_OWN_H
#define BEZEL_ECS_VERDICT_OWN_H

#include "ecs/verdict.h"

/** Fills rows, limits and, as far as these decide it, the whole of *v, whose arrays are there. */
void verdict_judge_limits(struct verdict *v, const struct summary *s, const struct experiment *e);

#endif
