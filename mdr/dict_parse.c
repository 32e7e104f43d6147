// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/utf8.h"
#include "mdr/dict.h"

#include "base/bytes.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * The reading half. A dictionary is one allocation: struct dict, aspects, strings, hashes, texts. Their sizes follow
 * from the number of bytes alone: no entry is shorter than ENTRY_MIN_BYTES, none of an aspect than ASPECT_MIN_BYTES,
 * and a text with its NUL is never longer than its encoding. There is room for one aspect more, which may be truncated.
 */

enum { ENTRY_ASPECT = 1, ENTRY_STRING = 2, ENTRY_KIND = 2, ENTRY_MIN_BYTES = 12, ASPECT_MIN_BYTES = 20 };

/* The bytes left to read, and the place of the next text. */
struct dict_reader {
    const uint8_t *at;
    size_t left;
    char *text;
};

static bool read_u32(struct dict_reader *r, uint32_t *v)
{
    if (r->left < 4)
        return false;
    *v = bytes_get_u32(r->at);
    r->at += 4;
    r->left -= 4;
    return true;
}

/* A text of at most `max` bytes with zero padding, copied and terminated. */
static bool read_text(struct dict_reader *r, size_t max, const char **text)
{
    uint32_t n;
    if (!read_u32(r, &n) || n > max)
        return false;
    size_t size = ((size_t)n + 3) / 4 * 4;
    if (r->left < size || utf8_fit((const char *)r->at, n) != n)
        return false;
    for (size_t i = n; i < size; i++)
        if (r->at[i] != 0)
            return false;
    memcpy(r->text, r->at, n);
    r->text[n] = '\0';
    *text = r->text;
    r->text += n + 1;
    r->at += size;
    r->left -= size;
    return true;
}

static bool read_name(struct dict_reader *r, const char **name)
{
    return read_text(r, DICT_NAME_MAX, name) && dict_name_ok(*name);
}

static bool read_field(struct dict_reader *r, struct dict_field *f)
{
    uint32_t type;
    if (!read_u32(r, &type) || type > DICT_STRING)
        return false;
    f->type = (enum dict_type)type;
    return read_name(r, &f->name) && read_text(r, DICT_NAME_MAX, &f->unit) &&
           read_text(r, f->type == DICT_ENUM ? DICT_LABELS_MAX : 0, &f->labels);
}

static bool read_aspect(struct dict_reader *r, enum dict_kind kind, struct dict *d)
{
    if (d->aspect_count == DICT_ASPECTS_MAX)
        return false;
    struct dict_aspect *a = &d->aspects[d->aspect_count];
    a->kind = kind;
    if (!read_u32(r, &a->id) || a->id != d->aspect_count + 1 || !read_name(r, &a->name) ||
        !read_u32(r, &a->field_count) || a->field_count > DICT_FIELDS_MAX)
        return false;
    if (dict_aspect_of(d, a->name))
        return false;
    for (uint32_t i = 0; i < a->field_count; i++) {
        if (!read_field(r, &a->fields[i]))
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(a->fields[j].name, a->fields[i].name) == 0)
                return false;
    }
    if (!dict_kind_ok(a))
        return false;
    d->field_counts[a->id] = (uint8_t)a->field_count;
    d->aspect_count++;
    return true;
}

static bool read_string(struct dict_reader *r, struct dict *d)
{
    uint32_t id;
    if (d->string_count == DICT_STRINGS_MAX || !read_u32(r, &id) || id != d->string_count + 1 ||
        !read_text(r, DICT_TEXT_MAX, &d->strings[d->string_count]))
        return false;
    d->string_count++;
    return true;
}

static bool read_entry(struct dict_reader *r, struct dict *d)
{
    uint32_t entry;
    if (!read_u32(r, &entry))
        return false;
    if (entry == ENTRY_STRING)
        return read_string(r, d);
    if (entry == ENTRY_ASPECT)
        return read_aspect(r, DICT_EVENT, d);
    return entry > ENTRY_KIND && entry <= ENTRY_KIND + DICT_WAIT &&
           read_aspect(r, (enum dict_kind)(entry - ENTRY_KIND), d);
}

static bool read_entries(struct dict_reader *r, struct dict *d)
{
    while (r->left > 0) {
        const uint8_t *start = r->at;
        if (!read_entry(r, d))
            return false;
        d->hash = hash_fnv64(d->hash, start, (size_t)(r->at - start));
        d->hashes[d->entry_count++] = d->hash;
    }
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int dict_parse(const void *bytes, size_t n, struct dict **out)
{
    if (n > DICT_MAX_BYTES)
        return BEZEL_EMALFORMED;
    size_t entries = n / ENTRY_MIN_BYTES, strings = least(entries, DICT_STRINGS_MAX);
    size_t aspects = least(n / ASPECT_MIN_BYTES + 1, DICT_ASPECTS_MAX);
    struct dict *d = calloc(1, sizeof *d + aspects * sizeof *d->aspects + strings * sizeof *d->strings +
                                   entries * sizeof *d->hashes + n);
    if (!d)
        return BEZEL_ENOMEM;
    d->hash = HASH_FNV64_START;
    d->aspects = (struct dict_aspect *)(d + 1);
    d->strings = (const char **)(d->aspects + aspects);
    d->hashes = (uint64_t *)(d->strings + strings);
    struct dict_reader r = {.at = bytes, .left = n, .text = (char *)(d->hashes + entries)};
    if (!read_entries(&r, d)) {
        dict_free(d);
        return BEZEL_EMALFORMED;
    }
    *out = d;
    return 0;
}

const struct dict_aspect *dict_aspect_of(const struct dict *d, const char *name)
{
    for (uint32_t i = 0; d && i < d->aspect_count; i++)
        if (strcmp(d->aspects[i].name, name) == 0)
            return &d->aspects[i];
    return NULL;
}

int dict_field_of(const struct dict_aspect *a, const char *name)
{
    for (uint32_t i = 0; name && i < a->field_count; i++)
        if (strcmp(a->fields[i].name, name) == 0)
            return (int)i;
    return -1;
}

struct dict *dict_share(struct dict *d)
{
    d->others++;
    return d;
}

void dict_free(struct dict *d)
{
    if (d && d->others > 0)
        d->others--;
    else
        free(d);
}

int dict_includes(const struct dict *d, uint64_t hash)
{
    if (hash == d->hash || hash == HASH_FNV64_START)
        return 1;
    for (uint32_t i = d->entry_count; i-- > 0;)
        if (d->hashes[i] == hash)
            return 1;
    return 0;
}
