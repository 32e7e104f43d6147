// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/uuid.h"

#include <string.h>

bool uuid_read(const char *text, uint8_t id[16])
{
    static const char digits[] = "0123456789abcdef";
    int n = 0;
    for (const char *p = text; *p; p++) {
        bool dash = p - text == 8 || p - text == 13 || p - text == 18 || p - text == 23;
        const char *d = strchr(digits, *p);
        if (n == 32 || (dash ? *p != '-' : !d))
            return false;
        if (dash)
            continue;
        id[n / 2] = (uint8_t)(n % 2 ? id[n / 2] | (d - digits) : (d - digits) << 4);
        n++;
    }
    return n == 32;
}

char *uuid_print(const uint8_t id[16], char text[37])
{
    static const char digits[] = "0123456789abcdef";
    char *to = text;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = digits[id[i] >> 4];
        *to++ = digits[id[i] & 15];
    }
    *to = '\0';
    return text;
}
