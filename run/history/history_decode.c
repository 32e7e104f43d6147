// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/history/history_decode.h"

#include "base/saturate.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

static void put_time(void *record, int64_t at)
{
    /* All of these structs begin with `node` and `at`. */
    *(int64_t *)((char *)record + offsetof(struct builtin_usage, at)) = saturate_ns(at);
}

/* An integer or the number of a label. */
static void put_integer(const struct dict_field *f, void *member, int64_t value)
{
    if (f->type == DICT_ENUM)
        *(int *)member = value >= 0 && value < DICT_LABELS_MAX ? (int)value : -1;
    else
        *(int64_t *)member = strcmp(f->unit, "ns") == 0 ? saturate_ns(value) : value;
}

void history_decode_row(sqlite3_stmt *s, int first, enum builtin b, void *record, history_decode_text *text,
                        void *context)
{
    const struct dict_aspect *a = &builtin_aspects[b];
    const struct builtin_layout *layout = builtin_layout(b);
    put_time(record, sqlite3_column_int64(s, first));
    for (int i = 0; i < (int)a->field_count; i++) {
        const struct dict_field *f = &a->fields[i];
        void *member = (char *)record + layout->offsets[i];
        int at = first + 1 + i;
        if (f->type == DICT_STRING)
            *(const char **)member = text(context, s, at);
        else if (f->type == DICT_FLOAT64)
            *(double *)member = sqlite3_column_type(s, at) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(s, at);
        else
            put_integer(f, member, sqlite3_column_int64(s, at));
    }
}

void history_decode_record(const struct packet_record *r, enum builtin b, void *record)
{
    const struct dict_aspect *a = &builtin_aspects[b];
    const struct builtin_layout *layout = builtin_layout(b);
    memset(record, 0, layout->size);
    put_time(record, (int64_t)r->timestamp);
    for (uint32_t i = 0; i < a->field_count && i < r->value_count; i++) {
        uint64_t value = packet_value(r, i);
        void *member = (char *)record + layout->offsets[i];
        if (a->fields[i].type == DICT_FLOAT64)
            memcpy(member, &value, sizeof value);
        else if (a->fields[i].type != DICT_STRING)
            put_integer(&a->fields[i], member, (int64_t)value);
    }
}
