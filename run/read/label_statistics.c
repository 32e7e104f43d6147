// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/label_statistics.h"

#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 1024 };

/* NULL: there is no room, or no memory. */
static struct label_statistics *row_of(struct label_reading *r, const struct record_item *item, uint32_t field)
{
    struct label_table *t = &r->table;
    for (size_t n = 0; n < t->count; n++) {
        size_t i = (r->last + n) % t->count;
        struct label_statistics *row = &t->rows[i];
        if (row->process == item->process->row && row->aspect == item->r->aspect && row->field == field) {
            r->last = i;
            return row;
        }
    }
    if (t->count == ROWS_MOST || !grow_by_one(&t->rows, t->count, sizeof *t->rows))
        return NULL;
    struct label_statistics *row = &t->rows[t->count++];
    *row = (struct label_statistics){.process = item->process->row, .aspect = item->r->aspect, .field = field};
    snprintf(row->name, sizeof row->name, "%s", item->aspect->fields[field].name);
    snprintf(row->labels, sizeof row->labels, "%s", item->aspect->fields[field].labels);
    return row;
}

void label_reading_take(struct label_reading *r, const struct record_item *item)
{
    for (uint32_t i = 0; i < item->aspect->field_count; i++) {
        struct label_statistics *row = item->aspect->fields[i].type == DICT_ENUM ? row_of(r, item, i) : NULL;
        uint64_t value = packet_value(item->r, i);
        if (!row)
            continue;
        row->records++;
        if (value < LABEL_COUNTS)
            row->counts[value]++;
    }
}

bool label_reading_wants(const struct dict_aspect *a)
{
    for (uint32_t i = 0; i < a->field_count; i++)
        if (a->fields[i].type == DICT_ENUM)
            return true;
    return false;
}

void label_table_free(struct label_table *t)
{
    free(t->rows);
    *t = (struct label_table){0};
}

bool label_next(const struct label_statistics *r, unsigned i, const char **label, size_t *length, uint64_t *count)
{
    const char *at = r->labels;
    for (unsigned k = 0; k < i && at; k++)
        at = (at = strchr(at, '|')) ? at + 1 : NULL;
    if (!at || i >= LABEL_COUNTS)
        return false;
    *label = at;
    *length = strcspn(at, "|");
    *count = r->counts[i];
    return true;
}
