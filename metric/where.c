// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/where.h"

#include "base/near.h"
#include "base/units.h"
#include "metric/statistic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)CONDITION_FIELD_MAX == DICT_NAME_MAX && (int)CONDITION_TEXT_MAX == DICT_TEXT_MAX,
               "a condition can name any field and text");

/* The number of label `text` of an enum; -1: there is no such label. */
static int64_t label_number(const char *labels, const char *text)
{
    size_t length = strlen(text);
    for (int64_t number = 0;; number++) {
        size_t n = strcspn(labels, "|");
        if (n == length && n > 0 && memcmp(labels, text, n) == 0)
            return number;
        if (labels[n] == '\0')
            return -1;
        labels += n + 1;
    }
}

bool where_compares(const struct condition *c, const struct dict_field *f)
{
    bool equals = c->bound.compare == CONDITION_EQUAL || c->bound.compare == CONDITION_UNEQUAL;
    if (f->type == DICT_STRING)
        return equals;
    if (f->type == DICT_ENUM && c->of == CONDITION_OF_TEXT)
        return equals && label_number(f->labels, c->text) >= 0;
    return c->of == CONDITION_OF_NUMBER || (c->of == CONDITION_OF_TIME && units_time(f->unit) > 0);
}

bool where_lacks_label(const struct condition *c, const struct dict_aspect *a, const struct dict_field *f, char *text,
                       size_t size)
{
    char labels[DICT_LABELS_MAX + 1], subject[2 * DICT_NAME_MAX + 48], *rest = labels;
    struct near_names near = near_names(c->text);
    if (f->type != DICT_ENUM || c->of != CONDITION_OF_TEXT || label_number(f->labels, c->text) >= 0)
        return false;
    snprintf(labels, sizeof labels, "%s", f->labels);
    for (char *label; (label = strsep(&rest, "|"));)
        near_names_consider(&near, false, label, NULL);
    snprintf(subject, sizeof subject, "field \"%s\" of aspect \"%s\" has no label", f->name, a->name);
    near_names_write(&near, subject, text, size);
    return true;
}

/* Where the value of condition `c` stands in `text`, of which it was read: last, but for blanks and a quote. */
static const char *value_in(const char *text, const char *value)
{
    size_t n = strlen(value);
    const char *at = text + strlen(text) - n;
    while (at > text && memcmp(at, value, n) != 0)
        at--;
    return at;
}

struct where where_find(const char *text, const struct dict_aspect *a)
{
    struct condition c;
    const char *why;
    struct where w = {.at = WHERE_NONE};
    int at = condition_read(text, &c, &why) == 0 ? dict_field_of(a, c.field) : WHERE_NONE;
    const struct dict_field *f = &a->fields[at < 0 ? 0 : at];
    if (at < 0 || !where_compares(&c, f))
        return w;
    w = (struct where){.bound = c.bound,
                       .at = at,
                       .scale = c.of == CONDITION_OF_TIME ? units_time(f->unit) : 1,
                       .is_float = f->type == DICT_FLOAT64,
                       .unknown_below = statistic_unknown_below(a, (uint32_t)at) &&
                                        (c.of == CONDITION_OF_TIME || !dict_is_duration(a, (uint32_t)at))};
    if (f->type == DICT_STRING) {
        w.text = value_in(text, c.text);
        w.length = strlen(c.text);
    } else if (c.of == CONDITION_OF_TEXT)
        w.bound.whole = label_number(f->labels, c.text);
    return w;
}

static const char *text_of(const struct dict *d, uint64_t id)
{
    return d && id > 0 && id <= d->string_count ? d->strings[id - 1] : NULL;
}

/* Whether nobody knows the value that the condition of `w` is about: a text of id 0 found no room. */
static bool is_unknown(const struct where *w, const struct dict *d, const struct packet_record *r)
{
    double real;
    uint64_t bits = packet_value(r, (uint32_t)w->at);
    memcpy(&real, &bits, sizeof real);
    return w->text ? !text_of(d, bits) : w->is_float ? isnan(real) : w->unknown_below && (int64_t)bits < 0;
}

bool where_holds(const struct where *w, const struct dict *d, const struct packet_record *r)
{
    double real;
    if (w->at < 0 || (uint32_t)w->at >= r->value_count || is_unknown(w, d, r))
        return false;
    uint64_t bits = packet_value(r, (uint32_t)w->at);
    if (w->text) {
        const char *text = text_of(d, bits);
        bool is_it = strlen(text) == w->length && memcmp(text, w->text, w->length) == 0;
        return is_it == (w->bound.compare == CONDITION_EQUAL);
    }
    if (!w->is_float)
        return condition_holds_whole(&w->bound, (int64_t)bits, w->scale);
    memcpy(&real, &bits, sizeof real);
    return condition_holds_real(&w->bound, real, w->scale);
}

uint32_t where_seek_open(const struct where *w, const struct packet_run *run, uint32_t from)
{
    bool may_be = (w->unknown_below || w->is_float || w->text) && (uint32_t)w->at < run->value_count;
    for (; may_be && from < run->count; from++) {
        struct packet_record r = packet_run_record(run, from);
        if (is_unknown(w, run->dict, &r))
            return from;
    }
    return run->count;
}

uint32_t where_seek(const struct where *w, const struct packet_run *run, uint32_t from, bool meets)
{
    while (from < run->count) {
        struct packet_record r = packet_run_record(run, from);
        if (where_holds(w, run->dict, &r) == meets)
            break;
        from++;
    }
    return from;
}
