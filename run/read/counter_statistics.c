// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/counter_statistics.h"

#include "base/clock.h"
#include "base/grow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 1024 };

/* The key of a row among those of its node and aspect. */
static void identify(const struct record_item *item, char of[DICT_TEXT_MAX + 1], int64_t *pid)
{
    of[0] = '\0';
    *pid = -1;
    for (uint32_t i = 0; i < item->aspect->field_count; i++) {
        struct record_value v = record_item_value(item->process->dict, item->r, i);
        if (v.as == RECORD_TEXT && !of[0])
            snprintf(of, DICT_TEXT_MAX + 1, "%.*s", (int)v.length, v.text);
        else if (v.as == RECORD_INT && strcmp(item->aspect->fields[i].name, "pid") == 0)
            *pid = v.integer;
    }
}

static bool is_row(const struct counter_statistics *row, const struct record_item *item, const char *of, int64_t pid)
{
    return row->pid == pid && strcmp(row->of, of) == 0 && strcmp(row->aspect, item->aspect->name) == 0 &&
           strcmp(row->node, item->process->node->name) == 0;
}

/* The number of a new row; -1: there is no room. */
static long add_row(struct counter_reading *r, const struct record_item *item, const char *of, int64_t pid)
{
    struct counter_table *t = &r->table;
    if (t->count == ROWS_MOST || !grow_by_one(&t->rows, t->count, sizeof *t->rows) ||
        !grow_by_one(&r->before, t->count, sizeof *r->before)) {
        t->cut = true;
        return -1;
    }
    struct counter_statistics *row = &t->rows[t->count];
    *row = (struct counter_statistics){
        .pid = pid, .first_ns = (int64_t)item->time, .field_count = item->aspect->field_count};
    snprintf(row->node, sizeof row->node, "%s", item->process->node->name);
    snprintf(row->aspect, sizeof row->aspect, "%s", item->aspect->name);
    snprintf(row->of, sizeof row->of, "%s", of);
    for (uint32_t i = 0; i < row->field_count; i++) {
        const struct dict_field *f = &item->aspect->fields[i];
        row->fields[i].most = NAN;
        if (f->type != DICT_INT64 || !r->counts(item->aspect->name, f->name))
            continue;
        snprintf(row->fields[i].name, sizeof row->fields[i].name, "%s", f->name);
        snprintf(row->fields[i].unit, sizeof row->fields[i].unit, "%s", f->unit);
    }
    return (long)t->count++;
}

static long find_row(struct counter_reading *r, const struct record_item *item)
{
    char of[DICT_TEXT_MAX + 1];
    int64_t pid;
    identify(item, of, &pid);
    for (size_t n = 1; n <= r->table.count; n++) { /* samples come in the same order each time */
        size_t i = (r->last + n) % r->table.count;
        if (is_row(&r->table.rows[i], item, of, pid))
            return (long)i;
    }
    return add_row(r, item, of, pid);
}

/* A value below 0 is unknown, and one below that of before is another counter's. */
void counter_reading_take(struct counter_reading *r, const struct record_item *item)
{
    long at = find_row(r, item);
    if (at < 0)
        return;
    struct counter_statistics *row = &r->table.rows[at];
    int64_t *before = r->before[at], now = (int64_t)item->time, passed = now - row->last_ns;
    for (uint32_t i = 0; i < row->field_count && i < item->aspect->field_count; i++) {
        int64_t value = (int64_t)packet_value(item->r, i);
        struct counter_field *f = &row->fields[i];
        if (row->samples && f->name[0] && before[i] >= 0 && value >= before[i]) {
            f->grown += value - before[i];
            f->known = true;
            if (passed > 0)
                f->most = fmax(f->most, (double)(value - before[i]) * (double)CLOCK_S / (double)passed);
        }
        before[i] = value;
    }
    row->samples++;
    row->last_ns = now;
    r->last = (size_t)at;
}

bool counter_reading_wants(const struct counter_reading *r, const struct dict_aspect *a)
{
    for (uint32_t i = 0; r->counts && i < a->field_count; i++)
        if (a->fields[i].type == DICT_INT64 && r->counts(a->name, a->fields[i].name))
            return true;
    return false;
}

void counter_table_free(struct counter_table *t)
{
    free(t->rows);
    *t = (struct counter_table){0};
}
