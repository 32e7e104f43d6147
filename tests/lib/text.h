// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Random texts. */
#ifndef BEZEL_TESTS_LIB_TEXT_H
#define BEZEL_TESTS_LIB_TEXT_H

#include "tests/lib/seed.h"

#include <string.h>

/** Fills to[max + 1] with up to `max` bytes of UTF-8, often none and often all. */
static inline void text_random(uint64_t *seed, char *to, size_t max)
{
    static const char *const characters[] = {"a", "Z",  " ",        "\"",           "\\",
                                             "|", "\n", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x8E\xA5"};
    uint64_t r = seed_next(seed) % 4;
    size_t n = 0, wanted = r == 0 ? 0 : r == 1 ? max : seed_next(seed) % (max + 1);
    while (n < wanted) {
        const char *c = characters[seed_next(seed) % (sizeof characters / sizeof *characters)];
        if (strlen(c) > wanted - n)
            c = "x";
        memcpy(to + n, c, strlen(c));
        n += strlen(c);
    }
    to[n] = '\0';
}

/** Fills to[max + 1] with a name as aspects and fields have them, of 1 to `max` bytes. */
static inline void text_random_name(uint64_t *seed, char *to, size_t max)
{
    static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.:0123456789";
    size_t n = seed_next(seed) % 8 == 0 ? max : 1 + seed_next(seed) % (max < 12 ? max : 12);
    for (size_t i = 0; i < n; i++)
        to[i] = characters[seed_next(seed) % (sizeof characters - 1 - (i == 0 ? 10 : 0))];
    to[n] = '\0';
}

#endif
