// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/run_view_value.h"

#include "run/read/record_item.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int64_t run_view_key(const struct dict_aspect *a, const struct packet_record *r)
{
    if (a->field_count == 0)
        return 0;
    int64_t first = (int64_t)(packet_value(r, 0) & INT32_MAX);
    if (a->field_count > 1 && a->fields[0].type == DICT_STRING && a->fields[1].type == DICT_STRING)
        return (first & 0xfff) | (int64_t)((packet_value(r, 1) & 0xfff) << 12);
    if (a->field_count > 1 && a->fields[0].type == DICT_STRING && strcmp(a->fields[1].name, "thread") == 0)
        return (first & 0xfff) | (int64_t)((packet_value(r, 1) & UINT32_MAX) << 12);
    return first;
}

void run_view_put_value(struct json *j, const char *key, const struct dict *d, const struct packet_record *r,
                        uint32_t i)
{
    const int64_t most = INT64_C(1) << 53;
    char text[DICT_TEXT_MAX + 1];
    struct record_value v = record_item_value(d, r, i);
    if (v.as == RECORD_INT && v.integer >= -most && v.integer <= most) {
        json_int(j, key, v.integer);
    } else if (v.as == RECORD_FLOAT && isfinite(v.real)) {
        json_double(j, key, v.real);
    } else if (v.as == RECORD_ABSENT) {
        json_text(j, key, NULL);
    } else {
        if (v.as == RECORD_INT)
            snprintf(text, sizeof text, "%" PRId64, v.integer);
        else if (v.as == RECORD_FLOAT)
            snprintf(text, sizeof text, "%g", v.real);
        else
            snprintf(text, sizeof text, "%.*s", (int)v.length, v.text);
        json_text(j, key, text);
    }
}
