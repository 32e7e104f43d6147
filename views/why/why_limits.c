// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a violated limit asks: which instances were too long, or which gaps between records were. */
#include "base/clock.h"
#include "views/why/why.h"

#include <math.h>

void why_refuse(struct why_limits *w, const struct experiment_limit *l, const char *why)
{
    if (w->refusal_count < WHY_LIMITS_MOST)
        w->refusals[w->refusal_count++] = (struct why_refusal){l->text, why};
}

/* The question of a limit on a statistic of values: too long ones. NULL; or why it is none. */
static const char *ask_values(struct why_question *q, const struct experiment_limit *l,
                              const struct experiment_metric *m)
{
    if (l->compare != COMPARE_AT_MOST || l->unit != UNIT_DURATION)
        return "it is not about how long something may take";
    if (m->arrivals == ARRIVALS_JITTER)
        return "it is about how regular records are";
    q->of = m->kind == METRIC_INTERVAL ? WHY_INTERVAL : m->arrivals == ARRIVALS_TIME ? WHY_GAP : WHY_FIELD;
    q->aspect = m->kind == METRIC_INTERVAL ? experiment_metric_aspect(m, m->interval.count - 1) : m->aspect;
    q->field = m->field;
    q->beyond = (int64_t)l->bound;
    q->interval = m->kind == METRIC_INTERVAL ? m : NULL;
    return NULL;
}

/* A window without `n` records, which is too few by one or more, has a gap in it that is longer than this. */
static int64_t longest_gap(const struct experiment_limit *l, const struct experiment_metric *m)
{
    double n = ceil(m->kind == METRIC_RATE ? l->bound * (double)m->window / (double)CLOCK_S : l->bound);
    return n >= 1 ? (int64_t)((double)m->window / n) - 1 : 0;
}

/* Of a limit on how often records come: the gaps in which they did not. Misses are of each thread. */
static const char *ask_gaps(struct why_question *q, const struct experiment_limit *l, const struct experiment_metric *m)
{
    bool misses = m->kind == METRIC_MISSES;
    if (l->compare != (misses ? COMPARE_AT_MOST : COMPARE_AT_LEAST))
        return "it is about too many records";
    q->of = WHY_GAP;
    q->aspect = m->aspect;
    q->between = misses ? WHY_OF_THREAD : l->global ? WHY_OF_RUN : m->per_process ? WHY_OF_PROCESS : WHY_OF_NODE;
    q->beyond = misses ? m->period : longest_gap(l, m);
    return NULL;
}

/* Within which time before a violation records may have had a part in it. */
static int64_t part_of(const struct experiment_limit *l, const struct experiment_metric *m)
{
    enum experiment_metric_kind kind = m->kind == METRIC_INTERVAL ? m->interval.statistic : m->kind;
    bool one = kind == METRIC_MIN || kind == METRIC_MAX || kind == METRIC_LAST || kind == METRIC_FIRST;
    return one && l->persistence == 0 ? 0 : (m->tumbles ? 2 : 1) * m->window + l->persistence;
}

static const char *ask(struct why_question *q, const struct experiment_limit *l, const struct experiment_metric *m)
{
    switch (m->kind) {
    case METRIC_MEAN:
    case METRIC_MIN:
    case METRIC_MAX:
    case METRIC_LAST:
    case METRIC_FIRST:
    case METRIC_QUANTILE:
    case METRIC_TIME_MEAN:
    case METRIC_INTERVAL:
        return ask_values(q, l, m);
    case METRIC_RATE:
    case METRIC_COUNT:
    case METRIC_MISSES:
        return ask_gaps(q, l, m);
    case METRIC_PERCENT:
        return "it is about a share of the records: `bezel why --aspect` takes their aspect";
    case METRIC_RATIO:
    case METRIC_DIFFERENCE:
        return "it compares two metrics: `bezel why --aspect` takes the aspect of either";
    default:
        return "it is about the monitor: `bezel report --all` has its costs";
    }
}

void why_ask(struct why_limits *w, const struct experiment *e, const struct experiment_limit *l, double share)
{
    struct why_question q = {
        .limit = l->text, .share = share, .from = INT64_MIN, .until = INT64_MAX, .wait = e->order.wait};
    const struct experiment_metric *m = l->metric < 0 ? NULL : &e->metrics[l->metric];
    const char *why = m ? ask(&q, l, m) : "it is about the monitor: `bezel report --all` has its costs";
    q.where = m ? m->where : NULL;
    q.part = m ? part_of(l, m) : 0;
    if (!why && q.of != WHY_INTERVAL && experiment_sampler_of(q.aspect) != EXPERIMENT_SAMPLERS)
        why = "it is about what a sampler recorded, which is no work of a thread";
    if (!why && w->question_count == WHY_LIMITS_MOST)
        why = "there are more violated limits than are answered at once";
    if (why)
        why_refuse(w, l, why);
    else
        w->questions[w->question_count++] = q;
}
