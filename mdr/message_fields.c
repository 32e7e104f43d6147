// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/message_fields.h"

#include "base/utf8.h"
#include "mdr/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(enum message_role) == 4 && sizeof(enum message_type) == 4, "an enum is a word");

bool fields_check(struct fields_coder *c, bool holds)
{
    c->broken = c->broken || !holds;
    return holds;
}

static bool code_word(struct fields_coder *c, uint32_t *word)
{
    c->used += 4;
    return c->word(c, word);
}

bool fields_count(struct fields_coder *c, uint32_t *count, uint32_t most)
{
    return code_word(c, count) && fields_check(c, *count <= most);
}

/* As bits, so that a NaN stays the same NaN. The upper half is first. */
static bool code_longs(struct fields_coder *c, uint8_t *at, uint32_t size)
{
    for (const uint8_t *end = at + size; at < end; at += 8) {
        uint64_t bits;
        memcpy(&bits, at, sizeof bits);
        uint32_t high = (uint32_t)(bits >> 32), low = (uint32_t)bits;
        if (!code_word(c, &high) || !code_word(c, &low))
            return false;
        bits = (uint64_t)high << 32 | low;
        if (c->decode)
            memcpy(at, &bits, sizeof bits);
    }
    return true;
}

static bool code_bool(struct fields_coder *c, bool *b)
{
    uint32_t v = !c->decode && *b;
    if (!fields_count(c, &v, 1))
        return false;
    if (c->decode)
        *b = v != 0;
    return true;
}

/* `n` bytes and their padding, which must be zeros. */
static bool code_bytes(struct fields_coder *c, uint8_t *data, uint32_t n)
{
    uint32_t rest = n % 4;
    uint8_t *tail = data + (n - rest), unit[4] = {0};
    c->used += n + (4 - rest) % 4;
    if (!c->units(c, data, n - rest))
        return false;
    if (rest == 0)
        return true;
    if (!c->decode)
        memcpy(unit, tail, rest);
    if (!c->units(c, unit, sizeof unit))
        return false;
    if (c->decode)
        memcpy(tail, unit, rest);
    return fields_check(c, memcmp(unit + rest, "\0\0\0", 4 - rest) == 0);
}

/* A terminated text in an array of `size` bytes. */
static bool code_text(struct fields_coder *c, char *text, uint32_t size)
{
    uint32_t n = c->decode ? 0 : (uint32_t)strnlen(text, size);
    if (!fields_count(c, &n, size - 1) || !code_bytes(c, (uint8_t *)text, n))
        return false;
    if (c->decode)
        text[n] = '\0';
    return fields_check(c, utf8_fit(text, n) == n);
}

static bool code_rows(struct fields_coder *c, const struct fields *f, uint8_t *m)
{
    uint32_t *count = (uint32_t *)(void *)(m + f->count_at);
    if (!fields_count(c, count, f->most))
        return false;
    for (uint32_t i = 0; i < *count; i++)
        if (!fields_walk(c, f->of, m + f->at + (size_t)i * f->size))
            return false;
    return true;
}

static bool code_field(struct fields_coder *c, const struct fields *f, uint8_t *m)
{
    void *at = m + f->at;
    switch (f->kind) {
    case FIELDS_WORD:
        return code_word(c, at);
    case FIELDS_LONGS:
        return code_longs(c, at, f->size);
    case FIELDS_BOOL:
        return code_bool(c, at);
    case FIELDS_TEXT:
        return code_text(c, at, f->size);
    case FIELDS_BYTES:
        return code_bytes(c, at, f->size);
    case FIELDS_ENUM:
        return fields_count(c, at, f->most);
    case FIELDS_BLOB:
        return fields_count(c, (uint32_t *)(void *)(m + f->count_at), f->size) &&
               code_bytes(c, at, *(uint32_t *)(void *)(m + f->count_at));
    case FIELDS_BORROWED:
        return fields_count(c, (uint32_t *)(void *)(m + f->count_at), f->most) &&
               c->borrow(c, at, *(uint32_t *)(void *)(m + f->count_at));
    case FIELDS_ROWS:
        return code_rows(c, f, m);
    case FIELDS_STRUCT:
        return fields_walk(c, f->of, at);
    case FIELDS_CHOICE:
        return code_word(c, at) && fields_choose(c, f->cases, *(uint32_t *)at, m);
    case FIELDS_CALL:
        return f->call(c, m);
    case FIELDS_END:
        break;
    }
    return true;
}

bool fields_walk(struct fields_coder *c, const struct fields *table, void *m)
{
    for (; table->kind != FIELDS_END; table++)
        if (!code_field(c, table, m))
            return false;
    return true;
}

bool fields_choose(struct fields_coder *c, const struct fields_case *cases, uint32_t value, void *m)
{
    for (; !cases->is_end; cases++)
        if (cases->value == value)
            return !cases->of || fields_walk(c, cases->of, (uint8_t *)m + cases->at);
    return fields_check(c, false);
}

/* Of another version only the message that is the same in all versions is decoded. */
static bool code_message(struct fields_coder *c, bool (*body)(struct fields_coder *c, void *m), void *m,
                         uint32_t *version)
{
    uint32_t magic = FIELDS_MAGIC, *type = m;
    return code_word(c, &magic) && fields_check(c, magic == FIELDS_MAGIC) && code_word(c, version) &&
           code_word(c, type) && fields_check(c, *version == MESSAGE_VERSION || *type == MESSAGE_REFUSE) && body(c, m);
}

int fields_message(struct fields_coder *c, bool (*body)(struct fields_coder *c, void *m), void *m, char *reason,
                   size_t n)
{
    uint32_t version = MESSAGE_VERSION, *type = m;
    bool done = code_message(c, body, m, &version);
    if (!c->decode)
        return done ? (int)c->used : c->broken ? BEZEL_EINVAL : BEZEL_EFULL;
    done = done && c->used == n;
    if (version == MESSAGE_VERSION)
        return done ? 0 : BEZEL_EMALFORMED;
    if (!done) {
        *type = MESSAGE_REFUSE;
        snprintf(reason, MESSAGE_TEXT_MAX + 1,
                 "messages of version %" PRIu32
                 " were sent to a part of Bezel that reads version %d: install the same version of Bezel on both sides",
                 version, MESSAGE_VERSION);
    }
    return BEZEL_EVERSION;
}
