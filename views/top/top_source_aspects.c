// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Rows of aspects and fields, and records. */
#include "views/top/top_source_internal.h"

#include "base/clock.h"
#include "metric/where.h"
#include "run/read/record_item.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- aspects ----------------------------------------------------------------------------------------------------- */

static const struct dict *dict_of(const struct top_source *s, size_t process)
{
    return s->c.processes[process].process->dict;
}

static bool is_rate(const struct top_source *s, int32_t limit)
{
    const struct experiment_limit *l = top_source_limit(s, limit);
    return l && l->metric >= 0 && s->experiment->metrics[l->metric].kind == METRIC_RATE;
}

/* Whether a limit is about the aspect, or about the field (TOP_ANY: about the rate); without a limit everything is. */
static bool limit_takes(const struct top_source *s, int32_t limit, const struct dict_aspect *a, uint32_t field)
{
    const struct experiment_limit *l = top_source_limit(s, limit);
    if (!l || l->metric < 0)
        return true;
    const struct experiment_metric *m = &s->experiment->metrics[l->metric];
    if (!m->aspect || strcmp(m->aspect, a->name) != 0)
        return !m->aspect;
    return !m->field || field == TOP_ANY || strcmp(m->field, a->fields[field].name) == 0;
}

static bool is_number(const struct dict_aspect *a, uint32_t field)
{
    bool tag = (a->kind == DICT_SENT || a->kind == DICT_RECEIVED) && field == 1;
    return !tag && (a->fields[field].type == DICT_INT64 || a->fields[field].type == DICT_FLOAT64);
}

static void add_row(struct top_source *s, size_t process, const struct dict_aspect *a, uint32_t field, int32_t limit)
{
    const struct catalogue_process *p = &s->c.processes[process];
    struct top_item *item = top_source_add(s);
    if (!item)
        return;
    item->id = (struct top_id){p->node, p->process->instance, a->id, field, limit};
    item->scope = item->id;
    item->into = TOP_RECORDS;
    item->texts[0] = p->process->name;
    item->texts[1] = a->name;
    item->texts[2] = field == TOP_ANY ? "-" : a->fields[field].name;
    item->unit = field == TOP_ANY ? NULL : a->fields[field].unit;
}

/* A row for each numeric field of each aspect; for an aspect without one a row, too. */
static void add_rows(struct top_source *s, size_t process, struct top_id scope)
{
    const struct dict *d = dict_of(s, process);
    struct top_counts *c = &s->counts[process];
    c->first_item = s->item_count;
    for (uint32_t i = 0; d && i < d->aspect_count; i++) {
        const struct dict_aspect *a = &d->aspects[i];
        bool any = false;
        if ((scope.aspect && scope.aspect != a->id) || !limit_takes(s, scope.limit, a, TOP_ANY))
            continue;
        for (uint32_t f = 0; !is_rate(s, scope.limit) && f < a->field_count; f++)
            if (is_number(a, f) && limit_takes(s, scope.limit, a, f)) {
                add_row(s, process, a, f, scope.limit);
                any = true;
            }
        if (!any)
            add_row(s, process, a, TOP_ANY, scope.limit);
    }
    c->item_count = s->item_count - c->first_item;
}

static int make_stats(struct top_source *s)
{
    s->quantile_count = 0;
    s->all_quantiles = s->item_count <= TOP_QUANTILES_MAX;
    if (s->item_count > s->stat_capacity) {
        free(s->stats);
        s->stat_capacity = 0;
        s->stats = malloc(2 * s->item_count * sizeof *s->stats);
        if (!s->stats)
            return BEZEL_ENOMEM;
        s->stat_capacity = 2 * s->item_count;
    }
    for (size_t i = 0; i < s->item_count; i++)
        s->stats[i] = (struct top_stat){.min = NAN, .max = NAN};
    return 0;
}

/* An empty histogram for the row; NULL: there are too many. */
static struct quantile *take_quantile(struct top_source *s)
{
    if (s->quantile_count == TOP_QUANTILES_MAX)
        return NULL;
    if (s->quantile_count == s->quantiles_made) {
        if (quantile_new(&s->quantiles[s->quantiles_made]) != 0)
            return NULL;
        s->quantiles_made++;
    }
    struct quantile *q = s->quantiles[s->quantile_count++];
    quantile_drop(q, 0);
    quantile_turn(q); /* twice: the answer is of the numbers that come now alone */
    quantile_turn(q);
    return q;
}

static void add_value(struct top_source *s, struct top_stat *stat, double value)
{
    if (!isfinite(value))
        return;
    if (stat->values++ == 0) {
        stat->quantile = s->all_quantiles || stat->visible ? take_quantile(s) : NULL;
        stat->min = stat->max = value;
    }
    stat->min = value < stat->min ? value : stat->min;
    stat->max = value > stat->max ? value : stat->max;
    if (stat->quantile)
        (void)!quantile_add(stat->quantile, 0, &value, 1);
}

/* Rows of a process, by aspect: where they begin; 0: there is none, else the number plus 1. */
struct rows {
    uint32_t first[DICT_ASPECTS_MAX + 1];
};

/* Adds a record to the rows of its aspect: to all of them, with its number, or to the values of visible ones alone. */
static int add_record(const struct top_source_reading *r, const struct packet_record *record, bool visible)
{
    const struct rows *rows = r->context;
    struct top_source *s = r->s;
    if (!record || record->aspect > DICT_ASPECTS_MAX || rows->first[record->aspect] == 0)
        return 0;
    const struct dict_aspect *a = &dict_of(s, r->process)->aspects[record->aspect - 1];
    for (size_t i = rows->first[record->aspect] - 1; i < s->item_count; i++) {
        const struct top_item *item = &s->items[i];
        if (item->id.aspect != record->aspect || item->id.instance != s->c.processes[r->process].process->instance)
            break;
        s->stats[i].records += !visible;
        if ((!visible || s->stats[i].visible) && item->id.field < record->value_count)
            add_value(s, &s->stats[i], shown_record_number(a, record, (int32_t)item->id.field));
    }
    return 0;
}

static int take_values(const struct top_source_reading *r, const struct packet_record *record,
                       const struct levels_place *place)
{
    (void)top_source_count(r, record, place);
    return add_record(r, record, false);
}

static void find_rows(const struct top_source *s, const struct top_counts *c, struct rows *rows)
{
    memset(rows, 0, sizeof *rows);
    for (size_t i = c->first_item + c->item_count; i > c->first_item; i--)
        rows->first[s->items[i - 1].id.aspect] = (uint32_t)i;
}

int top_source_read_values(struct top_source *s, size_t stream, int64_t from, int64_t until)
{
    struct rows rows;
    find_rows(s, &s->counts[s->c.stream_processes[stream]], &rows);
    return top_source_read(s, stream, 0, from, until, take_values, &rows);
}

/* Whether the bound of limit `l` is broken by a value, or a rate, in the unit of the metric's field. */
static bool breaks(const struct top_source *s, const struct experiment_limit *l, double value, const char *unit)
{
    const struct experiment_metric *m = &s->experiment->metrics[l->metric];
    int64_t scale = m->in_time && unit ? units_time(unit) : 1;
    value *= scale ? (double)scale : 1;
    return l->compare == COMPARE_AT_MOST ? value > l->bound : value < l->bound;
}

static bool is_broken_by(const struct top_source *s, const struct top_item *item, const struct top_stat *stat)
{
    const struct experiment_limit *l = top_source_limit(s, item->id.limit);
    if (!l || l->metric < 0 || s->experiment->metrics[l->metric].where) /* the row is of all records */
        return false;
    if (is_rate(s, item->id.limit))
        return breaks(s, l, (double)stat->records * CLOCK_S / (double)s->interval, NULL);
    return stat->values && breaks(s, l, l->compare == COMPARE_AT_MOST ? stat->max : stat->min, item->unit);
}

static void put_quantiles(struct top_item *item, const struct top_stat *stat)
{
    if (!stat->quantile)
        return;
    (void)!quantile_value(stat->quantile, 0.5, &item->values[2]);
    (void)!quantile_value(stat->quantile, 0.99, &item->values[3]);
}

void top_source_finish_aspects(struct top_source *s)
{
    for (size_t i = 0; i < s->item_count; i++) {
        const struct top_stat *stat = &s->stats[i];
        struct top_item *item = &s->items[i];
        item->values[0] = (double)stat->records * CLOCK_S / (double)s->interval;
        item->values[1] = (double)stat->records;
        item->values[4] = stat->max;
        put_quantiles(item, stat);
        item->mark = is_broken_by(s, item, stat) ? '!' : ' ';
    }
}

int top_source_aspects(struct top_source *s, const struct top_state *state, struct top_id scope)
{
    for (size_t i = 0; i < s->c.process_count; i++)
        if (top_source_shows(s, state, scope, i))
            add_rows(s, i, scope);
    return make_stats(s);
}

/* ---- rows that are visible --------------------------------------------------------------------------------------- */

static int take_visible(const struct top_source_reading *r, const struct packet_record *record,
                        const struct levels_place *place)
{
    (void)place;
    return add_record(r, record, true);
}

/* Whether one of the rows of a process is visible. */
static bool is_visible(const struct top_source *s, int64_t process)
{
    const struct top_counts *c = process < 0 ? NULL : &s->counts[process];
    for (size_t i = 0; c && i < c->item_count; i++)
        if (s->stats[c->first_item + i].visible)
            return true;
    return false;
}

int top_source_refine(struct top_source *s, const uint32_t *rows, size_t count)
{
    int err = 0;
    if (s->all_quantiles || s->item_count > s->stat_capacity)
        return 0;
    s->quantile_count = 0;
    for (size_t i = 0; i < s->item_count; i++)
        s->stats[i].visible = false;
    for (size_t i = 0; i < count && i < TOP_QUANTILES_MAX; i++)
        s->stats[rows[i]] = (struct top_stat){.min = NAN, .max = NAN, .visible = true};
    for (size_t i = 0; i < s->c.stream_count && !err; i++) {
        if (!is_visible(s, s->c.stream_processes[i]))
            continue;
        struct rows first;
        int64_t from, until;
        find_rows(s, &s->counts[s->c.stream_processes[i]], &first);
        top_source_window(s, s->c.processes[s->c.stream_processes[i]].node, &from, &until);
        err = top_source_read(s, i, 0, from, until, take_visible, &first);
    }
    for (size_t i = 0; i < count && i < TOP_QUANTILES_MAX; i++)
        put_quantiles(&s->items[rows[i]], &s->stats[rows[i]]);
    return err;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct model_process *process_of(const struct top_source *s, const struct shown_record *it)
{
    return levels_stream(s->c.levels, it->stream)->process;
}

/* Whether a metric takes record `r` in. */
static bool meets(const struct experiment_metric *m, const struct dict *d, const struct packet_record *r)
{
    if (!m->where)
        return true;
    struct where where = where_find(m->where, &d->aspects[r->aspect - 1]);
    return where_holds(&where, d, r);
}

static bool record_breaks(const struct top_source *s, const struct shown_record *it, int32_t limit)
{
    const struct experiment_limit *l = top_source_limit(s, limit);
    const struct dict *d = process_of(s, it)->dict;
    struct packet_record r = shown_record_read(it, d);
    if (!l || l->metric < 0 || r.aspect == 0)
        return false;
    const struct dict_aspect *a = &d->aspects[r.aspect - 1];
    const struct experiment_metric *m = &s->experiment->metrics[l->metric];
    int f = m->kind != METRIC_RATE ? dict_field_of(a, m->field) : -1;
    return f >= 0 && is_number(a, (uint32_t)f) && meets(m, d, &r) &&
           breaks(s, l, shown_record_number(a, &r, f), a->fields[f].unit);
}

/* The older ones give way, but for those that break the limit that is looked into, as far as half of the room is. */
static void make_room(struct top_source *s)
{
    size_t excess = s->record_count - TOP_RECORDS_MAX, kept = 0;
    qsort(s->records, s->record_count, sizeof *s->records, shown_record_compare);
    for (size_t i = 0; i < s->record_count; i++) {
        bool stays = i >= excess || (kept < TOP_RECORDS_MAX / 2 && record_breaks(s, &s->records[i], s->records_limit));
        if (stays)
            s->records[kept++] = s->records[i];
        s->left_out += !stays;
    }
    s->record_count = kept;
}

static int keep_record(const struct top_source_reading *r, const struct packet_record *record,
                       const struct levels_place *place)
{
    struct top_source *s = r->s;
    if (s->record_count == (size_t)2 * TOP_RECORDS_MAX)
        make_room(s);
    shown_record_keep(&s->records[s->record_count++], record, place, r->number);
    return 0;
}

static void add_records(struct top_source *s, struct top_id scope)
{
    for (size_t i = 0; i < s->record_count; i++) {
        const struct shown_record *it = &s->records[i];
        struct top_item *item = top_source_add(s);
        if (!item)
            return;
        item->id = (struct top_id){(uint32_t)it->stream, it->record, 1, TOP_ANY, -1};
        item->at = catalogue_time(process_of(s, it)->node, it->at).ns;
        item->values[1] = levels_stream(s->c.levels, it->stream)->ring;
        item->index = i;
        item->mark = it->lost ? 'x' : record_breaks(s, it, scope.limit) ? '!' : ' ';
    }
}

int top_source_records(struct top_source *s, const struct top_state *state, struct top_id scope)
{
    int err = 0;
    s->records_limit = scope.limit;
    if (!s->records)
        s->records = malloc(2 * TOP_RECORDS_MAX * sizeof *s->records);
    if (!s->records)
        return BEZEL_ENOMEM;
    for (size_t i = 0; i < s->c.stream_count && !err; i++) {
        int64_t from, until;
        if (s->c.stream_processes[i] < 0 || !top_source_shows(s, state, scope, (size_t)s->c.stream_processes[i]))
            continue;
        top_source_window(s, s->c.processes[s->c.stream_processes[i]].node, &from, &until);
        err = top_source_read(s, i, scope.aspect, from, until, keep_record, NULL);
    }
    if (s->record_count > TOP_RECORDS_MAX)
        make_room(s);
    add_records(s, scope);
    return err;
}

static size_t put_field(const struct dict *d, const struct packet_record *r, uint32_t i, char *text, size_t size)
{
    const struct dict_field *f = &d->aspects[r->aspect - 1].fields[i];
    struct record_value v = record_item_value(d, r, i);
    const char *unit = f->unit && f->unit[0] && strcmp(f->unit, "1") != 0 ? f->unit : "", *blank = *unit ? " " : "";
    int n = 0;
    if (v.as == RECORD_TEXT)
        n = snprintf(text, size, " %s=%.*s", f->name, (int)v.length, v.text);
    else if (v.as == RECORD_INT)
        n = snprintf(text, size, " %s=%" PRId64 "%s%s", f->name, v.integer, blank, unit);
    else if (v.as == RECORD_FLOAT)
        n = snprintf(text, size, " %s=%.9g%s%s", f->name, v.real, blank, unit);
    else
        n = snprintf(text, size, " %s=?", f->name);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

void top_source_make_record(const struct top_source *s, const struct top_item *item, char *text, size_t size)
{
    if (item->index >= s->record_count)
        return;
    const struct shown_record *it = &s->records[item->index];
    const struct model_process *p = process_of(s, it);
    const struct dict *d = p->dict;
    struct packet_record r = shown_record_read(it, d);
    if (it->lost) {
        snprintf(text, size, "-- %s record%s lost up to here --", units_count(it->lost).s, it->lost == 1 ? "" : "s");
        return;
    }
    if (r.aspect == 0)
        return;
    struct record_item record = {.process = p,
                                 .packet = &(struct packet_header){.thread = it->thread},
                                 .r = &r,
                                 .aspect = &d->aspects[r.aspect - 1]};
    const char *thread = it->thread != p->pid ? record_item_thread(&record) : NULL;
    int n = thread ? snprintf(text, size, "[%s] %s", thread, record.aspect->name)
                   : snprintf(text, size, "%s", record.aspect->name);
    size_t used = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
    for (uint32_t i = 0; i < d->aspects[r.aspect - 1].field_count && used + 1 < size; i++)
        used += put_field(d, &r, i, text + used, size - used);
}
