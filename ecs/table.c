// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/table.h"

#include "base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_COLUMNS_MAX = 12, TABLE_CELL_MAX = 320 };

struct table {
    const char *columns;
    size_t column_count, cell_count, capacity;
    char **cells; /* row by row; NULL where memory ran out */
    int widths[TABLE_COLUMNS_MAX];
};

struct figure figure_count(uint64_t n)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    struct figure f;
    char *p = f.text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *p++ = ' ';
        *p++ = digits[i];
    }
    *p = '\0';
    return f;
}

struct figure figure_signed(int64_t n)
{
    if (n >= 0)
        return figure_count((uint64_t)n);
    struct figure magnitude = figure_count(-(uint64_t)n), f;
    snprintf(f.text, sizeof f.text, "-%.40s", magnitude.text);
    return f;
}

struct figure figure_time(int64_t ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"s", CLOCK_S}, {"ms", CLOCK_MS}, {"us", CLOCK_US}};
    struct figure f;
    uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (magnitude >= (uint64_t)units[i].ns) {
            snprintf(f.text, sizeof f.text, "%.4g %s", (double)ns / (double)units[i].ns, units[i].name);
            return f;
        }
    }
    if (ns == 0)
        return (struct figure){"0 s"};
    snprintf(f.text, sizeof f.text, "%" PRId64 " ns", ns);
    return f;
}

struct figure figure_number(double value)
{
    struct figure f;
    if (isnan(value))
        snprintf(f.text, sizeof f.text, "-");
    else if (fabs(value) >= 10000 && fabs(value) < 1e15)
        return figure_signed(llround(value));
    else
        snprintf(f.text, sizeof f.text, "%.4g", value);
    return f;
}

struct figure figure_share(double share)
{
    struct figure f;
    if (isnan(share))
        snprintf(f.text, sizeof f.text, "-");
    else
        snprintf(f.text, sizeof f.text, "%.3g %%", 100 * share);
    return f;
}

struct figure figure_bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    struct figure f;
    snprintf(f.text, sizeof f.text, "%.4g %s", value, units[unit]);
    return f;
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

void table_cell(struct table *t, const char *format, ...)
{
    if (!t)
        return;
    if (t->cell_count == t->capacity) {
        size_t larger = t->capacity ? 2 * t->capacity : 64;
        char **cells = realloc(t->cells, larger * sizeof *cells);
        if (!cells)
            return;
        t->cells = cells;
        t->capacity = larger;
    }
    char text[TABLE_CELL_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    int width = text_width(text), *widest = &t->widths[t->cell_count % t->column_count];
    if (width > *widest)
        *widest = width;
    t->cells[t->cell_count++] = strdup(text);
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
