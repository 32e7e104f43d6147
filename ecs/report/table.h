// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Text for people: figures with their units, and aligned tables of them. */
#ifndef BEZEL_ECS_TABLE_H
#define BEZEL_ECS_TABLE_H

#include "base/err.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Beside base/units.h: "-5,412"; four significant digits, "-" for NaN; "12 %" of a share of 1, "-" for NaN. */
struct units_text figure_signed(int64_t n);
struct units_text figure_number(double value);
struct units_text figure_share(double share);

/** Whether `out` is a terminal and NO_COLOR is not set in the environment. */
bool table_wants_color(FILE *out);

/**
 * A table: cells are added row by row, columns as wide as their widest cell. NULL is allowed everywhere but in
 * table_new() and table_with_heads().
 */
struct table;

/** One column for each letter of `columns`: 'l' aligned left, 'r' right. Borrows it. NULL: out of memory. */
struct table *table_new(const char *columns);

/** The same, with its first row: a text for each column. */
struct table *table_with_heads(const char *columns, const char *const *heads);

/** Appends a cell. Control characters become '?': names come from foreign programs. */
void table_cell(struct table *t, const char *format, ...) BEZEL_PRINTF(2, 3);

/** Prints every row behind `indent` spaces, cells two spaces apart, nothing behind the last one; frees the table. */
void table_print(struct table *t, int indent, FILE *out);

#endif
