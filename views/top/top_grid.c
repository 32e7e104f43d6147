// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static unsigned clamp(unsigned n, unsigned least, unsigned most)
{
    return n < least ? least : n > most ? most : n;
}

int top_grid_init(struct top_grid *g, unsigned width, unsigned height, enum top_charset charset)
{
    *g = (struct top_grid){.width = clamp(width, TOP_WIDTH_MIN, TOP_WIDTH_MAX),
                           .height = clamp(height, TOP_HEIGHT_MIN, TOP_HEIGHT_MAX),
                           .charset = charset};
    g->cells = calloc((size_t)g->width * g->height, sizeof *g->cells);
    if (!g->cells)
        return BEZEL_ENOMEM;
    top_grid_clear(g);
    return 0;
}

void top_grid_fini(struct top_grid *g)
{
    free(g->cells);
    g->cells = NULL;
}

static struct top_glyph *cell(struct top_grid *g, unsigned x, unsigned y)
{
    return &g->cells[(size_t)y * g->width + x];
}

void top_grid_clear(struct top_grid *g)
{
    for (size_t i = 0; i < (size_t)g->width * g->height; i++)
        g->cells[i] = (struct top_glyph){.text = " "};
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* The bytes of the character at `text`, which is not '\0'; 0 if it is none of UTF-8. *code is its number. */
static size_t character(const char *text, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = *p < 0x80                 ? 1
               : *p >= 0xc2 && *p < 0xe0 ? 2
               : *p >= 0xe0 && *p < 0xf0 ? 3
               : *p >= 0xf0 && *p < 0xf5 ? 4
                                         : 0;
    *code = n == 1 ? *p : n ? *p & (0x7fu >> n) : 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    return n;
}

/* Latin, Greek, Cyrillic, and what this program draws itself; no marks that join the character before them. */
static bool is_one_wide(uint32_t code)
{
    return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code < 0x300 && code != 0xad) ||
           (code >= 0x370 && code < 0x483) || (code >= 0x48a && code < 0x530);
}

/* Moves *text on by a character, and writes what is shown of it into `glyph`. */
static void take_character(const struct top_grid *g, const char **text, char glyph[5])
{
    uint32_t code;
    size_t n = character(*text, &code);
    bool shown = n && is_one_wide(code) && (n == 1 || g->charset != TOP_ASCII);
    memset(glyph, 0, 5);
    if (shown)
        memcpy(glyph, *text, n);
    else
        glyph[0] = '?';
    *text += n ? n : 1;
}

static unsigned text_width(const struct top_grid *g, const char *text)
{
    char glyph[5];
    unsigned n = 0;
    while (*text && n <= g->width) {
        take_character(g, &text, glyph);
        n++;
    }
    return n;
}

void top_grid_put(struct top_grid *g, unsigned x, unsigned y, unsigned width, bool right, unsigned look,
                  const char *text)
{
    if (x >= g->width || y >= g->height)
        return;
    width = width < g->width - x ? width : g->width - x;
    unsigned used = text_width(g, text), pad = right && used < width ? width - used : 0;
    for (unsigned i = 0; i < width; i++) {
        struct top_glyph *c = cell(g, x + i, y);
        *c = (struct top_glyph){.text = " ", .look = (uint8_t)look};
        if (i < pad || !*text)
            continue;
        if (i + 1 == width && used > width)
            c->text[0] = '~';
        else
            take_character(g, &text, c->text);
    }
}

void top_grid_mark(struct top_grid *g, unsigned x, unsigned y, unsigned width, unsigned look)
{
    for (unsigned i = x; y < g->height && i < g->width && i - x < width; i++)
        cell(g, i, y)->look |= (uint8_t)look;
}

/* ---- plot -------------------------------------------------------------------------------------------------------- */

unsigned top_grid_dots(const struct top_grid *g, unsigned width)
{
    unsigned dots = g->charset == TOP_BRAILLE ? 2 * width : width;
    return dots < TOP_DOTS_MAX ? dots : TOP_DOTS_MAX;
}

static unsigned rows_of(const struct top_grid *g)
{
    return g->charset == TOP_BRAILLE ? 4 : g->charset == TOP_BLOCKS ? 8 : 2;
}

static void find_scale(const struct top_plot *plot, bool bars, double *low, double *high)
{
    *low = bars ? 0 : INFINITY;
    *high = bars ? 0 : -INFINITY;
    for (size_t i = 0; i < plot->count; i++)
        if (isfinite(plot->dots[i].min) && isfinite(plot->dots[i].max)) {
            *low = fmin(*low, plot->dots[i].min);
            *high = fmax(*high, plot->dots[i].max);
        }
    if (isfinite(plot->bound) && isfinite(*high)) {
        *low = fmin(*low, plot->bound);
        *high = fmax(*high, plot->bound);
    }
}

/* The row of dots, from the bottom, where `value` is. */
static unsigned row_at(double value, double low, double high, unsigned rows)
{
    double share = high > low ? (value - low) / (high - low) : value > 0 ? 1 : 0;
    return (unsigned)(fmin(fmax(share, 0), 1) * (rows - 1) + 0.5);
}

/* Adds the dot at (dot, row from the bottom) to its cell. `bits`: what a cell has so far, row 0 at its bottom. */
static void set_dot(uint8_t *bits, unsigned width, unsigned height, const struct top_grid *g, unsigned dot,
                    unsigned row)
{
    /* The bits of U+2800: in a column from the top 1, 2, 4, 64, and 8, 16, 32, 128 in the right one. */
    static const uint8_t braille[2][4] = {{64, 4, 2, 1}, {128, 32, 16, 8}};
    unsigned in = rows_of(g), per = g->charset == TOP_BRAILLE ? 2 : 1, x = dot / per, y = row / in;
    if (x >= width || y >= height)
        return;
    uint8_t *b = &bits[(size_t)(height - 1 - y) * width + x];
    *b |= g->charset == TOP_BRAILLE ? braille[dot % 2][row % 4] : (uint8_t)(1u << (row % in));
}

static void put_glyph(struct top_glyph *c, uint32_t code)
{
    c->text[0] = (char)(0xe0 | code >> 12);
    c->text[1] = (char)(0x80 | (code >> 6 & 0x3f));
    c->text[2] = (char)(0x80 | (code & 0x3f));
    c->text[3] = '\0';
}

/* The highest bit of a column of blocks, as the eighths that are filled. */
static unsigned eighths(uint8_t bits)
{
    unsigned n = 0;
    for (; bits; bits >>= 1)
        n++;
    return n;
}

static void put_bits(const struct top_grid *g, struct top_glyph *c, uint8_t bits)
{
    static const char ascii[] = " .':";
    if (bits == 0)
        return;
    if (g->charset == TOP_BRAILLE)
        put_glyph(c, 0x2800u + bits);
    else if (g->charset == TOP_BLOCKS)
        put_glyph(c, 0x2580u + eighths(bits));
    else
        c->text[0] = ascii[bits & 3];
}

void top_grid_plot(struct top_grid *g, unsigned x, unsigned y, unsigned width, unsigned height,
                   const struct top_plot *plot, double *low, double *high)
{
    bool bars = plot->unit == TOP_IN_RATE;
    unsigned rows = height * rows_of(g);
    uint8_t *bits = calloc((size_t)width * height + 1, 1);
    find_scale(plot, bars, low, high);
    if (!bits || rows == 0) {
        free(bits);
        return;
    }
    for (unsigned i = 0; i < plot->count; i++) {
        const struct top_dot *d = &plot->dots[i];
        bool known = isfinite(d->min) && isfinite(d->max);
        unsigned from = known && !bars ? row_at(d->min, *low, *high, rows) : 0;
        for (unsigned r = from; known && !(bars && d->max <= 0) && r <= row_at(d->max, *low, *high, rows); r++)
            set_dot(bits, width, height, g, i, r);
        if (isfinite(plot->bound) && isfinite(*high) && i % 4 == 0)
            set_dot(bits, width, height, g, i, row_at(plot->bound, *low, *high, rows));
    }
    for (unsigned i = 0; i < width * height; i++)
        if (x + i % width < g->width && y + i / width < g->height)
            put_bits(g, cell(g, x + i % width, y + i / width), bits[i]);
    free(bits);
}
