// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Rows of a section of the report, described once for both of its forms. A function describes one row: it calls, for
 * one column after the other, a function below with the column's head in the table, its key in the JSON, and the value.
 * The table has the columns that have a head, the JSON those that have a key. What only the JSON has, such as objects
 * in objects, the function writes to w->json, which is NULL for a table.
 */
#ifndef BEZEL_VIEWS_REPORT_ROWS_H
#define BEZEL_VIEWS_REPORT_ROWS_H

#include "base/json.h"
#include "base/table.h"
#include "run/history/summary.h"

struct report;

enum { ROWS_COLUMNS = 16 };

/**
 * Set `report`, for JSON `json`, and for a table without heads `bare`; the rest zero. While a function that describes a
 * row has `blank` set, its cells in the table are empty.
 */
struct rows {
    const struct report *report;
    struct json *json;
    bool bare, blank;
    struct table *table;   /* private, as all below; NULL: there is no row yet */
    size_t count, columns; /* count: of rows, with those that are left out */
    const char *heads[ROWS_COLUMNS];
    char align[ROWS_COLUMNS + 1];
};

/** Describes the row of `item`. */
typedef void rows_describe(struct rows *w, const struct report *r, const void *item);

/** Adds a row: to the table, unless that has report.most lines, or as an object to the JSON. */
void rows_add(struct rows *w, rows_describe *describe, const void *item);

/** Columns; `head` or `key` may be NULL. A text of NULL is "" in the table. */
void rows_text(struct rows *w, const char *head, const char *key, const char *text);
void rows_count(struct rows *w, const char *head, const char *key, uint64_t count);
void rows_int(struct rows *w, const char *head, const char *key, int64_t n);
void rows_share(struct rows *w, const char *head, const char *key, double share); /* of 1; in the table, of 100 % */
void rows_bytes(struct rows *w, const char *head, const char *key, uint64_t bytes);
void rows_ns(struct rows *w, const char *head, const char *key, int64_t ns);
void rows_known_ns(struct rows *w, const char *head, const char *key, bool known, int64_t ns); /* unknown: "-", null */

/** In the table divided by `unit`. */
void rows_double(struct rows *w, const char *head, const char *key, double value, double unit);

/** A column of the table alone; `align` as in table_new(). */
void rows_cell(struct rows *w, const char *head, char align, const char *format, ...) BEZEL_PRINTF(4, 5);

/** What happened, in words: the last column of a bare table, member `text` of the JSON. */
void rows_says(struct rows *w, const char *format, ...) BEZEL_PRINTF(2, 3);

/** Adds a row of one text to a bare table. */
void rows_line(struct rows *w, const char *format, ...) BEZEL_PRINTF(2, 3);

/** A section of the report, with one form or both. */
struct rows_section {
    const char *title, *key; /* of the text; of the JSON; NULL: it has not that form, or `text`, `json` make it */
    bool bare;               /* the table has no heads */
    /* Its rows: each item of a list of the summary is one: ROWS_LIST() ... */
    size_t items, count, size; /* places of the pointer and of the number in struct summary; bytes of an item */
    rows_describe *row;
    /* Of an item in the table: -1: it is left out; 1: where not all fit, it comes first; 0. NULL: all are 0 */
    int (*rank)(const struct report *r, const void *item);
    /* ... or a function adds them. */
    void (*add)(struct rows *w, const struct report *r);
    const char *remark;                                   /* below the table; NULL: none */
    void (*text)(const struct report *r, FILE *out);      /* prints what stands below that; NULL: nothing does */
    void (*json)(const struct report *r, struct json *j); /* writes members of the report; NULL: it has none */
};
#define ROWS_LIST(title_, key_, items_, count_, row_)                                                                  \
    .title = (title_), .key = (key_), .items = offsetof(struct summary, items_),                                       \
    .count = offsetof(struct summary, count_), .size = sizeof *((struct summary *)NULL)->items_, .row = (row_)

/** How many items the list of a section has; 0: it has no list. */
size_t rows_count_items(const struct report *r, const struct rows_section *s);

/** Prints a section, if there is something to say; writes it, with the first report.most items of its list. */
void rows_print(const struct report *r, const struct rows_section *s, FILE *out);
void rows_write(const struct report *r, const struct rows_section *s, struct json *j);

/** Prints a table, if it has a row, with report.most lines: of more rows the last line has the number of the rest. */
void rows_print_table(struct rows *w, FILE *out);

#endif
