// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What a limit stood at when a process made its last record: the replay of a gap that ends there, with one more
 * sampling instant at that record. Of a number of records that is to stay below a bound, at worst since the last
 * instant: a window between the two may have had too many.
 */
#include "base/saturate.h"
#include "run/verdict/rejudge_replay_internal.h"
#include "run/verdict/verdict.h"

#include <math.h>
#include <stdlib.h>

enum { WINDOW_STEPS = 100 };

static bool is_of_arrivals(const struct experiment *e, int metric)
{
    const struct experiment_metric *m = &e->metrics[metric];
    for (int i = 0; m->operands && i < 2; i++)
        if (is_of_arrivals(e, experiment_metric_operand(e, m, i)))
            return true;
    return experiment_metric_is_of_arrivals(m);
}

static double replay_value(const struct replay *r)
{
    int metric = r->e.limits[0].metric, slot = r->of ? r->processes[0].slot : -1;
    double value = NAN;
    bool known = agent_metric(r->agent, (uint32_t)metric, slot, &value);
    return known ? value : agent_metric_for(r->agent, (uint32_t)metric, slot, r->e.limits->compare == COMPARE_AT_MOST);
}

/*
 * Of windows that follow one another, the value is that of the one before: the last one ends after the last record, and
 * is judged as far as a record, or a number of records, breaks the limit whatever else would be in it.
 */
static double replay_next_window(struct replay *r, double value)
{
    const struct experiment_limit *l = r->e.limits;
    const struct experiment_metric *m = &r->e.metrics[l->metric];
    bool breaks =
        experiment_metric_is_counted(m) || m->kind == (l->compare == COMPARE_AT_MOST ? METRIC_MAX : METRIC_MIN);
    if (!m->tumbles || !breaks || l->persistence > 0)
        return value;
    int64_t at = saturate_add(r->until, experiment_limit_window(&r->e, l));
    replay_count(r, at);
    agent_evaluate(r->agent, at);
    return replay_worse(l, value, replay_value(r));
}

static bool is_number_at_most(const struct replay *r)
{
    const struct experiment_limit *l = r->e.limits;
    const struct experiment_metric *m = &r->e.metrics[l->metric];
    return experiment_metric_is_counted(m) && !m->tumbles && l->compare == COMPARE_AT_MOST && l->persistence == 0;
}

/*
 * The span before `until`: as far as windows go, with counters that are read so often that windows begin as they do
 * live; of times between records, or from one to the next, all of the run.
 */
static void replay_set_span(struct replay *r)
{
    const struct experiment_limit *l = r->e.limits;
    int64_t window = experiment_limit_window(&r->e, l), length = saturate_add(2 * window, l->persistence);
    length = is_number_at_most(r) ? saturate_add(window, r->file->adapt.every) : length;
    if (!is_of_arrivals(&r->e, l->metric) && window / WINDOW_STEPS < r->e.adapt.every)
        r->e.adapt.every = window / WINDOW_STEPS + 1;
    for (size_t i = 0; i < r->process_count && is_of_arrivals(&r->e, l->metric); i++)
        length = r->until - r->processes[i].begin > length ? r->until - r->processes[i].begin : length;
    if (length / r->e.adapt.every >= REPLAY_STEPS_MOST)
        r->e.adapt.every = length / REPLAY_STEPS_MOST + 1;
    r->stepped = r->from = r->until - (length / r->e.adapt.every + 1) * r->e.adapt.every;
}

static bool replay_has_expired(const struct replay *r)
{
    for (size_t i = 0; i < r->process_count; i++)
        if (r->processes[i].p->expired.packets > 0 && r->processes[i].begin > r->from)
            return true;
    return false;
}

static bool replay_look(struct replay *r, struct summary_chosen *c)
{
    struct run_reader *reader = NULL;
    replay_set_span(r);
    struct record_filter filter = replay_filter(r);
    if (run_reader_open_all(r->run, &filter, &reader) != 0)
        return false;
    replay_read(r, reader);
    run_reader_close(reader);
    if (r->err || !r->out)
        return false;
    double value = replay_next_window(r, replay_value(r));
    const struct experiment_limit *l = r->e.limits;
    value = is_number_at_most(r) ? replay_worse(l, value, r->out->limits[0].worst) : value;
    bool broken = l->compare == COMPARE_AT_LEAST ? value < l->bound : value > l->bound;
    bool lasted = l->persistence == 0 || r->out->limits[0].state == LIMIT_VIOLATED;
    bool is_open = !broken && agent_is_open(r->agent, (uint32_t)l->metric, r->of ? r->processes[0].slot : -1);
    c->min = c->max = broken && lasted ? value : (double)NAN;
    return !r->gave_up && !is_open && !replay_has_expired(r);
}

bool replay_end(const char *run, struct summary *s, const struct experiment *e, struct summary_chosen *c)
{
    const struct summary_process *p = &s->processes[c->process];
    struct experiment_limit limit = e->limits[c->limit];
    struct replay r = {.run = run,
                       .s = s,
                       .file = e,
                       .e = *e,
                       .node = p->node,
                       .all = limit.global,
                       .of = e->metrics[limit.metric].per_process ? p : NULL,
                       .told = INT64_MAX,
                       .looks = true};
    limit.global = false;
    r.e.limits = &limit;
    r.e.limit_count = 1;
    r.e.adapt.policy = POLICY_NONE;
    r.e.adapt.knob_count = 0;
    r.until = replay_time(&r, p->node, verdict_end(s, e, c->limit, c->process));
    bool all = replay_find_processes(&r) == 0 && r.process_count > 0 && agent_new(&r.e, 0, &r.agent) == 0 &&
               replay_look(&r, c);
    agent_free(r.agent);
    free(r.processes);
    free(r.stream_ends);
    return all;
}
