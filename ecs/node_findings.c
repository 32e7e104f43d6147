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
static void tell_violations(struct node *n, const struct agent_outcome *o)
{
    for (uint32_t i = 0; i < o->limit_count; i++)
        tell(n, &n->found.violated[i], o->limits[i].violated > 0,
             (struct self_finding){.what = SELF_FINDING_VIOLATED, .limit = (int)i, .needed = NAN, .budget = NAN});
}

void node_take_findings(struct node *n, const struct agent_outcome *o)
{
    const struct policy_actions *a = &o->actions;
    struct self_finding numbers = {.limit = -1, .needed = NAN, .budget = NAN};
    if (a->infeasible) {
        numbers.needed = a->needed;
        numbers.budget = a->budget;
    }
    numbers.what = SELF_FINDING_INFEASIBLE;
    tell(n, &n->found.infeasible, a->infeasible, numbers);
    struct self_finding plain = {.what = SELF_FINDING_BLAMELESS, .limit = -1, .needed = NAN, .budget = NAN};
    tell(n, &n->found.blameless, a->blameless & 1, plain);
    plain.what = SELF_FINDING_STARVED;
    tell(n, &n->found.starved, a->starved & 1, plain);
    tell_shed(n, o);
    tell_violations(n, o);
}

bool node_sheds(const void *node, const char *aspect)
{
    return agent_sheds(((const struct node *)node)->agent, aspect);
}
