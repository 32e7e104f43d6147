// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Lists of words in a text, separated by blanks. Pure. */
#ifndef BEZEL_BASE_WORDS_H
#define BEZEL_BASE_WORDS_H

#include <string.h>

/** The next word from *rest on, which then stands behind it. Returns its length, with *word; 0: there is none. */
static inline size_t words_next(const char **rest, const char **word)
{
    *word = *rest + strspn(*rest, " ");
    size_t n = strcspn(*word, " ");
    *rest = *word + n;
    return n;
}

/** How many words a text has. */
static inline size_t words_count(const char *text)
{
    size_t count = 0;
    for (const char *word; words_next(&text, &word);)
        count++;
    return count;
}

#endif
