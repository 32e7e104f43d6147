// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The terminal of `bezel top`: shows a grid, reads keys, and leaves the terminal as it was. The only user of ncurses.
 */
#ifndef BEZEL_VIEWS_TOP_TOP_CURSES_H
#define BEZEL_VIEWS_TOP_TOP_CURSES_H

#include "views/top/top_grid.h"

enum { TOP_KEY_RESIZED = -1 };

/**
 * Takes the terminal of standard input and output. Messages on standard error are held back until top_curses_end().
 * Returns false if there is no terminal, or one that cannot move its cursor.
 */
bool top_curses_begin(void);
void top_curses_end(void);

/** The size of the terminal, and what it can show. */
void top_curses_size(unsigned *width, unsigned *height);
enum top_charset top_curses_charset(void);

void top_curses_show(const struct top_grid *g);

/** Waits up to `wait` ns for a key: one of enum top_key, a character, TOP_KEY_NONE, or TOP_KEY_RESIZED. */
int top_curses_key(int64_t wait);

#endif
