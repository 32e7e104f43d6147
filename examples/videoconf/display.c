// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "display.h"

#include "scaler.h"

#include <libavutil/frame.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct display {
    struct scaler *scaler;
    AVFrame *rgb;
};

struct display *display_new(int width, int height)
{
    struct display *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->scaler = scaler_new();
    d->rgb = av_frame_alloc();
    if (d->rgb) {
        d->rgb->width = width;
        d->rgb->height = height;
        d->rgb->format = AV_PIX_FMT_RGB24;
    }
    if (d->scaler && d->rgb && av_frame_get_buffer(d->rgb, 0) == 0) {
        memset(d->rgb->data[0], 0, (size_t)d->rgb->linesize[0] * (size_t)height); /* black */
        return d;
    }
    display_free(d);
    return NULL;
}

void display_free(struct display *d)
{
    if (!d)
        return;
    scaler_free(d->scaler);
    av_frame_free(&d->rgb);
    free(d);
}

bool display_show(struct display *d, const AVFrame *picture)
{
    return scaler_convert(d->scaler, picture, d->rgb);
}

static bool dump(const AVFrame *rgb, FILE *out)
{
    size_t row_bytes = 3 * (size_t)rgb->width;
    if (fprintf(out, "P6\n%d %d\n255\n", rgb->width, rgb->height) < 0)
        return false;
    for (int row = 0; row < rgb->height; row++)
        if (fwrite(rgb->data[0] + row * rgb->linesize[0], 1, row_bytes, out) != row_bytes)
            return false;
    return true;
}

bool display_dump(const struct display *d, const char *path)
{
    FILE *out = fopen(path, "wb");
    bool ok = out && dump(d->rgb, out);
    if (out && fclose(out) != 0)
        ok = false;
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return ok;
}
