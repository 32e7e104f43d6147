// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_table.h"

#include "base/clock.h"
#include "base/plain.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static const struct top_column nodes[] = {
    {"node", 12, TOP_IS_TEXT, 0, true},        {"records/s", 9, TOP_IS_COUNT, 0, false},
    {"bytes/s", 9, TOP_IS_BYTES, 1, false},    {"lost", 7, TOP_IS_COUNT, 2, false},
    {"cpu", 7, TOP_IS_PERCENT, 3, false},      {"polls", 8, TOP_IS_DURATION, 4, false},
    {"clock+-", 8, TOP_IS_DURATION, 5, false}, {"procs", 5, TOP_IS_COUNT, 6, false},
};
static const struct top_column processes[] = {
    {"process", 18, TOP_IS_TEXT, 0, true},  {"node", 10, TOP_IS_TEXT, 1, false},
    {"pid", 7, TOP_IS_WHOLE, 3, false},     {"records/s", 9, TOP_IS_COUNT, 0, false},
    {"bytes/s", 9, TOP_IS_BYTES, 1, false}, {"lost", 7, TOP_IS_COUNT, 2, false},
    {"state", 9, TOP_IS_TEXT, 2, false},
};
static const struct top_column aspects[] = {
    {"process", 11, TOP_IS_TEXT, 0, false}, {"aspect", 13, TOP_IS_TEXT, 1, true}, {"field", 9, TOP_IS_TEXT, 2, false},
    {"rate/s", 7, TOP_IS_COUNT, 0, false},  {"count", 7, TOP_IS_COUNT, 1, false}, {"p50", 8, TOP_IS_VALUE, 2, false},
    {"p99", 8, TOP_IS_VALUE, 3, false},     {"max", 8, TOP_IS_VALUE, 4, false},
};
static const struct top_column records[] = {
    {"time", 18, TOP_IS_CLOCK, 0, false},
    {"ring", 4, TOP_IS_WHOLE, 1, false},
    {"record", 20, TOP_IS_MADE, 0, true},
};
static const struct top_column limits[] = {
    {"limit", 18, TOP_IS_TEXT, 0, true},     {"node", 8, TOP_IS_TEXT, 1, false},
    {"state", 9, TOP_IS_TEXT, 2, false},     {"value", 9, TOP_IS_VALUE, 0, false},
    {"worst", 9, TOP_IS_VALUE, 1, false},    {"violated", 9, TOP_IS_DURATION, 3, false},
    {"since", 9, TOP_IS_DURATION, 2, false},
};
static const struct top_column decisions[] = {
    {"time", 12, TOP_IS_CLOCK, 0, false},
    {"node", 10, TOP_IS_TEXT, 0, false},
    {"decision, and its cause", 20, TOP_IS_MADE, 0, true},
};
static const struct top_column losses[] = {
    {"time", 12, TOP_IS_CLOCK, 0, false}, {"node", 10, TOP_IS_TEXT, 0, false}, {"process", 14, TOP_IS_TEXT, 1, true},
    {"ring", 4, TOP_IS_WHOLE, 2, false},  {"lost", 9, TOP_IS_COUNT, 1, false}, {"cause", 18, TOP_IS_MADE, 0, false},
};
static const struct top_column messages[] = {
    {"from", 14, TOP_IS_TEXT, 0, true},    {"to", 14, TOP_IS_TEXT, 1, false},     {"count", 7, TOP_IS_COUNT, 0, false},
    {"p50", 8, TOP_IS_DURATION, 1, false}, {"p99", 8, TOP_IS_DURATION, 2, false}, {"max", 8, TOP_IS_DURATION, 3, false},
    {"+-", 8, TOP_IS_DURATION, 4, false},
};
static const struct top_column threads[] = {
    {"process", 10, TOP_IS_TEXT, 0, true},    {"name", 12, TOP_IS_TEXT, 1, false},
    {"thread", 8, TOP_IS_WHOLE, 4, false},    {"node", 8, TOP_IS_TEXT, 2, false},
    {"running", 8, TOP_IS_PERCENT, 0, false}, {"ready", 8, TOP_IS_PERCENT, 1, false},
    {"waiting", 8, TOP_IS_PERCENT, 2, false}, {"either", 7, TOP_IS_PERCENT, 3, false},
    {"CPU had", 16, TOP_IS_MADE, 0, false},
};
static const struct top_column intervals[] = {
    {"metric", 9, TOP_IS_TEXT, 0, true},   {"from", 10, TOP_IS_TEXT, 1, false},   {"to", 10, TOP_IS_TEXT, 2, false},
    {"of", 6, TOP_IS_TEXT, 3, false},      {"count", 6, TOP_IS_COUNT, 0, false},  {"p50", 7, TOP_IS_DURATION, 1, false},
    {"p99", 7, TOP_IS_DURATION, 2, false}, {"max", 7, TOP_IS_DURATION, 3, false}, {"+-", 7, TOP_IS_DURATION, 4, false},
};
static const struct top_column waits[] = {
    {"process", 14, TOP_IS_TEXT, 0, true},   {"node", 10, TOP_IS_TEXT, 3, false},
    {"thread", 8, TOP_IS_WHOLE, 1, false},   {"span", 14, TOP_IS_TEXT, 1, false},
    {"waits for", 9, TOP_IS_TEXT, 2, false}, {"for", 9, TOP_IS_DURATION, 0, false},
    {"state", 6, TOP_IS_TEXT, 4, false},
};
static const struct top_column path[] = {
    {"share", 8, TOP_IS_PERCENT, 0, false},
    {"time", 9, TOP_IS_DURATION, 1, false},
    {"what", 34, TOP_IS_TEXT, 0, true},
    {"where", 24, TOP_IS_TEXT, 1, false},
};

#define VIEW(array, name, column, down)                                                                                \
    {                                                                                                                  \
        array, sizeof array / sizeof *array, name,                                                                     \
        {                                                                                                              \
            column, down                                                                                               \
        }                                                                                                              \
    }

static const struct {
    const struct top_column *columns;
    size_t count;
    const char *name;
    struct top_sort first;
} views[TOP_VIEWS] = {
    [TOP_NODES] = VIEW(nodes, "nodes", 0, false),      [TOP_PROCESSES] = VIEW(processes, "processes", 3, true),
    [TOP_ASPECTS] = VIEW(aspects, "aspects", 3, true), [TOP_RECORDS] = VIEW(records, "records", 0, true),
    [TOP_LIMITS] = VIEW(limits, "limits", 5, true),    [TOP_DECISIONS] = VIEW(decisions, "decisions", 0, true),
    [TOP_LOSSES] = VIEW(losses, "losses", 0, true),    [TOP_MESSAGES] = VIEW(messages, "messages", 2, true),
    [TOP_THREADS] = VIEW(threads, "threads", 5, true), [TOP_INTERVALS] = VIEW(intervals, "intervals", 0, false),
    [TOP_WAITS] = VIEW(waits, "waits", 5, true),       [TOP_PATH] = VIEW(path, "path", 0, true),
};

const struct top_column *top_table_columns(enum top_view view, size_t *count)
{
    *count = views[view].count;
    return views[view].columns;
}

const char *top_table_name(enum top_view view)
{
    return views[view].name;
}

struct top_sort top_table_sort_first(enum top_view view)
{
    return views[view].first;
}

bool top_table_sorts_down(enum top_view view, size_t column)
{
    enum top_kind kind = views[view].columns[column].kind;
    return column == views[view].first.column ? views[view].first.down : kind != TOP_IS_TEXT && kind != TOP_IS_MADE;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

struct units_text top_number(double value)
{
    static const char suffixes[] = "kMGT";
    struct units_text f;
    double size = fabs(value);
    int suffix = -1;
    if (isnan(value))
        return (struct units_text){"-"};
    for (; size >= 99999.5 && suffix < 3; suffix++)
        size /= 1000;
    if (suffix < 0 && size == floor(size))
        snprintf(f.s, sizeof f.s, "%.0f", value);
    else if (suffix < 0 || size >= 99999.5)
        snprintf(f.s, sizeof f.s, "%.4g", value);
    else
        snprintf(f.s, sizeof f.s, "%s%.5g%c", value < 0 ? "-" : "", size, suffixes[suffix]);
    return f;
}

#define DURATION_MOST 9e18 /* ns, some 285 years: what is longer is a number of its unit */

static struct units_text duration(double ns)
{
    if (isnan(ns))
        return (struct units_text){"-"};
    struct units_text f = units_duration(fabs(ns) < DURATION_MOST ? (int64_t)fabs(ns) : INT64_MAX), minus;
    snprintf(minus.s, sizeof minus.s, "-%.38s", f.s);
    return ns < 0 ? minus : f;
}

struct units_text top_value(double value, const char *unit)
{
    int64_t scale = unit ? units_time(unit) : 0;
    if (scale && fabs(value) * (double)scale >= DURATION_MOST)
        scale = 0;
    struct units_text f = scale ? duration(value * (double)scale) : top_number(value), with;
    if (scale || !unit || !*unit || strcmp(unit, "1") == 0 || isnan(value))
        return f;
    snprintf(with.s, sizeof with.s, "%.20s %.16s", f.s, unit);
    return with;
}

struct units_text top_clock(int64_t ns, unsigned digits)
{
    struct units_text f = {"-"};
    time_t seconds = (time_t)(ns / CLOCK_S);
    int64_t rest = ns % CLOCK_S;
    struct tm tm;
    char second[16], fraction[16];
    if (rest < 0)
        rest += CLOCK_S, seconds--;
    if (!localtime_r(&seconds, &tm) || strftime(second, sizeof second, "%H:%M:%S", &tm) == 0)
        return f;
    snprintf(fraction, sizeof fraction, "%09lld", (long long)rest);
    snprintf(f.s, sizeof f.s, "%s%s%.*s", second, digits ? "." : "", (int)digits, fraction);
    return f;
}

static struct units_text number_cell(const struct top_item *item, const struct top_column *c)
{
    double value = item->values[c->from];
    struct units_text f;
    switch (c->kind) {
    case TOP_IS_WHOLE:
        snprintf(f.s, sizeof f.s, isnan(value) ? "-" : "%.0f", value);
        return f;
    case TOP_IS_BYTES:
        return isnan(value) || value < 0 ? top_number(NAN) : units_bytes((uint64_t)value);
    case TOP_IS_PERCENT:
        snprintf(f.s, sizeof f.s, isnan(value) ? "-" : "%.3g %%", value);
        return f;
    case TOP_IS_DURATION:
        return duration(value);
    case TOP_IS_VALUE:
        return top_value(value, item->unit);
    case TOP_IS_CLOCK:
        return top_clock(item->at, c->width > 12 ? c->width - 9 : 3);
    default:
        return top_number(value);
    }
}

void top_table_cell(const struct top_data *d, const struct top_item *item, const struct top_column *c, char *text,
                    size_t size)
{
    text[0] = '\0';
    if (c->kind == TOP_IS_TEXT)
        snprintf(text, size, "%s", item->texts[c->from] ? item->texts[c->from] : "-");
    else if (c->kind == TOP_IS_MADE && d->make)
        d->make(d->context, item, text, size);
    else if (c->kind != TOP_IS_MADE)
        snprintf(text, size, "%s", number_cell(item, c).s);
    plain_text(text);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

struct sorting {
    const struct top_data *data;
    const struct top_column *column;
    bool down;
};

static int compare_numbers(double x, double y)
{
    if (isnan(x) || isnan(y)) /* the unknown is the least */
        return (int)isnan(y) - (int)isnan(x);
    return (x > y) - (x < y);
}

/* A time that has a clock's column is exact; made texts are in the order of their items. */
static int compare_items(const struct top_item *x, const struct top_item *y, const struct top_column *c)
{
    switch (c->kind) {
    case TOP_IS_TEXT:
        return strverscmp(x->texts[c->from] ? x->texts[c->from] : "", y->texts[c->from] ? y->texts[c->from] : "");
    case TOP_IS_CLOCK:
        return (x->at > y->at) - (x->at < y->at);
    case TOP_IS_MADE:
        return 0;
    default:
        return compare_numbers(x->values[c->from], y->values[c->from]);
    }
}

/* Items are in the order in which they came. Of two with the same time, the later one is first where the newest is. */
static int by_column(const void *a, const void *b, void *context)
{
    const struct sorting *s = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int order = compare_items(&s->data->items[i], &s->data->items[j], s->column);
    if (order)
        return s->down ? -order : order;
    bool latest_first = s->down && s->column->kind == TOP_IS_CLOCK;
    return (i < j) == latest_first ? 1 : -1;
}

static bool matches(const char *text, const char *filter, bool glob)
{
    return text && (glob ? fnmatch(filter, text, 0) == 0 : strcasestr(text, filter) != NULL);
}

static bool passes(const struct top_data *d, const struct top_item *item, const char *filter, bool glob)
{
    char text[TOP_TEXT_MAX] = "";
    for (size_t i = 0; i < TOP_TEXTS; i++)
        if (matches(item->texts[i], filter, glob))
            return true;
    if (d->make && d->view != TOP_LOSSES) /* their causes are dear */
        d->make(d->context, item, text, sizeof text);
    return matches(text, filter, glob);
}

size_t top_table_order(const struct top_data *d, struct top_sort sort, const char *filter, uint32_t *order)
{
    struct sorting s = {d, &views[d->view].columns[sort.column], sort.down};
    bool glob = strpbrk(filter, "*?[") != NULL;
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++)
        if (!*filter || passes(d, &d->items[i], filter, glob))
            order[count++] = (uint32_t)i;
    if (count > 1)
        qsort_r(order, count, sizeof *order, by_column, &s);
    return count;
}
