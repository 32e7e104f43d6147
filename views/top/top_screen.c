// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_screen.h"

#include "base/clock.h"
#include "base/near.h"
#include "base/plain.h"
#include "views/top/top_table.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    HEAD = 6,        /* lines above the table */
    FOOT = 1,        /* below all */
    PREFIX = 2,      /* of a row: whether it is selected, and its mark */
    LABEL = 10,      /* left of the plot */
    PLOT_LEAST = 18, /* lines that a screen with a plot has */
};

struct top_layout top_screen_layout(const struct top_grid *g)
{
    struct top_layout l = {.rows = g->height - HEAD - FOOT, .plot_width = g->width - LABEL};
    l.dots = top_grid_dots(g, l.plot_width);
    if (g->height < PLOT_LEAST)
        return l;
    l.plot_height = g->height < 24 ? 2 : 4 + (g->height - 24) / 4;
    l.plot_height = l.plot_height < 16 ? l.plot_height : 16;
    l.rows -= l.plot_height + 2;
    l.plot_at = HEAD + l.rows;
    return l;
}

/* ---- the lines above --------------------------------------------------------------------------------------------- */

static const char *state_of(const struct top_data *d)
{
    return d->damaged          ? "damaged"
           : d->mirror.copy    ? "copy, not complete"
           : d->mirror.partial ? "mirror, not complete"
           : d->growing        ? "running"
           : !d->aborted       ? "ended"
           : d->copied         ? "aborted or copied"
                               : "aborted";
}

/* The name of the run comes last, as it may be long. */
void top_screen_moment(const struct top_state *s, const struct top_data *d, char *text, size_t size)
{
    if (d->first > d->last)
        snprintf(text, size, "nothing is stored yet  %s  %s", state_of(d), d->run);
    else if (s->follow)
        snprintf(text, size, "%s  %s  %s  %s", top_clock(d->time, 3).s, d->growing ? "live" : "at its end", state_of(d),
                 d->run);
    else
        snprintf(text, size, "%s  %s back  %s  %s", top_clock(d->time, 3).s, units_duration(d->last - d->time).s,
                 state_of(d), d->run);
    plain_text(text);
}

const char *top_screen_says(const struct top_data *d)
{
    return d->mirror.text[0] ? d->mirror.text : d->controller;
}

void top_screen_cost(const struct top_data *d, char *text, size_t size)
{
    char refresh[48] = "";
    if (d->refresh > 0)
        snprintf(refresh, sizeof refresh, "every %s, ", units_duration(d->refresh).s);
    snprintf(text, size, "%sown %.2g %% %s", refresh, d->own_cpu, units_bytes(d->own_memory).s);
}

void top_screen_totals(const struct top_data *d, char *text, size_t size)
{
    char limits[64] = "no limits", interval[48] = "", unobserved[80] = "";
    if (d->violated)
        snprintf(limits, sizeof limits, "%zu of %zu limits VIOLATED", d->violated, d->limit_count);
    else if (d->unknown)
        snprintf(limits, sizeof limits, "%zu of %zu limits unknown", d->unknown, d->limit_count);
    else if (d->limit_count)
        snprintf(limits, sizeof limits, "%s %s%s", d->limit_count == 1 ? "the limit" : "all limits",
                 d->judged             ? "held"
                 : d->limit_count == 1 ? "holds"
                                       : "hold",
                 d->mirror.partial ? " as far as is known" : "");
    if (d->interval != CLOCK_S)
        snprintf(interval, sizeof interval, " in %s", units_exact_duration(d->interval).s);
    if (d->unobserved)
        snprintf(unobserved, sizeof unobserved, "; %s process%s NOT OBSERVED", units_count(d->unobserved).s,
                 d->unobserved == 1 ? "" : "es");
    snprintf(text, size, "%s; %zu node%s, %zu process%s, %s records/s, %s/s, %s lost%s%s%s%s%s", limits, d->node_count,
             d->node_count == 1 ? "" : "s", d->process_count, d->process_count == 1 ? "" : "es",
             top_number(d->records).s, units_bytes(d->bytes > 0 ? (uint64_t)d->bytes : 0).s, top_number(d->lost).s,
             interval, unobserved, d->incomplete ? "; NOT COMPLETE" : "", d->lasts, d->reading ? "; reading on" : "");
    plain_text(text);
}

/* The views, whose first letters are their keys; the present one in brackets. */
static void draw_tabs(struct top_grid *g, unsigned y, enum top_view view)
{
    static const struct {
        enum top_view view;
        const char *text;
    } tabs[] = {
        {TOP_NODES, "nodes"},         {TOP_PROCESSES, "procs"}, {TOP_ASPECTS, "aspects"}, {TOP_LIMITS, "limits"},
        {TOP_DECISIONS, "decisions"}, {TOP_LOSSES, "Losses"},   {TOP_MESSAGES, "msgs"},   {TOP_THREADS, "threads"},
        {TOP_INTERVALS, "intervals"}, {TOP_WAITS, "waits"},     {TOP_PATH, "Path"}};
    unsigned x = 0;
    for (size_t i = 0; i < sizeof tabs / sizeof *tabs; i++) {
        unsigned width = (unsigned)strlen(tabs[i].text);
        bool is = tabs[i].view == view;
        if (is)
            top_grid_put(g, x, y, 1, false, TOP_BOLD, "[");
        top_grid_put(g, x + 1, y, width, false, is ? TOP_BOLD : TOP_PLAIN, tabs[i].text);
        top_grid_mark(g, x + 1, y, 1, TOP_BOLD);
        x += width + 1;
        if (is)
            top_grid_put(g, x++, y, 1, false, TOP_BOLD, "]");
    }
}

static void draw_head(struct top_grid *g, const struct top_state *s, const struct top_data *d, size_t count)
{
    char text[2 * TOP_TEXT_MAX], cost[96];
    top_screen_cost(d, cost, sizeof cost);
    top_screen_moment(s, d, text, sizeof text);
    unsigned right = (unsigned)strlen(cost);
    top_grid_put(g, 0, 0, g->width > right + 1 ? g->width - right - 1 : 1, false, TOP_BOLD, text);
    top_grid_put(g, g->width > right ? g->width - right : 0, 0, right, true, TOP_PLAIN, cost);
    top_screen_totals(d, text, sizeof text);
    top_grid_put(g, 0, 1, g->width, false,
                 d->violated                                                    ? TOP_RED
                 : d->lost > 0 || d->unobserved || d->incomplete || d->lasts[0] ? TOP_YELLOW
                                                                                : TOP_PLAIN,
                 text);
    top_grid_put(g, 0, 2, g->width, false, TOP_PLAIN, top_screen_says(d));
    draw_tabs(g, 3, d->view);
    snprintf(text, sizeof text, "%s%s%s%s%s", top_table_name(d->view), d->title[0] ? " of " : "", d->title,
             s->filter[0] ? "  /" : "", s->filter);
    top_grid_put(g, 0, 4, g->width, false, TOP_CYAN, text);
    size_t used = strlen(text);
    snprintf(text, sizeof text, "%s%s%zu row%s", d->note, d->note[0] ? ", " : "", count, count == 1 ? "" : "s");
    right = (unsigned)strlen(text);
    if (used + right < g->width)
        top_grid_put(g, g->width - right, 4, right, true, TOP_PLAIN, text);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static unsigned width_of(const struct top_grid *g, const struct top_column *columns, size_t count, size_t i)
{
    unsigned all = PREFIX;
    for (size_t c = 0; c < count; c++)
        all += columns[c].width + (c > 0);
    return columns[i].width + (columns[i].grows && g->width > all ? g->width - all : 0);
}

/* Of a column that begins at `x` there is more to be seen than a letter or two. */
static bool is_seen(const struct top_grid *g, unsigned x)
{
    return x + 3 < g->width;
}

static bool is_right(const struct top_column *c)
{
    return c->kind != TOP_IS_TEXT && c->kind != TOP_IS_MADE && c->kind != TOP_IS_CLOCK;
}

static void draw_titles(struct top_grid *g, unsigned y, enum top_view view, struct top_sort sort)
{
    size_t count;
    const struct top_column *columns = top_table_columns(view, &count);
    unsigned x = PREFIX;
    top_grid_put(g, 0, y, g->width, false, TOP_BOLD, "");
    for (size_t i = 0; i < count && is_seen(g, x); i++) {
        unsigned width = width_of(g, columns, count, i);
        top_grid_put(g, x, y, width, is_right(&columns[i]), TOP_BOLD, columns[i].title);
        x += width;
        if (i == sort.column)
            top_grid_put(g, x < g->width ? x : g->width - 1, y, 1, false, TOP_BOLD, sort.down ? "v" : "^");
        x++;
    }
}

static void draw_row(struct top_grid *g, unsigned y, const struct top_data *d, const struct top_item *item,
                     bool selected)
{
    char text[TOP_TEXT_MAX], prefix[3] = {selected ? '>' : ' ', item->mark ? item->mark : ' ', '\0'};
    size_t count;
    const struct top_column *columns = top_table_columns(d->view, &count);
    unsigned x = PREFIX;
    top_grid_put(g, 0, y, PREFIX, false, TOP_PLAIN, prefix);
    for (size_t i = 0; i < count && is_seen(g, x); i++) {
        unsigned width = width_of(g, columns, count, i);
        top_table_cell(d, item, &columns[i], text, sizeof text);
        top_grid_put(g, x, y, width, is_right(&columns[i]), TOP_PLAIN, text);
        x += width + 1;
    }
    top_grid_mark(g, 0, y, g->width, (selected ? TOP_REVERSE : 0) | (item->mark == '!' ? TOP_RED : 0));
}

/* Why the table is empty. */
static void draw_nothing(struct top_grid *g, const struct top_state *s, const struct top_data *d)
{
    struct near near = {.wanted = s->filter};
    char text[256] = "There is nothing here at this time.";
    for (size_t i = 0; i < d->count; i++)
        for (size_t k = 0; k < TOP_TEXTS; k++)
            near_consider(&near, d->items[i].texts[k] ? d->items[i].texts[k] : "");
    if (s->filter[0] && d->count)
        snprintf(text, sizeof text, "The filter lets nothing through%s%s. Escape clears it.",
                 near.best ? "; the nearest is " : "", near.best ? near.best : "");
    top_grid_put(g, PREFIX, HEAD, g->width - PREFIX, false, TOP_PLAIN, text);
}

static void draw_table(struct top_grid *g, const struct top_state *s, const struct top_data *d, const uint32_t *order,
                       size_t count, unsigned rows)
{
    const struct top_place *p = &s->stack[s->depth];
    draw_titles(g, HEAD - 1, d->view, s->sorts[d->view]);
    for (unsigned i = 0; i < rows && p->first + i < count; i++)
        draw_row(g, HEAD + i, d, &d->items[order[p->first + i]], p->first + i == p->at);
    if (count == 0)
        draw_nothing(g, s, d);
}

/* ---- the plot ---------------------------------------------------------------------------------------------------- */

static struct units_text label(const struct top_plot *plot, double value)
{
    struct units_text f;
    switch (plot->unit) {
    case TOP_IN_NS:
        return top_value(value, "ns");
    case TOP_IN_PERCENT:
        snprintf(f.s, sizeof f.s, "%.3g %%", value);
        return f;
    case TOP_IN_RATE:
    case TOP_IN_NUMBER:
        break;
    }
    return top_number(value);
}

/* What dots of the plot are marked with: '!' violated, 'x' lost, 'd' decided; else what the thread did, ready before
 * all. */
static char mark_of(const struct top_dot *dots, size_t count)
{
    bool violated = false, lost = false, decided = false;
    char did = '-';
    for (size_t i = 0; i < count; i++) {
        violated = violated || dots[i].violated;
        lost = lost || dots[i].lost;
        decided = decided || dots[i].decided;
        did = dots[i].did && (did == '-' || dots[i].did == '+') ? dots[i].did : did;
    }
    return violated ? '!' : lost ? 'x' : decided ? 'd' : did;
}

/* What happened under the plot, and the shown time. */
static void draw_axis(struct top_grid *g, unsigned y, const struct top_layout *l, const struct top_state *s,
                      const struct top_plot *plot)
{
    unsigned per = l->dots / l->plot_width ? l->dots / l->plot_width : 1;
    for (unsigned x = 0; x < l->plot_width; x++) {
        size_t first = (size_t)x * per, left = first < plot->count ? plot->count - first : 0;
        char c[2] = {mark_of(&plot->dots[first < plot->count ? first : 0], left < per ? left : per), '\0'};
        top_grid_put(g, LABEL + x, y, 1, false, *c == '!' ? TOP_RED : *c == 'x' ? TOP_YELLOW : TOP_PLAIN, c);
    }
    double share = 1 - (double)(s->end - s->time) / (double)s->span;
    unsigned at = share <= 0 ? 0 : share >= 1 ? l->plot_width - 1 : (unsigned)(share * l->plot_width);
    at = at < l->plot_width ? at : l->plot_width - 1;
    top_grid_put(g, LABEL + at, y, 1, false, TOP_BOLD, "^");
    for (unsigned i = 1; i <= l->plot_height; i++)
        top_grid_mark(g, LABEL + at, y - i, 1, TOP_BOLD);
}

static void draw_plot(struct top_grid *g, const struct top_layout *l, const struct top_state *s,
                      const struct top_plot *plot)
{
    char times[96];
    double low, high;
    unsigned y = l->plot_at, right;
    if (l->plot_at == 0)
        return;
    snprintf(times, sizeof times, "%s before %s", units_duration(s->span).s, top_clock(s->end, 1).s);
    right = (unsigned)strlen(times);
    top_grid_put(g, 0, y, g->width, false, TOP_CYAN, plot->title[0] ? plot->title : "No plot of this row.");
    top_grid_put(g, g->width - right - 1, y, right + 1, true, TOP_CYAN, times);
    if (plot->title[0]) {
        top_grid_plot(g, LABEL, y + 1, l->plot_width, l->plot_height, plot, &low, &high);
        if (isfinite(low) && isfinite(high)) {
            top_grid_put(g, 0, y + 1, LABEL - 1, true, TOP_PLAIN, label(plot, high).s);
            top_grid_put(g, 0, y + l->plot_height, LABEL - 1, true, TOP_PLAIN, label(plot, low).s);
        }
    }
    draw_axis(g, y + l->plot_height + 1, l, s, plot);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void draw_foot(struct top_grid *g, const struct top_state *s)
{
    char text[TOP_FILTER_MAX + 64];
    if (s->editing)
        snprintf(text, sizeof text, "filter (part of a name, or a glob; Enter): %s_", s->filter);
    else
        snprintf(text, sizeof text, "%s",
                 s->message ? s->message
                            : "? help  Enter into  Esc back  / filter  <> r sort  space pause  f follow  q quit");
    top_grid_put(g, 0, g->height - 1, g->width, false, s->editing || s->message ? TOP_BOLD : TOP_PLAIN, text);
}

static void draw_help(struct top_grid *g)
{
    static const char *const lines[] = {
        "n p a l d L m t nodes, processes, aspects, limits, decisions, losses, messages,",
        "i w             threads; intervals between records, with their stages; waits and",
        "                long spans that last",
        "P               the path to what was last, by what it has (bezel why --path)",
        "Enter           into the row: node, its processes, their aspects, records",
        "                limit: the time of its violation, and the aspect it is on",
        "Esc, Backspace  back",
        "up down PgUp PgDn Home End    rows",
        "< > r           sort by another column; the other way round",
        "/               filter: a part of a name, or a glob",
        "left right      move in time; the cursor ^ is the shown time",
        "+ -             a shorter, a longer time in the plot",
        "[ ]             the violation before, the next one",
        "space f         pause; follow the newest",
        "o               the monitor's own processes, too",
        "? q             this help; quit",
        "",
        "Numbers are of the interval that ends with the shown time. Below the plot:",
        "! a limit is violated, x records are lost, d a decision. Of a thread: # it ran,",
        "+ was ready, . waited, ~ was ready or waited, - nothing is known. CPU had: who",
        "had it longest meanwhile, and for how much of the time.",
    };
    for (unsigned i = 0; i < sizeof lines / sizeof *lines && i + 2 < g->height; i++)
        top_grid_put(g, 0, 1 + i, g->width, false, TOP_PLAIN, lines[i]);
}

void top_screen_draw(struct top_grid *g, const struct top_state *s, const struct top_data *d, const uint32_t *order,
                     size_t count)
{
    struct top_layout l = top_screen_layout(g);
    top_grid_clear(g);
    if (s->help) {
        draw_help(g);
    } else {
        draw_head(g, s, d, count);
        draw_table(g, s, d, order, count, l.rows);
        draw_plot(g, &l, s, &d->plot);
    }
    draw_foot(g, s);
}
