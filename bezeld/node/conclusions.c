// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/node_internal.h"

#include <math.h>

/* Records whether a conclusion holds, if that differs from what was recorded last. */
static void record_change(struct node *n, bool *recorded, bool holds, struct builtin_conclusion conclusion)
{
    if (*recorded == holds)
        return;
    *recorded = holds;
    conclusion.holds = holds;
    own_trace_record_conclusion(n->own_trace, &conclusion);
}

static void record_load_shedding(struct node *n, const struct agent_outcome *o)
{
    if (n->concluded.floor == o->floor)
        return;
    n->concluded.floor = o->floor;
    external_set_rules(n->external);
    own_trace_record_conclusion(n->own_trace, &(struct builtin_conclusion){.what = CONCLUSION_LOAD_SHEDDING,
                                                                           .holds = o->floor > 0,
                                                                           .limit = -1,
                                                                           .needed = NAN,
                                                                           .budget = NAN,
                                                                           .floor = o->floor});
}

/*
 * A violation counts only once the limit is judged, not while adaptation settles. A violation that a process's end
 * caused is taken back (resmgr/agent/limit_judge.h).
 */
void node_record_violated(struct node *n, uint32_t limit, bool violated)
{
    record_change(
        n, &n->concluded.violated[limit], violated,
        (struct builtin_conclusion){.what = CONCLUSION_VIOLATED, .limit = (int)limit, .needed = NAN, .budget = NAN});
}

void node_record_violations(struct node *n, const struct agent_outcome *o)
{
    for (uint32_t i = 0; i < o->limit_count; i++)
        if (!n->options.experiment->limits[i].global)
            node_record_violated(n, i, o->limits[i].violated > 0);
}

/* The strictest limit on sensor_cpu of all nodes together; -1: none. */
static int global_budget(const struct experiment *e)
{
    int found = -1;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->global && l->kind == LIMIT_HOLD && l->metric == LIMIT_ON_SENSOR_CPU &&
            (found < 0 || l->bound < e->limits[found].bound))
            found = (int)i;
    }
    return found;
}

void node_record_conclusions(struct node *n, const struct agent_outcome *o)
{
    const struct policy_actions *a = &o->actions;
    struct builtin_conclusion numbers = {.limit = -1, .needed = NAN, .budget = NAN};
    if (a->infeasible) {
        numbers.needed = a->needed;
        numbers.budget = a->budget;
        if (a->infeasible_member == POLICY_ALL)
            numbers.limit = global_budget(n->options.experiment);
    }
    numbers.what = CONCLUSION_INFEASIBLE;
    record_change(n, &n->concluded.infeasible, a->infeasible, numbers);
    struct builtin_conclusion plain = {.what = CONCLUSION_NOT_THE_MONITORS, .limit = -1, .needed = NAN, .budget = NAN};
    record_change(n, &n->concluded.not_the_monitors, o->own.not_the_monitors, plain);
    plain.what = CONCLUSION_STARVED;
    record_change(n, &n->concluded.starved, o->own.starved, plain);
    record_load_shedding(n, o);
    node_record_violations(n, o);
}

bool node_load_shedding(const void *node, const char *aspect)
{
    return agent_sheds(((const struct node *)node)->agent, aspect);
}
