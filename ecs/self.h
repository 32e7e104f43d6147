// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What bezeld records of itself (mdr/builtin.h), through its own internal sensor. One thread; after external_open().
 */
#ifndef BEZEL_ECS_SELF_H
#define BEZEL_ECS_SELF_H

#include "resmgr/agent.h"

#include <stdint.h>

/** A sample of what the daemon did and cost; fields as in enum builtin_self. */
struct self_sample {
    int64_t cpu_ns, wakeups, records, bytes, window_bytes, oldest_ns, period_ns;
    double sensor_cpu;
};

/** How well the node's times are known; fields as in enum builtin_clock. */
struct self_clock {
    int64_t kernel, counter, program, error_ns, jumps, clamped;
};

void self_record_sample(const struct self_sample *s);
void self_record_limit(int index, const struct agent_limit *limit);
void self_record_decision(const struct agent_outcome *outcome);
void self_record_clock(const struct self_clock *clock);
void self_record_metric(const char *metric, const char *process, double value);

#endif
