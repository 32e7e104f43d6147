// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** An off-screen display: a frame buffer in RGB that it owns and that a person can look at afterwards. */
#ifndef VIDEOCONF_DISPLAY_H
#define VIDEOCONF_DISPLAY_H

#include <stdbool.h>

struct AVFrame;
struct display;

/** NULL without memory. */
struct display *display_new(int width, int height);
void display_free(struct display *d);

/** Converts and scales `picture` into the frame buffer; false where its format cannot be converted. */
bool display_show(struct display *d, const struct AVFrame *picture);

/** Writes the frame buffer to `path` as PPM; false where that fails, with the reason on stderr. */
bool display_dump(const struct display *d, const char *path);

#endif
