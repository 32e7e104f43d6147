// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/units.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Within each table, the units that a formatted quantity uses are in rising order. */
static const struct unit durations[] = {{"ns", 1},
                                        {"us", CLOCK_US},
                                        {"ms", CLOCK_MS},
                                        {"s", CLOCK_S},
                                        {"min", 60 * CLOCK_S},
                                        {"h", 3600 * CLOCK_S},
                                        {"\xc2\xb5s", CLOCK_US},
                                        {"\xce\xbcs", CLOCK_US},
                                        {NULL, 0}};
static const struct unit sizes[] = {{"B", 1},     {"KiB", UNITS_KIB}, {"MiB", UNITS_MIB}, {"GiB", UNITS_GIB},
                                    {"kB", 1000}, {"MB", 1000000},    {"GB", 1000000000}, {NULL, 0}};
enum { EXACT_DURATIONS = 6, EXACT_SIZES = 4 };

static const char why_duration[] = "the unit is missing or unknown: ns, us, ms, s, min or h";
static const char why_size[] =
    "the unit is missing or unknown: B, KiB, MiB, GiB (powers of 1024), kB, MB or GB (of 1000)";
static const char why_large[] = "the number is too large";
static const char why_fine[] = "the quantity is no whole number of the smallest unit (ns, B)";

#define NUMBER_PATTERN "(0|[1-9][0-9]*)([.][0-9]{1,6})?"
#define ZERO_PATTERN   "0([.]0{1,6})?"
#define DURATION       NUMBER_PATTERN " *(ns|us|\xc2\xb5s|\xce\xbcs|ms|s|min|h)"

const char units_duration_pattern[] = "^ *(" DURATION "|" ZERO_PATTERN ") *$";
const char units_range_pattern[] = "^ *(" DURATION "|" ZERO_PATTERN ") *[.][.] *(" DURATION "|" ZERO_PATTERN ") *$";
const char units_size_pattern[] = "^ *(" NUMBER_PATTERN " *(B|KiB|MiB|GiB|kB|MB|GB)|" ZERO_PATTERN ") *$";
const char units_percent_pattern[] = "^ *" NUMBER_PATTERN " *% *$";
const char units_count_pattern[] = "^ *(0|[1-9][0-9]*) *$";

enum { DECIMALS_MAX = 6 };
static const uint64_t powers[DECIMALS_MAX + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000};

/* whole + fraction / powers[decimals] */
struct number {
    uint64_t whole, fraction;
    int decimals;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

/* Reads the number at *p and moves *p behind it and the blanks that follow. Returns NULL, or what is wrong. */
static const char *read_number(const char **p, struct number *n)
{
    const char *s = skip_blanks(*p);
    *n = (struct number){0};
    if (!is_digit(*s))
        return "a number is expected: decimal digits, without sign";
    if (s[0] == '0' && is_digit(s[1]))
        return "a number must not begin with 0 (it is never octal)";
    for (; is_digit(*s); s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (n->whole > (UINT64_MAX - digit) / 10)
            return why_large;
        n->whole = n->whole * 10 + digit;
    }
    if (s[0] == '.' && s[1] != '.') {
        for (s++; is_digit(*s); s++) {
            if (n->decimals++ == DECIMALS_MAX)
                return "a number has at most 6 digits after the point";
            n->fraction = n->fraction * 10 + (uint64_t)(*s - '0');
        }
        if (n->decimals == 0)
            return "digits are expected after the point";
    }
    *p = skip_blanks(s);
    return NULL;
}

/* Reads number and unit at *p into *value, moving *p behind both. */
static const char *read_quantity(const char **p, const struct unit *table, const char *no_unit, uint64_t *value)
{
    struct number n;
    const char *why = read_number(p, &n);
    if (why)
        return why;
    size_t length = strcspn(*p, " \t.");
    uint64_t factor = n.whole == 0 && n.fraction == 0 && length == 0 ? 1 : 0;
    for (const struct unit *u = table; u->name && !factor; u++)
        if (strlen(u->name) == length && memcmp(u->name, *p, length) == 0)
            factor = u->factor;
    if (!factor)
        return no_unit;
    *p = skip_blanks(*p + length);
    /* No overflow: fraction < 10^6 and factor < 4 * 10^12. */
    uint64_t part = n.fraction * factor;
    if (part % powers[n.decimals] != 0)
        return why_fine;
    part /= powers[n.decimals];
    if (n.whole > ((uint64_t)INT64_MAX - part) / factor)
        return why_large;
    *value = n.whole * factor + part;
    return NULL;
}

/* Ends a reader: *why becomes `wrong`, or that there is text at `rest`. */
static int finish(const char *wrong, const char *rest, const char **why)
{
    if (!wrong && *rest != '\0')
        wrong = "there is text behind the quantity";
    if (wrong)
        *why = wrong;
    return wrong ? BEZEL_EINVAL : 0;
}

int units_read_duration(const char *text, int64_t *ns, const char **why)
{
    uint64_t value;
    const char *wrong = read_quantity(&text, durations, why_duration, &value);
    int err = finish(wrong, text, why);
    if (!err)
        *ns = (int64_t)value;
    return err;
}

int units_read_duration_range(const char *text, int64_t *min_ns, int64_t *max_ns, const char **why)
{
    uint64_t low, high;
    const char *wrong = read_quantity(&text, durations, why_duration, &low);
    if (!wrong && strncmp(text, "..", 2) != 0)
        wrong = "a range is two durations with '..' between them: 100 us .. 1 s";
    if (!wrong) {
        text += 2;
        wrong = read_quantity(&text, durations, why_duration, &high);
    }
    if (!wrong && low > high)
        wrong = "the first duration of a range is above the second";
    int err = finish(wrong, text, why);
    if (!err) {
        *min_ns = (int64_t)low;
        *max_ns = (int64_t)high;
    }
    return err;
}

int units_read_size(const char *text, uint64_t *bytes, const char **why)
{
    uint64_t value;
    const char *wrong = read_quantity(&text, sizes, why_size, &value);
    int err = finish(wrong, text, why);
    if (!err)
        *bytes = value;
    return err;
}

enum { RATE_MAX = 1000000000 };

/* A number up to `max` as a double, correctly rounded: up to 2^53 both operands of the division are exact. */
static const char *read_double(const char **p, uint64_t max, double *value)
{
    struct number n;
    const char *why = read_number(p, &n);
    if (why)
        return why;
    if (n.whole > max || n.whole >= (UINT64_C(1) << 53) / powers[n.decimals])
        return why_large;
    *value = (double)(n.whole * powers[n.decimals] + n.fraction) / (double)powers[n.decimals];
    return NULL;
}

int units_read_percent(const char *text, double *percent, const char **why)
{
    double value;
    const char *wrong = read_double(&text, RATE_MAX, &value);
    if (!wrong && *text != '%')
        wrong = "the unit is missing or unknown: %";
    if (!wrong)
        text = skip_blanks(text + 1);
    int err = finish(wrong, text, why);
    if (!err)
        *percent = value;
    return err;
}

int units_read_count(const char *text, uint64_t *count, const char **why)
{
    struct number n;
    const char *wrong = read_number(&text, &n);
    if (!wrong && n.decimals > 0)
        wrong = "a whole number is expected";
    int err = finish(wrong, text, why);
    if (!err)
        *count = n.whole;
    return err;
}

int units_read_number(const char *text, double *number, const char **why)
{
    double value;
    const char *wrong = read_double(&text, UINT64_MAX, &value);
    int err = finish(wrong, text, why);
    if (!err)
        *number = value;
    return err;
}

int units_read_rate(const char *text, double *per_second, const char **why)
{
    double value;
    const char *wrong = read_double(&text, RATE_MAX, &value);
    if (!wrong && strncmp(text, "/s", 2) == 0)
        text = skip_blanks(text + 2);
    int err = finish(wrong, text, why);
    if (!err)
        *per_second = value;
    return err;
}

int64_t units_time(const char *unit)
{
    for (const struct unit *u = durations; unit && u->name; u++)
        if (strcmp(u->name, unit) == 0)
            return (int64_t)u->factor;
    return 0;
}

/* `value` in the largest of the first `count` units that divides it. */
static struct units_text exact(uint64_t value, const struct unit *table, int count)
{
    struct units_text t;
    int i = count - 1;
    while (value % table[i].factor != 0)
        i--;
    snprintf(t.s, sizeof t.s, "%" PRIu64 " %s", value / table[i].factor, table[i].name);
    return t;
}

struct units_text units_exact_duration(int64_t ns)
{
    return ns == 0 ? (struct units_text){"0 s"} : exact((uint64_t)ns, durations, EXACT_DURATIONS);
}

struct units_text units_exact_size(uint64_t bytes)
{
    return bytes == 0 ? (struct units_text){"0 B"} : exact(bytes, sizes, EXACT_SIZES);
}

struct units_text units_exact_number(double v)
{
    struct units_text t;
    int n = snprintf(t.s, sizeof t.s, "%.6f", v);
    while (t.s[n - 1] == '0')
        t.s[--n] = '\0';
    if (t.s[n - 1] == '.')
        t.s[--n] = '\0';
    return t;
}

/* Three significant digits of value / factor, which is below 1000 * factor after rounding or has no larger unit. */
static struct units_text three_digits(const char *sign, double value, const char *unit)
{
    struct units_text t;
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(t.s, sizeof t.s, "%s%.*f %s", sign, decimals, value, unit);
    return t;
}

struct units_text units_duration(int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t seconds = v / CLOCK_S + (v % CLOCK_S >= CLOCK_S / 2);
    struct units_text t;
    if (v < 1000) {
        snprintf(t.s, sizeof t.s, "%s%" PRIu64 " %s", sign, v, v == 0 ? "s" : "ns");
        return t;
    }
    if (seconds >= 3600) {
        uint64_t minutes = (seconds + 30) / 60;
        snprintf(t.s, sizeof t.s, "%s%" PRIu64 " h %02" PRIu64 " min", sign, minutes / 60, minutes % 60);
        return t;
    }
    if (seconds >= 60) {
        snprintf(t.s, sizeof t.s, "%s%" PRIu64 " min %02" PRIu64 " s", sign, seconds / 60, seconds % 60);
        return t;
    }
    int i = 1;
    while (i < 3 && (double)v / (double)durations[i].factor >= 999.5)
        i++;
    return three_digits(sign, (double)v / (double)durations[i].factor, durations[i].name);
}

struct units_text units_brief_duration(int64_t ns)
{
    struct units_text exact = units_exact_duration(ns);
    return strspn(exact.s, "0123456789") > 3 && strstr(exact.s, " ns") ? units_duration(ns) : exact;
}

struct units_text units_bytes(uint64_t bytes)
{
    struct units_text t;
    int i = 1;
    if (bytes < 1024) {
        snprintf(t.s, sizeof t.s, "%" PRIu64 " B", bytes);
        return t;
    }
    while (i < EXACT_SIZES - 1 && (double)bytes / (double)sizes[i].factor >= 1023.5)
        i++;
    return three_digits("", (double)bytes / (double)sizes[i].factor, sizes[i].name);
}

struct units_text units_count(uint64_t n)
{
    char digits[24];
    struct units_text t;
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            t.s[at++] = ',';
        t.s[at++] = digits[i];
    }
    t.s[at] = '\0';
    return t;
}
