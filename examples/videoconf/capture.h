// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The camera: the test pattern, or the frames of a video file. */
#ifndef VIDEOCONF_CAPTURE_H
#define VIDEOCONF_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct AVFrame;
struct capture;

/**
 * Opens the file `input` (borrowed), or the test pattern where it is NULL. Pictures have `width` x `height` and
 * `format`, an enum AVPixelFormat with three planes, 4:2:0. NULL where that fails, with the reason on stderr.
 */
struct capture *capture_new(const char *input, int width, int height, int format);
void capture_free(struct capture *c);

/** Changes the size of the pictures from now on. False: no memory, and nothing is changed. */
bool capture_resize(struct capture *c, int width, int height);

/**
 * The next picture, `number` of them before it; valid for two more calls. NULL where the file gives none, with the
 * reason on stderr.
 */
struct AVFrame *capture_next(struct capture *c, uint32_t number);

#endif
