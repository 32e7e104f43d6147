// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The tables of keys as a JSON schema. It has the form of values, not what depends on other keys, nor the ranges of
 * durations and sizes, which no schema can compare: experiment_read() has the last word. What it takes an editor may
 * underline nowhere, so it allows every notation of YAML that the reader does: a number is also a text in quotes.
 */
#include "config/schema.h"

#include "base/json.h"
#include "base/units.h"

#include <string.h>

static void put_map(struct json *j, const char *key, const struct schema_field *fields, bool may_be_absent);
static void put_keys(struct json *j, const struct schema_field *fields);

/* `texts` ends with NULL. */
static void put_texts(struct json *j, const char *key, const char *const *texts)
{
    json_array(j, key);
    for (; *texts; texts++)
        json_text(j, NULL, *texts);
    json_array_end(j);
}

static void put_scalar_type(struct json *j)
{
    put_texts(j, "type", (const char *const[]){"string", "number", "boolean", NULL});
}

static void put_scalar(struct json *j, const char *key)
{
    json_object(j, key);
    put_scalar_type(j);
    json_object_end(j);
}

static void put_name(struct json *j)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,%d}$", EXPERIMENT_NAME_MAX - 1);
    put_texts(j, "type", (const char *const[]){"string", "number", NULL});
    json_text(j, "pattern", pattern);
    json_int(j, "minimum", 0); /* a sign cannot begin a name */
}

/* A number without a unit is a number of YAML, too: 0, or a count. */
static void put_quantity(struct json *j, const struct schema_field *f, const char *pattern, struct units_text least,
                         struct units_text most)
{
    char range[2 * sizeof least.s + 8];
    bool is_count = f->kind == SCHEMA_COUNT;
    snprintf(range, sizeof range, "%s .. %s", least.s, most.s);
    put_texts(j, "type", (const char *const[]){"string", is_count ? "integer" : f->min == 0 ? "number" : NULL, NULL});
    json_text(j, "pattern", pattern);
    json_text(j, "description", range);
    if (!is_count && f->min != 0)
        return;
    json_int(j, "minimum", is_count ? f->min : 0);
    json_int(j, "maximum", is_count ? f->max : 0);
}

static void put_words(struct json *j, const struct schema_field *f)
{
    json_array(j, "enum");
    for (const struct schema_word *w = f->words; w->word; w++)
        if (!w->given_up)
            json_text(j, NULL, w->word);
    json_array_end(j);
}

/* What may stand in place of a map of `fields`: a word of the first one. */
static void put_word_pattern(struct json *j, const struct schema_field *fields)
{
    char pattern[128] = "^(";
    for (const struct schema_word *w = fields->words; w->word; w++) {
        size_t n = strlen(pattern);
        snprintf(pattern + n, sizeof pattern - n, "%s%s", n > 2 ? "|" : "", w->word);
    }
    snprintf(pattern + strlen(pattern), sizeof pattern - strlen(pattern), ")$");
    json_text(j, "pattern", pattern);
}

static void put_shape(struct json *j, const struct schema_field *f)
{
    enum schema_shape shape = f->shape;
    static const char *const types[][5] = {[SCHEMA_IS_TEXT] = {"string", "number", "boolean", NULL},
                                           [SCHEMA_IS_LIST] = {"array", NULL},
                                           [SCHEMA_IS_TEXT_OR_LIST] = {"string", "number", "boolean", "array", NULL},
                                           [SCHEMA_IS_MAP] = {"object", NULL},
                                           [SCHEMA_IS_TEXT_OR_MAP] = {"string", "object", NULL}};
    put_texts(j, "type", types[shape]);
    if (shape == SCHEMA_IS_MAP)
        put_scalar(j, "additionalProperties");
    else if (shape == SCHEMA_IS_TEXT_OR_MAP) {
        put_word_pattern(j, f->fields);
        put_keys(j, f->fields);
    } else if (shape != SCHEMA_IS_TEXT)
        put_scalar(j, "items");
}

/* The keys without a value, which an entry may be as a word. */
static void put_alone(struct json *j, const struct schema_field *fields)
{
    char pattern[128] = "^(";
    for (const struct schema_field *f = fields; f->key; f++) {
        size_t n = strlen(pattern);
        if (f->kind == SCHEMA_ALONE)
            snprintf(pattern + n, sizeof pattern - n, "%s%s", n > 2 ? "|" : "", f->key);
    }
    snprintf(pattern + strlen(pattern), sizeof pattern - strlen(pattern), ")$");
    json_object(j, "items");
    put_texts(j, "type", (const char *const[]){"object", "string", NULL});
    json_text(j, "pattern", pattern);
    put_keys(j, fields);
    json_object_end(j);
}

static void put_table(struct json *j, const struct schema_table *table)
{
    json_text(j, "type", table->named ? "object" : "array");
    json_uint(j, table->named ? "maxProperties" : "maxItems", table->max);
    if (table->named) {
        json_object(j, "propertyNames");
        put_name(j);
        json_object_end(j);
    }
    if (table->words)
        put_alone(j, table->fields);
    else
        put_map(j, table->named ? "additionalProperties" : "items", table->fields, table->named);
}

static void put_value(struct json *j, const struct schema_field *f)
{
    struct units_text ends[2];
    switch (f->kind) {
    case SCHEMA_DURATION:
    case SCHEMA_DURATION_RANGE:
        put_quantity(j, f, f->kind == SCHEMA_DURATION ? units_duration_pattern : units_range_pattern,
                     units_exact_duration(f->min), units_exact_duration(f->max));
        break;
    case SCHEMA_SIZE:
        put_quantity(j, f, units_size_pattern, units_exact_size((uint64_t)f->min), units_exact_size((uint64_t)f->max));
        break;
    case SCHEMA_COUNT:
        snprintf(ends[0].s, sizeof ends[0].s, "%lld", (long long)f->min);
        snprintf(ends[1].s, sizeof ends[1].s, "%lld", (long long)f->max);
        put_quantity(j, f, units_count_pattern, ends[0], ends[1]);
        break;
    case SCHEMA_SHARE:
        json_text(j, "type", "string");
        json_text(j, "pattern", units_percent_pattern);
        json_text(j, "description", "0 % .. 100 %");
        break;
    case SCHEMA_WORD:
    case SCHEMA_FLAG:
        put_words(j, f);
        break;
    case SCHEMA_NAME:
        put_name(j);
        break;
    case SCHEMA_ALONE:
        json_text(j, "type", "null");
        break;
    case SCHEMA_TABLE:
        put_table(j, f->table);
        break;
    default:
        put_shape(j, f);
    }
}

static bool is_allowed(const struct schema_field *f)
{
    return f->kind != SCHEMA_GIVEN_UP;
}

/* The members of an object that is a map with these keys. */
static void put_keys(struct json *j, const struct schema_field *fields)
{
    bool any = false;
    json_object(j, "properties");
    for (const struct schema_field *f = fields; f->key; f++) {
        any = any || f->required;
        if (f->kind == SCHEMA_MAP) {
            put_map(j, f->key, f->fields, false);
        } else if (is_allowed(f)) {
            json_object(j, f->key);
            put_value(j, f);
            json_object_end(j);
        }
    }
    json_object_end(j);
    json_bool(j, "additionalProperties", false);
    if (!any)
        return;
    json_array(j, "required");
    for (const struct schema_field *f = fields; f->key; f++)
        if (f->required)
            json_text(j, NULL, f->key);
    json_array_end(j);
}

/* may_be_absent: `studio:` means `studio: {}`. */
static void put_map(struct json *j, const char *key, const struct schema_field *fields, bool may_be_absent)
{
    json_object(j, key);
    put_texts(j, "type", (const char *const[]){"object", may_be_absent ? "null" : NULL, NULL});
    put_keys(j, fields);
    json_object_end(j);
}

int experiment_schema(FILE *out)
{
    struct json j = {.out = out};
    json_object(&j, NULL);
    json_text(&j, "$schema", "http://json-schema.org/draft-07/schema#");
    json_text(&j, "title", "An experiment of Bezel");
    json_text(&j, "type", "object");
    put_keys(&j, schema_experiment);
    json_object_end(&j);
    fputc('\n', out);
    return ferror(out) ? BEZEL_ESYS : 0;
}
