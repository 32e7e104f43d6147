// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Text of others, made fit for a terminal: a program's name, or a file's, may hold what moves the cursor or hides a
 * line. Pure.
 */
#ifndef BEZEL_BASE_PLAIN_H
#define BEZEL_BASE_PLAIN_H

#include <stddef.h>

/** How many bytes the control character takes that `text` opens with, in UTF-8; 0: it opens with none. */
static inline size_t plain_control(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
        return 2;
    return *p != 0 && (*p < 0x20 || *p == 0x7f);
}

/** Puts '?' in place of every byte of a control character. */
static inline void plain_text(char *text)
{
    while (*text) {
        size_t n = plain_control(text);
        if (n == 0)
            text++;
        for (; n > 0; n--)
            *text++ = '?';
    }
}

#endif
