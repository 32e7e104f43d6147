// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/dict.h"

#include "base/bytes.h"
#include "base/utf8.h"

#include <string.h>

/*
 * The writing half of dictionaries. libbezel contains this file, so it needs libc's string functions and nothing else.
 * dict_parse() accepts all that it writes: a sensor can never write a dictionary that makes its own packets unreadable.
 */

enum { ENTRY_ASPECT = 1, ENTRY_STRING = 2, ENTRY_KIND = 2 }; /* a kind's entry: behind ENTRY_KIND, but for events */

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == ':';
}

int dict_name_ok(const char *name)
{
    size_t n = 0;
    while (n <= DICT_NAME_MAX && (is_letter(name[n]) || (n > 0 && name[n] >= '0' && name[n] <= '9')))
        n++;
    return n > 0 && n <= DICT_NAME_MAX && name[n] == '\0';
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static int text_ok(const char *text, size_t max)
{
    return text[utf8_fit(text, max)] == '\0';
}

static int field_ok(const struct dict_field *f)
{
    if ((unsigned)f->type > DICT_STRING || !dict_name_ok(f->name) || !text_ok(text_or_empty(f->unit), DICT_NAME_MAX))
        return 0;
    const char *labels = text_or_empty(f->labels);
    return f->type == DICT_ENUM ? text_ok(labels, DICT_LABELS_MAX) : labels[0] == '\0';
}

/* The first fields of the aspects of a kind. */
static const struct {
    const char *name;
    uint32_t count;
    struct {
        enum dict_type type;
        const char *name;
    } fields[2];
} kinds[] = {
    [DICT_EVENT] = {"event", 0, {{0}}},
    [DICT_SPAN] = {"span", 1, {{DICT_INT64, "duration"}}},
    [DICT_COUNTER] = {"counter", 1, {{DICT_INT64, "count"}}},
    [DICT_GAUGE] = {"gauge", 1, {{DICT_FLOAT64, "value"}}},
    [DICT_SENT] = {"sent", 2, {{DICT_STRING, "peer"}, {DICT_INT64, "tag"}}},
    [DICT_RECEIVED] = {"received", 2, {{DICT_STRING, "peer"}, {DICT_INT64, "tag"}}},
    [DICT_WAIT] = {"wait", 2, {{DICT_INT64, "duration"}, {DICT_ENUM, "reason"}}},
};

const char *dict_kind_name(enum dict_kind kind)
{
    return (unsigned)kind <= DICT_WAIT ? kinds[kind].name : "?";
}

int dict_is_duration(const struct dict_aspect *a, uint32_t i)
{
    const struct dict_field *f = &a->fields[i];
    return f->type == DICT_INT64 && strcmp(text_or_empty(f->unit), "ns") == 0 &&
           (dict_kind_lasts(a->kind) ? i == 0 : a->kind == DICT_RECEIVED && i > 1 && strcmp(f->name, "waited") == 0);
}

const char *dict_reason(const struct dict_aspect *a)
{
    return a->kind == DICT_WAIT ? text_or_empty(a->fields[1].labels) : "";
}

/* Whether `labels` are one or more of the reasons for which a wait may wait. */
static int reasons_ok(const char *labels)
{
    static const char *const reasons[] = {"message", "lock", "io", "timer", "other"};
    for (;; labels++) {
        size_t n = strcspn(labels, "|"), i = 0;
        while (i < sizeof reasons / sizeof *reasons && (strlen(reasons[i]) != n || memcmp(labels, reasons[i], n) != 0))
            i++;
        if (i == sizeof reasons / sizeof *reasons)
            return 0;
        labels += n;
        if (*labels == '\0')
            return 1;
    }
}

int dict_kind_ok(const struct dict_aspect *a)
{
    if ((unsigned)a->kind > DICT_WAIT || a->field_count < kinds[a->kind].count)
        return 0;
    for (uint32_t i = 0; i < kinds[a->kind].count; i++)
        if (a->fields[i].type != kinds[a->kind].fields[i].type ||
            strcmp(a->fields[i].name, kinds[a->kind].fields[i].name) != 0)
            return 0;
    return (!dict_kind_lasts(a->kind) || strcmp(text_or_empty(a->fields[0].unit), "ns") == 0) &&
           (a->kind != DICT_WAIT || reasons_ok(text_or_empty(a->fields[1].labels)));
}

static int aspect_ok(const struct dict_aspect *a)
{
    if (a->id == 0 || a->id > DICT_ASPECTS_MAX || !dict_name_ok(a->name) || a->field_count > DICT_FIELDS_MAX)
        return 0;
    for (uint32_t i = 0; i < a->field_count; i++) {
        if (!field_ok(&a->fields[i]))
            return 0;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(a->fields[i].name, a->fields[j].name) == 0)
                return 0;
    }
    return dict_kind_ok(a);
}

/* Bytes that `text` takes: its count, itself, padding to a multiple of 4. */
static size_t text_size(const char *text)
{
    return 4 + (strlen(text) + 3) / 4 * 4;
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
    bytes_put_u32(p, v);
    return p + 4;
}

static uint8_t *put_text(uint8_t *p, const char *text)
{
    size_t n = strlen(text), size = text_size(text);
    bytes_put_u32(p + size - 4, 0); /* the padding; the text overwrites the rest, the count all of it where n is 0 */
    memcpy(p + 4, text, n);
    bytes_put_u32(p, (uint32_t)n);
    return p + size;
}

static int fits(size_t used, size_t capacity, size_t size)
{
    if (capacity > DICT_MAX_BYTES)
        capacity = DICT_MAX_BYTES;
    return used <= capacity && size <= capacity - used;
}

int dict_append_aspect(uint8_t *at, size_t used, size_t capacity, const struct dict_aspect *a)
{
    if (!aspect_ok(a))
        return BEZEL_EINVAL;
    size_t size = 4 + 4 + text_size(a->name) + 4;
    for (uint32_t i = 0; i < a->field_count; i++)
        size += 4 + text_size(a->fields[i].name) + text_size(text_or_empty(a->fields[i].unit)) +
                text_size(text_or_empty(a->fields[i].labels));
    if (!fits(used, capacity, size))
        return BEZEL_EFULL;
    uint8_t *p = put_u32(at + used, a->kind == DICT_EVENT ? ENTRY_ASPECT : ENTRY_KIND + (uint32_t)a->kind);
    p = put_u32(p, a->id);
    p = put_text(p, a->name);
    p = put_u32(p, a->field_count);
    for (uint32_t i = 0; i < a->field_count; i++) {
        p = put_u32(p, (uint32_t)a->fields[i].type);
        p = put_text(p, a->fields[i].name);
        p = put_text(p, text_or_empty(a->fields[i].unit));
        p = put_text(p, text_or_empty(a->fields[i].labels));
    }
    return (int)(used + size);
}

int dict_append_string(uint8_t *at, size_t used, size_t capacity, uint32_t id, const char *text)
{
    if (id == 0 || id > DICT_STRINGS_MAX || !text_ok(text, DICT_TEXT_MAX))
        return BEZEL_EINVAL;
    size_t size = 4 + 4 + text_size(text);
    if (!fits(used, capacity, size))
        return BEZEL_EFULL;
    uint8_t *p = put_u32(at + used, ENTRY_STRING);
    p = put_u32(p, id);
    put_text(p, text);
    return (int)(used + size);
}
