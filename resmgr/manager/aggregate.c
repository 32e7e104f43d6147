// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/manager/aggregate.h"

#include "base/clock_units.h"
#include "metric/histogram.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define FIRST_WAIT (2 * CLOCK_S) /* for the first node of the file, at the beginning */

_Static_assert((int)MESSAGE_BUCKET_BYTES == (int)HISTOGRAM_PACKED, "a message has histograms as they are packed");

void aggregate_start(struct aggregate *a, const struct experiment *e, int64_t stale)
{
    *a = (struct aggregate){.experiment = e, .stale = stale, .reporter = EXPERIMENT_NODES_MAX};
    for (uint32_t i = 0; i < e->limit_count; i++)
        limit_judge_start(&a->limits[i].judge, &e->limits[i], agent_settling(e, &e->limits[i]),
                          agent_reach(e, &e->limits[i]), &a->limits[i].seen);
}

static void note_hole(int64_t *longest, uint64_t since, uint64_t now)
{
    uint64_t hole = since ? now - since : 0;
    if (hole > (uint64_t)*longest)
        *longest = hole < INT64_MAX ? (int64_t)hole : INT64_MAX;
}

/* Of nodes whose last process ended, and had gone on behind the instant before. */
static void note_ends(struct aggregate *a, const struct message_partials *partials)
{
    for (uint32_t i = 0; i < partials->count; i++)
        if (partials->list[i].state == PARTIAL_WENT_ON && partials->list[i].limit < a->experiment->limit_count)
            a->limits[partials->list[i].limit].went_on = true;
}

static bool is_none(const struct message_partial *p)
{
    return p->state == PARTIAL_NONE || p->state == PARTIAL_WENT_ON;
}

/* A new life of a node's bezeld begins with empty windows, and finds its processes later: what it adds is open. */
static void note_life(struct aggregate *a, uint32_t node, int64_t now)
{
    const struct message_partials *before = &a->partials[node];
    for (uint32_t i = 0; i < before->count; i++)
        if (before->list[i].limit < a->experiment->limit_count && !is_none(&before->list[i]))
            bitset_add(&a->limits[before->list[i].limit].added, node);
    a->began_again[node] = before->life ? now : 0;
}

/* Until a window of its own has passed, the new life does not know what the node adds to limits that it added to. */
static void open_cut(struct aggregate *a, uint32_t node, int64_t now)
{
    const struct experiment *e = a->experiment;
    for (uint32_t i = 0; i < a->partials[node].count && a->began_again[node]; i++) {
        struct message_partial *p = &a->partials[node].list[i];
        int metric = p->limit < e->limit_count ? e->limits[p->limit].metric : LIMIT_ON_SENSOR_CPU;
        const struct experiment_metric *m = metric >= 0 && e->metrics[metric].aspect ? &e->metrics[metric] : NULL;
        if (m && bitset_has(&a->limits[p->limit].added, node) &&
            now - a->began_again[node] <= (m->tumbles ? 2 : 1) * m->window + e->adapt.every)
            p->state = PARTIAL_OPEN;
    }
}

bool aggregate_receive(struct aggregate *a, uint32_t node, const struct message_partials *partials, int64_t now)
{
    struct message_partials *last = &a->partials[node];
    if (partials->life == 0 || partials->life < last->life ||
        (partials->life == last->life && partials->at <= last->at))
        return false;
    if (last->life != partials->life || last->step != partials->step) {
        note_hole(&a->hole, (uint64_t)a->stepped_at[node], (uint64_t)now);
        if (last->life == partials->life) /* what waited for a busy manager seems to follow sooner than it does */
            note_hole(&a->hole, a->stepped_sent[node], partials->at);
        a->stepped_at[node] = now;
        a->stepped_sent[node] = partials->at;
        note_ends(a, partials);
    }
    if (last->life != partials->life)
        note_life(a, node, now);
    memcpy(last, partials, offsetof(struct message_partials, histograms) + partials->histogram_bytes);
    open_cut(a, node, now);
    a->received_at[node] = now;
    return true;
}

bool aggregate_receive_values(struct aggregate *a, const struct message_values *values, int64_t transit, int64_t now)
{
    struct message_values *last = &a->values;
    if (values->life == 0 || values->life < last->life || (values->life == last->life && values->at <= last->at))
        return false;
    *last = *values;
    note_hole(&a->values_hole, (uint64_t)a->values_at, (uint64_t)now);
    a->values_at = now;
    a->transit = transit > 0 ? transit : 0;
    return true;
}

/* ns since `at`; when the manager itself stood still, what was sent meanwhile is still to come: not before that. */
static int64_t silence(const struct aggregate *a, int64_t at, int64_t now)
{
    return now - (at > a->woke ? at : a->woke);
}

static bool is_recent(const struct aggregate *a, int64_t at, int64_t now)
{
    return silence(a, at, now) <= a->stale;
}

/* Nodes of which a message came at a time of `at` that is recent. */
static struct bitset recent_nodes(const struct aggregate *a, const int64_t *at, int64_t now)
{
    struct bitset recent = {{0}};
    for (uint32_t i = 0; i < a->experiment->node_count; i++)
        if (a->partials[i].life != 0 && is_recent(a, at[i], now))
            bitset_add(&recent, i);
    return recent;
}

/* ---- One value of many ------------------------------------------------------------------------------------------- */

static const struct message_partial *find_partial(const struct aggregate *a, uint32_t node, uint32_t limit)
{
    const struct message_partials *p = &a->partials[node];
    for (uint32_t i = 0; i < p->count; i++)
        if (p->list[i].limit == limit)
            return &p->list[i];
    return NULL;
}

/* Adds the histogram of partial `p` of a node. */
static int add_histogram(const struct aggregate *a, uint32_t node, const struct message_partial *p, struct histogram *h)
{
    const struct message_partials *all = &a->partials[node];
    const uint8_t *from = all->histograms;
    for (const struct message_partial *before = all->list; before < p; before++)
        from += (size_t)before->buckets * MESSAGE_BUCKET_BYTES;
    return histogram_unpack(h, from, (size_t)p->buckets * MESSAGE_BUCKET_BYTES, NULL);
}

/* An impossible partial is unknown: one faulty node must not spoil the value of all. */
static bool is_sane(const struct message_partial *p, enum experiment_join join)
{
    return p && p->state != PARTIAL_UNKNOWN && p->state != PARTIAL_OPEN && isfinite(p->value) && isfinite(p->over) &&
           isfinite(p->unsure) && p->over >= 0 && p->unsure >= 0 && p->silent >= 0 &&
           (join != JOIN_SUM || p->value >= 0) &&
           (join == JOIN_HISTOGRAM && p->state == PARTIAL_KNOWN) == (p->buckets > 0);
}

/*
 * Whether a node knows only that its part of a sum is at least so much, or of what records its least or largest value
 * is: the others may decide with that.
 */
static bool has_least(const struct message_partial *p, enum experiment_join join)
{
    bool is_extreme = join == JOIN_LEAST || join == JOIN_MOST;
    return p && p->state != PARTIAL_KNOWN && (join == JOIN_SUM ? p->value > 0 : is_extreme && p->value != 0) &&
           isfinite(p->value) && p->silent >= 0;
}

static void add(struct aggregate_value *all, double *over, const struct message_partial *p, enum experiment_join join)
{
    if (!all->known)
        *all = (struct aggregate_value){.known = true,
                                        .value = p->value,
                                        .silent = p->silent,
                                        .missing = all->missing,
                                        .any_missing = all->any_missing,
                                        .open = all->open,
                                        .ended = all->ended};
    else if (join == JOIN_SUM || join == JOIN_RATIO)
        all->value += p->value;
    else
        all->value = join == JOIN_LEAST ? fmin(all->value, p->value) : fmax(all->value, p->value);
    all->silent = p->silent < all->silent ? p->silent : all->silent;
    all->unsure += p->unsure;
    *over += p->over;
}

/* A ratio over nothing is unknown. Of the en-route ratio it is all or nothing. */
static void divide(const struct aggregate *a, uint32_t i, struct aggregate_value *all, double over)
{
    int metric = a->experiment->limits[i].metric;
    enum experiment_metric_kind kind = a->experiment->metrics[metric].kind;
    bool en_route = kind == METRIC_EN_ROUTE;
    if (over > 0)
        all->value /= over;
    else if (en_route)
        all->value = all->value > 0 ? 100 : 0;
    else
        all->known = false;
    if ((en_route || kind == METRIC_LOST) && all->value > 100)
        all->value = 100;
}

/* Whether the known partials decide the limit, whatever the missing ones are. */
static bool decides(const struct aggregate *a, uint32_t i, enum experiment_join join, const struct aggregate_value *v)
{
    const struct experiment_limit *l = &a->experiment->limits[i];
    double low = v->value - v->unsure, high = v->value + v->unsure;
    if (join == JOIN_RATIO || join == JOIN_HISTOGRAM)
        return false;
    if (join == JOIN_LEAST) /* others can only lower it */
        return l->compare == COMPARE_AT_LEAST ? high < l->bound : high <= l->bound;
    return l->compare == COMPARE_AT_MOST ? low > l->bound : low >= l->bound;
}

/*
 * What processes left that have ended, on nodes that add nothing else: it counts together with what others add, and at
 * the instants behind the end of the last process of all, for the records that were made there.
 */
static void add_left(const struct aggregate *a, uint32_t i, enum experiment_join join, struct bitset present,
                     struct aggregate_value *all, double *over)
{
    bool ended = all->ended;
    int64_t behind = 2 * a->experiment->adapt.every;
    struct aggregate_value sum = *all;
    double under = *over;
    for (uint32_t node = 0; node < a->experiment->node_count; node++) {
        const struct message_partial *p = bitset_has(&present, node) ? find_partial(a, node, i) : NULL;
        if (!is_sane(p, join) || !is_none(p) || (p->value == 0 && p->over == 0))
            continue;
        add(&sum, &under, p, join);
    }
    if (ended && (sum.silent > behind || (join == JOIN_SUM && !decides(a, i, join, &sum))))
        return;
    sum.silent = all->known ? all->silent : 0;
    *all = sum;
    *over = under;
}

struct aggregate_value aggregate_join(const struct aggregate *a, uint32_t i, struct bitset present)
{
    enum experiment_join join = experiment_join_of(a->experiment, a->experiment->limits[i].metric);
    struct aggregate_value all = {.known = false};
    double over = 0;
    bool any_partial = false;
    struct histogram h = {.coarser = HISTOGRAM_COARSE};
    for (uint32_t node = 0; node < a->experiment->node_count; node++) {
        const struct message_partial *p = bitset_has(&present, node) ? find_partial(a, node, i) : NULL;
        if (!is_sane(p, join) || (p->buckets > 0 && add_histogram(a, node, p, &h) != 0)) {
            bitset_add(&all.missing, node);
            all.any_missing = true;
            all.open = all.open || (p && p->state == PARTIAL_OPEN);
            if (has_least(p, join))
                add(&all, &over, &(struct message_partial){.value = p->value, .silent = p->silent}, join);
        } else if (p->state == PARTIAL_KNOWN)
            add(&all, &over, p, join);
        any_partial = any_partial || (p && !is_none(p));
    }
    all.ended = !all.any_missing && !any_partial;
    if (join == JOIN_SUM || join == JOIN_RATIO)
        add_left(a, i, join, present, &all, &over);
    if (all.known && join == JOIN_RATIO)
        divide(a, i, &all, over);
    if (all.known && join == JOIN_HISTOGRAM)
        all.value = histogram_quantile(&h, a->experiment->metrics[a->experiment->limits[i].metric].share);
    histogram_free(&h, NULL);
    if (all.known && (!isfinite(all.value) || (all.any_missing && !decides(a, i, join, &all))))
        all.known = false;
    all.open = all.open && !all.known;
    return all;
}

/* ---- The collector's value --------------------------------------------------------------------------------------- */

static const struct message_value *find_value(const struct aggregate *a, uint32_t limit, int64_t now)
{
    if (a->values.life == 0 || !is_recent(a, a->values_at, now))
        return NULL;
    for (uint32_t i = 0; i < a->values.count; i++)
        if (a->values.list[i].limit == limit)
            return &a->values.list[i];
    return NULL;
}

static bool is_possible(const struct message_value *v)
{
    return isfinite(v->value) && v->low <= v->value && v->value <= v->high && v->age >= 0 && v->age <= INT64_MAX / 4 &&
           v->collected >= 0 && v->collected <= v->age;
}

/* Neither held nor violated for certain. */
static bool is_undecided(const struct experiment_limit *l, const struct message_value *v)
{
    if (l->compare == COMPARE_AT_LEAST)
        return v->low < l->bound && v->high >= l->bound;
    return v->low <= l->bound && v->high > l->bound;
}

static struct aggregate_value unknown_for(enum message_lack lack)
{
    return (struct aggregate_value){.known = false, .lack = lack};
}

static struct aggregate_value take_value(const struct aggregate *a, uint32_t i, int64_t now)
{
    const struct message_value *p = find_value(a, i, now);
    const struct experiment_limit *l = &a->experiment->limits[i];
    int64_t max_age = a->experiment->adapt.max_age;
    double unsure = !p ? 0 : l->compare == COMPARE_AT_LEAST ? p->high - p->value : p->value - p->low;
    if (!p || (p->state == PARTIAL_KNOWN && !is_possible(p)))
        return unknown_for(LACK_VALUES);
    if (p->state != PARTIAL_KNOWN)
        return (struct aggregate_value){.lack = p->lack, .ended = p->state == PARTIAL_NONE};
    struct aggregate_value v = {.known = true,
                                .value = p->value,
                                .unsure = isfinite(unsure) ? unsure : 0, /* the other bound decides */
                                .collected = p->collected,
                                .age = p->age + a->transit + (now - a->values_at)};
    if (max_age > 0 && v.age > max_age)
        v = unknown_for(LACK_RECENT);
    else if (is_undecided(l, p))
        v = unknown_for(p->lack ? p->lack : LACK_PRECISION);
    return v;
}

const struct aggregate_value *aggregate_value(const struct aggregate *a, uint32_t i)
{
    return &a->limits[i].value;
}

/* ---- Judging ----------------------------------------------------------------------------------------------------- */

/* There is a value, and it does not say whether the limit is held. */
static bool is_open(enum message_lack lack)
{
    return lack == LACK_PRECISION || lack == LACK_CLOCKS || lack == LACK_LOST;
}

static bool is_of_records(const struct experiment *e, uint32_t limit)
{
    int metric = e->limits[limit].metric;
    bool is_number = metric >= 0 && experiment_metric_is_counted(&e->metrics[metric]);
    if (is_number && e->limits[limit].compare == COMPARE_AT_MOST)
        return false; /* it cannot rise by the end of a process */
    return metric != LIMIT_ON_SENSOR_CPU && !experiment_metric_is_built_in(e->metrics[metric].kind) &&
           !experiment_limit_is_on_interval(
               e, &e->limits[limit]); /* its value falls silent with its records: then it is unknown */
}

/* When the oldest of what limit `i` is judged by was heard. */
static int64_t input_of(const struct aggregate *a, struct bitset fresh, bool collected, int64_t now)
{
    int64_t oldest = now;
    for (uint32_t i = 0; i < a->experiment->node_count; i++)
        if (bitset_has(&fresh, i) && a->stepped_at[i] < oldest)
            oldest = a->stepped_at[i];
    bool has_values = collected && a->values.life != 0 && is_recent(a, a->values_at, now);
    return has_values && a->values_at < oldest ? a->values_at : oldest;
}

/* Whether a node is silent that was heard, and may have something to add to limit `i`. */
static bool is_silent(const struct aggregate *a, uint32_t i, struct bitset fresh, bool collected)
{
    for (uint32_t node = 0; node < a->experiment->node_count; node++) {
        const struct message_partial *p = find_partial(a, node, i);
        if (a->partials[node].life != 0 && !bitset_has(&fresh, node) && (collected || (p && !is_none(p))))
            return true;
    }
    return false;
}

/* Whether no node that was heard had something to add to limit `i` when it was: it may be silent since it drains. */
static bool is_over(const struct aggregate *a, uint32_t i)
{
    bool any = false;
    for (uint32_t node = 0; node < a->experiment->node_count; node++) {
        const struct message_partial *p = find_partial(a, node, i);
        any = any || p;
        if (p && !is_none(p))
            return false;
    }
    return any;
}

/* Nodes that were heard, and have no sampling instant of the last two sampling periods. */
static void add_late(struct aggregate *a, int64_t now)
{
    for (uint32_t i = 0; i < a->experiment->node_count; i++)
        if (a->partials[i].life != 0 && silence(a, a->stepped_at[i], now) > 2 * a->experiment->adapt.every)
            bitset_add(&a->missing, i);
}

/* Whether programs have made records that limit `i` is about; of an interval, whether the collector has its value. */
static bool any_made(const struct aggregate *a, uint32_t i)
{
    int metric = a->experiment->limits[i].metric;
    const struct aggregate_value *v = &a->limits[i].value;
    if (experiment_limit_is_on_interval(a->experiment, &a->experiment->limits[i]))
        return v->known || is_open(v->lack);
    if (metric < 0 || !a->experiment->metrics[metric].aspect)
        return false;
    for (uint32_t node = 0; node < a->experiment->node_count; node++) {
        const struct message_partial *p = find_partial(a, node, i);
        if (p && p->state != PARTIAL_NONE)
            return true;
    }
    return false;
}

static void judge(struct aggregate *a, uint32_t i, bool silent, int64_t now)
{
    struct aggregate_limit *l = &a->limits[i];
    const struct aggregate_value *all = &l->value;
    bool went_on = l->went_on;
    l->went_on = false;
    if (all->ended) /* the silence before the last process ended was its end, unless it went on */
        limit_judge_drop(&l->judge, &l->run, went_on);
    if (a->began > 0 && any_made(a, i))
        limit_judge_since(&l->judge, a->began, false); /* the first instant of all is about what they made */
    limit_judge_begin(&l->judge, now);
    limit_judge_hole(&l->judge, l->hole);
    l->hole = 0;
    limit_judge_value(&l->judge, &l->run, -1,
                      (struct limit_judge_value){.known = all->known,
                                                 .open = all->open || is_open(all->lack) ||
                                                         (silent && !all->known && l->judge.ever_known),
                                                 .part = all->any_missing,
                                                 .value = all->value,
                                                 .resolution = all->unsure,
                                                 .was_broken = l->run.broken, /* and may have been until now */
                                                 .of_records = is_of_records(a->experiment, i),
                                                 .silent = all->silent,
                                                 .goes_on = went_on});
    (void)limit_judge_end(&l->judge);
}

static int64_t longest(int64_t a, int64_t b, int64_t c)
{
    int64_t of_two = a > b ? a : b;
    return of_two > c ? of_two : c;
}

void aggregate_step(struct aggregate *a, int64_t now)
{
    a->woke = a->stepped && now - a->stepped > a->stale / 2 ? now : a->woke;
    a->stepped = now;
    struct bitset fresh = recent_nodes(a, a->stepped_at, now);
    a->missing = (struct bitset){{0}};
    for (uint32_t i = 0; i < a->experiment->limit_count; i++) {
        struct aggregate_limit *l = &a->limits[i];
        if (!a->experiment->limits[i].global)
            continue;
        bool collected = experiment_limit_is_on_interval(a->experiment, &a->experiment->limits[i]);
        bool silent = is_silent(a, i, fresh, collected);
        int64_t input = input_of(a, fresh, collected, now);
        l->value = collected ? take_value(a, i, now) : aggregate_join(a, i, fresh);
        l->value.known = l->value.known && !(collected && silent);
        bool over = l->was_over && is_over(a, i), is_new = input > l->input;
        l->hole = over ? 0 : longest(l->hole, a->hole, collected ? a->values_hole : 0);
        if (is_new || over)
            judge(a, i, silent, now);
        if (!is_new || silent)
            add_late(a, now);
        l->input = input > l->input ? input : l->input;
        l->was_over = !collected && is_over(a, i);
        for (int w = 0; w < MESSAGE_MISSING_WORDS; w++)
            a->missing.word[w] |= l->value.missing.word[w];
        a->unsent = true;
    }
    a->hole = a->values_hole = 0;
}

const struct agent_limit *aggregate_limit(const struct aggregate *a, uint32_t i)
{
    return &a->limits[i].seen;
}

/* ---- Reporting --------------------------------------------------------------------------------------------------- */

static int64_t since(const struct aggregate *a, int64_t at)
{
    return at == 0 ? -1 : a->stepped - at;
}

static struct message_judged judged_of(const struct aggregate *a, uint32_t i)
{
    const struct agent_limit *seen = &a->limits[i].seen;
    const struct limit_judge *j = &a->limits[i].judge;
    bool is_open_now = seen->state == LIMIT_UNKNOWN && (j->open || seen->gap > 0);
    return (struct message_judged){.limit = i,
                                   .state = is_open_now ? MESSAGE_LIMIT_OPEN : (enum message_limit_state)seen->state,
                                   .value = seen->known ? seen->value : (double)NAN,
                                   .worst = seen->worst,
                                   .settling = seen->settling,
                                   .held = seen->held,
                                   .violated = seen->violated,
                                   .unknown = seen->unknown,
                                   .ago = since(a, seen->last_violated),
                                   .doubtful = j->doubtful,
                                   .trusted_ago = since(a, j->doubtful ? j->trusted_violated : seen->last_violated),
                                   .trusted_worst = j->doubtful ? j->trusted_worst : seen->worst};
}

/*
 * The node that records what is judged, and where triggers on it fire: the first of the file, for which the others wait
 * at the beginning; later the first that is there, as long as it is. None yet: the number of nodes.
 */
static uint32_t choose_reporter(struct aggregate *a, int64_t now)
{
    struct bitset present = recent_nodes(a, a->received_at, now);
    uint32_t first = 0, count = a->experiment->node_count;
    if (a->reporter != EXPERIMENT_NODES_MAX && bitset_has(&present, a->reporter))
        return a->reporter;
    while (first < count && !bitset_has(&present, first))
        first++;
    if (a->reporter == EXPERIMENT_NODES_MAX && first > 0 && first < count) {
        a->chosen_from = a->chosen_from ? a->chosen_from : now;
        first = now - a->chosen_from < FIRST_WAIT ? count : first;
    }
    return first;
}

bool aggregate_send(struct aggregate *a, int64_t now, uint32_t *node, struct message_judgement *j)
{
    uint32_t reporter = choose_reporter(a, now), count = a->experiment->node_count;
    if (!a->unsent || reporter == count)
        return false;
    a->reporter = reporter;
    a->unsent = false;
    *node = a->reporter;
    *j = (struct message_judgement){.sequence = ++a->sequence};
    memcpy(j->missing, a->missing.word, sizeof j->missing);
    for (uint32_t i = 0; i < a->experiment->limit_count; i++)
        if (a->experiment->limits[i].global)
            j->list[j->count++] = judged_of(a, i);
    return true;
}
