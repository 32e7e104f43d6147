// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The inside of a verdict: verdict.c judges the run and its books, verdict_limits.c its limits. */
#ifndef BEZEL_ECS_REPORT_VERDICT_INTERNAL_H
#define BEZEL_ECS_REPORT_VERDICT_INTERNAL_H

#include "ecs/report/verdict.h"

/** Fills rows and limits of *v, whose arrays are allocated, and sets v->is as far as these decide it. */
void verdict_judge_limits(struct verdict *v, const struct summary *s, const struct experiment *e);

#endif
