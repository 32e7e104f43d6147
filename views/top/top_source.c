// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "views/top/top_source_internal.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "mdr/manage.h"
#include "run/history/history_decode.h"
#include "run/read/run_reader.h"
#include "views/report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The monitor records each of what is looked for at least every second, but for agents with a longer period. */
static const int64_t own_lookback = 3 * CLOCK_S;

/* ---- opening, and what is new ------------------------------------------------------------------------------------ */

int top_source_open(const char *run, struct top_source **s)
{
    struct top_source *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    it->path = strdup(run);
    int err = it->path ? catalogue_open(&it->c, run,
                                        HISTORY_OF_LIMITS | HISTORY_OF_EVENTS | HISTORY_OF_OPEN | HISTORY_OF_LOSSES)
                       : BEZEL_ENOMEM;
    if (!err && report_load_experiment(run, &it->experiment) != 0)
        it->experiment = NULL; /* what is wrong was logged */
    it->stale = true;
    if (err)
        top_source_close(it);
    else
        *s = it;
    return err;
}

void top_source_close(struct top_source *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->quantiles_made; i++)
        quantile_free(s->quantiles[i]);
    top_source_forget_verdict(s);
    catalogue_close(&s->c);
    experiment_free(s->experiment);
    free(s->path);
    free(s->violations);
    free(s->counts);
    free(s->nodes);
    free(s->items);
    free(s->stats);
    free(s->records);
    free(s->rivals);
    free(s->path_texts);
    why_free(&s->why);
    interval_times_free(&s->times);
    free(s);
}

/* Numbers of processes and nodes are those of the model that the levels have by now. */
static int renew(struct top_source *s)
{
    free(s->counts);
    free(s->nodes);
    s->counts = calloc(s->c.process_count + 1, sizeof *s->counts);
    s->nodes = calloc(s->c.node_count + 1, sizeof *s->nodes);
    s->changes = s->c.changes;
    s->stale = true;
    return s->counts && s->nodes ? 0 : BEZEL_ENOMEM;
}

int top_source_update(struct top_source *s, int64_t budget)
{
    size_t violations = s->c.history.violation_count;
    int more = catalogue_update(&s->c, budget), err = 0;
    if (more < 0)
        return more;
    if (!s->counts || s->changes != s->c.changes)
        err = renew(s);
    s->stale = s->stale || violations != s->c.history.violation_count;
    return err ? err : more;
}

const char *top_source_run(const struct top_source *s)
{
    return levels_model(s->c.levels, NULL)->run;
}

void top_source_range(const struct top_source *s, int64_t *first, int64_t *last)
{
    (void)catalogue_range(&s->c, first, last);
}

/* ---- violations -------------------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
    const struct top_violation *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->limit != y->limit ? (int)(x->limit - y->limit) : (x->node > y->node) - (x->node < y->node);
}

/* The end of an open violation still moves; nothing here reads it. */
static void renew_violations(struct top_source *s)
{
    size_t count = s->c.history.violation_count;
    struct top_violation *list = realloc(s->violations, (count + 1) * sizeof *list);
    s->violation_count = 0;
    if (!list)
        return;
    s->violations = list;
    for (size_t i = 0; i < count; i++) {
        const struct history_violation *v = &s->c.history.violations[i];
        if (v->node >= s->c.node_count)
            continue;
        list[s->violation_count++] = (struct top_violation){.node = v->node,
                                                            .limit = (int32_t)v->limit,
                                                            .begin = catalogue_time(s->c.nodes[v->node], v->begin).ns,
                                                            .end = catalogue_time(s->c.nodes[v->node], v->end).ns,
                                                            .open = v->open};
    }
    qsort(list, s->violation_count, sizeof *list, by_begin);
    s->stale = false;
}

const struct top_violation *top_source_violations(const struct top_source *s, size_t *count)
{
    *count = s->violation_count;
    return s->violations;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct reading {
    struct top_source_reading r;
    top_source_take_record *take;
};

static int take_record(const struct packet_record *r, const struct levels_place *place, void *context)
{
    const struct reading *reading = context;
    return reading->take(&reading->r, r, place);
}

int top_source_read(struct top_source *s, size_t stream, uint32_t aspect, int64_t from, int64_t until,
                    top_source_take_record *take, void *context)
{
    const struct levels_stream *l = levels_stream(s->c.levels, stream);
    if (s->c.stream_processes[stream] < 0 || l->last < from || l->first > until || l->first > l->last || from > until)
        return 0;
    struct reading reading = {{s, (size_t)s->c.stream_processes[stream], stream, l, context}, take};
    int err = levels_records(s->c.levels, stream, aspect, from, until, take_record, &reading);
    return err > 0 ? 0 : err;
}

void top_source_window(const struct top_source *s, uint32_t node, int64_t *from, int64_t *until)
{
    *until = catalogue_own(s->c.nodes[node], s->time);
    *from = saturate_add(catalogue_own(s->c.nodes[node], saturate_add(s->time, -s->interval)), 1);
}

/* The row of limit `i` is about to have state `state`. */
static struct builtin_limit *change_state(struct top_node *n, int64_t i, int64_t state, int64_t at)
{
    if (state == MESSAGE_LIMIT_VIOLATED && n->limits[i].state != state)
        n->since[i] = at;
    return &n->limits[i];
}

/* An observation tells of a new state before the limit's own record, with its sums, does. A violation begins with it.
 */
static void take_observation(const struct top_source *s, struct top_node *n, const struct packet_record *record)
{
    struct builtin_observation o;
    history_decode_record(record, BUILTIN_OBSERVATION, &o);
    if (o.limit < 0 || o.limit >= MESSAGE_LIMITS_MAX || o.at < n->limits[o.limit].at)
        return;
    const struct experiment_limit *of = top_source_limit(s, o.limit);
    struct builtin_limit *l = change_state(n, o.limit, o.state, o.at);
    if (l->at == 0)
        l->worst = NAN;
    if (o.state == MESSAGE_LIMIT_VIOLATED)
        l->worst = of && of->compare == COMPARE_AT_LEAST ? fmin(l->worst, o.value) : fmax(l->worst, o.value);
    l->limit = o.limit;
    l->at = o.at;
    l->state = o.state;
    l->value = o.value;
}

static int take_own(const struct top_source_reading *r, const struct packet_record *record,
                    const struct levels_place *place)
{
    const struct catalogue_process *p = &r->s->c.processes[r->process];
    struct top_node *n = &r->s->nodes[p->node];
    struct builtin_limit limit;
    (void)place;
    if (record && record->aspect == p->process->builtins[BUILTIN_USAGE] && (int64_t)record->timestamp >= n->usage.at) {
        history_decode_record(record, BUILTIN_USAGE, &n->usage);
    } else if (record && record->aspect == p->process->builtins[BUILTIN_OBSERVATION]) {
        take_observation(r->s, n, record);
    } else if (record && record->aspect == p->process->builtins[BUILTIN_LIMIT]) {
        history_decode_record(record, BUILTIN_LIMIT, &limit);
        if (limit.limit >= 0 && limit.limit < MESSAGE_LIMITS_MAX && limit.at >= n->limits[limit.limit].at)
            *change_state(n, limit.limit, limit.state, limit.at) = limit;
    }
    return 0;
}

/* Records without a ring are in no stream: the node counts them, over the run. */
static int take_ringless(const struct top_source_reading *r, const struct packet_record *record,
                         const struct levels_place *place)
{
    const struct catalogue_process *p = &r->s->c.processes[r->process];
    struct top_node *n = &r->s->nodes[p->node];
    struct builtin_totals t;
    int64_t from, until;
    (void)place;
    if (!record || record->aspect != p->process->builtins[BUILTIN_TOTALS])
        return 0;
    top_source_window(r->s, p->node, &from, &until);
    history_decode_record(record, BUILTIN_TOTALS, &t);
    uint64_t *to = (int64_t)record->timestamp < from ? &n->ringless_before : &n->ringless;
    if (t.no_ring > 0 && (uint64_t)t.no_ring > *to)
        *to = (uint64_t)t.no_ring;
    return 0;
}

/* What a node's daemons recorded last; of a stream that has ended by then, at its end. */
static int read_own(struct top_source *s, size_t stream)
{
    const struct catalogue_process *p = &s->c.processes[s->c.stream_processes[stream]];
    const struct levels_stream *l = levels_stream(s->c.levels, stream);
    int64_t until = catalogue_own(s->c.nodes[p->node], s->time);
    if (p->process->role != ROLE_DAEMON || !p->process->builtins[BUILTIN_USAGE])
        return 0;
    if ((l->closed || s->nodes[p->node].unheard) && l->last < until)
        until = l->last;
    int64_t from, end;
    top_source_window(s, p->node, &from, &end);
    int err = top_source_read(s, stream, p->process->builtins[BUILTIN_TOTALS], saturate_add(from, -own_lookback), end,
                              take_ringless, NULL);
    return err ? err : top_source_read(s, stream, 0, saturate_add(until, -own_lookback), until, take_own, NULL);
}

int top_source_count(const struct top_source_reading *r, const struct packet_record *record,
                     const struct levels_place *place)
{
    struct top_counts *c = &r->s->counts[r->process];
    c->records += record != NULL;
    c->bytes += record ? place->bytes : 0;
    c->lost += place->lost;
    return 0;
}

static int count_streams(struct top_source *s, bool own)
{
    int err = 0;
    for (size_t i = 0; i < s->c.stream_count && !err; i++) {
        if (s->c.stream_processes[i] < 0)
            continue;
        const struct catalogue_process *p = &s->c.processes[s->c.stream_processes[i]];
        struct top_counts *c = &s->counts[s->c.stream_processes[i]];
        int64_t from, until, last = levels_stream(s->c.levels, i)->last;
        c->last = last > c->last ? last : c->last;
        top_source_window(s, p->node, &from, &until);
        if (c->item_count)
            err = top_source_read_values(s, i, from, until);
        else if (own || p->process->role == ROLE_SUT)
            err = top_source_read(s, i, 0, from, until, top_source_count, NULL);
        if (!err)
            err = read_own(s, i);
    }
    for (size_t i = 0; i < s->c.process_count; i++) {
        const struct catalogue_process *p = &s->c.processes[i];
        if (p->process->role != ROLE_SUT)
            continue;
        s->nodes[p->node].records += s->counts[i].records;
        s->nodes[p->node].bytes += s->counts[i].bytes;
        s->nodes[p->node].lost += s->counts[i].lost;
        s->nodes[p->node].processes++;
    }
    for (size_t i = 0; i < s->c.node_count; i++)
        if (s->nodes[i].ringless > s->nodes[i].ringless_before)
            s->nodes[i].lost += s->nodes[i].ringless - s->nodes[i].ringless_before;
    return err;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct top_item *top_source_add(struct top_source *s)
{
    if (s->item_count == TOP_ITEMS_MAX) {
        s->left_out++;
        return NULL;
    }
    if (!grow_list(&s->items, &s->item_capacity, s->item_count, sizeof *s->items)) {
        s->left_out++;
        return NULL;
    }
    struct top_item *item = &s->items[s->item_count++];
    *item = (struct top_item){.id = TOP_ALL, .at = TOP_NEVER, .into = TOP_VIEWS, .scope = TOP_ALL, .mark = ' '};
    for (size_t i = 0; i < TOP_VALUES; i++)
        item->values[i] = NAN;
    return item;
}

const struct experiment_limit *top_source_limit(const struct top_source *s, int64_t limit)
{
    return s->experiment && limit >= 0 && limit < s->experiment->limit_count ? &s->experiment->limits[limit] : NULL;
}

const char *top_source_limit_text(const struct top_source *s, int64_t limit)
{
    const struct experiment_limit *l = top_source_limit(s, limit);
    return l ? l->text : "?";
}

bool top_source_shows(const struct top_source *s, const struct top_state *state, struct top_id scope, size_t i)
{
    const struct catalogue_process *p = &s->c.processes[i];
    if ((p->process->role != ROLE_SUT && !state->own) || (scope.node != TOP_ANY && scope.node != p->node))
        return false;
    return scope.instance == 0 || scope.instance == p->process->instance;
}

static double per_second(const struct top_source *s, uint64_t count)
{
    return (double)count * CLOCK_S / (double)s->interval;
}

static void add_nodes(struct top_source *s)
{
    for (uint32_t i = 0; i < s->c.node_count; i++) {
        const struct top_node *n = &s->nodes[i];
        struct top_item *item = top_source_add(s);
        if (!item)
            return;
        item->id.node = item->scope.node = i;
        item->texts[0] = s->c.nodes[i]->name;
        item->values[0] = per_second(s, n->records);
        item->values[1] = per_second(s, n->bytes);
        item->values[2] = (double)n->lost;
        item->values[6] = (double)n->processes;
        item->into = TOP_PROCESSES;
        if (n->usage.at) {
            item->values[3] = n->usage.sensor_cpu;
            item->values[4] = n->usage.period > 0 ? (double)n->usage.period : (double)NAN;
        }
        int64_t bound = catalogue_time(s->c.nodes[i], catalogue_own(s->c.nodes[i], s->time)).bound;
        item->values[5] = bound < INT64_MAX ? (double)bound : (double)NAN;
    }
}

/* What process `i` is at the shown time: one that has ended did so behind its last packet. Of a flight recorder that
 * runs, what its rings hold is not stored yet. */
static const char *process_state(const struct top_source *s, size_t i)
{
    const struct catalogue_process *p = &s->c.processes[i];
    int64_t own = catalogue_own(s->c.nodes[p->node], s->time);
    if (p->process->started < INT64_MAX && (int64_t)p->process->started > own)
        return "to come";
    if (p->process->state == PROCESS_RUNNING || own < s->counts[i].last)
        return p->process->overwrites ? "recorder" : "running";
    return p->process->state == PROCESS_ENDED ? "ended" : p->process->state == PROCESS_LEFT ? "left" : "detached";
}

static void add_processes(struct top_source *s, const struct top_state *state, struct top_id scope)
{
    for (size_t i = 0; i < s->c.process_count; i++) {
        const struct catalogue_process *p = &s->c.processes[i];
        struct top_item *item = top_source_shows(s, state, scope, i) ? top_source_add(s) : NULL;
        if (!item)
            continue;
        item->id.node = item->scope.node = p->node;
        item->id.instance = item->scope.instance = p->process->instance;
        item->texts[0] = p->process->name;
        item->texts[1] = s->c.nodes[p->node]->name;
        item->texts[2] = process_state(s, i);
        item->values[0] = per_second(s, s->counts[i].records);
        item->values[1] = per_second(s, s->counts[i].bytes);
        item->values[2] = (double)s->counts[i].lost;
        item->values[3] = (double)p->process->pid;
        item->into = TOP_ASPECTS;
    }
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/*
 * Enter shows the violation at the shown time, or the last one before, with the records that the limit is about. The
 * database may not have one yet that the limit's own record tells of. Since one ended a limit holds; since when the
 * verdict of a run would be so nobody knows.
 */
static void lead_limit(struct top_source *s, struct top_item *item, const struct experiment_limit *l,
                       const struct builtin_limit *row, enum verdict_is is)
{
    uint32_t node = item->id.node;
    const struct top_violation *v =
        top_state_violation(s->violations, s->violation_count, node, item->id.limit, s->time);
    bool aspect = l && l->metric >= 0 && s->experiment->metrics[l->metric].aspect;
    bool goes_on = v && (v->open || v->end > s->time), is_new = row->state == MESSAGE_LIMIT_VIOLATED && !goes_on;
    item->into = aspect ? TOP_ASPECTS : TOP_PROCESSES;
    item->scope.node = l && l->global ? TOP_ANY : node;
    item->scope.limit = aspect ? item->id.limit : -1;
    item->at = is_new ? catalogue_time(s->c.nodes[node], s->nodes[node].since[item->id.limit]).ns
               : v    ? v->begin
                      : TOP_NEVER;
    if (is_new || (v && is != VERDICT_UNKNOWN && (is >= VERDICT_VIOLATED) == goes_on))
        item->values[2] = (double)(s->time - (is_new || goes_on ? item->at : v->end));
}

static void add_limit(struct top_source *s, uint32_t node, int32_t limit, const struct builtin_limit *row)
{
    const struct experiment_limit *l = top_source_limit(s, limit);
    enum verdict_is is = top_source_is(s, node, limit, row->state);
    bool unheard = is == VERDICT_UNKNOWN && top_source_unheard(s, l && l->global ? TOP_ANY : node);
    struct top_item *item = top_source_add(s);
    struct builtin_limit now = *row;
    if (!item)
        return;
    top_source_end_limit(s, node, limit, &now);
    item->id.node = node;
    item->id.limit = limit;
    item->texts[0] = top_source_limit_text(s, limit);
    item->texts[1] = l && l->global ? "all" : s->c.nodes[node]->name;
    item->texts[2] = unheard ? "unheard" : verdict_name(is);
    item->mark = is >= VERDICT_VIOLATED ? '!' : ' ';
    item->unit = l && l->unit == UNIT_DURATION ? "ns" : l && l->unit == UNIT_PERCENT ? "%" : NULL;
    item->values[0] = row->value;
    item->values[1] = now.worst;
    item->values[3] = now.at ? (double)now.violated : (double)NAN;
    lead_limit(s, item, l, row, is);
}

/* Of a limit that nobody has judged there is a row, too; none was of a file that was changed since. */
static void add_limits(struct top_source *s, struct top_id scope)
{
    bool changed = s->summary && s->summary->experiment_changed;
    uint32_t count = s->experiment ? s->experiment->limit_count : MESSAGE_LIMITS_MAX;
    for (uint32_t limit = 0; limit < count; limit++) {
        bool any = false;
        if (scope.limit >= 0 && (uint32_t)scope.limit != limit)
            continue;
        for (uint32_t node = 0; node < s->c.node_count; node++)
            if (!changed && s->nodes[node].limits[limit].at && (scope.node == TOP_ANY || scope.node == node)) {
                add_limit(s, node, (int32_t)limit, &s->nodes[node].limits[limit]);
                any = true;
            }
        if (!any && s->experiment && s->c.node_count)
            add_limit(s, 0, (int32_t)limit, &(struct builtin_limit){.value = NAN, .worst = NAN});
    }
}

/* ---- a moment ---------------------------------------------------------------------------------------------------- */

/* What the view is confined to, as words. */
static void write_title(const struct top_source *s, struct top_id scope, char *text, size_t size)
{
    int64_t i = scope.instance && scope.node != TOP_ANY ? catalogue_process(&s->c, scope.node, scope.instance) : -1;
    const struct model_process *p = i >= 0 ? s->c.processes[i].process : NULL;
    const struct dict *dict = p ? p->dict : NULL;
    const struct dict_aspect *a =
        dict && scope.aspect && scope.aspect <= dict->aspect_count ? &dict->aspects[scope.aspect - 1] : NULL;
    snprintf(text, size, "%s%s%s%s%s%s%s", scope.node < s->c.node_count ? s->c.nodes[scope.node]->name : "",
             p ? "/" : "", p ? p->name : "", a ? " " : "", a ? a->name : "", scope.limit >= 0 ? " for limit " : "",
             scope.limit >= 0 ? top_source_limit_text(s, scope.limit) : "");
}

static void make_text(const void *context, const struct top_item *item, char *text, size_t size)
{
    const struct top_source *s = context;
    if (s->view == TOP_RECORDS)
        top_source_make_record(s, item, text, size);
    else if (s->view == TOP_LOSSES)
        top_source_make_loss(s, item, text, size);
    else if (s->view == TOP_DECISIONS)
        top_source_make_decision(s, item, text, size);
    else if (s->view == TOP_THREADS && item->index < s->rival_count)
        top_source_make_rival(&s->rivals[item->index], s->interval, text, size);
}

static int add_items(struct top_source *s, const struct top_state *state, enum top_view view, struct top_id scope)
{
    switch (view) {
    case TOP_NODES:
        add_nodes(s);
        return 0;
    case TOP_PROCESSES:
        add_processes(s, state, scope);
        return 0;
    case TOP_LIMITS:
        add_limits(s, scope);
        return 0;
    case TOP_DECISIONS:
        top_source_decisions(s, scope);
        return 0;
    case TOP_LOSSES:
        top_source_losses(s, scope);
        return 0;
    case TOP_ASPECTS:
        top_source_finish_aspects(s);
        return 0;
    case TOP_RECORDS:
        return top_source_records(s, state, scope);
    case TOP_MESSAGES:
        return top_source_messages(s, state);
    case TOP_THREADS:
        return top_source_threads(s, state, scope);
    case TOP_INTERVALS:
        return top_source_intervals(s);
    case TOP_WAITS:
        return top_source_waits(s, state, scope);
    case TOP_PATH:
        return top_source_path(s);
    case TOP_VIEWS:
        break;
    }
    return 0;
}

static void fill_totals(const struct top_source *s, struct top_data *d)
{
    uint64_t records = 0, bytes = 0, lost = 0;
    for (size_t i = 0; i < s->c.node_count; i++) {
        records += s->nodes[i].records;
        bytes += s->nodes[i].bytes;
        lost += s->nodes[i].lost;
        d->process_count += s->nodes[i].processes;
        d->unobserved += s->c.nodes[i]->unobserved;
    }
    for (size_t i = 0; i < s->c.process_count; i++)
        d->unobserved += s->c.processes[i].process->unobserved;
    d->node_count = s->c.node_count;
    d->records = per_second(s, records);
    d->bytes = per_second(s, bytes);
    d->lost = (double)lost;
    for (size_t i = 0; i < s->c.stream_count; i++)
        d->damaged = d->damaged || levels_stream(s->c.levels, i)->cut;
    d->incomplete = s->judged && !verdict_is_complete(s->verdict);
    top_source_count_limits(s, d);
    top_source_controller(s, d->controller, sizeof d->controller);
}

/* The records that break a limit lie in its metric's window. */
static int64_t interval_of(const struct top_source *s, const struct top_state *state, int32_t limit)
{
    const struct experiment_limit *l = top_source_limit(s, limit);
    int64_t window = l ? experiment_limit_window(s->experiment, l) : 0;
    return window > state->interval ? window : state->interval;
}

int top_source_take(struct top_source *s, const struct top_state *state, struct top_data *d)
{
    const struct top_place *place = &state->stack[state->depth];
    *d = (struct top_data){.run = d->run,
                           .growing = d->growing,
                           .aborted = d->aborted,
                           .mirror = d->mirror,
                           .reading = d->reading,
                           .refresh = d->refresh,
                           .own_cpu = d->own_cpu,
                           .own_memory = d->own_memory,
                           .view = place->view,
                           .scope = place->scope,
                           .make = make_text,
                           .context = s};
    uint64_t ahead = catalogue_range(&s->c, &d->first, &d->last);
    s->time = d->time = state->follow ? d->last : state->time;
    s->interval = d->interval = interval_of(s, state, place->scope.limit);
    s->view = place->view;
    s->item_count = s->record_count = s->rival_count = 0;
    s->left_out = 0;
    top_source_judge(s, d->growing, d->growing ? state->follow : !d->reading && s->time >= d->last);
    if (s->stale)
        renew_violations(s);
    if (d->first > d->last || !s->counts)
        return 0;
    memset(s->counts, 0, s->c.process_count * sizeof *s->counts);
    memset(s->nodes, 0, s->c.node_count * sizeof *s->nodes);
    top_source_find_lasting(s, d);
    int err = place->view == TOP_ASPECTS ? top_source_aspects(s, state, place->scope) : 0;
    if (!err)
        err = count_streams(s, state->own);
    if (!err)
        err = add_items(s, state, place->view, place->scope);
    fill_totals(s, d);
    write_title(s, place->scope, d->title, sizeof d->title);
    if (place->view == TOP_ASPECTS && !s->all_quantiles)
        snprintf(d->note, sizeof d->note, "p50 and p99 of what is visible");
    if (ahead)
        snprintf(d->note, sizeof d->note, "%s streams have times that are still to come: not followed",
                 units_count(ahead).s);
    if (s->left_out)
        snprintf(d->note, sizeof d->note, "%s more are left out", units_count(s->left_out).s);
    d->items = s->items;
    d->count = s->item_count;
    return err;
}
