// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "pattern.h"

#include <string.h>

struct canvas {
    uint8_t *const *planes;
    const int *strides;
    int width, height;
};

struct colour {
    uint8_t y, u, v;
};

static const struct colour bars[] = {
    {235, 128, 128}, {219, 16, 138}, {188, 154, 16}, {173, 42, 26}, {78, 214, 230}, {63, 102, 240}, {32, 240, 118},
};
static const struct colour white = {235, 128, 128}, black = {16, 128, 128}, orange = {150, 60, 190};

enum { BARS = sizeof bars / sizeof *bars };

/* Fills a rectangle, clipped to the canvas and to even coordinates, so that the colour planes match. */
static void fill(const struct canvas *c, int x, int y, int w, int h, struct colour colour)
{
    int right = x + w > c->width ? c->width : x + w, bottom = y + h > c->height ? c->height : y + h;
    x = x < 0 ? 0 : x & ~1;
    y = y < 0 ? 0 : y & ~1;
    if (right <= x || bottom <= y)
        return;
    right = (right + 1) & ~1;
    bottom = (bottom + 1) & ~1;
    for (int row = y; row < bottom; row++)
        memset(c->planes[0] + (size_t)row * (size_t)c->strides[0] + x, colour.y, (size_t)(right - x));
    for (int row = y / 2; row < bottom / 2; row++) {
        memset(c->planes[1] + (size_t)row * (size_t)c->strides[1] + x / 2, colour.u, (size_t)(right - x) / 2);
        memset(c->planes[2] + (size_t)row * (size_t)c->strides[2] + x / 2, colour.v, (size_t)(right - x) / 2);
    }
}

/* Where something is at frame `number` that goes to and fro over `span` at `speed` a frame. */
static int bounce(uint32_t number, int span, int speed)
{
    if (span <= 0)
        return 0;
    int at = (int)((uint64_t)number * (unsigned)speed % (2u * (unsigned)span));
    return at < span ? at : 2 * span - at;
}

/*
 * One figure in seven segments, from the top: bit 0 top, 1 upper right, 2 lower right, 3 bottom, 4 lower left, 5 upper
 * left, 6 middle.
 */
static void figure(const struct canvas *c, int x, int y, int size, unsigned digit)
{
    static const uint8_t segments[10] = {0x3f, 0x06, 0x5b, 0x4f, 0x66, 0x6d, 0x7d, 0x07, 0x7f, 0x6f};
    int w = size / 2, h = size / 2, t = size / 8 < 2 ? 2 : size / 8;
    const int boxes[7][4] = {{0, 0, w, t}, {w - t, 0, t, h}, {w - t, h, t, h},    {0, 2 * h - t, w, t},
                             {0, h, t, h}, {0, 0, t, h},     {0, h - t / 2, w, t}};
    for (int i = 0; i < 7; i++)
        if (segments[digit] >> i & 1)
            fill(c, x + boxes[i][0], y + boxes[i][1], boxes[i][2], boxes[i][3], white);
}

void pattern_draw(uint8_t *const planes[3], const int strides[3], int width, int height, uint32_t number)
{
    struct canvas c = {planes, strides, width, height};
    for (int i = 0; i < BARS; i++)
        fill(&c, width * i / BARS, 0, width * (i + 1) / BARS - width * i / BARS + 2, height, bars[i]);
    int box = height / 4;
    fill(&c, bounce(number, width - box, 4), bounce(number, height * 3 / 5 - box, 2), box, box, orange);
    int size = height / 6, top = height * 3 / 4;
    fill(&c, 0, top - size / 4, width, size * 3 / 2, black);
    uint32_t rest = number;
    for (int i = 5; i >= 0; i--, rest /= 10)
        figure(&c, size / 2 + i * size * 3 / 4, top, size, rest % 10);
}
