// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/utf8.h"

#include <string.h>

/* Bytes of the UTF-8 sequence at `p`, of which `left` may be read; 0 if there is none, or NUL (RFC 3629, section 4). */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    if (p[0] == '\0' || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    /* Refuse overlong forms, surrogates and what lies beyond U+10FFFF. */
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
        (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return n;
}

size_t utf8_fit(const char *text, size_t max)
{
    size_t n = 0, step;
    while (n < max && (step = utf8_length((const unsigned char *)text + n, max - n)) > 0)
        n += step;
    return n;
}

/* Whether `text` begins as an escape of utf8_escape() does. */
static int looks_escaped(const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    if (text[0] != '\\' || text[1] != 'x' || text[2] == '\0' || text[3] == '\0')
        return 0;
    return (text[2] == '5' && text[3] == 'C') || (strchr(digits + 8, text[2]) && strchr(digits, text[3]));
}

/* `also`: whether the character at the given place is escaped though it is one. */
static size_t escape(char *to, size_t max, const char *text, int (*also)(const char *text))
{
    static const char digits[] = "0123456789ABCDEF";
    size_t n = 0, step;
    for (; *text != '\0'; text += step) {
        const unsigned char *byte = (const unsigned char *)text;
        step = utf8_length(byte, 4);
        int escaped = step == 0 || also(text);
        size_t size = escaped ? 4 : step;
        if (size > max - n)
            break;
        if (escaped)
            memcpy(to + n, (char[]){'\\', 'x', digits[*byte >> 4], digits[*byte & 15]}, size);
        else
            memcpy(to + n, text, size);
        n += size;
        step = escaped ? 1 : step;
    }
    to[n] = '\0';
    return n;
}

size_t utf8_escape(char *to, size_t max, const char *text)
{
    return escape(to, max, text, looks_escaped);
}

static int is_no_part_of_a_name(const char *text)
{
    return (unsigned char)*text <= ' ' || *text == 0x7f || (text[0] == '\\' && text[1] == 'x');
}

size_t utf8_escape_name(char *to, size_t max, const char *text)
{
    return escape(to, max, text, is_no_part_of_a_name);
}

static int nothing_else(const char *text)
{
    (void)text;
    return 0;
}

size_t utf8_repair(char *to, size_t max, const char *text)
{
    return escape(to, max, text, nothing_else);
}
