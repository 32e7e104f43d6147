// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/samplers.h"

#include "base/clock.h"
#include "base/units.h"

#define SAMPLER(name, which)                                                                                           \
    {                                                                                                                  \
        .key = (name), .kind = SCHEMA_DURATION, .offset = offsetof(struct experiment, sensing.sampler[which]),         \
        .min = CLOCK_MS, .max = 3600 * CLOCK_S                                                                         \
    }

/* In the order of enum experiment_sampler. */
const struct schema_field sampler_fields[] = {
    SAMPLER("cpu", EXPERIMENT_SAMPLER_CPU),
    SAMPLER("memory", EXPERIMENT_SAMPLER_MEMORY),
    SAMPLER("network", EXPERIMENT_SAMPLER_NETWORK),
    SAMPLER("disk", EXPERIMENT_SAMPLER_DISK),
    SAMPLER("pressure", EXPERIMENT_SAMPLER_PRESSURE),
    SAMPLER("temperature", EXPERIMENT_SAMPLER_TEMPERATURE),
    SAMPLER("frequency", EXPERIMENT_SAMPLER_FREQUENCY),
    SAMPLER("processes", EXPERIMENT_SAMPLER_PROCESSES),
    SAMPLER("perf", EXPERIMENT_SAMPLER_PERF),
    {0},
};

_Static_assert(sizeof sampler_fields / sizeof *sampler_fields == EXPERIMENT_SAMPLERS + 1, "one key for each sampler");

void sampler_keys_print(const struct experiment_sensing *s, FILE *out)
{
    bool any = false;
    fputs("  samplers: {", out);
    for (int i = 0; i < EXPERIMENT_SAMPLERS; i++) {
        if (s->sampler[i])
            fprintf(out, "%s%s: %s", any ? ", " : "", sampler_fields[i].key, units_exact_duration(s->sampler[i]).s);
        any = any || s->sampler[i];
    }
    fputs("}\n", out);
}
