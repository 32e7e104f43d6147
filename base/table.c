// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/table.h"

#include "base/grow.h"
#include "base/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TABLE_COLUMNS_MAX = 16 };

struct table {
    const char *columns;
    size_t column_count, cell_count, capacity;
    char **cells; /* row by row; NULL where memory ran out */
    int widths[TABLE_COLUMNS_MAX];
};

struct units_text number_signed(int64_t n)
{
    if (n >= 0)
        return units_count((uint64_t)n);
    struct units_text f;
    snprintf(f.s, sizeof f.s, "-%.32s", units_count(-(uint64_t)n).s);
    return f;
}

struct units_text number_double(double value)
{
    if (isnan(value))
        return (struct units_text){"-"};
    if (fabs(value) >= 10000 && fabs(value) < 1e15)
        return number_signed(llround(value));
    struct units_text f;
    snprintf(f.s, sizeof f.s, "%.4g", value);
    return f;
}

struct units_text number_percent(double share)
{
    if (isnan(share))
        return (struct units_text){"-"};
    struct units_text f;
    snprintf(f.s, sizeof f.s, "%.3g %%", 100 * share);
    return f;
}

bool table_wants_color(FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && isatty(fileno(out));
}

struct table *table_new(const char *columns)
{
    struct table *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->columns = columns;
    t->column_count = strlen(columns);
    return t;
}

/* Columns on a terminal that `text` takes: its code points. */
static int text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

void table_vcell(struct table *t, const char *format, va_list args)
{
    char *text;
    if (!t)
        return;
    if (!grow_list(&t->cells, &t->capacity, t->cell_count, sizeof *t->cells))
        return;
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    if (text)
        plain_text(text);
    int width = text ? text_width(text) : 0, *widest = &t->widths[t->cell_count % t->column_count];
    if (width > *widest)
        *widest = width;
    t->cells[t->cell_count++] = text;
}

void table_cell(struct table *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    table_vcell(t, format, args);
    va_end(args);
}

struct table *table_with_heads(const char *columns, const char *const *heads)
{
    struct table *t = table_new(columns);
    for (size_t i = 0; columns[i]; i++)
        table_cell(t, "%s", heads[i]);
    return t;
}

static void print_row(const struct table *t, char *const *row, int indent, FILE *out)
{
    size_t last = t->column_count;
    while (last > 0 && (!row[last - 1] || !*row[last - 1]))
        last--;
    for (size_t c = 0; c < last; c++) {
        const char *text = row[c] ? row[c] : "";
        int pad = t->widths[c] - text_width(text);
        bool right = t->columns[c] == 'r';
        fprintf(out, "%*s%*s%s", c == 0 ? indent : 2, "", right ? pad : 0, "", text);
        if (!right && c + 1 < last)
            fprintf(out, "%*s", pad, "");
    }
    fputc('\n', out);
}

void table_cut(struct table *t, size_t rows)
{
    while (t && t->cell_count > rows * t->column_count)
        free(t->cells[--t->cell_count]);
}

static int by_first_cell(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strverscmp(*x ? *x : "", *y ? *y : "");
}

void table_sort(struct table *t)
{
    if (t && t->cell_count > t->column_count)
        qsort(t->cells + t->column_count, t->cell_count / t->column_count - 1, t->column_count * sizeof *t->cells,
              by_first_cell);
}

void table_print(struct table *t, int indent, FILE *out)
{
    if (!t)
        return;
    for (size_t i = 0; i + t->column_count <= t->cell_count; i += t->column_count)
        print_row(t, t->cells + i, indent, out);
    for (size_t i = 0; i < t->cell_count; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t);
}
