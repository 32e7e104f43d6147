// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "display.h"

#include <libavutil/frame.h>
#include <libswscale/swscale.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_PIXEL = 3 };

struct display {
    int width, height;
    struct SwsContext *scaler;
    uint8_t *rgb;
};

struct display *display_new(int width, int height)
{
    struct display *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->width = width;
    d->height = height;
    d->rgb = calloc((size_t)width * (size_t)height, BYTES_PER_PIXEL);
    if (d->rgb)
        return d;
    display_free(d);
    return NULL;
}

void display_free(struct display *d)
{
    if (!d)
        return;
    sws_freeContext(d->scaler);
    free(d->rgb);
    free(d);
}

bool display_show(struct display *d, const AVFrame *picture)
{
    d->scaler = sws_getCachedContext(d->scaler, picture->width, picture->height, (enum AVPixelFormat)picture->format,
                                     d->width, d->height, AV_PIX_FMT_RGB24, SWS_FAST_BILINEAR, NULL, NULL, NULL);
    if (!d->scaler)
        return false;
    uint8_t *planes[4] = {d->rgb};
    int strides[4] = {d->width * BYTES_PER_PIXEL};
    return sws_scale(d->scaler, (const uint8_t *const *)picture->data, picture->linesize, 0, picture->height, planes,
                     strides) == d->height;
}

bool display_dump(const struct display *d, const char *path)
{
    size_t size = (size_t)d->width * (size_t)d->height * BYTES_PER_PIXEL;
    FILE *out = fopen(path, "wb");
    bool ok = out && fprintf(out, "P6\n%d %d\n255\n", d->width, d->height) > 0 && fwrite(d->rgb, 1, size, out) == size;
    if (out && fclose(out) != 0)
        ok = false;
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return ok;
}
