// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/node_impl.h"
#include "ecs/self.h"

#include <math.h>

/* A finding that holds, or no longer does, told where that is new. */
static void tell(struct node *n, bool *told, bool holds, struct self_finding finding)
{
    if (*told == holds)
        return;
    *told = holds;
    finding.holds = holds;
    self_record_finding(n->self, &finding);
}

static void tell_shed(struct node *n, const struct agent_outcome *o)
{
    if (n->found.floor == o->floor)
        return;
    n->found.floor = o->floor;
    external_steer(n->external);
    self_record_finding(n->self, &(struct self_finding){.what = SELF_FINDING_SHED,
                                                        .holds = o->floor > 0,
                                                        .limit = -1,
                                                        .needed = NAN,
                                                        .budget = NAN,
                                                        .floor = o->floor});
}

/*
 * Since it is judged: what happens while adaptation settles is no violation. One that was the end of a process is taken
 * back (resmgr/judge.h).
 */
void node_tell_violated(struct node *n, uint32_t limit, bool violated)
{
    tell(n, &n->found.violated[limit], violated,
         (struct self_finding){.what = SELF_FINDING_VIOLATED, .limit = (int)limit, .needed = NAN, .budget = NAN});
}

void node_tell_violations(struct node *n, const struct agent_outcome *o)
{
    for (uint32_t i = 0; i < o->limit_count; i++)
        if (!n->options.experiment->limits[i].whole)
            node_tell_violated(n, i, o->limits[i].violated > 0);
}

/* The limit that is the budget of all nodes together: the strictest; -1: none. */
static int whole_budget(const struct experiment *e)
{
    int found = -1;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->whole && l->kind == LIMIT_HOLD && l->metric == LIMIT_ON_SENSOR_CPU &&
            (found < 0 || l->bound < e->limits[found].bound))
            found = (int)i;
    }
    return found;
}

void node_take_findings(struct node *n, const struct agent_outcome *o)
{
    const struct policy_actions *a = &o->actions;
    struct self_finding numbers = {.limit = -1, .needed = NAN, .budget = NAN};
    if (a->infeasible) {
        numbers.needed = a->needed;
        numbers.budget = a->budget;
        if (a->infeasible_member == POLICY_ALL)
            numbers.limit = whole_budget(n->options.experiment);
    }
    numbers.what = SELF_FINDING_INFEASIBLE;
    tell(n, &n->found.infeasible, a->infeasible, numbers);
    struct self_finding plain = {.what = SELF_FINDING_BLAMELESS, .limit = -1, .needed = NAN, .budget = NAN};
    tell(n, &n->found.blameless, a->blameless & 1, plain);
    plain.what = SELF_FINDING_STARVED;
    tell(n, &n->found.starved, a->starved & 1, plain);
    tell_shed(n, o);
    node_tell_violations(n, o);
}

bool node_sheds(const void *node, const char *aspect)
{
    return agent_sheds(((const struct node *)node)->agent, aspect);
}
