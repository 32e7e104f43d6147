// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The screen of `bezel top`: lays out what is shown in a grid of cells. Pure, but for the grid. */
#ifndef BEZEL_VIEWS_TOP_TOP_SCREEN_H
#define BEZEL_VIEWS_TOP_TOP_SCREEN_H

#include "views/top/top_grid.h"
#include "views/top/top_state.h"

/** Where things are; all in cells, but for `dots`. */
struct top_layout {
    unsigned rows;                 /* of the table */
    unsigned plot_at, plot_height; /* line of the plot's title; 0: there is no room for a plot */
    unsigned plot_width, dots;     /* of the plot itself */
};
struct top_layout top_screen_layout(const struct top_grid *g);

/** Draws the screen. `order`: the rows of `d` that are shown, `count` of them. */
void top_screen_draw(struct top_grid *g, const struct top_state *s, const struct top_data *d, const uint32_t *order,
                     size_t count);

/** The first line, without the monitor's own cost, and the second and the third, as plain text; `size` bytes each. */
void top_screen_moment(const struct top_state *s, const struct top_data *d, char *text, size_t size);
void top_screen_totals(const struct top_data *d, char *text, size_t size);
const char *top_screen_says(const struct top_data *d); /* the third; of a mirror, what it lacks */
void top_screen_cost(const struct top_data *d, char *text, size_t size);

#endif
