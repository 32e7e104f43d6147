// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/export/export_value.h"

#include <string.h>

static struct export_value text(const char *text, size_t length)
{
    return (struct export_value){.as = EXPORT_TEXT, .text = text, .length = length};
}

/* The label of `value` of an enum; length 0: it has no label. */
static struct export_value enum_label(const struct dict_field *f, uint64_t value)
{
    const char *label = f->labels;
    for (; value > 0; value--) {
        label = strchr(label, '|');
        if (!label)
            return text("", 0);
        label++;
    }
    return text(label, strcspn(label, "|"));
}

struct export_value export_value(const struct export_record *record, uint32_t i)
{
    const struct dict_field *f = &record->aspect->fields[i];
    const struct dict *dict = record->process->dict;
    uint64_t bits = packet_value(record->r, i);
    struct export_value v = {.as = EXPORT_INT, .integer = (int64_t)bits};
    if (f->type == DICT_FLOAT64) {
        v.as = EXPORT_FLOAT;
        memcpy(&v.real, &bits, sizeof v.real);
    } else if (f->type == DICT_STRING) {
        if (bits == 0 || bits > dict->string_count)
            v.as = EXPORT_ABSENT;
        else
            v = text(dict->strings[bits - 1], strlen(dict->strings[bits - 1]));
    } else if (f->type == DICT_ENUM && bits <= DICT_LABELS_MAX) {
        struct export_value label = enum_label(f, bits);
        if (label.length)
            v = label;
    }
    return v;
}
