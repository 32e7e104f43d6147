// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The dictionaries of an imported run: aspects and texts. */
#include "base/bytes.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "import/fill_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A string's entry is its kind, id, length and text (mdr.x). */
enum { ENTRY_LENGTH = 8, ENTRY_TEXT = 12, TEXTS_ROOM = DICT_MAX_BYTES - 16384, SUFFIX_MAX = 12 };

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* Copies `name` as a dictionary takes it, with room left for a suffix. */
static void clean_name(const char *name, char clean[DICT_NAME_MAX + 1])
{
    size_t n = 0;
    if (!*name || (*name >= '0' && *name <= '9'))
        clean[n++] = '_';
    for (; *name && n < DICT_NAME_MAX - SUFFIX_MAX; name++) {
        bool ok = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9') ||
                  *name == '_' || *name == '.' || *name == ':';
        clean[n++] = ok ? *name : '_';
    }
    clean[n] = '\0';
}

static void number_name(char name[DICT_NAME_MAX + 1], const char *base, unsigned number)
{
    snprintf(name, DICT_NAME_MAX + 1, "%.*s.%u", DICT_NAME_MAX - SUFFIX_MAX, base, number);
}

/* The name of field `i`, which no field before it has. */
static void name_field(const struct dict_aspect *a, uint32_t i, const char *name, char clean[DICT_NAME_MAX + 1])
{
    clean_name(name, clean);
    size_t n = strlen(clean);
    for (uint32_t k = 0, suffix = 2; k < i; k++)
        if (strcmp(a->fields[k].name, clean) == 0) {
            snprintf(clean + n, SUFFIX_MAX, "_%u", suffix++);
            k = UINT32_MAX; /* all of them again */
        }
}

static void free_shape(struct fill_shape *s)
{
    for (uint32_t i = 0; i < s->a.field_count; i++) {
        free((char *)(uintptr_t)s->a.fields[i].name);
        free((char *)(uintptr_t)s->a.fields[i].unit);
        free((char *)(uintptr_t)s->a.fields[i].labels);
    }
    free((char *)(uintptr_t)s->a.name);
    free(s->source);
    free(s);
}

/* Keeps the names of the source. False where memory is short. */
static bool keep_names(struct fill_shape *s, const struct dict_aspect *a)
{
    s->source_bytes = strlen(a->name) + 1;
    for (uint32_t i = 0; i < a->field_count; i++)
        s->source_bytes += strlen(a->fields[i].name) + 1;
    char *to = s->source = malloc(s->source_bytes);
    if (!to)
        return false;
    to = stpcpy(to, a->name) + 1;
    for (uint32_t i = 0; i < a->field_count; i++)
        to = stpcpy(to, a->fields[i].name) + 1;
    return true;
}

/* Returns NULL where memory is short. */
static struct fill_shape *make_shape(const struct dict_aspect *a)
{
    char name[DICT_NAME_MAX + 1];
    struct fill_shape *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    clean_name(a->name, name);
    s->a.kind = a->kind;
    bool ok = keep_names(s, a) && (s->a.name = strdup(name));
    for (uint32_t i = 0; i < a->field_count && ok; i++) {
        struct dict_field *f = &s->a.fields[i];
        name_field(&s->a, i, a->fields[i].name, name);
        f->type = a->fields[i].type;
        f->name = strdup(name);
        f->unit = strdup(a->fields[i].unit ? a->fields[i].unit : "");
        f->labels = strdup(a->fields[i].labels ? a->fields[i].labels : "");
        s->a.field_count++;
        ok = f->name && f->unit && f->labels;
    }
    if (!ok) {
        free_shape(s);
        return NULL;
    }
    if (!dict_kind_ok(&s->a))
        s->a.kind = DICT_EVENT;
    return s;
}

static bool is_same_shape(const struct fill_shape *s, const struct fill_shape *t)
{
    const struct dict_aspect *a = &s->a, *b = &t->a;
    bool same =
        a->kind == b->kind && s->source_bytes == t->source_bytes && memcmp(s->source, t->source, s->source_bytes) == 0;
    for (uint32_t i = 0; i < a->field_count && same; i++) {
        const struct dict_field *f = &a->fields[i], *g = &b->fields[i];
        same = f->type == g->type && strcmp(f->unit, g->unit) == 0 && strcmp(f->labels, g->labels) == 0;
    }
    return same;
}

/* The shape of another aspect of the source that has this name; NULL: none has. */
static const struct fill_shape *name_taken(const struct fill *in, const struct fill_shape *made, const char *name)
{
    const struct fill_shape *s = in->shapes;
    while (s && (strcmp(s->a.name, name) != 0 || strcmp(s->source, made->source) == 0))
        s = s->next;
    return s;
}

/* Gives the aspect a number where one of another name in the source has its name: in all processes the same one. */
static bool tell_apart(struct fill *in, struct fill_shape *made)
{
    char name[DICT_NAME_MAX + 1];
    const struct fill_shape *s = in->shapes;
    snprintf(name, sizeof name, "%s", made->a.name);
    while (s && strcmp(s->source, made->source) != 0)
        s = s->next;
    if (s)
        snprintf(name, sizeof name, "%s", s->a.name);
    for (unsigned i = 2; name_taken(in, made, name); i++)
        number_name(name, made->a.name, i);
    in->totals.alike += !s && strcmp(name, made->a.name) != 0;
    free((char *)(uintptr_t)made->a.name);
    return (made->a.name = strdup(name)) != NULL;
}

const struct fill_shape *fill_shape(struct fill *in, const struct dict_aspect *a)
{
    struct fill_shape *made = make_shape(a);
    if (!made)
        return NULL;
    for (struct fill_shape *s = in->shapes; s; s = s->next)
        if (is_same_shape(s, made)) {
            free_shape(made);
            return s;
        }
    if (!tell_apart(in, made)) {
        free_shape(made);
        return NULL;
    }
    made->number = in->shape_count++;
    made->next = in->shapes;
    return in->shapes = made;
}

void fill_free_shapes(struct fill *in)
{
    while (in->shapes) {
        struct fill_shape *s = in->shapes;
        in->shapes = s->next;
        free_shape(s);
    }
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

/* Doubles the room of a dictionary, which has some up to `most`. Returns false where it has that, or memory is short.
 */
static bool grow(struct fill_process *p, size_t most)
{
    size_t room = p->room ? p->room * 2 : 2048;
    if (p->room >= most)
        return false;
    uint8_t *more = realloc(p->dictionary, room < DICT_MAX_BYTES ? room : DICT_MAX_BYTES);
    if (!more)
        return false;
    p->dictionary = more;
    p->room = room < DICT_MAX_BYTES ? room : DICT_MAX_BYTES;
    return true;
}

static bool has_name(const struct fill_process *p, const char *name)
{
    for (uint32_t i = 0; i < p->aspect_count; i++)
        if (strcmp(p->names[i], name) == 0)
            return true;
    return false;
}

/* The name that an aspect of this shape gets in a process, which may have others of its name. */
static void name_aspect(const struct fill_process *p, const struct fill_shape *shape, char name[DICT_NAME_MAX + 1])
{
    snprintf(name, DICT_NAME_MAX + 1, "%s", shape->a.name);
    for (unsigned i = 2; has_name(p, name); i++)
        number_name(name, shape->a.name, i);
}

static uint32_t add_aspect(struct fill_process *p, const struct fill_shape *shape)
{
    char name[DICT_NAME_MAX + 1];
    struct dict_aspect a = shape->a;
    int n = BEZEL_EFULL;
    if (p->aspect_count == DICT_ASPECTS_MAX)
        return 0;
    name_aspect(p, shape, name);
    a.name = name;
    a.id = p->aspect_count + 1;
    do
        n = dict_append_aspect(p->dictionary, p->bytes, p->room, &a);
    while (n == BEZEL_EFULL && grow(p, DICT_MAX_BYTES));
    char *kept = n > 0 ? strdup(name) : NULL;
    if (!kept)
        return 0;
    p->bytes = (size_t)n;
    p->grown = true;
    p->names[p->aspect_count++] = kept;
    return a.id;
}

uint32_t fill_aspect(struct fill_process *p, const struct fill_shape *shape)
{
    if (shape->number < p->shape_room && p->of_shape[shape->number])
        return p->of_shape[shape->number];
    if (shape->number >= p->shape_room && !grow_zeroed(&p->of_shape, &p->shape_room, p->in->shape_count + 16, 1))
        return 0;
    return p->of_shape[shape->number] = (uint8_t)add_aspect(p, shape);
}

static uint32_t add_text(struct fill_process *p, const char *text)
{
    uint32_t id = p->string_count + 1;
    int n = BEZEL_EFULL;
    if (id > DICT_STRINGS_MAX || p->bytes + ENTRY_TEXT + strlen(text) > TEXTS_ROOM)
        return 0;
    do
        n = dict_append_string(p->dictionary, p->bytes, p->room, id, text);
    while (n == BEZEL_EFULL && grow(p, DICT_MAX_BYTES));
    if (n < 0)
        return 0;
    p->bytes = (size_t)n;
    p->grown = true;
    return p->string_count = id;
}

/* The id of the text at place `slot` of the table; 0: it is another one. */
static uint32_t text_at(const struct fill_process *p, size_t slot, const char *text, size_t n)
{
    const uint8_t *entry = p->dictionary + p->texts[slot] - 1;
    bool same = bytes_get_u32(entry + ENTRY_LENGTH) == n && memcmp(entry + ENTRY_TEXT, text, n) == 0;
    return same ? bytes_get_u32(entry + 4) : 0;
}

uint64_t fill_text(struct fill_process *p, const char *text)
{
    char fit[DICT_TEXT_MAX + 1];
    size_t n = utf8_repair(fit, DICT_TEXT_MAX, text), before = p->bytes;
    p->in->totals.cut += n < strnlen(text, DICT_TEXT_MAX + 1);
    if (!p->texts && !(p->texts = calloc(FILL_TEXT_BUCKETS, sizeof *p->texts)))
        return p->in->totals.no_text++, 0;
    size_t slot = hash_fnv64(HASH_FNV64_START, fit, n) % FILL_TEXT_BUCKETS;
    for (; p->texts[slot]; slot = (slot + 1) % FILL_TEXT_BUCKETS) {
        uint32_t id = text_at(p, slot, fit, n);
        if (id)
            return id;
    }
    uint32_t id = add_text(p, fit);
    if (id)
        p->texts[slot] = (uint32_t)before + 1;
    else
        p->in->totals.no_text++;
    return id;
}

int fill_publish(struct fill_process *p)
{
    struct dict *d;
    bool first = p->process->dict == NULL;
    if (!p->grown && !first)
        return 0;
    int err = dict_parse(p->bytes ? p->dictionary : (const uint8_t *)"", p->bytes, &d);
    if (err)
        return fill_fail(p->in, err, "a dictionary");
    model_set_dictionary(p->process, d);
    err = first ? rundb_add_process(p->in->rundb, p->process, p->dictionary, p->bytes)
                : rundb_set_dictionary(p->in->rundb, p->process, p->dictionary, p->bytes);
    p->grown = err != 0;
    return err ? fill_fail(p->in, err, "run.db") : 0;
}
