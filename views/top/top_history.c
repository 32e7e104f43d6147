// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_history.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "mdr/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AT_ONCE = 2048,   /* rows between two looks at the clock */
    FIRST_WIDTH = 26, /* of a column of a series: 67 ms */
    LAST_WIDTH = 62,
    TEXTS_MAX = 4096,
    VIOLATED = 2, /* enum limit_state */
};

int top_history_open(struct top_history *h, const char *run)
{
    *h = (struct top_history){0};
    return rundb_rows_open(run, &h->rows);
}

static void forget(struct top_history *h)
{
    for (size_t i = 0; i < h->series_count; i++)
        free(h->series[i].columns);
    h->event_count = h->loss_count = h->violation_count = h->series_count = h->last_series = 0;
    h->left_out = 0;
}

void top_history_close(struct top_history *h)
{
    forget(h);
    rundb_rows_close(h->rows);
    free(h->events);
    free(h->losses);
    free(h->violations);
    free(h->series);
    for (size_t i = 0; i < h->text_count; i++)
        free(h->texts[i]);
    free(h->texts);
    *h = (struct top_history){0};
}

/* Makes room for one more of `size` bytes, of at most `most`; the older half goes where there are too many. */
static void *add(struct top_history *h, void *array, size_t *count, size_t most, size_t size)
{
    char **list = array;
    if (*count == most) {
        h->left_out += most / 2;
        memmove(*list, *list + most / 2 * size, (most - most / 2) * size);
        *count -= most / 2;
    } else if ((*count & (*count - 1)) == 0) { /* a full power of two, or none */
        void *larger = realloc(*list, (*count ? 2 * *count : 1) * size);
        if (!larger) {
            h->err = BEZEL_ENOMEM;
            return NULL;
        }
        *list = larger;
    }
    return memset(*list + size * (*count)++, 0, size);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static struct top_series *find_series(struct top_history *h, int64_t owner, int32_t limit)
{
    for (size_t n = 1; n <= h->series_count; n++) { /* a node records its limits in turn */
        size_t i = (h->last_series + n) % h->series_count;
        if (h->series[i].owner == owner && h->series[i].limit == limit) {
            h->last_series = i;
            return &h->series[i];
        }
    }
    return NULL;
}

const struct top_series *top_history_series(const struct top_history *h, int64_t owner, int32_t limit)
{
    for (size_t i = 0; i < h->series_count; i++)
        if (h->series[i].owner == owner && h->series[i].limit == limit)
            return &h->series[i];
    return NULL;
}

static struct top_series *add_series(struct top_history *h, int64_t owner, int32_t limit)
{
    if (h->series_count == (size_t)MESSAGE_LIMITS_MAX * 1024)
        return NULL;
    struct top_series *s = add(h, &h->series, &h->series_count, SIZE_MAX, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct top_series){.owner = owner, .limit = limit, .width = FIRST_WIDTH};
    if (h->series_count <= TOP_SERIES_MAX)
        s->columns = malloc(TOP_SERIES_COLUMNS * sizeof *s->columns);
    return s;
}

static void join(struct top_series_column *into, const struct top_series_column *c)
{
    into->min = fmin(into->min, c->min); /* of a NaN and a number, the number */
    into->max = fmax(into->max, c->max);
    into->violated |= c->violated;
}

/* Columns become twice as wide. */
static void coarsen(struct top_series *s)
{
    size_t kept = 0;
    s->width++;
    for (size_t i = 0; i < s->count; i++) {
        struct top_series_column c = s->columns[i];
        c.index >>= 1;
        if (kept > 0 && s->columns[kept - 1].index == c.index)
            join(&s->columns[kept - 1], &c);
        else
            s->columns[kept++] = c;
    }
    s->count = kept;
}

/* One that comes late joins the last column. */
static void add_column(struct top_series *s, int64_t at, double value, bool violated)
{
    if (!s->columns)
        return;
    while (s->count == TOP_SERIES_COLUMNS && s->width < LAST_WIDTH)
        coarsen(s);
    struct top_series_column c = {at >> s->width, value, value, violated};
    if (s->count > 0 && s->columns[s->count - 1].index >= c.index)
        join(&s->columns[s->count - 1], &c);
    else if (s->count < TOP_SERIES_COLUMNS)
        s->columns[s->count++] = c;
}

/* The open violations lie in the half that stays, or are closed there. */
static void drop_old_violations(struct top_history *h)
{
    size_t dropped = TOP_VIOLATIONS_MAX / 2;
    for (size_t i = 0; i < h->series_count; i++)
        h->series[i].open = h->series[i].open > dropped ? h->series[i].open - dropped : 0;
}

static void follow_state(struct top_history *h, struct top_series *s, int64_t at, bool violated)
{
    if (violated && !s->open) {
        if (h->violation_count == TOP_VIOLATIONS_MAX)
            drop_old_violations(h);
        struct top_history_violation *v = add(h, &h->violations, &h->violation_count, TOP_VIOLATIONS_MAX, sizeof *v);
        if (!v)
            return;
        *v = (struct top_history_violation){s->owner, s->limit, at, at, true};
        s->open = h->violation_count;
    }
    if (!s->open)
        return;
    h->violations[s->open - 1].end = at;
    h->violations[s->open - 1].open = violated;
    s->open = violated ? s->open : 0;
}

void top_history_observe(struct top_history *h, int64_t owner, const struct builtin_observation *o)
{
    if (o->limit < 0 || o->limit >= MESSAGE_LIMITS_MAX)
        return;
    struct top_series *s = find_series(h, owner, (int32_t)o->limit);
    s = s ? s : add_series(h, owner, (int32_t)o->limit);
    if (!s)
        return;
    if (o->gap > 0) /* of that time nothing is known */
        follow_state(h, s, saturate_add(o->at, -o->gap), false);
    add_column(s, o->at, o->value, o->state == VIOLATED);
    follow_state(h, s, o->at, o->state == VIOLATED);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* A text that stays. */
static const char *keep(struct top_history *h, const char *text)
{
    for (size_t i = 0; i < h->text_count; i++)
        if (strcmp(h->texts[i], text) == 0)
            return h->texts[i];
    if (h->text_count == TEXTS_MAX)
        return "?";
    char *copy = strndup(text, TOP_TEXT_MAX - 1);
    char **place = copy ? add(h, &h->texts, &h->text_count, SIZE_MAX, sizeof *place) : NULL;
    if (!place) {
        free(copy);
        return "?";
    }
    return *place = copy;
}

static void take_event(struct top_history *h, int table, int64_t owner, const void *record)
{
    if (table == BUILTIN_KNOB && ((const struct builtin_knob *)record)->cause == SET_BY_NONE)
        return; /* nothing has changed */
    struct top_event *e = add(h, &h->events, &h->event_count, TOP_EVENTS_MAX, sizeof *e);
    if (!e)
        return;
    e->owner = owner;
    e->table = table;
    memcpy((char *)e + offsetof(struct top_event, decision), record, builtin_layout((enum builtin)table)->size);
    if (table != BUILTIN_KNOB)
        return;
    e->knob.process = keep(h, e->knob.process);
    e->knob.knob = keep(h, e->knob.knob);
    e->knob.unit = keep(h, e->knob.unit);
}

static void take(void *context, int table, int64_t owner, const void *record)
{
    struct top_history *h = context;
    if (table == BUILTIN_OBSERVATION) {
        top_history_observe(h, owner, record);
    } else if (table == RUNDB_ROWS_LOSSES) {
        struct top_loss *l = add(h, &h->losses, &h->loss_count, TOP_LOSSES_MAX, sizeof *l);
        if (l)
            *l = (struct top_loss){owner, *(const struct rundb_loss *)record};
    } else {
        take_event(h, table, owner, record);
    }
}

static int read_rows(struct top_history *h, int64_t until)
{
    static const int tables[] = {BUILTIN_DECISION, BUILTIN_KNOB,      BUILTIN_CONCLUSION,
                                 BUILTIN_POLLING,  RUNDB_ROWS_LOSSES, BUILTIN_OBSERVATION};
    int got = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        do {
            got = rundb_rows_next(h->rows, tables[i], AT_ONCE, take, h);
            if (got == BEZEL_EAGAIN) {
                rundb_rows_rewind(h->rows);
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

int top_history_update(struct top_history *h, int64_t budget)
{
    int64_t until = clock_now() + budget;
    int got = rundb_rows_refresh(h->rows, !h->settled);
    if (got > 0) {
        got = read_rows(h, until);
        h->settled = got == 0;
    }
    rundb_rows_rest(h->rows);
    return got;
}
