// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/history/history.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/saturate.h"
#include "mdr/bounds.h"
#include "mdr/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AT_ONCE = 2048, /* rows between two looks at the clock */
    TEXTS_MAX = 4096,
    UNKNOWN = 0, /* enum limit_state */
    VIOLATED = 2,
};

/* Opening the database costs more than what is new in it: every other second will do. */
#define PAUSE (2 * CLOCK_S - CLOCK_S / 4)

int history_open(struct history *h, const char *run, uint32_t tables, size_t most)
{
    *h = (struct history){.tables = tables, .most = most};
    return history_rows_open(run, &h->rows);
}

static void free_series(struct history_series *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        history_columns_fini(&list[i].columns);
        free((char *)(uintptr_t)list[i].metric);
        free((char *)(uintptr_t)list[i].process);
    }
}

static void forget(struct history *h)
{
    free_series(h->limits, h->limit_count);
    free_series(h->metrics, h->metric_count);
    h->limit_count = h->metric_count = h->violation_count = h->gap_count = h->event_count = h->loss_count = 0;
    h->last_limit = h->last_metric = 0;
    h->left_out = 0;
}

void history_close(struct history *h)
{
    forget(h);
    history_rows_close(h->rows);
    free(h->limits);
    free(h->metrics);
    free(h->violations);
    free(h->gaps);
    free(h->events);
    free(h->losses);
    for (size_t i = 0; i < h->text_count; i++)
        free(h->texts[i]);
    free(h->texts);
    *h = (struct history){0};
}

/* Makes room for one more of `size` bytes, of at most `most`; the older half goes where there are too many. */
static void *add(struct history *h, void *array, size_t *count, size_t most, size_t size)
{
    char **list = array;
    if (*count == most) {
        h->left_out += most / 2;
        memmove(*list, *list + most / 2 * size, (most - most / 2) * size);
        *count -= most / 2;
    } else if (!grow_by_one(list, *count, size)) {
        h->err = BEZEL_ENOMEM;
        return NULL;
    }
    return memset(*list + size * (*count)++, 0, size);
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

static bool is_metric(const struct history_series *s, const char *metric, const char *process)
{
    return !metric || (strcmp(s->metric, metric) == 0 && strcmp(s->process, process) == 0);
}

/* The number of a series plus 1; 0: there is none. A node records them in turn, so the search begins behind `last`. */
static size_t find(const struct history_series *list, size_t count, size_t last, uint32_t node, uint32_t limit,
                   const char *metric, const char *process)
{
    for (size_t n = 1; n <= count; n++) {
        size_t i = (last + n) % count;
        if (list[i].node == node && list[i].limit == limit && is_metric(&list[i], metric, process))
            return i + 1;
    }
    return 0;
}

const struct history_series *history_limit(const struct history *h, uint32_t node, uint32_t limit)
{
    size_t number = find(h->limits, h->limit_count, 0, node, limit, NULL, NULL);
    return number ? &h->limits[number - 1] : NULL;
}

const struct history_series *history_metric(const struct history *h, uint32_t node, const char *metric,
                                            const char *process)
{
    size_t number = find(h->metrics, h->metric_count, 0, node, 0, metric, process);
    return number ? &h->metrics[number - 1] : NULL;
}

static char *plain_copy(struct history *h, const char *text)
{
    size_t n = strlen(text), room = 4 * n + 1; /* it may consist of bytes that are escaped */
    char *copy = malloc(room);
    if (copy)
        message_text(copy, room - 1, text);
    else
        h->err = BEZEL_ENOMEM;
    return copy;
}

static void begin_series(struct history_series *s, uint32_t node, uint32_t limit, int64_t at)
{
    s->node = node;
    s->limit = limit;
    s->begin = s->end = at;
    s->mean = s->min = s->max = s->last = NAN;
}

static struct history_series *limit_of(struct history *h, const struct builtin_observation *o)
{
    uint32_t limit = (uint32_t)o->limit;
    size_t number = find(h->limits, h->limit_count, h->last_limit, o->node, limit, NULL, NULL);
    struct history_series *s = NULL;
    if (number)
        s = &h->limits[h->last_limit = number - 1];
    else if ((s = add(h, &h->limits, &h->limit_count, SIZE_MAX, sizeof *s)))
        begin_series(s, o->node, limit, o->at);
    return s;
}

static struct history_series *metric_of(struct history *h, const struct builtin_metric *m)
{
    size_t number = find(h->metrics, h->metric_count, h->last_metric, m->node, 0, m->metric, m->process);
    if (number)
        return &h->metrics[h->last_metric = number - 1];
    char *metric = plain_copy(h, m->metric), *process = plain_copy(h, m->process);
    struct history_series *s = metric && process ? add(h, &h->metrics, &h->metric_count, SIZE_MAX, sizeof *s) : NULL;
    if (!s) {
        free(metric);
        free(process);
        return NULL;
    }
    begin_series(s, m->node, 0, m->at);
    s->metric = metric;
    s->process = process;
    return s;
}

static void add_value(struct history *h, struct history_series *s, int64_t at, double value, bool violated)
{
    size_t all = h->limit_count + h->metric_count, most = HISTORY_COLUMNS_OF_ALL / all;
    most = most > HISTORY_COLUMNS ? HISTORY_COLUMNS : most < HISTORY_COLUMNS_LEAST ? HISTORY_COLUMNS_LEAST : most;
    if (s->columns.list || all <= HISTORY_SERIES_PLOTTED) {
        int err = history_columns_add(&s->columns, most, at, value, violated);
        h->err = h->err ? h->err : err;
    }
}

static void count_value(struct history_series *s, int64_t at, double value)
{
    bool is_latest = at >= s->end;
    s->begin = at < s->begin ? at : s->begin;
    s->end = is_latest ? at : s->end;
    if (isnan(value))
        return;
    s->count++;
    s->sum += value;
    s->min = fmin(s->min, value);
    s->max = fmax(s->max, value);
    s->mean = fmin(fmax(s->sum / (double)s->count, s->min), s->max); /* rounding could move it outside */
    if (is_latest || isnan(s->last)) {
        s->last = value;
        s->known_at = at;
    }
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* The open violations lie in the half that stays, or are closed there. */
static void drop_old_violations(struct history *h)
{
    size_t dropped = h->most / 2;
    for (size_t i = 0; i < h->limit_count; i++)
        h->limits[i].open = h->limits[i].open > dropped ? h->limits[i].open - dropped : 0;
}

static void follow_state(struct history *h, struct history_series *s, int64_t at, bool violated, double value)
{
    if (violated && !s->open) {
        if (h->violation_count == h->most)
            drop_old_violations(h);
        struct history_violation *v = add(h, &h->violations, &h->violation_count, h->most, sizeof *v);
        if (!v)
            return;
        *v = (struct history_violation){s->node, s->limit, at, at, true, value, value};
        s->open = h->violation_count;
    }
    if (!s->open)
        return;
    struct history_violation *v = &h->violations[s->open - 1];
    v->end = at;
    v->open = violated;
    if (violated) {
        v->min = fmin(v->min, value);
        v->max = fmax(v->max, value);
    } else {
        s->open = 0;
    }
}

/* The gap that ends where the limit was observed last, and was unknown. NULL: there is none. */
static struct history_gap *gap_to_absorb(const struct history *h, const struct history_series *s)
{
    for (size_t i = h->gap_count; i > 0; i--) {
        struct history_gap *g = &h->gaps[i - 1];
        if (g->node == s->node && g->limit == s->limit)
            return g->end == s->last_at && !s->last_known ? g : NULL;
    }
    return NULL;
}

/*
 * Nothing is known of the gap: a violation ends there, and the line of values is broken. A negative one reaches back to
 * what the daemon before has observed, or else to its begin, as far as that is known. None reaches further.
 */
static void follow_gap(struct history *h, struct history_series *s, int64_t at, int64_t gap)
{
    bool is_first = s->last_at == 0; /* of this limit: its first judgement was late */
    int64_t begin = gap > 0 ? saturate_sub(at, gap) : is_first ? saturate_add(at, gap) : s->last_at;
    int64_t cut = gap > 0 && begin < s->last_at ? s->last_at - begin : 0;
    begin = begin < s->last_at ? s->last_at : begin;
    if (gap == 0 || (is_first ? gap == -1 : begin < s->begin) || begin >= at)
        return;
    s->begin = is_first ? begin : s->begin;
    struct history_gap *g = gap < 0 ? NULL : gap_to_absorb(h, s);
    if (g) {
        g->again += g->restarted ? at - g->end : 0;
        g->seen += begin - g->end;
        g->end = at;
        g->cut = saturate_add(g->cut, cut);
        return;
    }
    g = add(h, &h->gaps, &h->gap_count, h->most, sizeof *g);
    if (!g)
        return;
    *g = (struct history_gap){
        .node = s->node, .limit = s->limit, .begin = begin, .end = at, .cut = cut, .restarted = gap < 0};
    add_value(h, s, begin, NAN, false);
    follow_state(h, s, begin, false, NAN);
}

void history_observe(struct history *h, const struct builtin_observation *o)
{
    if (o->limit < 0 || o->limit >= MESSAGE_LIMITS_MAX) /* an experiment has no other ones */
        return;
    struct history_series *s = limit_of(h, o);
    if (!s)
        return;
    follow_gap(h, s, o->at, o->gap);
    if (s->judged_from == 0 && (o->state != UNKNOWN || o->gap > 0))
        s->judged_from = o->gap > 0 ? saturate_sub(o->at, o->gap) : o->at;
    add_value(h, s, o->at, o->value, o->state == VIOLATED);
    count_value(s, o->at, o->value);
    follow_state(h, s, o->at, o->state == VIOLATED, o->value);
    s->last_at = o->at;
    s->last_known = o->state != UNKNOWN;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void take_metric(struct history *h, const struct builtin_metric *m)
{
    struct history_series *s = metric_of(h, m);
    if (!s)
        return;
    add_value(h, s, m->at, m->value, false);
    count_value(s, m->at, m->value);
}

/* A text that stays. */
static const char *keep(struct history *h, const char *text)
{
    for (size_t i = 0; i < h->text_count; i++)
        if (strcmp(h->texts[i], text) == 0)
            return h->texts[i];
    char *copy = h->text_count < TEXTS_MAX ? plain_copy(h, text) : NULL;
    char **place = copy ? add(h, &h->texts, &h->text_count, SIZE_MAX, sizeof *place) : NULL;
    if (!place) {
        free(copy);
        return "?";
    }
    return *place = copy;
}

static void take_event(struct history *h, enum builtin table, const void *record)
{
    if (table == BUILTIN_KNOB && ((const struct builtin_knob *)record)->cause == SET_BY_NONE)
        return; /* nothing has changed */
    if (table == BUILTIN_TRIGGER && ((const struct builtin_trigger *)record)->event == TRIGGER_ENDS)
        return;
    struct history_event *e = add(h, &h->events, &h->event_count, h->most, sizeof *e);
    if (!e)
        return;
    e->table = table;
    memcpy(&e->decision, record, builtin_layout(table)->size);
    if (table == BUILTIN_TRIGGER) {
        e->trigger.process = keep(h, e->trigger.process);
        e->trigger.done = keep(h, e->trigger.done);
        e->trigger.mark = keep(h, e->trigger.mark);
    }
    if (table == BUILTIN_OPEN) {
        e->open.process = keep(h, e->open.process);
        e->open.aspect = keep(h, e->open.aspect);
        e->open.reason = keep(h, e->open.reason);
    }
    if (table != BUILTIN_KNOB)
        return;
    e->knob.process = keep(h, e->knob.process);
    e->knob.knob = keep(h, e->knob.knob);
    e->knob.unit = keep(h, e->knob.unit);
}

static void take(void *context, int table, const void *record)
{
    struct history *h = context;
    if (table == BUILTIN_OBSERVATION) {
        history_observe(h, record);
    } else if (table == BUILTIN_METRIC) {
        take_metric(h, record);
    } else if (table == HISTORY_LOSSES) {
        struct history_loss *l = add(h, &h->losses, &h->loss_count, h->most, sizeof *l);
        if (l)
            *l = *(const struct history_loss *)record;
    } else {
        take_event(h, (enum builtin)table, record);
    }
}

static int read_rows(struct history *h, int64_t until)
{
    int got = 0;
    for (int table = 0; table < HISTORY_TABLES; table++)
        do {
            got = h->tables >> table & 1 ? history_rows_next(h->rows, table, AT_ONCE, take, h) : 0;
            if (got == BEZEL_EAGAIN) {
                history_rows_rewind(h->rows);
                forget(h);
                return 1;
            }
            if (got < 0 || h->err)
                return got < 0 ? got : h->err;
            if (clock_now() > until)
                return 1;
        } while (got == AT_ONCE);
    return 0;
}

int history_read(struct history *h)
{
    return read_rows(h, INT64_MAX);
}

int history_update(struct history *h, int64_t budget)
{
    int64_t now = clock_now();
    if (h->settled && now - h->read_at < PAUSE)
        return 0;
    h->read_at = now;
    int got = history_rows_database(h->rows) ? 1 : history_rows_refresh(h->rows, !h->settled);
    if (got > 0) {
        got = read_rows(h, now + budget);
        h->settled = got == 0;
    }
    history_rows_rest(h->rows);
    return got;
}
