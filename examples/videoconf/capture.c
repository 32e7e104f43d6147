// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "capture.h"

#include "pattern.h"
#include "videofile.h"

#include <libavutil/frame.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The encoder may still hold the last picture or two: with three, none needs to be copied before it is drawn anew. */
enum { PICTURES = 3 };

struct capture {
    AVFrame *pictures[PICTURES];
    struct videofile *file; /* NULL: the test pattern */
};

static AVFrame *picture_new(int width, int height, int format)
{
    AVFrame *f = av_frame_alloc();
    if (!f)
        return NULL;
    f->width = width;
    f->height = height;
    f->format = format;
    if (av_frame_get_buffer(f, 0) < 0)
        av_frame_free(&f);
    return f;
}

struct capture *capture_new(const char *input, int width, int height, int format)
{
    struct capture *c = calloc(1, sizeof *c);
    bool ok = c != NULL;
    for (int i = 0; ok && i < PICTURES; i++)
        ok = (c->pictures[i] = picture_new(width, height, format)) != NULL;
    if (!ok)
        fprintf(stderr, "capture: out of memory\n");
    if (ok && input)
        ok = (c->file = videofile_open(input)) != NULL;
    if (ok)
        return c;
    capture_free(c);
    return NULL;
}

void capture_free(struct capture *c)
{
    if (!c)
        return;
    for (int i = 0; i < PICTURES; i++)
        av_frame_free(&c->pictures[i]);
    videofile_close(c->file);
    free(c);
}

bool capture_resize(struct capture *c, int width, int height)
{
    AVFrame *pictures[PICTURES];
    bool ok = true;
    for (int i = 0; i < PICTURES; i++)
        ok = (pictures[i] = picture_new(width, height, c->pictures[0]->format)) != NULL && ok;
    for (int i = 0; i < PICTURES; i++) {
        AVFrame *old = c->pictures[i];
        c->pictures[i] = ok ? pictures[i] : old;
        av_frame_free(ok ? &old : &pictures[i]);
    }
    return ok;
}

AVFrame *capture_next(struct capture *c, uint32_t number)
{
    AVFrame *f = c->pictures[number % PICTURES];
    if (av_frame_make_writable(f) < 0) {
        fprintf(stderr, "capture: out of memory\n");
        return NULL;
    }
    if (c->file)
        return videofile_next(c->file, f) == 0 ? f : NULL;
    pattern_draw(f->data, f->linesize, f->width, f->height, number);
    return f;
}
