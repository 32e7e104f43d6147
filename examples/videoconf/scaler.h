// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Conversion of pictures from one size and format to another: the one user of libswscale. */
#ifndef VIDEOCONF_SCALER_H
#define VIDEOCONF_SCALER_H

#include <stdbool.h>

struct AVFrame;
struct scaler;

/** NULL without memory. */
struct scaler *scaler_new(void);
void scaler_free(struct scaler *s);

/**
 * Converts `from` into the buffer, size and format of `to`. Prepares itself anew where the size or format of either
 * differs from the call before, else allocates nothing. False where the formats cannot be converted.
 */
bool scaler_convert(struct scaler *s, const struct AVFrame *from, struct AVFrame *to);

#endif
