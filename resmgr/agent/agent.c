// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/agent/agent_internal.h"

#include "base/clock_units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct builtin_limit agent_limit_row(uint32_t i, const struct agent_limit *seen)
{
    return (struct builtin_limit){.limit = i,
                                  .state = seen->state,
                                  .value = seen->known ? seen->value : (double)NAN,
                                  .worst = seen->worst,
                                  .settling = seen->settling,
                                  .held = seen->held,
                                  .violated = seen->violated,
                                  .unknown = seen->unknown,
                                  .last_violated = seen->last_violated,
                                  .unjudged = seen->unjudged};
}

/* ns that may pass unjudged of a value that can leave its bound and come back: a gap stays unknown, or it does not. */
#define AGENT_HOLE_UNKNOWN      (500 * CLOCK_MS)
#define AGENT_HOLE_JUDGED_AGAIN (200 * CLOCK_MS)

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
    for (int i = 0; i < 2; i++)
        agent->operands[metric][i] =
            experiment_metric_operand(agent->experiment, &agent->experiment->metrics[metric], i);
    const char *name = agent->experiment->metrics[metric].aspect;
    if (!name)
        return;
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

void agent_loop(struct agent *agent, int64_t dead_time)
{
    agent->dead_time = dead_time;
}

void agent_settled(struct agent *agent, uint32_t i, int64_t since)
{
    agent->judges[i].ever_known = true;
    agent->judges[i].first_known = since;
}

int64_t agent_settling(const struct experiment *e, const struct experiment_limit *limit)
{
    return experiment_limit_window(e, limit) + AGENT_SETTLING * e->adapt.every;
}

/*
 * Whether the value at the end of a hole tells whether the limit was broken inside it: what broke a maximum or minimum
 * is in the window still, and a built-in metric changes by what bezeld does, which did nothing.
 */
static bool agent_hole_shows(const struct experiment *e, const struct experiment_limit *limit)
{
    const struct experiment_metric *m = limit->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[limit->metric];
    return !m || experiment_metric_is_built_in(m->kind) || agent_record_breaks(m, limit);
}

int64_t agent_reach(const struct experiment *e, const struct experiment_limit *limit)
{
    const char *aspect = limit->metric == LIMIT_ON_SENSOR_CPU ? NULL : e->metrics[limit->metric].aspect;
    bool of_records = aspect && !limit->global, judged_again = of_records && !experiment_reduces(e, aspect);
    int64_t window = experiment_limit_window(e, limit), covered = of_records ? window / 4 : window;
    int64_t most = judged_again ? AGENT_HOLE_JUDGED_AGAIN : AGENT_HOLE_UNKNOWN;
    if (covered > most && !agent_hole_shows(e, limit))
        covered = most;
    return covered > 2 * e->adapt.every ? covered : 2 * e->adapt.every;
}

/* Built-in metrics belong to the node, and exist from the start. */
static int agent_start_built_in(struct agent *agent)
{
    for (uint32_t i = 0; i < agent->experiment->metric_count; i++) {
        const struct experiment_metric *m = &agent->experiment->metrics[i];
        if (!experiment_metric_is_built_in(m->kind))
            continue;
        if (evaluator_start(&agent->node.readings[i], m) != 0)
            return BEZEL_ENOMEM;
        agent->wants_stored = agent->wants_stored || m->kind == METRIC_STORING || m->kind == METRIC_STORING_MAX;
        agent->wants_flow = agent->wants_flow || m->kind == METRIC_EN_ROUTE || m->kind == METRIC_LOST;
    }
    return 0;
}

/* `interrupts` shows what threads waited for only if both samplers have the same period, so they are needed together.
 */
uint32_t agent_samplers_of(enum experiment_sampler sampler)
{
    bool pair = sampler == EXPERIMENT_SAMPLER_INTERRUPTS || sampler == EXPERIMENT_SAMPLER_SCHEDULING;
    return pair                             ? 1U << EXPERIMENT_SAMPLER_INTERRUPTS | 1U << EXPERIMENT_SAMPLER_SCHEDULING
           : sampler == EXPERIMENT_SAMPLERS ? 0
                                            : 1U << sampler;
}

/* What limit `i` is on, and then both that this may be of; NULL: no metric. */
enum { READ_BY_LIMIT = 3 };
static const struct experiment_metric *agent_read_by(const struct experiment *e, uint32_t i, int number)
{
    int metric = e->limits[i].metric;
    if (metric >= 0 && number > 0)
        metric = experiment_metric_operand(e, &e->metrics[metric], number - 1);
    return metric < 0 ? NULL : &e->metrics[metric];
}

static uint32_t agent_samplers_read(const struct experiment *e)
{
    uint32_t read = 0;
    for (uint32_t i = 0; i < READ_BY_LIMIT * e->limit_count; i++) {
        const struct experiment_metric *m = agent_read_by(e, i / READ_BY_LIMIT, (int)(i % READ_BY_LIMIT));
        if (m && m->aspect)
            read |= agent_samplers_of(experiment_sampler_of(m->aspect));
    }
    return read;
}

int agent_new(const struct experiment *e, uint32_t node, struct agent **agent)
{
    assert(node < e->node_count);
    (void)node;
    struct agent *a = calloc(1, sizeof *a);
    if (!a)
        return BEZEL_ENOMEM;
    a->experiment = e;
    a->policy.members = &a->member;
    a->seen = (struct policy_observation){.limits = a->hold, .members = &a->measure};
    a->outcome.actions.members = &a->outcome.own;
    policy_start(&a->policy, &e->adapt, e->sensing.period, 1);
    knob_controller_start(&a->knob_controller, e);
    ratio_start(&a->sensor_cpu, e->sensor_cpu_window > 0 ? e->sensor_cpu_window : 1);
    ratio_read(&a->sensor_cpu, 0, 0, 0);
    for (uint32_t i = 0; i < e->metric_count; i++)
        agent_index_metric(a, (int)i);
    for (uint32_t i = 0; i < e->limit_count; i++)
        limit_judge_start(&a->judges[i], &e->limits[i], agent_settling(e, &e->limits[i]), agent_reach(e, &e->limits[i]),
                          &a->limits[i]);
    a->read = agent_samplers_read(e);
    a->outcome.limits = a->limits;
    a->outcome.limit_count = e->limit_count;
    if (agent_start_built_in(a) != 0) {
        agent_free(a);
        return BEZEL_ENOMEM;
    }
    *agent = a;
    return 0;
}

static void agent_process_release(struct agent_process *p)
{
    for (int i = 0; i < EXPERIMENT_METRICS_MAX; i++) {
        evaluator_end(&p->readings[i]);
        arrivals_end(&p->arrivals[i]);
    }
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

/* ---- Processes and their data ------------------------------------------------------------------------------------ */

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

void agent_process_began(struct agent *agent, int slot, int64_t at)
{
    struct agent_process *p = agent_process(agent, slot);
    if (p)
        p->began = at;
}

void agent_judges_since(struct agent *agent, int64_t at, bool resumes)
{
    const struct experiment *e = agent->experiment;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        int metric = e->limits[i].metric;
        if (resumes || (metric != LIMIT_ON_SENSOR_CPU && !experiment_metric_is_built_in(e->metrics[metric].kind)))
            limit_judge_since(&agent->judges[i], at, resumes);
    }
}

const char *agent_process_name(const struct agent *agent, int slot)
{
    const struct agent_process *p = agent_process(agent, slot);
    return p ? p->name : NULL;
}

const char *agent_lacking(const struct agent *agent, const struct dict_aspect *aspect)
{
    int at = agent_find_aspect(agent, aspect->name);
    for (int m = at < 0 ? NO_METRIC : agent->aspect_metric[at]; m != NO_METRIC; m = agent->next_metric[m]) {
        const struct experiment_metric *metric = &agent->experiment->metrics[m];
        if ((metric->field && evaluator_field(metric, aspect).at == STATISTIC_NO_FIELD) ||
            (metric->where && where_find(metric->where, aspect).at == WHERE_NONE))
            return metric->name;
    }
    return NULL;
}

/* Growth counts from the first reading of a counter. */
static void agent_source_read(struct agent_source *s, uint64_t attempts, int64_t now, struct agent_source *node)
{
    if (!s->read)
        s->grown_at = now;
    else if (attempts > s->attempts) {
        node->attempts += attempts - s->attempts;
        s->grew = node->grew = true;
        s->grown_at = node->grown_at = now;
    }
    s->read = node->read = true;
    s->attempts = attempts;
}

/* What the first reading of a new process finds was made since it began. */
static void agent_read_beginning(struct agent *agent, struct agent_process *p, int aspect)
{
    agent_source_read(&p->sources[aspect], 0, p->began, &agent->node.sources[aspect]);
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m]) {
        struct agent_process *owner = agent_owner(agent, p, m);
        evaluator_count(&owner->readings[m], owner->sources[aspect].attempts, p->began);
        evaluator_since(&owner->readings[m], p->began);
    }
}

int agent_watch(struct agent *agent, int slot, const struct dict_aspect *declared)
{
    struct agent_process *p = agent_process(agent, slot);
    int aspect = agent_find_aspect(agent, declared->name);
    if (!p || aspect < 0)
        return BEZEL_ENOENT;
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m]) {
        const struct experiment_metric *metric = &agent->experiment->metrics[m];
        if (evaluator_start(&agent_owner(agent, p, m)->readings[m], metric) != 0)
            return BEZEL_ENOMEM;
        if (metric->field)
            p->fields[m] = evaluator_field(metric, declared);
        if (metric->where)
            p->wheres[m] = where_find(metric->where, declared);
    }
    if (p->sources[aspect].watchers == 0) {
        p->sources[aspect].watchers = 1;
        agent->node.sources[aspect].watchers++;
        if (p->began > 0)
            agent_read_beginning(agent, p, aspect);
    }
    return slot << WATCH_ASPECT_BITS | aspect;
}

bool agent_outlives(const struct agent *agent, int metric)
{
    enum experiment_join join = experiment_join_of(agent->experiment, metric);
    bool adds = join == JOIN_SUM || join == JOIN_RATIO;
    if (agent->keeps_ended)
        return adds && !experiment_metric_is_of_arrivals(&agent->experiment->metrics[metric]);
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++)
        if (agent->experiment->limits[i].global && agent->experiment->limits[i].metric == metric)
            return adds;
    return false;
}

/* What a number of records of the node is at least, with those since the latest step: no other step counts them. */
static double agent_left(struct agent *agent, int metric, const struct agent_source *s)
{
    struct evaluator *r = &agent->node.readings[metric];
    if (!s->grew || !experiment_metric_is_counted(&agent->experiment->metrics[metric]))
        return 0;
    evaluator_count(r, s->attempts, s->grown_at);
    evaluator_take(r, s->grown_at);
    double resolution, value = evaluator_for(r, true, &resolution);
    return r->known ? value - resolution : r->least;
}

/* The last process with an aspect ended, having gone on behind the latest step or not: the node's values of it start
 * anew with the next process. */
static void agent_node_reset(struct agent *agent, int aspect, bool went_on)
{
    struct agent_source *s = &agent->node.sources[aspect], was = *s;
    *s = (struct agent_source){.attempts = was.attempts,
                               .before = was.attempts,
                               .went_on = went_on,
                               .emptied = was.grown_at > was.emptied ? was.grown_at : was.emptied};
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m]) {
        agent->left[m] = agent_left(agent, m, &was);
        if (!agent_outlives(agent, m))
            evaluator_reset(&agent->node.readings[m]);
        if (!agent_outlives(agent, m) || agent->keeps_ended)
            evaluator_begin(&agent->node.readings[m], was.attempts);
        for (uint32_t i = 0; i < agent->experiment->limit_count; i++)
            if (agent->experiment->limits[i].metric == m)
                limit_judge_drop(&agent->judges[i], &agent->node.runs[i], went_on);
    }
}

void agent_process_remove(struct agent *agent, int slot)
{
    struct agent_process *p = agent_process(agent, slot);
    if (!p)
        return;
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++)
        limit_judge_drop(&agent->judges[i], &p->runs[i], p->goes_on);
    for (uint32_t i = 0; i < agent->aspects; i++)
        if (p->sources[i].watchers && --agent->node.sources[i].watchers == 0)
            agent_node_reset(agent, (int)i, p->goes_on);
    agent_process_release(p);
    free(p);
    agent->processes[slot] = NULL;
}

static bool agent_needs_records(const struct agent *agent, const char *name)
{
    const struct experiment *e = agent->experiment;
    for (uint32_t i = 0; i < READ_BY_LIMIT * e->limit_count; i++) {
        const struct experiment_metric *m = agent_read_by(e, i / READ_BY_LIMIT, (int)(i % READ_BY_LIMIT));
        if (m && experiment_metric_reads_records(m) && experiment_metric_is_of(m, name))
            return true;
    }
    return experiment_trigger_reads(e, name);
}

void agent_received_from(struct agent *agent, const char *name)
{
    uint32_t weight = experiment_importance(agent->experiment->sensing.importance, name), at = 0;
    while (at < agent->weight_count && agent->weights[at] < weight)
        at++;
    if (at < agent->weight_count && agent->weights[at] == weight)
        return;
    memmove(&agent->weights[at + 1], &agent->weights[at], (agent->weight_count - at) * sizeof *agent->weights);
    agent->weights[at] = weight;
    agent->weight_count++;
    policy_set_levels(&agent->policy, 0, agent->weight_count - 1);
}

bool agent_sheds(const struct agent *agent, const char *name)
{
    uint32_t floor = agent_floor(agent);
    return floor > 0 && experiment_importance(agent->experiment->sensing.importance, name) < floor &&
           !agent_needs_records(agent, name);
}

void agent_records(struct agent *agent, int watch, const struct packet_run *run, int64_t now)
{
    struct agent_process *p = agent_process(agent, watch >> WATCH_ASPECT_BITS);
    if (!p)
        return;
    for (int m = agent->aspect_metric[watch % WATCH_ASPECTS]; m != NO_METRIC; m = agent->next_metric[m]) {
        struct evaluator *e = &agent_owner(agent, p, m)->readings[m];
        if (experiment_metric_is_of_arrivals(&agent->experiment->metrics[m]))
            evaluator_arrivals(e, &p->arrivals[m], run, &p->fields[m], &p->wheres[m], now);
        else
            evaluator_records(e, run, &p->fields[m], &p->wheres[m], now);
    }
}

static void agent_aged(struct agent *agent, enum experiment_metric_kind mean, enum experiment_metric_kind most,
                       uint32_t records, int64_t first, int64_t last, int64_t now)
{
    for (uint32_t m = 0; m < agent->experiment->metric_count; m++)
        if (agent->experiment->metrics[m].kind == mean || agent->experiment->metrics[m].kind == most)
            evaluator_taken(&agent->node.readings[m], records, first, last, now);
}

void agent_taken(struct agent *agent, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    agent_aged(agent, METRIC_LATENCY, METRIC_LATENCY_MAX, records, first, last, now);
    double gap = fmax((double)(now - first), (double)agent->policy.members[0].period);
    agent->filling = fmax(agent->filling, ((double)records + 1) / gap);
}

void agent_stored(struct agent *agent, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    agent_aged(agent, METRIC_STORING, METRIC_STORING_MAX, records, first, last, now);
}

bool agent_wants_stored(const struct agent *agent)
{
    return agent->wants_stored;
}

void agent_waits(struct agent *agent, int64_t first, int64_t now)
{
    agent_aged(agent, METRIC_STORING_MAX, METRIC_STORING_MAX, 1, first, first, now);
}

bool agent_wants_totals(const struct agent *agent)
{
    return agent->wants_flow;
}

void agent_totals(struct agent *agent, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now)
{
    for (uint32_t m = 0; m < agent->experiment->metric_count; m++)
        evaluator_totals(&agent->node.readings[m], produced, lost, en_route, now);
}

void agent_count(struct agent *agent, int watch, uint64_t attempts, int64_t now)
{
    struct agent_process *p = agent_process(agent, watch >> WATCH_ASPECT_BITS);
    if (!p)
        return;
    int aspect = watch % WATCH_ASPECTS;
    agent_source_read(&p->sources[aspect], attempts, now, &agent->node.sources[aspect]);
    bool sees = agent_setting(agent).on && !agent_sheds(agent, agent->aspect_name[aspect]);
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m]) {
        evaluator_since(&agent_owner(agent, p, m)->readings[m], now);
        if (!experiment_metric_is_of_arrivals(&agent->experiment->metrics[m]))
            evaluator_count(&p->readings[m], attempts, now);
        else if (!sees)
            evaluator_blind(&agent_owner(agent, p, m)->readings[m], &p->arrivals[m], now);
    }
}

void agent_count_all(struct agent *agent, int slot, uint64_t attempts)
{
    struct agent_process *p = agent_process(agent, slot);
    if (!p)
        return;
    p->goes_on = p->goes_on || (attempts > p->attempts && !agent->processes_end);
    p->attempts = attempts;
}

void agent_counted(struct agent *agent, int64_t at)
{
    agent->counted_at = at;
}

void agent_blind(struct agent *agent, int watch)
{
    struct agent_process *p = agent_process(agent, watch >> WATCH_ASPECT_BITS);
    if (!p)
        return;
    int aspect = watch % WATCH_ASPECTS;
    p->sources[aspect].read = agent->node.sources[aspect].read = false;
    p->sources[aspect].blind = agent->node.sources[aspect].blind = true;
    for (int m = agent->aspect_metric[aspect]; m != NO_METRIC; m = agent->next_metric[m]) {
        evaluator_reset(&agent_owner(agent, p, m)->readings[m]);
        arrivals_break(&p->arrivals[m]);
    }
}
