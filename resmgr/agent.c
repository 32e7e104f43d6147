// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/agent_own.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lifecycle --------------------------------------------------------------------------------------------------- */

static int agent_find_aspect(const struct agent *agent, const char *name)
{
    for (uint32_t i = 0; i < agent->aspects; i++)
        if (strcmp(agent->aspect_name[i], name) == 0)
            return (int)i;
    return BEZEL_ENOENT;
}

static void agent_index_metric(struct agent *agent, int metric)
{
    const char *name = agent->experiment->metrics[metric].aspect;
    int aspect = agent_find_aspect(agent, name);
    if (aspect < 0) {
        aspect = (int)agent->aspects++;
        agent->aspect_name[aspect] = name;
        agent->aspect_metric[aspect] = NO_METRIC;
    }
    agent->metric_aspect[metric] = aspect;
    agent->next_metric[metric] = agent->aspect_metric[aspect];
    agent->aspect_metric[aspect] = metric;
}

static int64_t agent_settling(const struct experiment *e, const struct experiment_limit *limit)
{
    int64_t window = limit->metric == LIMIT_ON_SENSOR_CPU ? 0 : e->metrics[limit->metric].window;
    return window + AGENT_SETTLING * e->adapt.every;
}

int agent_new(const struct experiment *e, uint32_t node, struct agent **agent)
{
    assert(node < e->node_count);
    (void)node;
    struct agent *a = calloc(1, sizeof *a);
    if (!a)
        return BEZEL_ENOMEM;
    a->experiment = e;
    policy_start(&a->policy, &e->adapt, e->sensing.period, 1);
    for (uint32_t i = 0; i < e->metric_count; i++)
        agent_index_metric(a, (int)i);
    for (uint32_t i = 0; i < e->limit_count; i++)
        judge_start(&a->judges[i], &e->limits[i], agent_settling(e, &e->limits[i]), &a->limits[i]);
    a->outcome.limits = a->limits;
    a->outcome.limit_count = e->limit_count;
    *agent = a;
    return 0;
}

static void agent_process_release(struct agent_process *p)
{
    for (int i = 0; i < EXPERIMENT_METRICS_MAX; i++)
        rate_free(p->readings[i].rate);
    free(p->name);
}

void agent_free(struct agent *agent)
{
    if (!agent)
        return;
    for (int slot = 0; slot < agent->slots; slot++) {
        if (agent->processes[slot])
            agent_process_release(agent->processes[slot]);
        free(agent->processes[slot]);
    }
    agent_process_release(&agent->node);
    free(agent);
}

int64_t agent_period(const struct agent *agent)
{
    return agent->experiment->adapt.every;
}

void agent_set_period(struct agent *agent, int64_t period)
{
    policy_set_period(&agent->policy, POLICY_ALL, period);
}

struct policy_setting agent_setting(const struct agent *agent)
{
    const struct policy_member *node = &agent->policy.members[0];
    return (struct policy_setting){.on = node->on, .period = node->period};
}

/* ---- Processes and what they bring ------------------------------------------------------------------------------- */

/* The process, or the node, that metric `metric` of process `p` belongs to. */
static struct agent_process *agent_owner(struct agent *agent, struct agent_process *p, int metric)
{
    return agent->experiment->metrics[metric].per_process ? p : &agent->node;
}

int agent_process_add(struct agent *agent, const char *name)
{
    int slot = 0;
    while (slot < AGENT_PROCESSES_MAX && agent->processes[slot])
        slot++;
    if (slot == AGENT_PROCESSES_MAX)
        return BEZEL_EFULL;
    struct agent_process *p = calloc(1, sizeof *p);
    if (!p || !(p->name = strdup(name))) {
        free(p);
        return BEZEL_ENOMEM;
    }
    agent->processes[slot] = p;
    if (slot >= agent->slots)
        agent->slots = slot + 1;
    return slot;
}

const char *agent_process_name(const struct agent *agent, int slot)
{
    const struct agent_process *p = agent_process(agent, slot);
    return p ? p->name : NULL;
}

int agent_watch(struct agent *agent, int slot, const char *name)
{
    struct agent_process *p = agent_process(agent, slot);
    int aspect = agent_find_aspect(agent, name);
    if (!p || aspect < 0)
        return BEZEL_ENOENT;
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m]) {
        struct rate **rate = &agent_owner(agent, p, m)->readings[m].rate;
        if (!*rate && rate_new(agent->experiment->metrics[m].window, rate) != 0)
            return BEZEL_ENOMEM;
    }
    if (p->sources[aspect].watchers == 0) {
        p->sources[aspect].watchers = 1;
        agent->node.sources[aspect].watchers++;
    }
    return slot << WATCH_ASPECT_BITS | aspect;
}

/* The last process with an aspect ended: the node's values of it start anew with the next one. */
static void agent_node_forget(struct agent *agent, int aspect)
{
    agent->node.sources[aspect] = (struct agent_source){0};
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m]) {
        if (agent->node.readings[m].rate)
            rate_reset(agent->node.readings[m].rate);
        for (uint32_t i = 0; i < agent->experiment->limit_count; i++)
            if (agent->experiment->limits[i].metric == m)
                judge_forget(&agent->judges[i], &agent->node.runs[i]);
    }
}

void agent_process_remove(struct agent *agent, int slot)
{
    struct agent_process *p = agent_process(agent, slot);
    if (!p)
        return;
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++)
        judge_forget(&agent->judges[i], &p->runs[i]);
    for (uint32_t i = 0; i < agent->aspects; i++)
        if (p->sources[i].watchers && --agent->node.sources[i].watchers == 0)
            agent_node_forget(agent, (int)i);
    agent_process_release(p);
    free(p);
    agent->processes[slot] = NULL;
}

void agent_record(struct agent *agent, int watch, int64_t timestamp)
{
    struct agent_process *p = agent_process(agent, watch >> WATCH_ASPECT_BITS);
    if (!p)
        return;
    for (int m = agent->aspect_metric[watch % WATCH_ASPECTS]; m != NO_METRIC; m = agent->next_metric[m])
        rate_record(agent_owner(agent, p, m)->readings[m].rate, timestamp);
}

/* A counter's first reading is its baseline: what was counted before it is not growth. */
static void agent_source_read(struct agent_source *s, uint64_t attempts, int64_t now, struct agent_source *node)
{
    if (!s->read)
        s->grown_at = now;
    else if (attempts > s->attempts) {
        node->attempts += attempts - s->attempts;
        s->grew = node->grew = true;
        s->grown_at = node->grown_at = now;
    }
    s->read = true;
    s->attempts = attempts;
}

void agent_count(struct agent *agent, int watch, uint64_t attempts, int64_t now)
{
    struct agent_process *p = agent_process(agent, watch >> WATCH_ASPECT_BITS);
    if (!p)
        return;
    int aspect = watch % WATCH_ASPECTS;
    agent_source_read(&p->sources[aspect], attempts, now, &agent->node.sources[aspect]);
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m])
        if (p->readings[m].rate)
            rate_count(p->readings[m].rate, attempts, now);
}

void agent_blind(struct agent *agent, int watch)
{
    struct agent_process *p = agent_process(agent, watch >> WATCH_ASPECT_BITS);
    if (!p)
        return;
    int aspect = watch % WATCH_ASPECTS;
    p->sources[aspect].read = false;
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m])
        if (agent_owner(agent, p, m)->readings[m].rate)
            rate_reset(agent_owner(agent, p, m)->readings[m].rate);
}
