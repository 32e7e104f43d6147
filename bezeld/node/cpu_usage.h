// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A node's use and cost: its polls and records, and the CPU time of the complete bezeld process, in total and since the
 * last sampling instant. Pure: the caller passes time and CPU time, in ns. Only these functions change the numbers;
 * bezeld/node/poll_stats.h and resmgr/pace/cpu_budget.h change their own. One owner.
 */
#ifndef BEZEL_BEZELD_NODE_CPU_USAGE_H
#define BEZEL_BEZELD_NODE_CPU_USAGE_H

#include "bezeld/node/poll_stats.h"
#include "resmgr/pace/cpu_budget.h"
#include "resmgr/policies/policy.h"

struct cpu_usage {
    int64_t cpu_opened;             /* CPU time when the node was opened; use before that belongs to other runs */
    uint64_t polls, records;        /* how many polls, and records that they took */
    struct poll_stats poll_stats;   /* the effective polling period */
    struct cpu_budget cpu_budget;   /* the budget of polls within the interval */
    double sensor_cpu;              /* % of one CPU, in the last measured interval */
    struct policy_measure measured; /* that interval; its `elapsed` is 0 where the latest was too short */
    int64_t begun, cpu_begun;       /* when the current interval began, and the CPU time then */
    uint64_t polls_begun, records_begun;
};

/** cpu_usage_open(): a node is opened. cpu_usage_start(): its first interval begins, with the CPU budget that `e`
 * gives. */
void cpu_usage_open(struct cpu_usage *u, int64_t cpu);
void cpu_usage_start(struct cpu_usage *u, const struct experiment *e, int64_t now, int64_t cpu);

/** cpu_usage_took(): records were taken out of rings. cpu_usage_polled(): a poll is complete; returns when the CPU
 * budget lets the next be due at the earliest. */
void cpu_usage_took(struct cpu_usage *u, uint32_t records);
int64_t cpu_usage_polled(struct cpu_usage *u, int64_t now);

/**
 * A sampling instant: measures the interval that ends, and begins another. If less than half of `every` is over, the
 * interval continues instead, since a single poll might be all of it. Returns whether deferred polls may begin now.
 */
bool cpu_usage_measure(struct cpu_usage *u, int64_t now, int64_t cpu, int64_t every);

/** Begins an interval; the one before is not measured. Returns the same as cpu_usage_measure(). */
bool cpu_usage_begin(struct cpu_usage *u, int64_t now, int64_t cpu);

#endif
