// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "config/check_internal.h"

#define QUIET_SLOT                                                                                                     \
    (CLOCK_US * 3 / 4) /* of a slot: 1 us is what 1,000,000 records a second take; the rest is for a late poll */

int64_t experiment_quiet_period(uint32_t slots)
{
    int64_t period = slots * QUIET_SLOT;
    return period < EXPERIMENT_QUIET_MAX ? period : EXPERIMENT_QUIET_MAX;
}

static bool is_on_latency(enum experiment_metric_kind kind)
{
    return kind == METRIC_LATENCY || kind == METRIC_LATENCY_MAX || kind == METRIC_STORING || kind == METRIC_STORING_MAX;
}

static int64_t shorter(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

int64_t experiment_asked_latency(const struct experiment *e)
{
    int64_t asked = 0;
    for (const struct experiment_rule *x = e->sensing.expire; x && x->pattern; x++)
        asked = shorter(asked, x->value);
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->metric >= 0 && is_on_latency(e->metrics[l->metric].kind))
            asked = shorter(asked, (int64_t)l->bound);
    }
    return asked;
}

/* Whether a limit is on what shorter polling periods improve. */
static bool limits_monitoring(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].metric >= 0 && experiment_metric_is_built_in(e->metrics[e->limits[i].metric].kind))
            return true;
    return false;
}

/* Whether something is to be done as soon as a record shows. */
static bool waits_for_records(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->trigger_count; i++)
        if (e->triggers[i].condition != WHEN_VIOLATED)
            return true;
    return false;
}

/* Whether nothing in the file says how soon, how many at a time or by whose decision records are taken. */
static bool leaves_it_open(const struct tree *root, const struct experiment *e)
{
    const struct experiment_sensing *s = &e->sensing;
    return !tree_get(tree_get(tree_get(root, "sensing"), "poll"), "period") && s->mode == POLL_POLLING &&
           s->forward == FORWARD_BATCH && s->batch == 0 && s->accumulate == 1 && e->adapt.policy == POLICY_NONE &&
           !limits_monitoring(e) && !waits_for_records(e) && experiment_asked_latency(e) == 0;
}

void check_quiet_period(const struct tree *root, struct experiment *e)
{
    struct experiment_sensing *s = &e->sensing;
    int64_t longest = experiment_quiet_period(s->ring_records);
    s->period_quiet = longest > s->period && leaves_it_open(root, e) ? longest : s->period;
}
