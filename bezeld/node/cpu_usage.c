// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/cpu_usage.h"

#include <math.h>

void cpu_usage_open(struct cpu_usage *u, int64_t cpu)
{
    *u = (struct cpu_usage){.cpu_opened = cpu, .measured.cpu = NAN};
}

void cpu_usage_start(struct cpu_usage *u, const struct experiment *e, int64_t now, int64_t cpu)
{
    u->begun = now;
    u->cpu_begun = cpu;
    cpu_budget_start(&u->cpu_budget, e);
}

void cpu_usage_took(struct cpu_usage *u, uint32_t records)
{
    u->records += records;
}

int64_t cpu_usage_polled(struct cpu_usage *u, int64_t now)
{
    u->polls++;
    poll_stats_poll(&u->poll_stats, now);
    return cpu_budget_polled(&u->cpu_budget, now);
}

bool cpu_usage_begin(struct cpu_usage *u, int64_t now, int64_t cpu)
{
    bool deferred = u->cpu_budget.deferred;
    cpu_budget_begin(&u->cpu_budget, now, cpu, u->polls - u->polls_begun);
    u->begun = now;
    u->cpu_begun = cpu;
    u->polls_begun = u->polls;
    u->records_begun = u->records;
    return deferred;
}

/* The CPU time includes that of other sessions on this thread. */
bool cpu_usage_measure(struct cpu_usage *u, int64_t now, int64_t cpu, int64_t every)
{
    int64_t elapsed = now - u->begun;
    u->measured.elapsed = 0;
    if (elapsed <= 0 || elapsed < every / 2)
        return false;
    u->sensor_cpu = 100.0 * (double)(cpu - u->cpu_begun) / (double)elapsed;
    u->measured = (struct policy_measure){.cpu = u->sensor_cpu,
                                          .polls = (double)(u->polls - u->polls_begun),
                                          .records = (double)(u->records - u->records_begun),
                                          .elapsed = elapsed,
                                          .kept = u->cpu_budget.share > 0,
                                          .deferred = u->cpu_budget.deferred};
    return cpu_usage_begin(u, now, cpu);
}
