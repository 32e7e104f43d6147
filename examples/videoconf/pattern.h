// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The test pattern: colour bars, a box that crosses them, and the frame's number in figures. */
#ifndef VIDEOCONF_PATTERN_H
#define VIDEOCONF_PATTERN_H

#include <stdint.h>

/**
 * Draws frame `number` into planes Y, U, V of a 4:2:0 picture of `width` x `height` (even) with the given bytes per
 * row. The same number gives the same picture. Pure.
 */
void pattern_draw(uint8_t *const planes[3], const int strides[3], int width, int height, uint32_t number);

#endif
