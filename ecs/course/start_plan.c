// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/start_plan.h"

#include <stdlib.h>
#include <string.h>

int start_plan_make(const struct experiment *e, struct start_plan *plan)
{
    size_t n = 0;
    for (uint32_t i = 0; i < e->process_count; i++)
        n += e->processes[i].argv ? e->processes[i].instances : 0;
    *plan = (struct start_plan){.e = e, .programs = calloc(n + 1, sizeof *plan->programs)};
    if (!plan->programs)
        return BEZEL_ENOMEM;
    for (uint32_t i = 0; i < e->process_count; i++)
        for (uint32_t k = 0; e->processes[i].argv && k < e->processes[i].instances; k++)
            plan->programs[plan->count++].of = &e->processes[i];
    return 0;
}

void start_plan_free(struct start_plan *plan)
{
    free(plan->programs);
    *plan = (struct start_plan){0};
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static bool has_condition(const struct experiment_ready *ready)
{
    return ready->record || ready->output || ready->port || ready->time;
}

void start_plan_runs(struct start_plan *plan, size_t i, int64_t at)
{
    struct start_plan_program *p = &plan->programs[i];
    if (p->phase != START_TOLD)
        return;
    p->phase = START_RUNS;
    p->at = at;
    if (!has_condition(&p->of->ready))
        start_plan_ready(plan, i);
}

void start_plan_ready(struct start_plan *plan, size_t i)
{
    if (plan->programs[i].phase != START_RUNS)
        return;
    plan->programs[i].phase = START_READY;
    plan->programs[i].done = true;
}

bool start_plan_ends(struct start_plan *plan, size_t i, bool failed, int64_t now)
{
    struct start_plan_program *p = &plan->programs[i];
    bool again = failed && p->of->restart == RESTART_ON_FAILURE && p->wanted <= p->of->restarts;
    if (p->phase < START_TOLD || p->phase > START_READY)
        return false;
    p->done |= !failed;
    p->phase = again ? START_PAUSES : START_OVER;
    p->at = now + p->of->restart_pause;
    return again;
}

void start_plan_give_up(struct start_plan *plan, size_t i)
{
    plan->programs[i].phase = START_OVER;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* Whether all instances of process `name` are done; else *missing is the first that is not. */
static bool is_done(const struct start_plan *plan, const char *name, size_t *missing)
{
    for (size_t i = 0; i < plan->count; i++)
        if (!plan->programs[i].done && strcmp(plan->programs[i].of->name, name) == 0) {
            *missing = i;
            return false;
        }
    return true;
}

static bool may_start(const struct start_plan *plan, const struct start_plan_program *p)
{
    size_t missing;
    for (char *const *name = p->of->after; name && *name; name++)
        if (!is_done(plan, *name, &missing))
            return false;
    return true;
}

static void tell(struct start_plan_program *p)
{
    p->phase = START_TOLD;
    p->late = false;
    p->wanted++;
}

void start_plan_step(struct start_plan *plan, int64_t now)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct start_plan_program *p = &plan->programs[i];
        if (p->phase == START_RUNS && p->of->ready.time > 0 && now - p->at >= p->of->ready.time)
            start_plan_ready(plan, i);
        if (p->phase == START_PAUSES && now >= p->at)
            tell(p);
    }
    for (size_t i = 0; i < plan->count; i++) /* after the first round: others may be ready now */
        if (plan->programs[i].phase == START_WAITS && may_start(plan, &plan->programs[i]))
            tell(&plan->programs[i]);
}

static int64_t late_at(const struct start_plan_program *p)
{
    bool waits = p->phase == START_RUNS && !p->late && p->of->ready.time == 0;
    return waits ? p->at + p->of->ready.within : INT64_MAX;
}

int start_plan_late(struct start_plan *plan, int64_t now)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct start_plan_program *p = &plan->programs[i];
        if (now < late_at(p))
            continue;
        p->late = true;
        return (int)i;
    }
    return -1;
}

int start_plan_stuck(struct start_plan *plan, size_t *failed)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct start_plan_program *p = &plan->programs[i];
        for (char *const *name = p->of->after; p->phase == START_WAITS && name && *name; name++) {
            if (is_done(plan, *name, failed) || plan->programs[*failed].phase != START_OVER)
                continue;
            p->phase = START_OVER;
            return (int)i;
        }
    }
    return -1;
}

int64_t start_plan_deadline(const struct start_plan *plan)
{
    int64_t at = INT64_MAX;
    for (size_t i = 0; i < plan->count; i++) {
        const struct start_plan_program *p = &plan->programs[i];
        int64_t next = p->phase == START_PAUSES                          ? p->at
                       : p->phase == START_RUNS && p->of->ready.time > 0 ? p->at + p->of->ready.time
                                                                         : late_at(p);
        at = next < at ? next : at;
    }
    return at;
}
