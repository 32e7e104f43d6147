// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/condition.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:"

static const char why_name[] = "a condition is FIELD OP VALUE, such as \"duration > 5 ms\"";
static const char why_compare[] = "behind the field one of < <= = != >= > is expected";
static const char why_value[] =
    "a number, or a duration such as 5 ms, up to 292 years, is expected; texts go with = and != alone";
static const char why_long[] = "the value is empty, or has more than 255 characters";

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* Reads the comparison at *p and moves *p behind it. */
static bool read_compare(const char **p, enum condition_compare *compare)
{
    static const struct {
        const char *text;
        enum condition_compare compare;
    } list[] = {{"<=", CONDITION_AT_MOST}, {">=", CONDITION_AT_LEAST}, {"!=", CONDITION_UNEQUAL},
                {"==", CONDITION_EQUAL},   {"=", CONDITION_EQUAL},     {"<", CONDITION_BELOW},
                {">", CONDITION_ABOVE}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strncmp(*p, list[i].text, strlen(list[i].text)) == 0) {
            *compare = list[i].compare;
            *p += strlen(list[i].text);
            return true;
        }
    return false;
}

/* The value as a text: without blanks around it, and without quotes. False: it is empty or too long. */
static bool read_text(const char *value, struct condition *c, bool *quoted)
{
    size_t n = strlen(value);
    while (n > 0 && strchr(" \t", value[n - 1]))
        n--;
    *quoted = n >= 2 && strchr("\"'", value[0]) && value[n - 1] == value[0];
    if (*quoted)
        value++, n -= 2;
    if (n >= sizeof c->text || (n == 0 && !*quoted))
        return false;
    memcpy(c->text, value, n);
    c->text[n] = '\0';
    return true;
}

/* Reads a number or a duration from c->text. False: it is neither. */
static bool read_number(struct condition *c)
{
    bool minus = c->text[0] == '-';
    const char *text = c->text + minus, *ignored;
    uint64_t count;
    if (units_read_count(text, &count, &ignored) == 0 && count <= INT64_MAX) {
        c->of = CONDITION_OF_NUMBER;
        c->bound.whole = minus ? -(int64_t)count : (int64_t)count;
        c->bound.number = (double)c->bound.whole;
    } else if (units_read_number(text, &c->bound.number, &ignored) == 0) {
        c->of = CONDITION_OF_NUMBER;
        c->bound.number = minus ? -c->bound.number : c->bound.number;
        c->bound.whole = (int64_t)c->bound.number;
        c->bound.whole -= (double)c->bound.whole > c->bound.number;
        c->bound.fraction = c->bound.number > (double)c->bound.whole;
    } else if (units_read_duration(text, &c->bound.whole, &ignored) == 0) {
        c->of = CONDITION_OF_TIME;
        c->bound.whole = minus ? -c->bound.whole : c->bound.whole;
        c->bound.number = (double)c->bound.whole;
    } else {
        return false;
    }
    return true;
}

int condition_read(const char *text, struct condition *c, const char **why)
{
    struct condition it = {.of = CONDITION_OF_TEXT};
    bool quoted;
    text = skip_blanks(text);
    size_t n = strspn(text, NAME_CHARACTERS);
    if (n == 0 || n > CONDITION_FIELD_MAX)
        return *why = why_name, BEZEL_EINVAL;
    memcpy(it.field, text, n);
    text = skip_blanks(text + n);
    if (!read_compare(&text, &it.bound.compare))
        return *why = why_compare, BEZEL_EINVAL;
    if (!read_text(skip_blanks(text), &it, &quoted))
        return *why = why_long, BEZEL_EINVAL;
    if ((quoted || !read_number(&it)) && it.bound.compare != CONDITION_EQUAL && it.bound.compare != CONDITION_UNEQUAL)
        return *why = why_value, BEZEL_EINVAL;
    *c = it;
    return 0;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

bool condition_result(enum condition_compare compare, int sign)
{
    switch (compare) {
    case CONDITION_BELOW:
        return sign < 0;
    case CONDITION_AT_MOST:
        return sign <= 0;
    case CONDITION_EQUAL:
        return sign == 0;
    case CONDITION_UNEQUAL:
        return sign != 0;
    case CONDITION_AT_LEAST:
        return sign >= 0;
    case CONDITION_ABOVE:
        return sign > 0;
    }
    return false;
}

/* Exact, also where the value is no whole number of the field's unit. */
static int compare_whole(const struct condition_bound *b, int64_t value, int64_t scale)
{
    int64_t bound = b->whole / scale - (b->whole % scale < 0);
    bool fraction = b->fraction || b->whole % scale != 0;
    return value != bound ? (value < bound ? -1 : 1) : fraction ? -1 : 0;
}

bool condition_holds_whole(const struct condition_bound *b, int64_t value, int64_t scale)
{
    return condition_result(b->compare, compare_whole(b, value, scale));
}

bool condition_holds_real(const struct condition_bound *b, double value, int64_t scale)
{
    value *= (double)scale;
    return !isnan(value) && condition_result(b->compare, value < b->number ? -1 : value > b->number);
}
