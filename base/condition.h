// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A condition on a field of records, as people write it: "latency > 5 ms", "kind = delta". Pure. */
#ifndef BEZEL_BASE_CONDITION_H
#define BEZEL_BASE_CONDITION_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { CONDITION_FIELD_MAX = 63, CONDITION_TEXT_MAX = 255 }; /* bytes: DICT_NAME_MAX and DICT_TEXT_MAX */

enum condition_compare {
    CONDITION_BELOW,
    CONDITION_AT_MOST,
    CONDITION_EQUAL,
    CONDITION_UNEQUAL,
    CONDITION_AT_LEAST,
    CONDITION_ABOVE
};

/** A comparison with a number. */
struct condition_bound {
    enum condition_compare compare;
    bool fraction; /* the number is above `whole` */
    int64_t whole; /* the largest whole number that is not above it; of a time in ns */
    double number;
};

struct condition {
    char field[CONDITION_FIELD_MAX + 1]; /* "": there is no condition */
    char text[CONDITION_TEXT_MAX + 1];   /* the value as it was written, without quotes */
    enum { CONDITION_OF_TEXT, CONDITION_OF_NUMBER, CONDITION_OF_TIME } of;
    struct condition_bound bound; /* of CONDITION_OF_TEXT: `compare` alone */
};

/**
 * Reads "FIELD OP VALUE", with OP one of < <= = != >= >. VALUE is a number, a duration such as "5 ms" for a field with
 * a unit of time, or for = and != a text, which may stand in double quotes: a label of an enum, or a string. Returns 0,
 * or BEZEL_EINVAL with *why, a static sentence that says what is wrong and what is allowed; *c is then as it was.
 */
int condition_read(const char *text, struct condition *c, const char **why) BEZEL_MUST_CHECK;

/** Whether a comparison holds of a value that is below (sign < 0), equal to or above what it is compared with. */
bool condition_result(enum condition_compare compare, int sign);

/** Whether `value` times `scale` (ns a unit; 1: it is compared as it is) meets the bound; exact for whole numbers. */
bool condition_holds_whole(const struct condition_bound *b, int64_t value, int64_t scale);
/** No value that is not a number meets it. */
bool condition_holds_real(const struct condition_bound *b, double value, int64_t scale);

#endif
