// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Foreign text made safe for a terminal: the name of a program or file may hold characters that move the cursor or hide
 * a line. Pure.
 */
#ifndef BEZEL_BASE_PLAIN_H
#define BEZEL_BASE_PLAIN_H

#include <stddef.h>

/** The length in bytes of the control character (UTF-8) at the start of `text`; 0: there is none. */
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
