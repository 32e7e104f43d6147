// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Text for people: numbers with their units, and aligned tables. */
#ifndef BEZEL_BASE_TABLE_H
#define BEZEL_BASE_TABLE_H

#include "base/err.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** As text, like base/units.h: "-5,412"; "12.34", with four significant digits, "-" for NaN; "12 %", of 0.12. */
struct units_text number_signed(int64_t n);
struct units_text number_double(double value);
struct units_text number_percent(double ratio); /* "-" for NaN */

/** Whether `out` is a terminal and NO_COLOR is not set in the environment. */
bool table_wants_color(FILE *out);

/**
 * A table. Cells are added row by row; a column is as wide as its widest cell. All functions accept a table of NULL.
 */
struct table;

/** One column for each letter of `columns`: 'l' aligned left, 'r' right. Borrows `columns`. NULL: out of memory. */
struct table *table_new(const char *columns);

/** The same with a first row, a text for each column. */
struct table *table_with_heads(const char *columns, const char *const *heads);

/** Appends a cell. Control characters become '?': names come from foreign programs. */
void table_cell(struct table *t, const char *format, ...) BEZEL_PRINTF(2, 3);
void table_vcell(struct table *t, const char *format, va_list args);

/** Drops the rows behind the first `rows`. */
void table_cut(struct table *t, size_t rows);

/** Sorts the rows behind the first one, by their first cells: numbers within these count as numbers. */
void table_sort(struct table *t);

/** Prints every row, indented by `indent` spaces, cells two spaces apart, and frees the table. */
void table_print(struct table *t, int indent, FILE *out);

#endif
