// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/self.h"

#include "bezel/sensor.h"
#include "mdr/builtin.h"

#include <math.h>

/* Names, fields and order are mdr/builtin.h's: the collector finds them there. */
BEZEL_ASPECT(bezel_self, (int64, cpu, "ns"), (int64, wakeups, "1"), (int64, records, "1"), (int64, bytes, "B"),
             (int64, window, "B"), (int64, oldest, "ns"), (int64, period, "ns"), (float64, sensor_cpu, "%"));
BEZEL_ASPECT(bezel_limit, (int64, limit, "1"), (enum, state, "1", "unknown|held|violated"), (float64, value, "1"),
             (float64, worst, "1"), (int64, settling, "ns"), (int64, held, "ns"), (int64, violated, "ns"),
             (int64, unknown, "ns"), (int64, last_violated, "ns"));
BEZEL_ASPECT(bezel_decision, (enum, policy, "1", "none|spp|dpp"),
             (enum, action, "1", "keep|shorten|lengthen|off|resume"), (int64, before, "ns"), (int64, after, "ns"),
             (int64, cause, "1"));
BEZEL_ASPECT(bezel_metric, (string, metric, "1"), (string, process, "1"), (float64, value, "1/s"));
BEZEL_ASPECT(bezel_clocks, (int64, kernel, "1"), (int64, counter, "1"), (int64, program, "1"), (int64, error, "ns"),
             (int64, jumps, "1"), (int64, clamped, "1"));

void self_record_sample(const struct self_sample *s)
{
    bezel_record(bezel_self, s->cpu_ns, s->wakeups, s->records, s->bytes, s->window_bytes, s->oldest_ns, s->period_ns,
                 s->sensor_cpu);
}

void self_record_limit(int index, const struct agent_limit *limit)
{
    bezel_record(bezel_limit, index, (int64_t)limit->state, limit->known ? limit->value : (double)NAN, limit->worst,
                 limit->settling, limit->held, limit->violated, limit->unknown, limit->last_violated);
}

static int64_t period_in_force(const struct policy_state *s)
{
    return s->on ? s->period : 0;
}

void self_record_decision(const struct agent_outcome *o)
{
    bezel_record(bezel_decision, (int64_t)o->after.policy, (int64_t)o->action, period_in_force(&o->before),
                 period_in_force(&o->after), o->cause);
}

void self_record_clock(const struct self_clock *c)
{
    bezel_record(bezel_clocks, c->kernel, c->counter, c->program, c->error_ns, c->jumps, c->clamped);
}

void self_record_metric(const char *metric, const char *process, double value)
{
    bezel_record(bezel_metric, bezel_intern(metric), bezel_intern(process), value);
}
