// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "videofile.h"

#include "scaler.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct videofile {
    AVFormatContext *format;
    AVCodecContext *decoder;
    int stream;
    AVPacket *packet;
    AVFrame *decoded;
    struct scaler *scaler;
    bool ending;   /* the file is read to its end, the decoder is being emptied */
    bool fruitful; /* a frame came out since the last rewind */
};

static int failed(const char *path, int error)
{
    char text[AV_ERROR_MAX_STRING_SIZE];
    av_strerror(error, text, sizeof text);
    fprintf(stderr, "%s: %s\n", path, text);
    return -1;
}

static int open_all(struct videofile *v, const char *path)
{
    /* A name is a file, never an address on the network. */
    AVDictionary *only_files = NULL;
    av_dict_set(&only_files, "protocol_whitelist", "file", 0);
    int r = avformat_open_input(&v->format, path, NULL, &only_files);
    av_dict_free(&only_files);
    if (r < 0)
        return r;
    if ((r = avformat_find_stream_info(v->format, NULL)) < 0)
        return r;
    const AVCodec *codec = NULL;
    if ((v->stream = av_find_best_stream(v->format, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0)) < 0)
        return v->stream;
    v->scaler = scaler_new();
    v->packet = av_packet_alloc();
    v->decoded = av_frame_alloc();
    v->decoder = avcodec_alloc_context3(codec);
    if (!v->scaler || !v->packet || !v->decoded || !v->decoder)
        return AVERROR(ENOMEM);
    if ((r = avcodec_parameters_to_context(v->decoder, v->format->streams[v->stream]->codecpar)) < 0)
        return r;
    v->decoder->thread_count = 1;
    return avcodec_open2(v->decoder, codec, NULL);
}

struct videofile *videofile_open(const char *path)
{
    struct videofile *v = calloc(1, sizeof *v);
    int r = v ? open_all(v, path) : AVERROR(ENOMEM);
    if (r >= 0)
        return v;
    failed(path, r);
    videofile_close(v);
    return NULL;
}

void videofile_close(struct videofile *v)
{
    if (!v)
        return;
    scaler_free(v->scaler);
    avcodec_free_context(&v->decoder);
    avformat_close_input(&v->format);
    av_frame_free(&v->decoded);
    av_packet_free(&v->packet);
    free(v);
}

/* Gives the decoder one more packet of the video, or signals the end of the video once. */
static int feed(struct videofile *v)
{
    for (;;) {
        int r = av_read_frame(v->format, v->packet);
        if (r == AVERROR_EOF) {
            v->ending = true;
            return avcodec_send_packet(v->decoder, NULL);
        }
        if (r < 0)
            return r;
        if (v->packet->stream_index == v->stream) {
            r = avcodec_send_packet(v->decoder, v->packet);
            av_packet_unref(v->packet);
            return r == AVERROR_INVALIDDATA ? 0 : r; /* a damaged place is skipped */
        }
        av_packet_unref(v->packet);
    }
}

static int rewind_file(struct videofile *v)
{
    if (!v->fruitful)
        return AVERROR_INVALIDDATA; /* else an empty video would be read for ever */
    v->fruitful = v->ending = false;
    avcodec_flush_buffers(v->decoder);
    return av_seek_frame(v->format, v->stream, 0, AVSEEK_FLAG_BACKWARD);
}

static int decode(struct videofile *v)
{
    for (;;) {
        int r = avcodec_receive_frame(v->decoder, v->decoded);
        if (r == AVERROR_EOF)
            r = rewind_file(v);
        else if (r == AVERROR(EAGAIN))
            r = v->ending ? AVERROR_BUG : feed(v);
        else if (r == 0)
            v->fruitful = true;
        if (r < 0 || v->decoded->data[0])
            return r;
    }
}

int videofile_next(struct videofile *v, AVFrame *picture)
{
    int r = decode(v);
    if (r < 0)
        return failed(v->format->url, r);
    if (!scaler_convert(v->scaler, v->decoded, picture))
        return failed(v->format->url, AVERROR_PATCHWELCOME);
    av_frame_unref(v->decoded);
    return 0;
}
