// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Apart from the codec of messages, which needs libtirpc: the external sensor uses it without one. */
#include "mdr/dict.h"
#include "mdr/message.h"

#include <string.h>

void message_text(char *to, size_t max, const char *from)
{
    size_t n = 0;
    while (n < max && *from != '\0') {
        size_t fit = dict_text_fit(from, max - n);
        memcpy(to + n, from, fit);
        n += fit;
        from += fit;
        if (n == max || *from == '\0' || dict_text_fit(from, 4) > 0)
            break; /* full, at the end, or the next character has no room */
        to[n++] = '?';
        from++;
    }
    to[n] = '\0';
}
