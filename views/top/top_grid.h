// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A screen as cells in memory, and a plot drawn into it. One owner; no terminal in here. */
#ifndef BEZEL_VIEWS_TOP_TOP_GRID_H
#define BEZEL_VIEWS_TOP_TOP_GRID_H

#include "base/err.h"
#include "views/top/top_data.h"

enum { TOP_WIDTH_MIN = 40, TOP_HEIGHT_MIN = 10, TOP_WIDTH_MAX = 500, TOP_HEIGHT_MAX = 200 };

/** How a cell looks, beside its character. Colours never say what no character says. */
enum top_look {
    TOP_PLAIN = 0,
    TOP_BOLD = 1,
    TOP_REVERSE = 2,
    TOP_RED = 4,
    TOP_YELLOW = 8,
    TOP_GREEN = 16,
    TOP_CYAN = 32,
};

struct top_glyph {
    char text[5]; /* one character of UTF-8 that is one column wide */
    uint8_t look;
};

enum top_charset { TOP_BRAILLE, TOP_BLOCKS, TOP_ASCII };

struct top_grid {
    unsigned width, height;
    enum top_charset charset; /* ASCII: other characters of texts become '?' */
    struct top_glyph *cells;
};

/** Makes an empty grid, within the bounds above. */
int top_grid_init(struct top_grid *g, unsigned width, unsigned height, enum top_charset charset) BEZEL_MUST_CHECK;
void top_grid_fini(struct top_grid *g);

/** Puts a blank into all cells. */
void top_grid_clear(struct top_grid *g);

/**
 * Writes `text` at (x, y), at most `width` columns, to their left or right end; pads with blanks. What is cut off is
 * marked with '~'. A character that is not certainly one column wide becomes '?'.
 */
void top_grid_put(struct top_grid *g, unsigned x, unsigned y, unsigned width, bool right, unsigned look,
                  const char *text);

/** Adds `look` to `width` cells. */
void top_grid_mark(struct top_grid *g, unsigned x, unsigned y, unsigned width, unsigned look);

/** Parts of the time, each a dot wide, that a plot of `width` columns has. */
unsigned top_grid_dots(const struct top_grid *g, unsigned width);

/**
 * Draws the values of `plot` into the rectangle: bars from 0 where `bars`, else from the least to the largest value.
 * The scale goes from *low to *high, which it sets.
 */
void top_grid_plot(struct top_grid *g, unsigned x, unsigned y, unsigned width, unsigned height,
                   const struct top_plot *plot, double *low, double *high);

#endif
