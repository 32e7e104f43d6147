// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/rows.h"

#include "views/report/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void rows_add(struct rows *w, rows_describe *describe, const void *item)
{
    if (w->json) {
        json_object(w->json, NULL);
        describe(w, w->report, item);
        json_object_end(w->json);
        return;
    }
    if (w->count++ == 0) { /* the first call finds the heads */
        describe(w, w->report, item);
        w->table = w->bare ? table_new(w->align) : table_with_heads(w->align, w->heads);
    }
    if (w->table && (w->report->most == 0 || w->count <= w->report->most))
        describe(w, w->report, item);
}

void rows_print_table(struct rows *w, FILE *out)
{
    size_t most = w->report->most, shown = most && w->count > most ? most - 1 : w->count;
    table_cut(w->table, shown ? shown + !w->bare : 0);
    table_print(w->table, 2, out);
    if (shown < w->count)
        fprintf(out, shown ? "  %s more\n" : "  %s lines\n", units_count(w->count - shown).s);
}

/* ---- Columns ----------------------------------------------------------------------------------------------------- */

/* Whether a cell is due; before the first row, notes the column. */
static bool has_cell(struct rows *w, const char *head, char align)
{
    if (w->json || !head)
        return false;
    if (!w->table && w->columns < ROWS_COLUMNS) {
        w->heads[w->columns] = head;
        w->align[w->columns++] = align;
    }
    if (w->blank)
        table_cell(w->table, "%s", "");
    return w->table && !w->blank;
}

static struct json *member(const struct rows *w, const char *key)
{
    return key ? w->json : NULL;
}

void rows_text(struct rows *w, const char *head, const char *key, const char *text)
{
    json_text(member(w, key), key, text);
    if (has_cell(w, head, 'l'))
        table_cell(w->table, "%s", text ? text : "");
}

#define COLUMN(name, type, json, text)                                                                                 \
    void rows_##name(struct rows *w, const char *head, const char *key, type value)                                    \
    {                                                                                                                  \
        json(member(w, key), key, value);                                                                              \
        if (has_cell(w, head, 'r'))                                                                                    \
            table_cell(w->table, "%s", text(value).s);                                                                 \
    }
COLUMN(count, uint64_t, json_uint, units_count)
COLUMN(int, int64_t, json_int, number_signed)
COLUMN(share, double, json_double, number_percent)
COLUMN(bytes, uint64_t, json_uint, units_bytes)
COLUMN(ns, int64_t, json_int, units_duration)
#undef COLUMN

void rows_double(struct rows *w, const char *head, const char *key, double value, double unit)
{
    json_double(member(w, key), key, value);
    if (has_cell(w, head, 'r'))
        table_cell(w->table, "%s", number_double(value / unit).s);
}

void rows_known_ns(struct rows *w, const char *head, const char *key, bool known, int64_t ns)
{
    json_known_int(member(w, key), key, known, ns);
    if (has_cell(w, head, 'r'))
        table_cell(w->table, "%s", known ? units_duration(ns).s : "-");
}

void rows_cell(struct rows *w, const char *head, char align, const char *format, ...)
{
    va_list args;
    if (!has_cell(w, head, align))
        return;
    va_start(args, format);
    table_vcell(w->table, format, args);
    va_end(args);
}

void rows_says(struct rows *w, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    rows_text(w, "", "text", n < 0 ? NULL : text);
    if (n >= 0)
        free(text);
}

static void line_row(struct rows *w, const struct report *r, const void *item)
{
    (void)r;
    rows_text(w, "", NULL, item);
}

void rows_line(struct rows *w, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    rows_add(w, line_row, n < 0 ? NULL : text);
    if (n >= 0)
        free(text);
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

size_t rows_count_items(const struct report *r, const struct rows_section *s)
{
    size_t count = 0;
    if (s->size)
        memcpy(&count, (const char *)r->summary + s->count, sizeof count);
    return count;
}

static const void *item_of(const struct report *r, const struct rows_section *s, size_t i)
{
    const char *items;
    memcpy(&items, (const char *)r->summary + s->items, sizeof items);
    return items + i * s->size;
}

/* Adds the items of a list to the table: where not all fit, those of rank 1 first. */
static void add_items(struct rows *w, const struct rows_section *s)
{
    const struct report *r = w->report;
    size_t count = rows_count_items(r, s), shown = 0;
    int *ranks = calloc(count + 1, sizeof *ranks);
    for (size_t i = 0; i < count && ranks; i++) {
        ranks[i] = s->rank ? s->rank(r, item_of(r, s, i)) : 0;
        shown += ranks[i] >= 0;
    }
    bool cut = r->most && shown > r->most;
    for (int rank = cut; rank >= 0; rank--)
        for (size_t i = 0; i < count && ranks; i++)
            if (cut ? ranks[i] == rank : ranks[i] >= 0)
                rows_add(w, s->row, item_of(r, s, i));
    free(ranks);
}

void rows_print(const struct report *r, const struct rows_section *s, FILE *out)
{
    struct rows w = {.report = r, .bare = s->bare};
    char *below = NULL;
    size_t n = 0;
    FILE *text = s->text ? open_memstream(&below, &n) : NULL;
    if (s->add && s->title)
        s->add(&w, r);
    else if (s->title)
        add_items(&w, s);
    if (text)
        s->text(r, text);
    if (text && fclose(text) != 0)
        n = 0;
    if (s->title && (w.table || n))
        report_title(r, s->title, out);
    rows_print_table(&w, out);
    if (w.count && s->remark)
        fprintf(out, "  %s\n", s->remark);
    if (n > 0)
        fwrite(below, 1, n, out);
    else if (s->text && !text) /* memory is short */
        s->text(r, out);
    free(below);
}

void rows_write(const struct report *r, const struct rows_section *s, struct json *j)
{
    struct rows w = {.report = r, .json = j};
    size_t count = rows_count_items(r, s);
    if (s->json)
        s->json(r, j);
    if (!s->key)
        return;
    json_array(j, s->key);
    if (s->add)
        s->add(&w, r);
    for (size_t i = 0; i < count && (r->most == 0 || i < r->most); i++)
        rows_add(&w, s->row, item_of(r, s, i));
    json_array_end(j);
}
