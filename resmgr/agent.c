// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/agent.h"

#include "metric/rate.h"
#include "resmgr/judge.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Aspects that metrics name are numbered in the order of the file; a watch is a slot and such a number. The node is
 * kept like a process: its sources are the sums over the processes, its readings the metrics that are not per process.
 */
enum { WATCH_ASPECT_BITS = 6, WATCH_ASPECTS = 1 << WATCH_ASPECT_BITS, NODE = -1, NO_METRIC = -1 };
static_assert((int)EXPERIMENT_METRICS_MAX <= WATCH_ASPECTS, "a watch holds the number of any aspect");

/* The attempt counter of an aspect. Of a process: as it was read. Of the node: the growth of those of its processes. */
struct agent_source {
    uint32_t watchers; /* of a process: 0 or 1 */
    bool read, grew;   /* since the last step */
    uint64_t attempts;
    int64_t grown_at;
};

struct agent_reading {
    struct rate *rate; /* NULL where the aspect is not watched */
    bool known;
    double value, resolution;
};

struct agent_process {
    char *name;
    struct agent_source sources[EXPERIMENT_METRICS_MAX]; /* by aspect */
    struct agent_reading readings[EXPERIMENT_METRICS_MAX];
    struct judge_run runs[EXPERIMENT_LIMITS_MAX];
};

struct agent {
    const struct experiment *experiment;
    struct policy_state policy;
    struct policy_observation seen; /* scratch of a step */
    uint32_t aspects;
    const char *aspect_name[EXPERIMENT_METRICS_MAX];
    int aspect_metric[EXPERIMENT_METRICS_MAX]; /* its first metric */
    int next_metric[EXPERIMENT_METRICS_MAX];   /* the next metric of the same aspect, or NO_METRIC */
    int metric_aspect[EXPERIMENT_METRICS_MAX];
    struct judge judges[EXPERIMENT_LIMITS_MAX];
    struct agent_limit limits[EXPERIMENT_LIMITS_MAX];
    struct agent_outcome outcome;
    struct agent_process node;
    int slots; /* one above the highest in use */
    struct agent_process *processes[AGENT_PROCESSES_MAX];
};

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

static struct agent_process *agent_process(const struct agent *agent, int slot)
{
    return slot >= 0 && slot < agent->slots ? agent->processes[slot] : NULL;
}

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

/* ---- The step ---------------------------------------------------------------------------------------------------- */

static void agent_read(const struct agent *agent, struct agent_process *p, int64_t now)
{
    for (uint32_t m = 0; m < agent->experiment->metric_count; m++) {
        struct agent_reading *r = &p->readings[m];
        r->known = r->rate && rate_value(r->rate, now, &r->value, &r->resolution);
    }
}

static void agent_read_all(struct agent *agent, int64_t now)
{
    for (uint32_t m = 0; m < agent->experiment->metric_count; m++) {
        if (agent->node.readings[m].rate)
            rate_count(agent->node.readings[m].rate, agent->node.sources[agent->metric_aspect[m]].attempts, now);
    }
    agent_read(agent, &agent->node, now);
    for (int slot = 0; slot < agent->slots; slot++)
        if (agent->processes[slot])
            agent_read(agent, agent->processes[slot], now);
}

static void agent_judge_reading(struct agent *agent, uint32_t limit, struct agent_process *p, int slot, int64_t now)
{
    int metric = agent->experiment->limits[limit].metric;
    const struct agent_reading *r = &p->readings[metric];
    const struct agent_source *s = &p->sources[agent->metric_aspect[metric]];
    struct judge_value v = {.known = r->known, .value = r->value, .resolution = r->resolution};
    v.silent = s->grew ? 0 : now - s->grown_at;
    judge_value(&agent->judges[limit], &p->runs[limit], slot, v);
}

/* Whether the limit's state changed. */
static bool agent_judge(struct agent *agent, uint32_t limit, int64_t now, double sensor_cpu)
{
    struct judge *j = &agent->judges[limit];
    int metric = agent->experiment->limits[limit].metric;
    judge_begin(j, now);
    if (metric == LIMIT_ON_SENSOR_CPU) {
        struct judge_value v = {.known = policy_cpu_is_sane(sensor_cpu), .value = sensor_cpu};
        judge_value(j, &agent->node.runs[limit], NODE, v);
    } else if (!agent->experiment->metrics[metric].per_process) {
        agent_judge_reading(agent, limit, &agent->node, NODE, now);
    } else {
        for (int slot = 0; slot < agent->slots; slot++)
            if (agent->processes[slot])
                agent_judge_reading(agent, limit, agent->processes[slot], slot, now);
    }
    return judge_end(j);
}

static void agent_clear_growth(struct agent_process *p)
{
    for (int i = 0; i < EXPERIMENT_METRICS_MAX; i++)
        p->sources[i].grew = false;
}

/* Limit `i` as the policy is to see it. */
static struct policy_limit agent_observed(const struct agent *agent, uint32_t i)
{
    const struct experiment_limit *limit = &agent->experiment->limits[i];
    const struct agent_limit *seen = &agent->limits[i];
    bool on_cpu = limit->metric == LIMIT_ON_SENSOR_CPU;
    return (struct policy_limit){
        .state = seen->known ? seen->state : LIMIT_UNKNOWN,
        .compare = limit->compare,
        .on_cpu = on_cpu,
        .bound = limit->bound,
        .value = seen->value,
        .window = on_cpu ? 0 : agent->experiment->metrics[limit->metric].window,
    };
}

static void agent_decide(struct agent *agent, const struct policy_measure *measured)
{
    struct agent_outcome *out = &agent->outcome;
    struct policy_observation *seen = &agent->seen;
    seen->limit_count = 0;
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++)
        if (agent->experiment->limits[i].kind == LIMIT_HOLD)
            seen->limits[seen->limit_count++] = agent_observed(agent, i);
    seen->member_count = 1;
    seen->members[0] = *measured;
    out->policy = agent->policy.policy;
    out->before = out->after = agent_setting(agent);
    out->action = POLICY_KEEP;
    if (agent->experiment->adapt.by == ADAPT_BY_MANAGER)
        return;
    policy_step(&agent->policy, seen, &out->actions);
    out->action = out->actions.action[0];
    out->after = agent_setting(agent);
}

const struct agent_outcome *agent_step(struct agent *agent, int64_t now, const struct policy_measure *measured)
{
    struct agent_outcome *out = &agent->outcome;
    out->cause = -1;
    out->limit_changed = false;
    agent_read_all(agent, now);
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++) {
        if (agent_judge(agent, i, now, measured->cpu))
            out->limit_changed = true;
        if (agent->experiment->limits[i].kind == LIMIT_HOLD && agent->limits[i].state == LIMIT_VIOLATED &&
            out->cause < 0)
            out->cause = (int)i;
    }
    agent_clear_growth(&agent->node);
    for (int slot = 0; slot < agent->slots; slot++)
        if (agent->processes[slot])
            agent_clear_growth(agent->processes[slot]);
    agent_decide(agent, measured);
    return out;
}

const struct policy_observation *agent_seen(const struct agent *agent)
{
    return &agent->seen;
}

const struct agent_outcome *agent_obey(struct agent *agent, struct policy_setting setting,
                                       const struct policy_actions *verdict, int cause)
{
    struct agent_outcome *out = &agent->outcome;
    out->policy = agent->policy.policy;
    out->before = agent_setting(agent);
    agent->policy.members[0].on = setting.on;
    agent->policy.members[0].period = setting.period;
    out->after = setting;
    out->action = policy_action_between(out->before, out->after);
    out->actions = *verdict;
    out->cause = cause;
    return out;
}

bool agent_metric(const struct agent *agent, uint32_t metric, int slot, double *value)
{
    const struct agent_process *p = slot == NODE ? &agent->node : agent_process(agent, slot);
    if (!p || metric >= agent->experiment->metric_count || !p->readings[metric].known)
        return false;
    *value = p->readings[metric].value;
    return true;
}
