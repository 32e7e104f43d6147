// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/schema.h"

#include "base/units.h"
#include "config/diagnostics.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char schema_name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

enum { PATH_LENGTH_MAX = 256, LIST_LENGTH_MAX = 256 };

/* Adds a diagnostic about `t`, or about its missing key `missing`. */
static void report(struct reader *r, bool warning, struct experiment_place at, const struct tree *t,
                   const char *missing, const char *format, va_list args)
{
    char path[PATH_LENGTH_MAX];
    tree_path(t, path, sizeof path);
    size_t used = strlen(path);
    if (missing)
        snprintf(path + used, sizeof path - used, "%s%s", used ? "." : "", missing);
    if (diagnostics_add(r->found, warning, at, path, format, args) != 0)
        r->out_of_memory = true;
}

void reader_wrong(struct reader *r, const struct tree *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(r, false, t->at, t, NULL, format, args);
    va_end(args);
}

void reader_wrong_key(struct reader *r, const struct tree *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(r, false, t->key_at, t, NULL, format, args);
    va_end(args);
}

void reader_warn(struct reader *r, const struct tree *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(r, true, t->at, t, NULL, format, args);
    va_end(args);
}

void reader_missing(struct reader *r, const struct tree *t, const char *key, const char *format, ...)
{
    va_list args;
    for (const struct tree *child = t->first; child; child = child->next) {
        struct near near = {.wanted = child->key};
        near_consider(&near, key);
        if (near.best) /* the key is there, misspelt, and was reported */
            return;
    }
    va_start(args, format);
    report(r, false, t->at, t, key, format, args);
    va_end(args);
}

void reader_no_such(struct reader *r, const struct tree *t, const char *what, const struct near *near,
                    const char *otherwise)
{
    if (near->best)
        reader_wrong(r, t, "there is no %s %s; did you mean '%s'?", what, diagnostics_quote(near->wanted).s,
                     near->best);
    else
        reader_wrong(r, t, "there is no %s %s%s", what, diagnostics_quote(near->wanted).s, otherwise);
}

char *reader_copy(struct reader *r, const char *text)
{
    char *copy = strdup(text);
    r->out_of_memory = r->out_of_memory || !copy;
    return copy;
}

void *reader_alloc(struct reader *r, size_t count, size_t size)
{
    void *memory = calloc(count, size);
    r->out_of_memory = r->out_of_memory || !memory;
    return memory;
}

const char *reader_text(struct reader *r, const struct tree *t, const char *expected)
{
    if (t->refused)
        return NULL;
    if (t->kind == TREE_TEXT && !t->absent)
        return t->text;
    reader_wrong(r, t, "%s; expected: %s",
                 t->absent             ? "the value is missing"
                 : t->kind == TREE_MAP ? "this is a map"
                                       : "this is a list",
                 expected);
    return NULL;
}

/* Whether `name`, the text or key of `t`, may name an experiment, node, process or metric; if not, reports it. */
static bool check_name(struct reader *r, const struct tree *t, const char *name)
{
    if (experiment_name_ok(name))
        return true;
    static const char format[] =
        "%s is not a name; allowed: 1 to %d letters, digits, '_', '-' or '.', not beginning with '.' or '-'";
    if (name == t->key)
        reader_wrong_key(r, t, format, diagnostics_quote(name).s, EXPERIMENT_NAME_MAX);
    else
        reader_wrong(r, t, format, diagnostics_quote(name).s, EXPERIMENT_NAME_MAX);
    return false;
}

/* Appends ", word" to a list for a message, cut off at LIST_LENGTH_MAX. */
static void list_word(char *list, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, LIST_LENGTH_MAX - used, "%s%s", used ? ", " : "", word);
}

const char *schema_word(const struct schema_word *words, int value)
{
    while (words->word && (words->given_up || words->value != value))
        words++;
    return words->word;
}

const struct schema_word *reader_word(struct reader *r, const struct tree *t, const struct schema_word *words,
                                      const char *note)
{
    char list[LIST_LENGTH_MAX] = "";
    for (const struct schema_word *w = words; w->word; w++)
        if (!w->given_up)
            list_word(list, w->word);
    if (t->kind == TREE_MAP && note)
        snprintf(list + strlen(list), sizeof list - strlen(list), "; %s", note);
    const char *text = reader_text(r, t, list);
    if (!text)
        return NULL;
    struct near near = {.wanted = text};
    for (const struct schema_word *w = words; w->word; w++) {
        if (strcmp(w->word, text) == 0 && !w->given_up)
            return w;
        if (strcmp(w->word, text) == 0) {
            reader_wrong(r, t, "'%s' is called '%s' now", text, schema_word(words, w->value));
            return NULL;
        }
        if (!w->given_up)
            near_consider(&near, w->word);
    }
    if (near.best)
        reader_wrong(r, t, "%s is unknown; did you mean '%s'? allowed: %s", diagnostics_quote(text).s, near.best, list);
    else
        reader_wrong(r, t, "%s is unknown; allowed: %s", diagnostics_quote(text).s, list);
    return NULL;
}

static bool in_range(struct reader *r, const struct tree *t, uint64_t value, const struct schema_field *f)
{
    if (value >= (uint64_t)f->min && value <= (uint64_t)f->max)
        return true;
    if (f->kind == SCHEMA_COUNT)
        reader_wrong(r, t, "%s is out of range; allowed: %lld .. %lld", diagnostics_quote(t->text).s, (long long)f->min,
                     (long long)f->max);
    else if (f->kind == SCHEMA_SIZE)
        reader_wrong(r, t, "%s is out of range; allowed: %s .. %s", diagnostics_quote(t->text).s,
                     units_exact_size((uint64_t)f->min).s, units_exact_size((uint64_t)f->max).s);
    else
        reader_wrong(r, t, "%s is out of range; allowed: %s .. %s", diagnostics_quote(t->text).s,
                     units_exact_duration(f->min).s, units_exact_duration(f->max).s);
    return false;
}

static void read_duration(struct reader *r, const struct tree *t, const struct schema_field *f, int64_t *to)
{
    int64_t value;
    const char *why, *text = reader_text(r, t, "a duration such as 10 ms");
    if (!text)
        return;
    if (units_read_duration(text, &value, &why) != 0)
        reader_wrong(r, t, "%s is not a duration: %s", diagnostics_quote(text).s, why);
    else if (in_range(r, t, (uint64_t)value, f))
        *to = value;
}

static void read_duration_range(struct reader *r, const struct tree *t, const struct schema_field *f, int64_t *to)
{
    int64_t low, high;
    const char *why, *text = reader_text(r, t, "a range of durations such as 100 us .. 1 s");
    if (!text)
        return;
    if (units_read_duration_range(text, &low, &high, &why) != 0) {
        reader_wrong(r, t, "%s is not a range: %s", diagnostics_quote(text).s, why);
    } else if (in_range(r, t, (uint64_t)low, f) && in_range(r, t, (uint64_t)high, f)) {
        to[0] = low;
        to[1] = high;
    }
}

static void read_size(struct reader *r, const struct tree *t, const struct schema_field *f, uint64_t *to)
{
    uint64_t value;
    const char *why, *text = reader_text(r, t, "a size such as 16 MiB");
    if (!text)
        return;
    if (units_read_size(text, &value, &why) != 0)
        reader_wrong(r, t, "%s is not a size: %s", diagnostics_quote(text).s, why);
    else if (in_range(r, t, value, f))
        *to = value;
}

static void read_count(struct reader *r, const struct tree *t, const struct schema_field *f, uint32_t *to)
{
    uint64_t value;
    const char *why, *text = reader_text(r, t, "a whole number");
    if (!text)
        return;
    if (units_read_count(text, &value, &why) != 0)
        reader_wrong(r, t, "%s is not a count: %s", diagnostics_quote(text).s, why);
    else if (in_range(r, t, value, f))
        *to = (uint32_t)value;
}

void reader_share(struct reader *r, const struct tree *t, const char *expected, const char *hint, double *to)
{
    double percent;
    const char *why, *text = reader_text(r, t, expected);
    if (!text)
        return;
    if (units_read_percent(text, &percent, &why) != 0)
        reader_wrong(r, t, "%s is not a percentage: %s%s", diagnostics_quote(text).s, why, hint);
    else if (percent > 100)
        reader_wrong(r, t, "%s is out of range; allowed: 0 %% .. 100 %%", diagnostics_quote(text).s);
    else
        *to = percent / 100;
}

static void read_name(struct reader *r, const struct tree *t, char **to)
{
    const char *text = reader_text(r, t, "a name");
    if (text && check_name(r, t, text))
        *to = reader_copy(r, text);
}

/* Whether an entry of a table is a word that stands for a key without a value; then takes it. */
static bool read_alone(const struct tree *t, const struct schema_table *table, void *object)
{
    const struct schema_field *f = table->fields;
    if (!table->words || t->kind != TREE_TEXT || t->refused)
        return false;
    while (f->key && (f->kind != SCHEMA_ALONE || strcmp(f->key, t->text) != 0))
        f++;
    if (f->key)
        *(bool *)((char *)object + f->offset) = true;
    return f->key;
}

static void read_table(struct reader *r, const struct tree *t, const struct schema_field *f, void *to, void *model)
{
    const struct schema_table *table = f->table;
    if (t->refused)
        return;
    if (t->kind != (table->named ? TREE_MAP : TREE_LIST)) {
        reader_wrong(r, t,
                     table->named ? "a map of names is expected" : "a list is expected, with '- ' before each entry");
        return;
    }
    if (t->children > table->max) {
        reader_wrong(r, t, "has %u entries; allowed: up to %u", t->children, table->max);
        return;
    }
    char *objects = reader_alloc(r, t->children ? t->children : 1, table->size);
    if (!objects)
        return;
    memcpy(to, &objects, sizeof objects); /* the member is a pointer to a struct of its own */
    *(uint32_t *)((char *)model + table->count) = t->children;
    for (const struct tree *child = t->first; child; child = child->next, objects += table->size) {
        memcpy(objects, table->defaults, table->size);
        *(struct experiment_place *)(objects + table->place) = table->named ? child->key_at : child->at;
        if (table->named && !child->refused && check_name(r, child, child->key))
            *(char **)objects = reader_copy(r, child->key);
        if (!(table->named && child->absent) && !read_alone(child, table, objects)) /* `studio:` means `studio: {}` */
            schema_read_map(r, child, table->fields, objects);
    }
}

static void read_value(struct reader *r, const struct tree *t, const struct schema_field *f, void *object)
{
    void *to = (char *)object + f->offset;
    const struct schema_word *word;
    switch (f->kind) {
    case SCHEMA_DURATION:
        read_duration(r, t, f, to);
        break;
    case SCHEMA_DURATION_RANGE:
        read_duration_range(r, t, f, to);
        break;
    case SCHEMA_SIZE:
        read_size(r, t, f, to);
        break;
    case SCHEMA_COUNT:
        read_count(r, t, f, to);
        break;
    case SCHEMA_SHARE:
        reader_share(r, t, "a percentage such as 1 %", "", to);
        break;
    case SCHEMA_WORD:
        if ((word = reader_word(r, t, f->words, f->note)))
            *(int *)to = word->value;
        break;
    case SCHEMA_FLAG:
        if ((word = reader_word(r, t, f->words, f->note)))
            *(bool *)to = word->value != 0;
        break;
    case SCHEMA_NAME:
        read_name(r, t, to);
        break;
    case SCHEMA_MAP:
        schema_read_map(r, t, f->fields, object);
        break;
    case SCHEMA_TABLE:
        read_table(r, t, f, to, object);
        break;
    case SCHEMA_OWN:
        f->read(r, t, to);
        break;
    case SCHEMA_ALONE:
        if (t->absent)
            *(bool *)to = true;
        else
            reader_wrong(r, t, "has no value; write '- %s'", f->key);
        break;
    case SCHEMA_GIVEN_UP:
        reader_wrong_key(r, t, "is called '%s' now", f->note);
        break;
    case SCHEMA_CHECKED:
        break;
    }
}

static void list_keys(char *list, const struct schema_field *fields)
{
    for (; fields->key; fields++)
        if (fields->kind != SCHEMA_GIVEN_UP)
            list_word(list, fields->key);
}

static void report_unknown_key(struct reader *r, const struct tree *t, const struct schema_field *fields)
{
    char list[LIST_LENGTH_MAX] = "";
    struct near near = {.wanted = t->key};
    list_keys(list, fields);
    for (const struct schema_field *f = fields; f->key; f++)
        if (f->kind != SCHEMA_GIVEN_UP)
            near_consider(&near, f->key);
    if (near.best)
        reader_wrong_key(r, t, "is not a key; did you mean '%s'? allowed here: %s", near.best, list);
    else
        reader_wrong_key(r, t, "is not a key; allowed here: %s", list);
}

void schema_read_map(struct reader *r, const struct tree *t, const struct schema_field *fields, void *to)
{
    if (t->refused)
        return;
    if (t->kind != TREE_MAP) {
        char list[LIST_LENGTH_MAX] = "";
        list_keys(list, fields);
        reader_wrong(r, t, "a map is expected, with the keys: %s", list);
        return;
    }
    for (const struct tree *child = t->first; child; child = child->next) {
        const struct schema_field *f = fields;
        if (child->refused)
            continue;
        while (f->key && strcmp(f->key, child->key) != 0)
            f++;
        if (f->key)
            read_value(r, child, f, to);
        else
            report_unknown_key(r, child, fields);
    }
    for (const struct schema_field *f = fields; f->key; f++)
        if (f->required && !tree_get(t, f->key))
            reader_missing(r, t, f->key, "is missing; expected: %s", f->note);
}
