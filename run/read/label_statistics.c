// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/label_statistics.h"

#include "base/clock.h"
#include "run/read/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MOST = 1024,
    ASPECTS_MOST = 64, /* with an enum: each is read for itself */
    LOOK_EVERY = 1024, /* records between two looks at the clock */
};

struct reading {
    struct label_table *table;
    size_t last; /* row of the record before */
};

/* NULL: there is no room, or no memory. */
static struct label_statistics *row_of(struct reading *r, const struct record_item *item, uint32_t field)
{
    struct label_table *t = r->table;
    for (size_t n = 0; n < t->count; n++) {
        size_t i = (r->last + n) % t->count;
        struct label_statistics *row = &t->rows[i];
        if (row->process == item->process->row && row->aspect == item->r->aspect && row->field == field) {
            r->last = i;
            return row;
        }
    }
    struct label_statistics *rows = t->count < ROWS_MOST ? realloc(t->rows, (t->count + 1) * sizeof *rows) : NULL;
    if (!rows)
        return NULL;
    t->rows = rows;
    struct label_statistics *row = &rows[t->count++];
    *row = (struct label_statistics){.process = item->process->row, .aspect = item->r->aspect, .field = field};
    snprintf(row->name, sizeof row->name, "%s", item->aspect->fields[field].name);
    snprintf(row->labels, sizeof row->labels, "%s", item->aspect->fields[field].labels);
    return row;
}

static void take(struct reading *r, const struct record_item *item)
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

static int read_aspect(struct reading *r, const char *run, const char *aspect, int64_t deadline)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader;
    struct record_item item;
    int more = 0;
    filter.aspect = aspect; /* its name has no character that a glob knows */
    filter.no_monitor = true;
    int err = run_reader_open(run, &filter, &reader);
    if (err)
        return err;
    err = run_reader_look(reader, RUN_READER_ALL);
    for (unsigned n = 1; !err && (more = run_reader_next(reader, &item)) > 0; n++) {
        if (item.r)
            take(r, &item);
        if (n % LOOK_EVERY == 0 && clock_now() >= deadline)
            break;
    }
    run_reader_close(reader);
    return err ? err : more < 0 ? more : 0;
}

static bool has_enum(const struct dict_aspect *a)
{
    for (uint32_t i = 0; i < a->field_count; i++)
        if (a->fields[i].type == DICT_ENUM)
            return true;
    return false;
}

/* The names of the programs' aspects that have an enum. */
static size_t find_aspects(const struct model *m, char names[ASPECTS_MOST][DICT_NAME_MAX + 1])
{
    size_t count = 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t i = 0; p->role == ROLE_SUT && i < p->dict->aspect_count && count < ASPECTS_MOST; i++) {
                size_t k = 0;
                while (k < count && strcmp(names[k], p->dict->aspects[i].name) != 0)
                    k++;
                if (k == count && has_enum(&p->dict->aspects[i]))
                    snprintf(names[count++], DICT_NAME_MAX + 1, "%s", p->dict->aspects[i].name);
            }
    return count;
}

int label_table_read(const char *run, int64_t budget_ns, struct label_table *t)
{
    char names[ASPECTS_MOST][DICT_NAME_MAX + 1];
    struct reading r = {.table = t};
    struct run_reader *reader;
    int64_t begun = clock_now(), deadline = budget_ns < INT64_MAX - begun ? begun + budget_ns : INT64_MAX;
    *t = (struct label_table){0};
    int err = run_reader_open(run, &RECORD_FILTER_ALL, &reader);
    if (err)
        return err;
    size_t count = find_aspects(run_reader_model(reader, NULL), names);
    run_reader_close(reader);
    for (size_t i = 0; i < count && !err && clock_now() < deadline; i++)
        err = read_aspect(&r, run, names[i], deadline);
    return err;
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
