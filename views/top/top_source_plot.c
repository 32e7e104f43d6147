// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The plot of a row: columns of run/levels, or the values of a limit, in equal parts of the shown window. */
#include "views/top/top_source_internal.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "views/top/top_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4 * TOP_DOTS_MAX };

/* A window in equal parts. */
struct window {
    struct top_source *s;
    struct top_plot *plot;
    int64_t begin, span;
};

static double dot_of(const struct window *w, int64_t time)
{
    return (double)(time - w->begin) * (double)w->plot->count / (double)w->span;
}

/* The part that `time` lies in; NULL: it is outside. */
static struct top_dot *dot_at(const struct window *w, int64_t time)
{
    double at = floor(dot_of(w, time));
    return at >= 0 && at < (double)w->plot->count ? &w->plot->dots[(size_t)at] : NULL;
}

static void add_range(struct top_dot *d, double min, double max)
{
    if (!d || isnan(min) || isnan(max))
        return;
    d->min = fmin(d->min, min); /* of a NaN and a number, the number */
    d->max = fmax(d->max, max);
}

/* Spreads `count` evenly from `from` to `until`, so that no part gets more for how columns happen to lie. */
static void add_count(const struct window *w, int64_t from, int64_t until, double count)
{
    double a = dot_of(w, from), b = dot_of(w, until), all = b - a;
    for (double i = fmax(floor(a), 0); i < b && i < (double)w->plot->count && all > 0; i++) {
        struct top_dot *d = &w->plot->dots[(size_t)i];
        d->max = (isnan(d->max) ? 0 : d->max) + count * (fmin(b, i + 1) - fmax(a, i)) / all;
        d->min = 0;
    }
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static unsigned width_for(const struct window *w)
{
    int64_t dot = w->span / (int64_t)w->plot->count / 2;
    unsigned width = 0;
    while (width < LEVELS_WIDTH_MAX && (INT64_C(2) << width) <= dot)
        width++;
    return width;
}

/* What is made of columns: counts, the least and largest value, or the growth of a value that only rises. */
enum what { COUNTS, VALUES, GROWTH };

static void take_columns(const struct window *w, uint32_t node, const struct levels_column *columns, size_t count,
                         unsigned width, enum what what)
{
    for (size_t i = 0; i < count; i++) {
        const struct levels_column *c = &columns[i];
        int64_t from = catalogue_time(w->s->c.nodes[node], c->begin).ns;
        int64_t until = saturate_add(from, INT64_C(1) << width), middle = from + (until - from) / 2;
        struct top_dot *d = dot_at(w, middle);
        if (what == COUNTS)
            add_count(w, from, until, (double)c->count);
        else if (what == VALUES)
            add_range(d, c->min, c->max);
        else if (i > 0 && c->last >= columns[i - 1].last)
            add_count(w, catalogue_time(w->s->c.nodes[node], columns[i - 1].begin).ns, from,
                      c->last - columns[i - 1].last);
        if (d && c->lost)
            d->lost = true;
    }
}

static int plot_process(const struct window *w, size_t process, uint32_t aspect, uint32_t field, enum what what)
{
    static const int64_t beside = 2 * CLOCK_S; /* from where a value may grow into the window */
    const struct catalogue_process *p = &w->s->c.processes[process];
    uint32_t node = p->node;
    unsigned width = width_for(w);
    int64_t before = what == GROWTH ? beside : 0;
    if (p->count == 0)
        return 0;
    struct levels_column *columns = malloc(COLUMNS * sizeof *columns);
    if (!columns)
        return BEZEL_ENOMEM;
    ssize_t got =
        levels_columns(w->s->c.levels, &w->s->c.streams[p->first], p->count, aspect, field,
                       catalogue_own(w->s->c.nodes[node], saturate_add(w->begin, -before)),
                       catalogue_own(w->s->c.nodes[node], saturate_add(w->begin, w->span)), width, columns, COLUMNS);
    if (got > 0)
        take_columns(w, node, columns, (size_t)got, width, what);
    free(columns);
    return got < 0 && got != BEZEL_EINVAL ? (int)got : 0;
}

/* Field `field` of what the daemons of a node recorded. */
static int plot_usage(const struct window *w, uint32_t node, uint32_t field, enum what what)
{
    int err = 0;
    for (size_t i = 0; i < w->s->c.process_count && !err; i++) {
        const struct catalogue_process *p = &w->s->c.processes[i];
        uint32_t aspect = p->node == node && p->process->role == ROLE_DAEMON ? p->process->builtins[BUILTIN_USAGE] : 0;
        if (aspect)
            err = plot_process(w, i, aspect, field, what);
    }
    return err;
}

/* From counts in each part to counts a second. */
static void make_rate(const struct window *w)
{
    double per_second = (double)w->plot->count * CLOCK_S / (double)w->span;
    for (size_t i = 0; i < w->plot->count; i++)
        w->plot->dots[i].max *= per_second;
    w->plot->unit = TOP_IN_RATE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const char *node_name(const struct top_source *s, uint32_t node)
{
    return node < s->c.node_count ? s->c.nodes[node]->name : "?";
}

static int plot_node(const struct window *w, uint32_t node, const char *column)
{
    enum { RECORDS = 2, PERIOD = 6, SENSOR_CPU = 7 }; /* of BUILTIN_USAGE_FIELDS */
    struct top_plot *p = w->plot;
    if (strcmp(column, "cpu") == 0) {
        snprintf(p->title, sizeof p->title, "CPU of the sensor of %s", node_name(w->s, node));
        p->unit = TOP_IN_PERCENT;
        return plot_usage(w, node, SENSOR_CPU, VALUES);
    }
    if (strcmp(column, "polls") == 0) {
        snprintf(p->title, sizeof p->title, "polling period of %s", node_name(w->s, node));
        p->unit = TOP_IN_NS;
        int failed = plot_usage(w, node, PERIOD, VALUES);
        for (size_t i = 0; i < p->count; i++) /* 0: it did not poll */
            p->dots[i].min = p->dots[i].max > 0 ? p->dots[i].min : (double)NAN;
        return failed;
    }
    snprintf(p->title, sizeof p->title, "records/s of %s", node_name(w->s, node));
    int err = plot_usage(w, node, RECORDS, GROWTH);
    make_rate(w);
    return err;
}

static int plot_rate(const struct window *w, size_t process, uint32_t aspect, int32_t limit)
{
    const struct experiment_limit *l = top_source_limit(w->s, limit);
    const struct model_process *m = w->s->c.processes[process].process;
    const char *name = aspect && m->dict && aspect <= m->dict->aspect_count ? m->dict->aspects[aspect - 1].name : "";
    snprintf(w->plot->title, sizeof w->plot->title, "records/s of %s%s%s", m->name, *name ? " " : "", name);
    int err = plot_process(w, process, aspect, LEVELS_COUNT, COUNTS);
    make_rate(w);
    if (l && l->metric >= 0 && !experiment_metric_reads_records(&w->s->experiment->metrics[l->metric]))
        w->plot->bound = l->bound;
    return err;
}

/* A field's values, with the bound of the limit that the view is about. */
static int plot_field(const struct window *w, size_t process, struct top_id id)
{
    const struct model_process *m = w->s->c.processes[process].process;
    const struct experiment_limit *l = top_source_limit(w->s, id.limit);
    if (!m->dict || id.aspect == 0 || id.aspect > m->dict->aspect_count ||
        id.field >= m->dict->aspects[id.aspect - 1].field_count)
        return plot_rate(w, process, id.aspect, id.limit);
    const struct dict_field *f = &m->dict->aspects[id.aspect - 1].fields[id.field];
    int64_t scale = units_time(f->unit);
    snprintf(w->plot->title, sizeof w->plot->title, "%s of %s %s%s%s, least and largest", f->name, m->name,
             m->dict->aspects[id.aspect - 1].name, scale || !f->unit[0] || strcmp(f->unit, "1") == 0 ? "" : " in ",
             scale || strcmp(f->unit, "1") == 0 ? "" : f->unit);
    int err = plot_process(w, process, id.aspect, id.field, VALUES);
    if (l && (!w->s->experiment->metrics[l->metric].in_time || scale))
        w->plot->bound = l->bound;
    for (size_t i = 0; scale && i < w->plot->count; i++) {
        w->plot->dots[i].min *= (double)scale;
        w->plot->dots[i].max *= (double)scale;
    }
    w->plot->unit = scale ? TOP_IN_NS : TOP_IN_NUMBER;
    return err;
}

static void plot_limit(const struct window *w, struct top_id id)
{
    const struct top_source *s = w->s;
    const struct experiment_limit *l = top_source_limit(s, id.limit);
    const struct history_series *series = history_limit(&s->c.history, id.node, (uint32_t)id.limit);
    snprintf(w->plot->title, sizeof w->plot->title, "value for %s of %s", top_source_limit_text(s, id.limit),
             l && l->global ? "all nodes" : node_name(s, id.node));
    w->plot->unit = l && l->unit == UNIT_DURATION  ? TOP_IN_NS
                    : l && l->unit == UNIT_PERCENT ? TOP_IN_PERCENT
                                                   : TOP_IN_NUMBER;
    w->plot->bound = l ? l->bound : (double)NAN;
    for (size_t i = 0; series && id.node < s->c.node_count && i < series->columns.count; i++) {
        const struct history_column *c = &series->columns.list[i];
        unsigned width = series->columns.width;
        int64_t middle = saturate_ns((c->at >> width << width) + (INT64_C(1) << width) / 2);
        add_range(dot_at(w, catalogue_time(s->c.nodes[id.node], middle).ns), c->min, c->max);
    }
}

/* How much of each part of the time a thread ran, and what it did there. */
static int plot_thread(const struct window *w, size_t process, uint32_t id)
{
    static const char letters[] = {'#', '+', '.', '~', '\0'};
    const struct model_process *m = w->s->c.processes[process].process;
    const char *name = thread_names_at(&m->thread_names, id, INT64_MAX);
    char had[TOP_TEXT_MAX / 2] = "";
    struct strip strip;
    struct top_rival rival;
    int err =
        top_source_strip(w->s, process, id, w->begin, saturate_add(w->begin, w->span), w->plot->count, &strip, &rival);
    top_source_make_rival(&rival, w->span, had, sizeof had);
    snprintf(w->plot->title, sizeof w->plot->title, "thread %" PRIu32 " %s%sof %s, running%s%s", id, name ? name : "",
             name ? " " : "", m->name, *had ? "; CPU had " : "", had);
    for (size_t i = 0; i < strip.count; i++) {
        const struct strip_piece *p = &strip.pieces[i];
        add_count(w, p->from, p->until, (double)p->ns[STRIP_RUNNING]);
        for (double d = fmax(floor(dot_of(w, p->from)), 0); d < dot_of(w, p->until) && d < (double)w->plot->count; d++)
            w->plot->dots[(size_t)d].did = letters[strip_most(p)];
    }
    for (size_t i = 0; i < w->plot->count; i++)
        w->plot->dots[i].max *= 100 * (double)w->plot->count / (double)w->span;
    w->plot->unit = TOP_IN_PERCENT;
    strip_fini(&strip);
    return err;
}

/* ---- what happened ----------------------------------------------------------------------------------------------- */

static void mark_violations(const struct window *w, uint32_t node, int32_t limit)
{
    for (size_t i = 0; i < w->s->violation_count; i++) {
        const struct top_violation *v = &w->s->violations[i];
        if ((limit >= 0 && v->limit != limit) || (node != TOP_ANY && v->node != node))
            continue;
        double from = fmax(floor(dot_of(w, v->begin)), 0), until = dot_of(w, v->end);
        for (double d = from; d <= until && d < (double)w->plot->count; d++)
            w->plot->dots[(size_t)d].violated = true;
    }
}

static void mark_events(const struct window *w, uint32_t node)
{
    const struct top_source *s = w->s;
    for (size_t i = s->c.history.event_count; i > 0; i--) {
        const struct history_event *e = &s->c.history.events[i - 1];
        if ((node != TOP_ANY && e->node != node) || (e->table != BUILTIN_DECISION && e->table != BUILTIN_KNOB))
            continue;
        struct top_dot *d = dot_at(w, top_source_event_time(s, e));
        if (d)
            d->decided = true;
    }
}

static int plot_row(const struct window *w, const struct top_state *state, const struct top_item *item)
{
    const struct top_place *place = &state->stack[state->depth];
    struct top_id id = place->view == TOP_RECORDS ? place->scope : item->id;
    if (place->view == TOP_LOSSES)
        id.instance = item->scope.instance;
    int64_t process = catalogue_process(&w->s->c, id.node, id.instance);
    size_t count;
    const struct top_column *columns = top_table_columns(place->view, &count);
    switch (place->view) {
    case TOP_NODES:
        return plot_node(w, id.node, columns[state->sorts[TOP_NODES].column].title);
    case TOP_DECISIONS:
        return plot_node(w, id.node, "polls");
    case TOP_LIMITS:
        plot_limit(w, id);
        return 0;
    case TOP_PROCESSES:
    case TOP_LOSSES:
        return process < 0 ? 0 : plot_rate(w, (size_t)process, 0, -1);
    case TOP_ASPECTS:
    case TOP_RECORDS:
        return process < 0 ? 0 : plot_field(w, (size_t)process, id);
    case TOP_INTERVALS:
        if (id.limit >= 0)
            plot_limit(w, id);
        return 0;
    case TOP_THREADS:
    case TOP_WAITS:
        return process < 0 ? 0 : plot_thread(w, (size_t)process, id.field);
    default:
        return 0;
    }
}

int top_source_plot(struct top_source *s, const struct top_state *state, const struct top_item *item, size_t dots,
                    struct top_data *d)
{
    struct window w = {s, &d->plot, saturate_add(state->end, -state->span), state->span};
    const struct top_place *place = &state->stack[state->depth];
    d->plot = (struct top_plot){.count = dots < TOP_DOTS_MAX ? dots : TOP_DOTS_MAX, .bound = NAN};
    for (size_t i = 0; i < d->plot.count; i++)
        d->plot.dots[i].min = d->plot.dots[i].max = NAN;
    if (d->plot.count == 0 || d->first > d->last || !s->counts)
        return 0;
    int err = item || place->view == TOP_RECORDS ? plot_row(&w, state, item) : 0;
    uint32_t node = item && place->view != TOP_RECORDS ? item->id.node : place->scope.node;
    mark_violations(&w, node, place->view == TOP_LIMITS && item ? item->id.limit : place->scope.limit);
    mark_events(&w, node);
    return err;
}
