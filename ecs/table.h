// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Text for people: figures with their units, and aligned tables of them. */
#ifndef BEZEL_ECS_TABLE_H
#define BEZEL_ECS_TABLE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** A short text by value: `figure_count(n).text` is good until the end of the full expression. */
struct figure {
    char text[64];
};

struct figure figure_count(uint64_t n);     /* "5 412" */
struct figure figure_signed(int64_t n);     /* "-5 412" */
struct figure figure_time(int64_t ns);      /* "612 us", four significant digits */
struct figure figure_number(double value);  /* four significant digits; NaN: "-" */
struct figure figure_share(double share);   /* of 1: "12 %"; NaN: "-" */
struct figure figure_bytes(uint64_t bytes); /* "1.5 MiB" */

/** A table: cells are added row by row, columns as wide as their widest cell. NULL is allowed everywhere but in table_new(). */
struct table;

/** One column for each letter of `columns`: 'l' aligned left, 'r' right. Borrows it. NULL: out of memory. */
struct table *table_new(const char *columns);

/** Appends a cell. Control characters become '?': names come from foreign programs. */
void table_cell(struct table *t, const char *format, ...) BEZEL_PRINTF(2, 3);

/** Prints every row behind `indent` spaces, cells two spaces apart, nothing behind the last one; frees the table. */
void table_print(struct table *t, int indent, FILE *out);

#endif
