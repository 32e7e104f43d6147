// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/store_keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY INT64_C(86400000000000)

/* "7 days" is a count and its word: a duration has no unit above the hour. */
static const char *read_days(const char *text, size_t digits, int64_t *time)
{
    char number[8];
    uint64_t days;
    const char *why;
    if (snprintf(number, sizeof number, "%.*s", (int)digits, text) >= (int)sizeof number)
        return "it is out of range; allowed: " STORE_KEEP_ALLOWED;
    if (units_read_count(number, &days, &why) != 0)
        return why;
    *time = (int64_t)days * DAY;
    return NULL;
}

static bool is_days(const char *text, size_t *digits)
{
    *digits = strspn(text, "0123456789");
    const char *word = text + *digits + strspn(text + *digits, " \t");
    size_t n = strncmp(word, "days", 4) == 0 ? 4 : strncmp(word, "day", 3) == 0 ? 3 : 0;
    return *digits > 0 && n > 0 && word[n + strspn(word + n, " \t")] == '\0';
}

const char *store_keep_read(const char *text, struct store_keep *keep)
{
    struct store_keep it = {0};
    size_t digits;
    const char *why = NULL, *ignored;
    if (is_days(text, &digits))
        why = read_days(text, digits, &it.time);
    else if (units_read_size(text, &it.bytes, &ignored) != 0 && units_read_duration(text, &it.time, &ignored) != 0)
        why =
            "neither a size such as 2 GiB (B, kB, KiB, MB, MiB, GB or GiB) nor a time such as 48 h or 7 days (s, min, "
            "h or days)";
    if (why)
        return why;
    if (it.bytes == 0 && it.time == 0)
        return "nothing would be kept; without this key everything is";
    if (it.bytes && it.bytes < STORE_KEEP_BYTES_LEAST)
        return "less than 16 MiB: a sixteenth of it expires at a time, which must hold the longest packet, 1 MiB";
    if (it.time && it.time < STORE_KEEP_TIME_LEAST)
        return "less than 10 s: a sixteenth of it expires at a time";
    if (it.bytes > STORE_KEEP_BYTES_MOST || it.time > STORE_KEEP_TIME_MOST)
        return "it is out of range; allowed: " STORE_KEEP_ALLOWED;
    *keep = it;
    return NULL;
}

struct units_text store_keep_print(const struct store_keep *keep)
{
    struct units_text text = {""};
    if (keep->bytes)
        return units_exact_size(keep->bytes);
    if (keep->time && keep->time % DAY == 0)
        snprintf(text.s, sizeof text.s, "%" PRId64 " day%s", keep->time / DAY, keep->time == DAY ? "" : "s");
    else if (keep->time)
        return units_exact_duration(keep->time);
    return text;
}
