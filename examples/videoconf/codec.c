// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "codec.h"

#include "common.h"

#include <libavcodec/avcodec.h>
#include <libavutil/opt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)FRAME_PADDING >= (int)AV_INPUT_BUFFER_PADDING_SIZE, "a reassembled frame can be decoded in place");

void codec_log(bool verbose)
{
    av_log_set_level(verbose ? AV_LOG_WARNING : AV_LOG_FATAL);
}

struct encoder {
    AVCodecContext *context;
    AVPacket *packet;
    int64_t next; /* presentation time: the number of pictures so far */
};

/* The 4:2:0 format that `codec` takes; AV_PIX_FMT_NONE where it takes none. */
static enum AVPixelFormat format_for(const AVCodec *codec)
{
    for (const enum AVPixelFormat *f = codec->pix_fmts; f && *f != AV_PIX_FMT_NONE; f++)
        if (*f == AV_PIX_FMT_YUV420P || *f == AV_PIX_FMT_YUVJ420P)
            return *f;
    return AV_PIX_FMT_NONE;
}

static int encoder_open(struct encoder *e, const AVCodec *codec, int width, int height, int fps, int quality)
{
    e->packet = av_packet_alloc();
    e->context = avcodec_alloc_context3(codec);
    if (!e->packet || !e->context)
        return AVERROR(ENOMEM);
    AVCodecContext *c = e->context;
    c->width = width;
    c->height = height;
    c->pix_fmt = format_for(codec);
    c->time_base = (AVRational){1, fps};
    c->framerate = (AVRational){fps, 1};
    c->bit_rate = (int64_t)width * height * fps / 4 * quality / 100;
    c->gop_size = fps;   /* an I frame, its headers with it, every second: a late client waits no longer */
    c->max_b_frames = 0; /* nothing is held back */
    c->thread_count = 1;
    av_opt_set(c->priv_data, "tune", "zerolatency", 0); /* x264 and its like; the others do not know it */
    return avcodec_open2(c, codec, NULL);
}

struct encoder *encoder_new(const char *name, int width, int height, int fps, int quality)
{
    const AVCodec *codec = avcodec_find_encoder_by_name(name);
    if (!codec || codec->type != AVMEDIA_TYPE_VIDEO || format_for(codec) == AV_PIX_FMT_NONE ||
        strlen(avcodec_get_name(codec->id)) >= CODEC_NAME_BYTES) {
        fprintf(stderr, "codec %s: FFmpeg has no such encoder for 4:2:0 video here; try mpeg4 or mjpeg\n", name);
        return NULL;
    }
    struct encoder *e = calloc(1, sizeof *e);
    int r = e ? encoder_open(e, codec, width, height, fps, quality) : AVERROR(ENOMEM);
    if (r >= 0)
        return e;
    char why[AV_ERROR_MAX_STRING_SIZE];
    av_strerror(r, why, sizeof why);
    fprintf(stderr, "codec %s, %dx%d at %d frames/s: %s\n", name, width, height, fps, why);
    encoder_free(e);
    return NULL;
}

void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    avcodec_free_context(&e->context);
    av_packet_free(&e->packet);
    free(e);
}

int encoder_format(const struct encoder *e)
{
    return e->context->pix_fmt;
}

int encoder_encode(struct encoder *e, AVFrame *picture, struct frame *frame)
{
    AVCodecContext *c = e->context;
    picture->pts = e->next++;
    picture->pict_type = AV_PICTURE_TYPE_NONE;
    int r = avcodec_send_frame(c, picture);
    if (r == 0) {
        av_packet_unref(e->packet);
        r = avcodec_receive_packet(c, e->packet);
    }
    if (r < 0 || e->packet->size <= 0 || e->packet->size > FRAME_BYTES_MAX) {
        fprintf(stderr, "codec %s: %s\n", c->codec->name,
                r == AVERROR(EAGAIN) ? "holds frames back, which a conference cannot use"
                : r < 0              ? "does not compress a frame"
                                     : "makes a frame too large to be sent");
        return -1;
    }
    frame->type = e->packet->flags & AV_PKT_FLAG_KEY ? FRAME_I : FRAME_P;
    frame->width = (uint16_t)c->width;
    frame->height = (uint16_t)c->height;
    memset(frame->codec, 0, sizeof frame->codec);
    memcpy(frame->codec, avcodec_get_name(c->codec_id), strlen(avcodec_get_name(c->codec_id)));
    frame->bytes = (uint32_t)e->packet->size;
    frame->data = e->packet->data;
    return 0;
}

struct decoder {
    AVCodecContext *context;
    AVPacket *packet;
    AVFrame *picture;
};

struct decoder *decoder_new(const char *name)
{
    const AVCodecDescriptor *descriptor = avcodec_descriptor_get_by_name(name);
    const AVCodec *codec = descriptor ? avcodec_find_decoder(descriptor->id) : NULL;
    if (!codec || codec->type != AVMEDIA_TYPE_VIDEO) {
        fprintf(stderr, "codec %s: FFmpeg has no such video decoder here; try mpeg4 or mjpeg\n", name);
        return NULL;
    }
    struct decoder *d = calloc(1, sizeof *d);
    bool ok = d && (d->packet = av_packet_alloc()) && (d->picture = av_frame_alloc()) &&
              (d->context = avcodec_alloc_context3(codec));
    if (ok) {
        d->context->thread_count = 1;
        d->context->flags |= AV_CODEC_FLAG_LOW_DELAY;
        d->context->max_pixels = (int64_t)WIDTH_MAX * HEIGHT_MAX; /* whatever the bytes claim */
        ok = avcodec_open2(d->context, codec, NULL) == 0;
    }
    if (ok)
        return d;
    fprintf(stderr, "codec %s: the decoder does not start\n", name);
    decoder_free(d);
    return NULL;
}

void decoder_free(struct decoder *d)
{
    if (!d)
        return;
    avcodec_free_context(&d->context);
    av_packet_free(&d->packet);
    av_frame_free(&d->picture);
    free(d);
}

const char *decoder_codec(const struct decoder *d)
{
    return avcodec_get_name(d->context->codec_id);
}

const AVFrame *decoder_decode(struct decoder *d, const uint8_t *data, uint32_t bytes)
{
    d->packet->data = (uint8_t *)(uintptr_t)data; /* read only, in spite of its type */
    d->packet->size = (int)bytes;
    int r = avcodec_send_packet(d->context, d->packet);
    if (r == 0)
        r = avcodec_receive_frame(d->context, d->picture);
    return r == 0 ? d->picture : NULL;
}
