// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Compression and decompression through libavcodec, one frame in, one frame out. */
#ifndef VIDEOCONF_CODEC_H
#define VIDEOCONF_CODEC_H

#include "fragment.h"

#include <stdbool.h>
#include <stdint.h>

struct AVFrame;
struct encoder;
struct decoder;

/** Lets libav's own messages through where `verbose`. */
void codec_log(bool verbose);

/**
 * The encoder named `name`, an I frame every second and no delay; `quality` is the percentage of the usual bit rate, 1
 * to 100. NULL where that is impossible, with the reason on stderr.
 */
struct encoder *encoder_new(const char *name, int width, int height, int fps, int quality);
void encoder_free(struct encoder *e);

/** The enum AVPixelFormat that encoder_encode() takes: three planes, 4:2:0. */
int encoder_format(const struct encoder *e);

/**
 * Compresses `picture`, the next after those before. Fills type, width, height, codec, bytes and data of *frame; the
 * data stays until the next call. 0, or -1 with the reason on stderr.
 */
int encoder_encode(struct encoder *e, struct AVFrame *picture, struct frame *frame);

/** The decoder of the codec named `name`; NULL where there is none, with the reason on stderr. */
struct decoder *decoder_new(const char *name);
void decoder_free(struct decoder *d);

/** The codec's name as struct frame carries it. */
const char *decoder_codec(const struct decoder *d);

/**
 * Decompresses `bytes` at `data`, FRAME_PADDING zeros behind them. The picture stays until the next call; NULL where
 * they do not make one.
 */
const struct AVFrame *decoder_decode(struct decoder *d, const uint8_t *data, uint32_t bytes);

#endif
