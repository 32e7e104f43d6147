// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/interval.h"

#include <math.h>
#include <string.h>

enum { OF_INTEGER = 1, OF_FLOAT, OF_TEXT, KINDS = 4 };

/* One-to-one: neighbours become strangers. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 29) * UINT64_C(0xa0761d6478bd642f);
    return x ^ x >> 32;
}

struct interval_key interval_key_of_integer(int64_t value)
{
    return (struct interval_key){mix((uint64_t)value), OF_INTEGER};
}

struct interval_key interval_key_of_float(double value)
{
    uint64_t bits;
    double number = value == 0 ? 0 : value; /* -0.0 equals 0.0 */
    memcpy(&bits, &number, sizeof bits);
    return (struct interval_key){mix(bits), isnan(value) ? 0 : OF_FLOAT};
}

struct interval_key interval_key_of_text(const char *text, size_t length)
{
    uint64_t a = length, b = ~(uint64_t)length;
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text + at, length - at < 8 ? length - at : 8);
        a = mix(a ^ word);
        b = mix(b + word * UINT64_C(0x9e3779b97f4a7c15));
    }
    return (struct interval_key){a, (uint32_t)(b / KINDS) * KINDS + OF_TEXT};
}
