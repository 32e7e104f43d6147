// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/agent_own.h"

static void agent_read(const struct agent *agent, struct agent_process *p, int64_t now)
{
    for (uint32_t m = 0; m < agent->experiment->metric_count; m++)
        reading_take(&p->readings[m], now);
}

static void agent_read_all(struct agent *agent, int64_t now)
{
    for (uint32_t i = 0; i < agent->aspects; i++)
        for (int m = agent->aspect_metric[i]; m != NO_METRIC; m = agent->next_metric[m])
            reading_count(&agent->node.readings[m], agent->node.sources[i].attempts, now);
    agent_read(agent, &agent->node, now);
    for (int slot = 0; slot < agent->slots; slot++)
        if (agent->processes[slot])
            agent_read(agent, agent->processes[slot], now);
}

/* ns since its last record; 0: it made one since the step before. One that is told to end does not hang. */
static int64_t agent_silence(const struct agent *agent, const struct agent_source *s, int64_t now)
{
    return s->grew ? 0 : agent->processes_end ? 1 : now - s->grown_at;
}

static void agent_judge_reading(struct agent *agent, uint32_t limit, struct agent_process *p, int slot, int64_t now)
{
    int metric = agent->experiment->limits[limit].metric;
    const struct reading *r = &p->readings[metric];
    struct judge_value v = {.known = r->known, .value = r->value, .resolution = r->resolution};
    if (agent->experiment->metrics[metric].aspect) {
        const struct agent_source *s = &p->sources[agent->metric_aspect[metric]];
        v.of_records = true;
        v.silent = agent_silence(agent, s, now);
    }
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

/* What is old is as unknown to a manager as it is to the policy here. */
static bool agent_is_stale(const struct agent *agent, const struct reading *r, int64_t now)
{
    int64_t hysteresis = agent->experiment->adapt.hysteresis;
    return r->known && hysteresis > 0 && now - r->at > hysteresis;
}

/* Of an aspect that nobody here has ever recorded there is nothing to add, not even a 0 that is not known yet. */
static void agent_add_part(struct agent *agent, uint32_t limit, int64_t now, double sensor_cpu)
{
    struct message_part *part = &agent->parts[limit];
    int metric = agent->experiment->limits[limit].metric;
    *part = (struct message_part){.limit = limit};
    if (metric == LIMIT_ON_SENSOR_CPU) {
        part->state = policy_cpu_is_sane(sensor_cpu) ? PART_KNOWN : PART_UNKNOWN;
        part->value = part->state == PART_KNOWN ? sensor_cpu : 0;
        return;
    }
    struct reading *r = &agent->node.readings[metric];
    bool of_records = agent->experiment->metrics[metric].aspect;
    const struct agent_source *s = of_records ? &agent->node.sources[agent->metric_aspect[metric]] : NULL;
    if (s && s->attempts == 0)
        part->state = PART_NONE;
    else if (!agent_is_stale(agent, r, now))
        reading_part(r, now, part);
    if (s && part->state == PART_KNOWN)
        part->silent = agent_silence(agent, s, now);
}

struct message_part agent_part(const struct agent *agent, uint32_t i)
{
    return agent->parts[i];
}

static void agent_clear_growth(struct agent_process *p)
{
    for (int i = 0; i < EXPERIMENT_METRICS_MAX; i++)
        p->sources[i].grew = false;
}

struct policy_limit agent_policy_limit(const struct experiment *e, uint32_t i, enum limit_state state, double value)
{
    const struct experiment_limit *limit = &e->limits[i];
    bool on_cpu = limit->metric == LIMIT_ON_SENSOR_CPU;
    return (struct policy_limit){
        .state = state,
        .compare = limit->compare,
        .on_cpu = on_cpu,
        .on_flow = !on_cpu && experiment_metric_is_built_in(e->metrics[limit->metric].kind),
        .bound = limit->bound,
        .value = value,
        .window = experiment_limit_window(e, limit),
        .priority = limit->priority,
    };
}

/* How old the observation is that limit `i` was judged by. */
static int64_t agent_age(const struct agent *agent, uint32_t i, int64_t now)
{
    const struct experiment_limit *limit = &agent->experiment->limits[i];
    const struct agent_process *p = agent_process(agent, agent->limits[i].slot);
    if (limit->metric == LIMIT_ON_SENSOR_CPU)
        return 0;
    return now - (p ? p : &agent->node)->readings[limit->metric].at;
}

/* Limit `i` as the policy is to see it. */
static struct policy_limit agent_observed(const struct agent *agent, uint32_t i, int64_t now)
{
    const struct agent_limit *seen = &agent->limits[i];
    int64_t hysteresis = agent->experiment->adapt.hysteresis;
    bool fresh = seen->known && (hysteresis == 0 || agent_age(agent, i, now) <= hysteresis);
    return agent_policy_limit(agent->experiment, i, fresh ? seen->state : LIMIT_UNKNOWN, seen->value);
}

/* The same, but for what a knob answers. */
static struct policy_limit agent_hear(struct agent *agent, uint32_t i, int64_t now)
{
    struct policy_limit limit = agent_observed(agent, i, now);
    if (!experiment_is_managed(agent->experiment))
        helm_take(&agent->helm, i, &limit);
    return limit;
}

static void agent_decide(struct agent *agent, int64_t now, const struct policy_measure *measured)
{
    struct agent_outcome *out = &agent->outcome;
    struct policy_observation *seen = &agent->seen;
    seen->limit_count = 0;
    helm_begin(&agent->helm, measured->elapsed);
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++)
        if (agent->experiment->limits[i].kind == LIMIT_HOLD && !agent->experiment->limits[i].whole)
            seen->limits[seen->limit_count++] = agent_hear(agent, i, now);
    seen->dead_time = 0; /* bezeld carries a decision out within the step, before it begins to measure again */
    seen->member_count = 1;
    seen->members[0] = *measured;
    out->policy = agent->policy.policy;
    out->before = out->after = agent_setting(agent);
    out->action = POLICY_KEEP;
    if (experiment_is_managed(agent->experiment))
        return;
    policy_step(&agent->policy, seen, &out->actions);
    helm_step(&agent->helm, &agent->policy, &out->actions);
    out->action = out->actions.action[0];
    out->floor = agent_floor(agent);
    out->after = agent_setting(agent);
}

const struct agent_outcome *agent_step(struct agent *agent, int64_t now, const struct policy_measure *measured)
{
    struct agent_outcome *out = &agent->outcome;
    out->cause = -1;
    out->limit_changed = false;
    agent_read_all(agent, now);
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++) {
        if (agent->experiment->limits[i].whole) {
            agent_add_part(agent, i, now, measured->cpu);
            continue;
        }
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
    agent_decide(agent, now, measured);
    return out;
}

/* Whether what limit `i` was found to be is over: the processes that it was found of have ended. */
static bool agent_is_over(const struct agent *agent, uint32_t i)
{
    int metric = agent->experiment->limits[i].metric, slot = agent->limits[i].slot;
    if (metric == LIMIT_ON_SENSOR_CPU || !agent->experiment->metrics[metric].aspect)
        return false;
    return slot == NODE ? agent->node.sources[agent->metric_aspect[metric]].watchers == 0 : !agent_process(agent, slot);
}

void agent_processes_end(struct agent *agent)
{
    agent->processes_end = true;
}

const struct agent_outcome *agent_end(struct agent *agent)
{
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++) {
        struct agent_limit *l = &agent->limits[i];
        if (!agent_is_over(agent, i))
            continue;
        l->state = LIMIT_UNKNOWN;
        l->known = false;
        l->slot = NODE;
    }
    return &agent->outcome;
}

void agent_find_knob(struct agent *agent, uint32_t i, const struct trim_seen *seen)
{
    helm_find(&agent->helm, i, seen);
}

const struct helm_order *agent_knob_order(const struct agent *agent, uint32_t i)
{
    return helm_order(&agent->helm, i);
}

const struct policy_observation *agent_seen(const struct agent *agent)
{
    return &agent->seen;
}

struct policy_shed agent_shed(const struct agent *agent)
{
    return agent->policy.members[0].shed;
}

const struct agent_outcome *agent_obey(struct agent *agent, struct policy_setting setting, uint32_t shed,
                                       const struct policy_actions *verdict, int cause)
{
    struct agent_outcome *out = &agent->outcome;
    struct policy_shed *s = &agent->policy.members[0].shed;
    s->count = shed < s->levels ? shed : s->levels;
    out->floor = agent_floor(agent);
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
