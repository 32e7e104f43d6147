// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "config/check_internal.h"

#define UNASKED_PERIOD  (100 * CLOCK_MS)
#define UNASKED_BUDGET  2.0             /* percent of a CPU: a tighter budget has no room for what nobody asked for */
#define UNASKED_LATENCY (10 * CLOCK_MS) /* a tighter limit on a latency leaves no time for it */

/* Whether limit `l` is so tight that a sampler could break it. */
static bool is_tight(const struct experiment *e, const struct experiment_limit *l)
{
    if (l->metric == LIMIT_ON_SENSOR_CPU)
        return l->bound < UNASKED_BUDGET;
    enum experiment_metric_kind kind = e->metrics[l->metric].kind;
    bool latency =
        kind == METRIC_LATENCY || kind == METRIC_LATENCY_MAX || kind == METRIC_STORING || kind == METRIC_STORING_MAX;
    return latency && l->bound < (double)UNASKED_LATENCY;
}

static bool reads_a_sampler(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->metric_count; i++)
        if (e->metrics[i].aspect && experiment_sampler_of(e->metrics[i].aspect) != EXPERIMENT_SAMPLERS)
            return true;
    return false;
}

void check_unasked(const struct tree *root, struct experiment *e)
{
    bool programs = false, tight = e->sensing.mode == POLL_BUSY_WAIT;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        programs = programs || (l->metric >= 0 && experiment_metric_aspect(&e->metrics[l->metric], 0));
        tight = tight || is_tight(e, l);
    }
    if (!programs || tight || reads_a_sampler(e) || tree_get(tree_get(root, "sensing"), "samplers"))
        return;
    e->sensing.sampled_unasked = true;
    e->sensing.sampler[EXPERIMENT_SAMPLER_SCHEDULING] = UNASKED_PERIOD;
}
