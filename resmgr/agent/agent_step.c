// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/saturate.h"
#include "mdr/parts.h"
#include "resmgr/agent/agent_internal.h"
#include "resmgr/control/freshness.h"

#include <math.h>

static void agent_read(const struct agent *agent, struct agent_process *p, int64_t now)
{
    const struct experiment *e = agent->experiment;
    for (uint32_t m = 0; m < e->metric_count; m++)
        evaluator_take(&p->readings[m], now);
    for (uint32_t m = 0; m < e->metric_count; m++)
        if (agent->operands[m][0] >= 0 && e->metrics[m].per_process == (p != &agent->node))
            evaluator_combine(&p->readings[m], &e->metrics[m], &p->readings[agent->operands[m][0]],
                              &p->readings[agent->operands[m][1]]);
}

/* ns since the last record; 0: there was one since the step before. After SIGTERM no process counts as hung. */
static int64_t agent_silence(const struct agent *agent, const struct agent_source *s, int64_t now)
{
    return s->grew ? 0 : agent->processes_end ? 1 : now - s->grown_at;
}

/* The same of the records that a metric is of; of two metrics, of those that are silent for longer. -1: it is of none.
 */
static int64_t agent_metric_silence(const struct agent *agent, const struct agent_process *p, int metric, int64_t now)
{
    if (agent->experiment->metrics[metric].aspect)
        return agent_silence(agent, &p->sources[agent->metric_aspect[metric]], now);
    if (agent->operands[metric][0] < 0)
        return -1;
    int64_t a = agent_metric_silence(agent, p, agent->operands[metric][0], now);
    int64_t b = agent_metric_silence(agent, p, agent->operands[metric][1], now);
    return a > b ? a : b;
}

/* Whether a process makes records, or for the node one that has a metric's aspect. */
static bool agent_metric_goes_on(const struct agent *agent, const struct agent_process *p, int metric)
{
    int aspect = agent->metric_aspect[metric];
    if (p != &agent->node)
        return p->goes_on;
    if (!agent->experiment->metrics[metric].aspect)
        return agent->operands[metric][0] >= 0 && agent_metric_goes_on(agent, p, agent->operands[metric][0]) &&
               agent_metric_goes_on(agent, p, agent->operands[metric][1]);
    for (int slot = 0; slot < agent->slots; slot++)
        if (agent->processes[slot] && agent->processes[slot]->goes_on &&
            agent->processes[slot]->sources[aspect].watchers)
            return true;
    return false;
}

/* How long no record was made: of a metric of the node, by any of its processes. */
static void agent_read_silences(const struct agent *agent, struct agent_process *p, int64_t now)
{
    for (uint32_t i = 0; i < agent->aspects; i++) {
        const struct agent_source *s = &p->sources[i];
        int64_t silent = s->read && s->attempts > s->before ? agent_silence(agent, s, now) : -1;
        for (int m = agent->aspect_metric[i]; m != NO_METRIC && silent >= 0; m = agent->next_metric[m])
            if (experiment_metric_is_of_arrivals(&agent->experiment->metrics[m]))
                evaluator_silence(&p->readings[m], silent);
    }
}

void agent_evaluate(struct agent *agent, int64_t now)
{
    for (uint32_t i = 0; i < agent->aspects; i++)
        for (int m = agent->aspect_metric[i]; m != NO_METRIC; m = agent->next_metric[m]) {
            const struct agent_source *s = &agent->node.sources[i];
            if (s->watchers > 0 || s->emptied == 0 || agent_outlives(agent, m)) /* nobody makes none of them, else */
                evaluator_count(&agent->node.readings[m], s->attempts, now);
            if (s->watchers == 0 && now - s->emptied > agent->experiment->metrics[m].window) {
                agent->node.readings[m].since = INT64_MAX; /* its first window begins with the next process */
                evaluator_begin(&agent->node.readings[m], s->attempts);
            }
        }
    agent_read_silences(agent, &agent->node, now);
    agent_read(agent, &agent->node, now);
    for (int slot = 0; slot < agent->slots; slot++)
        if (agent->processes[slot]) {
            agent_read_silences(agent, agent->processes[slot], now);
            agent_read(agent, agent->processes[slot], now);
        }
}

/* Whether records may have been made that nobody sees: what the metric would be is open. */
static bool agent_is_blind(const struct agent *agent, const struct agent_process *p, int metric)
{
    if (agent->experiment->metrics[metric].aspect)
        return p->sources[agent->metric_aspect[metric]].blind;
    return agent->operands[metric][0] >= 0 && (agent_is_blind(agent, p, agent->operands[metric][0]) ||
                                               agent_is_blind(agent, p, agent->operands[metric][1]));
}

/* Whether what metric `m` is of some records is no bound of what it is of these and others in its window. */
static bool agent_needs_all(const struct experiment_metric *m, bool at_most)
{
    if (experiment_metric_is_counted(m) || m->kind == METRIC_MISSES)
        return at_most; /* others can only add to it */
    return m->kind != METRIC_MIN && m->kind != METRIC_MAX && m->kind != METRIC_LAST;
}

/*
 * Whether records of processes that have ended lie in the window of metric `metric` of the node: they are not counted
 * any more, and together with them the value of the present ones may break a limit.
 */
static bool agent_misses(const struct agent *agent, int metric, bool at_most, int64_t now)
{
    const struct experiment_metric *m = &agent->experiment->metrics[metric];
    const int *of = agent->operands[metric];
    if (!m->aspect) /* of two: a number that is too small makes the one too large, or the other */
        return of[0] >= 0 && (agent_misses(agent, of[0], true, now) || agent_misses(agent, of[1], true, now));
    const struct agent_source *s = &agent->node.sources[agent->metric_aspect[metric]];
    return s->emptied > 0 && agent_needs_all(m, at_most) && now - s->emptied < (m->tumbles ? 2 : 1) * m->window;
}

/* Whether a process of the node has the aspect of a metric, or of both that it is of. */
static bool agent_is_watched(const struct agent *agent, int metric)
{
    const int *of = agent->operands[metric];
    if (!agent->experiment->metrics[metric].aspect)
        return of[0] >= 0 && agent_is_watched(agent, of[0]) && agent_is_watched(agent, of[1]);
    return agent->node.sources[agent->metric_aspect[metric]].watchers > 0;
}

/* Whether a value of the node that has outlived its processes has begun anew, as others do: with a whole window. */
static bool agent_is_anew(const struct agent *agent, int metric, int64_t now)
{
    const struct experiment_metric *m = &agent->experiment->metrics[metric];
    const struct agent_source *s = m->aspect ? &agent->node.sources[agent->metric_aspect[metric]] : NULL;
    if (agent->keeps_ended)
        return agent_is_watched(agent, metric);
    if (!s || s->emptied == 0 || !agent_outlives(agent, metric))
        return true;
    return s->watchers > 0 && s->began > 0 && now - s->began >= (m->tumbles ? 2 : 1) * m->window;
}

/* At the instant behind the end of the last process: what a number of records was at least at that end. */
static double agent_at_least(const struct agent *agent, int metric, int64_t now)
{
    const struct agent_source *s = &agent->node.sources[agent->metric_aspect[metric]];
    bool is_fresh = agent->experiment->metrics[metric].aspect && now - s->emptied <= agent->experiment->adapt.every;
    bool counts = !agent->keeps_ended || agent_is_watched(agent, metric);
    double least = counts ? agent->node.readings[metric].least : 0;
    return is_fresh ? fmax(agent->left[metric], least) : least;
}

/* Whether the reading breaks the limit, though its window is not whole. */
static bool agent_breaks_early(const struct agent *agent, const struct experiment_limit *l, const struct evaluator *r)
{
    return r->partial && agent_record_breaks(&agent->experiment->metrics[l->metric], l) &&
           (l->compare == COMPARE_AT_MOST ? r->value > l->bound : r->value < l->bound);
}

/*
 * Whether the value for limit `limit` is the largest of any window since the instant before: for one from above. With a
 * `for` that has an instant in it, it is that of the last window: two instants would find one burst between windows.
 */
static bool agent_takes_any(const struct agent *agent, uint32_t limit)
{
    const struct experiment_limit *l = &agent->experiment->limits[limit];
    return l->compare == COMPARE_AT_MOST && l->persistence < agent->experiment->adapt.every;
}

static void agent_judge_reading(struct agent *agent, uint32_t limit, struct agent_process *p, int slot, int64_t now)
{
    int metric = agent->experiment->limits[limit].metric;
    const struct evaluator *r = &p->readings[metric];
    int64_t silent = agent_metric_silence(agent, p, metric, now);
    bool at_most = agent->experiment->limits[limit].compare == COMPARE_AT_MOST;
    bool is_number = experiment_metric_is_counted(&agent->experiment->metrics[metric]);
    bool has_all = agent->keeps_ended && agent->experiment->metrics[metric].aspect && agent_outlives(agent, metric);
    bool of_node = p == &agent->node, misses = of_node && !has_all && agent_misses(agent, metric, at_most, now);
    bool known =
        r->known || (at_most ? r->below : r->above) || agent_breaks_early(agent, &agent->experiment->limits[limit], r);
    struct limit_judge_value v = {.known = known && !misses && (!of_node || agent_is_anew(agent, metric, now)),
                                  .least = of_node ? agent_at_least(agent, metric, now) : r->least};
    v.value = evaluator_for(r, true, &v.resolution);
    v.was_broken = at_most && v.value - v.resolution > agent->experiment->limits[limit].bound;
    v.value = evaluator_for(r, agent_takes_any(agent, limit), &v.resolution);
    v.open = !v.known && (r->open || agent_is_blind(agent, p, metric) || (misses && agent_is_watched(agent, metric)));
    if (v.open && is_number && !at_most && agent->experiment->limits[limit].bound <= 0) {
        v.known = true; /* no number of records is below 0 */
        v.value = v.least;
        v.resolution = 0;
    }
    if (silent >= 0) {
        /* A number of records cannot rise by the end of a process. */
        v.of_records = !at_most || !is_number;
        v.silent = silent;
        v.goes_on = agent_metric_goes_on(agent, p, metric);
    }
    limit_judge_value(&agent->judges[limit], &p->runs[limit], slot, v);
}

/* The use in the window of limits on sensor_cpu, percent of one CPU; NaN: the latest measurement is unknown. */
static double agent_sensor_cpu(struct agent *agent, const struct policy_measure *measured)
{
    struct ratio_mark *used = &agent->used;
    uint64_t elapsed, cpu;
    if (!policy_cpu_is_sane(measured->cpu))
        return NAN;
    if (measured->elapsed > 0 && measured->elapsed <= POLICY_ELAPSED_MAX) {
        used->time += measured->elapsed;
        used->whole += (uint64_t)measured->elapsed;
        used->part += (uint64_t)(measured->cpu / 100 * (double)measured->elapsed + 0.5);
        ratio_read(&agent->sensor_cpu, used->time, used->whole, used->part);
    }
    return ratio_growth_so_far(&agent->sensor_cpu, &elapsed, &cpu) ? 100.0 * (double)cpu / (double)elapsed : NAN;
}

/*
 * Whether an instant is in the first window behind one that none was in: of windows that follow one another, that one
 * is in no value, and numbers of records begin anew. Shorter ones than a sampling period are known to be left out.
 */
static bool agent_misses_window(const struct agent *agent, int metric, struct limit_judge *j, int64_t now)
{
    const struct experiment_metric *m = metric < 0 ? NULL : &agent->experiment->metrics[metric];
    if (!m)
        return false;
    for (int i = 0; i < 2 && m->operands; i++)
        if (agent_misses_window(agent, experiment_metric_operand(agent->experiment, m, i), j, now))
            return true;
    if (m->tumbles && m->window >= agent->experiment->adapt.every && j->began &&
        now / m->window - j->before / m->window > 1)
        j->missed_until = (now / m->window + 1) * m->window;
    return now < j->missed_until;
}

/* Whether the limit's state changed. */
static bool agent_judge(struct agent *agent, uint32_t limit, int64_t now, double sensor_cpu)
{
    struct limit_judge *j = &agent->judges[limit];
    int metric = agent->experiment->limits[limit].metric;
    limit_judge_begin(j, now);
    if (agent_misses_window(agent, metric, j, now))
        limit_judge_hole(j, INT64_MAX);
    if (metric == LIMIT_ON_SENSOR_CPU) {
        struct limit_judge_value v = {.known = policy_cpu_is_sane(sensor_cpu), .value = sensor_cpu};
        limit_judge_value(j, &agent->node.runs[limit], NODE, v);
    } else if (!agent->experiment->metrics[metric].per_process) {
        agent_judge_reading(agent, limit, &agent->node, NODE, now);
    } else {
        for (int slot = 0; slot < agent->slots; slot++)
            if (agent->processes[slot])
                agent_judge_reading(agent, limit, agent->processes[slot], slot, now);
    }
    return limit_judge_end(j);
}

/* An old value is unknown to a manager, as it is to the policy here. */
static bool agent_is_stale(const struct agent *agent, const struct evaluator *r, int64_t now)
{
    int64_t max_age = agent->experiment->adapt.max_age;
    return r->known && max_age > 0 && now - r->at > max_age;
}

/* What processes that have ended left in the window, where others count together with it; else nothing. */
static void agent_leave(const struct agent *agent, int metric, int64_t now, struct message_partial *partial)
{
    const struct experiment_metric *m = &agent->experiment->metrics[metric];
    const struct agent_source *s = &agent->node.sources[agent->metric_aspect[metric]];
    enum experiment_join join = experiment_join_of(agent->experiment, metric);
    bool left = s->emptied > 0 && now - s->emptied < (m->tumbles ? 2 : 1) * m->window &&
                (join == JOIN_SUM || (join == JOIN_RATIO && partial->state == PARTIAL_KNOWN));
    *partial = (struct message_partial){.limit = partial->limit,
                                        .state = s->went_on ? PARTIAL_WENT_ON : PARTIAL_NONE,
                                        .silent = left ? now - s->emptied : 0,
                                        .value = left ? partial->value : 0,
                                        .over = left ? partial->over : 0,
                                        .unsure = left ? partial->unsure : 0};
}

/* Whether there was no whole window yet for the processes that have the aspect of a metric, and all of them were seen
 * to begin: what they made is counted. */
static bool agent_saw_begins(const struct agent *agent, int metric, int64_t now)
{
    const struct experiment_metric *m = &agent->experiment->metrics[metric];
    for (int slot = 0; slot < agent->slots; slot++) {
        const struct agent_process *p = agent->processes[slot];
        if (p && p->sources[agent->metric_aspect[metric]].watchers &&
            (p->began == 0 || now - p->began > (m->tumbles ? 2 : 1) * m->window))
            return false;
    }
    return true;
}

/* Whether a process had recorded the aspect of a metric before this agent knew of it, as under a bezeld before. */
static bool agent_came_later(const struct agent *agent, int metric)
{
    for (int slot = 0; slot < agent->slots; slot++) {
        const struct agent_process *p = agent->processes[slot];
        if (p && p->began == 0 && p->sources[agent->metric_aspect[metric]].attempts > 0)
            return true;
    }
    return false;
}

/*
 * Where no process here has recorded the aspect, the node adds neither 0 nor unknown, but what is left of others. To an
 * upper bound of a number of records it adds 0, or unknown, as soon as a process has the aspect.
 */
static void agent_add_partial(struct agent *agent, uint32_t limit, int64_t now, double sensor_cpu)
{
    struct message_partial *partial = &agent->partials[limit];
    int metric = agent->experiment->limits[limit].metric;
    bool at_most = agent->experiment->limits[limit].compare == COMPARE_AT_MOST;
    *partial = (struct message_partial){.limit = limit};
    if (metric == LIMIT_ON_SENSOR_CPU) {
        partial->state = policy_cpu_is_sane(sensor_cpu) ? PARTIAL_KNOWN : PARTIAL_UNKNOWN;
        partial->value = partial->state == PARTIAL_KNOWN ? sensor_cpu : 0;
        return;
    }
    struct evaluator *r = &agent->node.readings[metric];
    bool of_records = agent->experiment->metrics[metric].aspect;
    const struct agent_source *s = of_records ? &agent->node.sources[agent->metric_aspect[metric]] : NULL;
    if (!agent_is_stale(agent, r, now))
        evaluator_partial(r, now, at_most, agent_takes_any(agent, limit), partial);
    if (partial->state == PARTIAL_UNKNOWN && r->open)
        partial->state = PARTIAL_OPEN;
    bool adds = at_most && r->rate && s->watchers > 0 &&
                (partial->state == PARTIAL_KNOWN || !agent_saw_begins(agent, metric, now));
    if (s && s->blind)
        *partial = (struct message_partial){.limit = limit, .state = PARTIAL_OPEN};
    else if (s && s->attempts == s->before && !adds && !agent_came_later(agent, metric))
        agent_leave(agent, metric, now, partial);
    else if (s && s->attempts > s->before && (partial->state == PARTIAL_KNOWN || partial->value > 0)) {
        partial->silent = agent_silence(agent, s, now);
        bool hung = partial->silent > agent_settling(agent->experiment, &agent->experiment->limits[limit]);
        if (!hung && agent_metric_goes_on(agent, &agent->node, metric))
            partial->silent = 0; /* it is not about to end */
    }
}

struct message_partial agent_partial(const struct agent *agent, uint32_t i)
{
    return agent->partials[i];
}

uint32_t agent_histogram(struct agent *agent, uint32_t i, int64_t now, uint8_t *to, uint32_t room)
{
    int metric = agent->experiment->limits[i].metric;
    return metric == LIMIT_ON_SENSOR_CPU ? 0 : evaluator_histogram(&agent->node.readings[metric], now, to, room);
}

static void agent_clear_growth(struct agent_process *p, int64_t counted_at)
{
    for (int i = 0; i < EXPERIMENT_METRICS_MAX; i++) {
        struct agent_source *s = &p->sources[i];
        if (s->grew)
            s->grown_at = saturate_most(s->grown_at, counted_at);
        s->grew = s->blind = s->went_on = false;
    }
    p->goes_on = false;
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

/* The age, ns, of the value by which limit `i` was judged. */
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
    int64_t max_age = agent->experiment->adapt.max_age;
    bool fresh = seen->known && (max_age == 0 || agent_age(agent, i, now) <= max_age);
    return agent_policy_limit(agent->experiment, i, fresh ? seen->state : LIMIT_UNKNOWN, seen->value);
}

/* The same, unknown if a knob is to answer the violation. */
static struct policy_limit agent_offer_limit(struct agent *agent, uint32_t i, int64_t now)
{
    struct policy_limit limit = agent_observed(agent, i, now);
    if (!experiment_is_managed(agent->experiment))
        knob_controller_take(&agent->knob_controller, i, &limit);
    return limit;
}

static void agent_decide(struct agent *agent, int64_t now, const struct policy_measure *measured)
{
    struct agent_outcome *out = &agent->outcome;
    struct policy_observation *seen = &agent->seen;
    seen->limit_count = 0;
    knob_controller_begin(&agent->knob_controller, measured->elapsed);
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++)
        if (agent->experiment->limits[i].kind == LIMIT_HOLD && !agent->experiment->limits[i].global)
            seen->limits[seen->limit_count++] = agent_offer_limit(agent, i, now);
    seen->dead_time = agent->dead_time;
    seen->members[0] = *measured;
    if (agent->experiment->sensing.ring_records > 0)
        seen->members[0].filling = agent->filling / agent->experiment->sensing.ring_records;
    agent->filling = 0;
    out->policy = agent->policy.policy;
    out->before = out->after = agent_setting(agent);
    out->action = POLICY_KEEP;
    if (experiment_is_managed(agent->experiment))
        return;
    policy_step(&agent->policy, seen, &out->actions);
    knob_controller_step(&agent->knob_controller, &agent->policy, &out->actions, seen->dead_time);
    out->action = out->own.action;
    out->floor = agent_floor(agent);
    out->after = agent_setting(agent);
    out->lossless = freshness_lossless(&agent->policy.members[0]);
}

static bool agent_is_violated(const struct agent *agent, uint32_t i, bool of_budgets)
{
    const struct experiment_limit *l = &agent->experiment->limits[i];
    bool budget = l->metric == LIMIT_ON_SENSOR_CPU;
    bool quality = !budget && !experiment_metric_is_built_in(agent->experiment->metrics[l->metric].kind);
    return agent->limits[i].state == LIMIT_VIOLATED && (of_budgets ? budget && l->kind == LIMIT_HOLD : quality);
}

/*
 * The samplers that keep their own periods: those that limits read, and while a quality is violated those that show
 * why. A budget that is violated has precedence, and so has monitoring that is off.
 */
static uint32_t agent_keep_samplers(struct agent *agent)
{
    const struct policy_member *node = &agent->policy.members[0];
    bool violated = false;
    agent->budget_broken = agent->budget_broken && node->period > node->desired;
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++) {
        agent->budget_broken = agent->budget_broken || agent_is_violated(agent, i, true);
        violated = violated || agent_is_violated(agent, i, false);
    }
    if (agent->budget_broken || !node->on)
        return 0;
    return agent->read | (violated ? agent_samplers_of(EXPERIMENT_SAMPLER_SCHEDULING) : 0);
}

const struct agent_outcome *agent_step(struct agent *agent, int64_t now, const struct policy_measure *measured)
{
    struct agent_outcome *out = &agent->outcome;
    out->cause = -1;
    out->limit_changed = false;
    agent_evaluate(agent, now);
    double sensor_cpu = agent_sensor_cpu(agent, measured);
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++) {
        if (agent->experiment->limits[i].global) {
            agent_add_partial(agent, i, now, sensor_cpu);
            continue;
        }
        if (agent_judge(agent, i, now, sensor_cpu))
            out->limit_changed = true;
        if (agent->experiment->limits[i].kind == LIMIT_HOLD && agent->limits[i].state == LIMIT_VIOLATED &&
            out->cause < 0)
            out->cause = (int)i;
    }
    agent_clear_growth(&agent->node, agent->counted_at);
    for (uint32_t i = 0; i < agent->aspects; i++)
        if (agent->node.sources[i].emptied > 0 && agent->node.sources[i].began == 0)
            agent->node.sources[i].began = now;
    for (int slot = 0; slot < agent->slots; slot++)
        if (agent->processes[slot])
            agent_clear_growth(agent->processes[slot], agent->counted_at);
    agent_decide(agent, now, measured);
    out->kept = agent_keep_samplers(agent);
    return out;
}

/* Whether the processes that limit `i` was judged by have ended. */
static bool agent_is_over(const struct agent *agent, uint32_t i)
{
    int metric = agent->experiment->limits[i].metric, slot = agent->limits[i].slot;
    if (metric == LIMIT_ON_SENSOR_CPU || experiment_metric_is_built_in(agent->experiment->metrics[metric].kind))
        return false;
    return slot == NODE ? !agent_is_watched(agent, metric) : !agent_process(agent, slot);
}

void agent_processes_end(struct agent *agent)
{
    agent->processes_end = true;
}

void agent_keep_ended(struct agent *agent)
{
    agent->keeps_ended = true;
}

const struct agent_outcome *agent_end(struct agent *agent)
{
    for (uint32_t i = 0; i < agent->experiment->limit_count; i++) {
        struct agent_limit *l = &agent->limits[i];
        l->gap = 0; /* it belongs to the last step */
        if (!agent_is_over(agent, i))
            continue;
        l->state = LIMIT_UNKNOWN;
        l->known = false;
        l->slot = NODE;
    }
    return &agent->outcome;
}

void agent_find_knob(struct agent *agent, uint32_t i, const struct knob_search_seen *seen)
{
    agent->knob_controller.knobs[i].seen = *seen;
}

const struct knob_controller_setpoint *agent_knob_setpoint(const struct agent *agent, uint32_t i)
{
    return &agent->knob_controller.knobs[i].setpoint;
}

const struct policy_observation *agent_seen(const struct agent *agent)
{
    return &agent->seen;
}

struct policy_load_shedding agent_shed(const struct agent *agent)
{
    return agent->policy.members[0].load_shedding;
}

const struct agent_outcome *agent_apply(struct agent *agent, struct policy_setting setting, uint32_t shed,
                                        const struct policy_actions *verdict, int cause)
{
    struct agent_outcome *out = &agent->outcome;
    struct policy_load_shedding *s = &agent->policy.members[0].load_shedding;
    s->count = shed < s->levels ? shed : s->levels;
    out->floor = agent_floor(agent);
    out->policy = agent->policy.policy;
    out->before = agent_setting(agent);
    agent->policy.members[0].on = setting.on;
    agent->policy.members[0].period = setting.period;
    out->after = setting;
    out->action = policy_action_between(out->before, out->after);
    out->own = *verdict->members;
    out->actions = *verdict;
    out->actions.members = &out->own;
    out->cause = cause;
    if (cause >= 0 && agent->experiment->limits[cause].metric == LIMIT_ON_SENSOR_CPU) /* maybe of all nodes together */
        agent->budget_broken = true;
    out->kept = agent_keep_samplers(agent);
    return out;
}

uint64_t *agent_buckets(struct agent *agent, uint32_t metric, int slot)
{
    struct agent_process *p = slot == NODE ? &agent->node : agent_process(agent, slot);
    struct buckets *b = p ? p->readings[metric].buckets : NULL;
    return b ? b->counts : NULL;
}

bool agent_metric(const struct agent *agent, uint32_t metric, int slot, double *value)
{
    const struct agent_process *p = slot == NODE ? &agent->node : agent_process(agent, slot);
    if (!p || metric >= agent->experiment->metric_count || !p->readings[metric].known)
        return false;
    *value = p->readings[metric].value;
    return true;
}

double agent_metric_for(const struct agent *agent, uint32_t metric, int slot, bool at_most)
{
    const struct agent_process *p = slot == NODE ? &agent->node : agent_process(agent, slot);
    const struct evaluator *r = p && metric < agent->experiment->metric_count ? &p->readings[metric] : NULL;
    if (r && (at_most ? r->below : r->above))
        return r->value;
    return r && experiment_metric_is_counted(&agent->experiment->metrics[metric]) ? r->least : (double)NAN;
}

bool agent_is_open(const struct agent *agent, uint32_t metric, int slot)
{
    const struct agent_process *p = slot == NODE ? &agent->node : agent_process(agent, slot);
    return p && metric < agent->experiment->metric_count && p->readings[metric].open;
}
