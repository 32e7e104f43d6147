// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "scaler.h"

#include <libavutil/frame.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>

#include <stdlib.h>

/* A side of the conversion. `full`: values span 0 to 255, not 16 to 235. */
struct side {
    int width, height;
    enum AVPixelFormat format;
    bool full;
};

struct scaler {
    struct SwsContext *context;
    struct side from, to;
};

struct scaler *scaler_new(void)
{
    return calloc(1, sizeof(struct scaler));
}

void scaler_free(struct scaler *s)
{
    if (!s)
        return;
    sws_freeContext(s->context);
    free(s);
}

/*
 * JPEG's formats are the common ones at full range. libswscale accepts them with a warning, replaces them by these, and
 * then finds that the format changed with every frame.
 */
static struct side side_of(const AVFrame *f)
{
    struct side s = {f->width, f->height, (enum AVPixelFormat)f->format, f->color_range == AVCOL_RANGE_JPEG};
    static const enum AVPixelFormat jpeg[][2] = {{AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P},
                                                 {AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV422P},
                                                 {AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUV444P},
                                                 {AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUV440P}};
    for (size_t i = 0; i < sizeof jpeg / sizeof *jpeg; i++)
        if (s.format == jpeg[i][0]) {
            s.format = jpeg[i][1];
            s.full = true;
        }
    return s;
}

static bool same_side(struct side x, struct side y)
{
    return x.width == y.width && x.height == y.height && x.format == y.format && x.full == y.full;
}

static bool prepare(struct scaler *s, struct side from, struct side to)
{
    if (s->context && same_side(s->from, from) && same_side(s->to, to))
        return true;
    sws_freeContext(s->context);
    s->from = from;
    s->to = to;
    s->context = sws_alloc_context();
    if (!s->context)
        return false;
    /* The ranges must be known before the context is made, else one that need not scale does not convert them. */
    const struct {
        const char *name;
        int64_t value;
    } options[] = {
        {"srcw", from.width},      {"srch", from.height},  {"src_format", from.format},
        {"src_range", from.full},  {"dstw", to.width},     {"dsth", to.height},
        {"dst_format", to.format}, {"dst_range", to.full}, {"sws_flags", SWS_BILINEAR},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        ok = av_opt_set_int(s->context, options[i].name, options[i].value, 0) == 0 && ok;
    if (ok && sws_init_context(s->context, NULL, NULL) >= 0)
        return true;
    sws_freeContext(s->context);
    s->context = NULL;
    return false;
}

bool scaler_convert(struct scaler *s, const AVFrame *from, AVFrame *to)
{
    return prepare(s, side_of(from), side_of(to)) &&
           sws_scale(s->context, (const uint8_t *const *)from->data, from->linesize, 0, from->height, to->data,
                     to->linesize) == to->height;
}
