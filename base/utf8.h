// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Texts in UTF-8 (RFC 3629). libbezel contains this file, so it needs nothing but string functions of libc. */
#ifndef BEZEL_BASE_UTF8_H
#define BEZEL_BASE_UTF8_H

#include <stddef.h>

/**
 * How many bytes of `text`, from its start and at most `max`, are complete UTF-8 characters without NUL: cut to that
 * length, any text is valid. Reads no byte behind a NUL or behind `max`. Pure.
 */
size_t utf8_fit(const char *text, size_t max);

/**
 * Copies `text` to `to`, of max + 1 bytes, as valid UTF-8: each byte that is no UTF-8
 * becomes \xHH, with its two hexadecimal digits, and so does a backslash that begins what looks like that, so that
 * different texts stay different. What does not fit is cut off by whole characters. Returns the length. Pure.
 */
size_t utf8_escape(char *to, size_t max, const char *text);

/** As utf8_escape(), but spaces and control characters become \xHH, too, and so does the backslash of each \x. */
size_t utf8_escape_name(char *to, size_t max, const char *text);

/** As utf8_escape(), but UTF-8 stays as it is, also where it looks like an escape: a second time changes nothing. */
size_t utf8_repair(char *to, size_t max, const char *text);

#endif
