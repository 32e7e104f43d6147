// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_filter.h"

#include "base/clock.h"
#include "base/near.h"
#include "base/units.h"
#include "run/read/record_item.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- reading a condition ----------------------------------------------------------------------------------------- */

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:"

static const char why_name[] = "a condition is FIELD OP VALUE, such as \"duration > 5 ms\"";
static const char why_compare[] = "behind the field one of < <= = != >= > is expected";
static const char why_value[] =
    "a number, or a duration such as 5 ms, up to 292 years, is expected; texts go with = and != alone";
static const char why_long[] = "the value is empty, or has more than 255 characters";

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* Reads the comparison at *p and moves *p behind it. */
static bool read_compare(const char **p, enum record_compare *compare)
{
    static const struct {
        const char *text;
        enum record_compare compare;
    } list[] = {{"<=", RECORD_AT_MOST}, {">=", RECORD_AT_LEAST}, {"!=", RECORD_UNEQUAL}, {"==", RECORD_EQUAL},
                {"=", RECORD_EQUAL},    {"<", RECORD_BELOW},     {">", RECORD_ABOVE}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strncmp(*p, list[i].text, strlen(list[i].text)) == 0) {
            *compare = list[i].compare;
            *p += strlen(list[i].text);
            return true;
        }
    return false;
}

/* The value as a text: without blanks around it, and without quotes. False: it is empty or too long. */
static bool read_text(const char *value, struct record_condition *c, bool *quoted)
{
    size_t n = strlen(value);
    while (n > 0 && strchr(" \t", value[n - 1]))
        n--;
    *quoted = n >= 2 && value[0] == '"' && value[n - 1] == '"';
    if (*quoted)
        value++, n -= 2;
    if (n >= sizeof c->text || (n == 0 && !*quoted))
        return false;
    memcpy(c->text, value, n);
    c->text[n] = '\0';
    return true;
}

/* Reads a number or a duration from c->text. False: it is neither. */
static bool read_number(struct record_condition *c)
{
    bool minus = c->text[0] == '-';
    const char *text = c->text + minus, *ignored;
    uint64_t count;
    if (units_read_count(text, &count, &ignored) == 0 && count <= INT64_MAX) {
        c->of = RECORD_OF_NUMBER;
        c->whole = minus ? -(int64_t)count : (int64_t)count;
        c->number = (double)c->whole;
    } else if (!strchr(text, '/') && units_read_rate(text, &c->number, &ignored) == 0) {
        c->of = RECORD_OF_NUMBER;
        c->number = minus ? -c->number : c->number;
        c->whole = (int64_t)floor(c->number);
        c->fraction = c->number > (double)c->whole;
    } else if (!minus && units_read_duration(text, &c->whole, &ignored) == 0) {
        c->of = RECORD_OF_TIME;
        c->number = (double)c->whole;
    } else {
        return false;
    }
    return true;
}

int record_filter_read(const char *text, struct record_condition *c, const char **why)
{
    struct record_condition it = {.of = RECORD_OF_TEXT};
    bool quoted;
    text = skip_blanks(text);
    size_t n = strspn(text, NAME_CHARACTERS);
    if (n == 0 || n > DICT_NAME_MAX)
        return *why = why_name, BEZEL_EINVAL;
    memcpy(it.field, text, n);
    text = skip_blanks(text + n);
    if (!read_compare(&text, &it.compare))
        return *why = why_compare, BEZEL_EINVAL;
    if (!read_text(skip_blanks(text), &it, &quoted))
        return *why = why_long, BEZEL_EINVAL;
    if ((quoted || !read_number(&it)) && it.compare != RECORD_EQUAL && it.compare != RECORD_UNEQUAL)
        return *why = why_value, BEZEL_EINVAL;
    *c = it;
    return 0;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static bool result(enum record_compare compare, int sign)
{
    switch (compare) {
    case RECORD_BELOW:
        return sign < 0;
    case RECORD_AT_MOST:
        return sign <= 0;
    case RECORD_EQUAL:
        return sign == 0;
    case RECORD_UNEQUAL:
        return sign != 0;
    case RECORD_AT_LEAST:
        return sign >= 0;
    case RECORD_ABOVE:
        return sign > 0;
    }
    return false;
}

/* Exact, also where the value is no whole number of the field's unit. */
static int compare_whole(const struct record_condition *c, int64_t value, int64_t scale)
{
    int64_t bound = c->whole / scale;
    bool fraction = c->fraction || c->whole % scale != 0;
    return value != bound ? (value < bound ? -1 : 1) : fraction ? -1 : 0;
}

static int compare_texts(const char *text, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(text, wanted, length) == 0 ? 0 : 1;
}

bool record_filter_holds(const struct record_condition *c, const struct dict *d, const struct packet_record *r,
                         uint32_t field)
{
    const struct dict_aspect *a = &d->aspects[r->aspect - 1];
    struct record_value v = record_item_value(d, r, field);
    int64_t scale = c->of == RECORD_OF_TIME ? units_time(a->fields[field].unit) : 1;
    if (v.as == RECORD_TEXT && (a->fields[field].type == DICT_STRING || c->of == RECORD_OF_TEXT))
        return result(c->compare, compare_texts(v.text, v.length, c->text));
    if (v.as == RECORD_ABSENT || c->of == RECORD_OF_TEXT)
        return c->compare == RECORD_UNEQUAL;
    if (v.as == RECORD_FLOAT) {
        double value = v.real * (double)scale;
        return !isnan(value) && result(c->compare, value < c->number ? -1 : value > c->number);
    }
    int64_t value = (int64_t)packet_value(r, field);
    if (a->kind == DICT_SPAN && field == 0 && value < 0 && c->of == RECORD_OF_TIME)
        return false; /* its duration is unknown */
    return result(c->compare, compare_whole(c, value, scale));
}

/* Whether values of the field can be compared with the condition's; else *what says what the field is. */
static bool is_comparable(const struct record_condition *c, const struct dict_field *f)
{
    bool equals = c->compare == RECORD_EQUAL || c->compare == RECORD_UNEQUAL;
    if (f->type == DICT_STRING)
        return equals;
    if (f->type == DICT_ENUM)
        return c->of == RECORD_OF_NUMBER || (c->of == RECORD_OF_TEXT && equals);
    return c->of == RECORD_OF_NUMBER || (c->of == RECORD_OF_TIME && units_time(f->unit) > 0);
}

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

bool record_filter_takes(const char *glob, const char *name)
{
    return !glob || fnmatch(glob, name, 0) == 0;
}

/* The number of the condition's field in `a`; -1: there is none. */
static int find_field(const struct record_condition *c, const struct dict_aspect *a)
{
    for (uint32_t i = 0; i < a->field_count; i++)
        if (strcmp(a->fields[i].name, c->field) == 0)
            return (int)i;
    return -1;
}

bool record_filter_aspects(const struct record_filter *f, const struct dict *d, uint8_t wanted[DICT_ASPECTS_MAX + 1])
{
    bool any = false;
    memset(wanted, RECORD_UNWANTED, DICT_ASPECTS_MAX + 1);
    for (uint32_t i = 0; i < d->aspect_count; i++) {
        const struct dict_aspect *a = &d->aspects[i];
        int field = f->condition.field[0] ? find_field(&f->condition, a) : -1;
        if (!record_filter_takes(f->aspect, a->name) || (f->takes && !f->takes(f->of, a)))
            continue;
        if (!f->condition.field[0])
            wanted[a->id] = RECORD_WANTED;
        else if (field >= 0 && is_comparable(&f->condition, &a->fields[field]))
            wanted[a->id] = (uint8_t)(RECORD_IF + field);
        any = any || wanted[a->id] != RECORD_UNWANTED;
    }
    return any;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/*
 * The run's time grows with the node's; but where the pieces of a relation by exchanges of times meet, it may fall by
 * less than their bounds, and at a jump of a clock by more. So the times of a packet's ends tell where its records lie,
 * with this margin.
 */
#define MARGIN CLOCK_S

static int64_t run_time(const struct model_node *node, uint64_t time)
{
    return run_clock_at(&node->run_clock, time < INT64_MAX ? (int64_t)time : INT64_MAX).ns;
}

bool record_filter_in_time(const struct record_filter *f, const struct model_node *node, uint64_t time)
{
    int64_t ns = run_time(node, time);
    return ns >= f->from && (ns < f->until || f->until == INT64_MAX);
}

/* Whether `a` is before `b` by more than `margin`. */
static bool is_before(int64_t a, int64_t b, int64_t margin)
{
    int64_t apart;
    return a < b && (__builtin_sub_overflow(b, a, &apart) || apart > margin);
}

enum record_where record_filter_where(const struct record_filter *f, const struct model_node *node, uint64_t begin,
                                      uint64_t end)
{
    if (f->from == INT64_MIN && f->until == INT64_MAX)
        return RECORD_INSIDE;
    int64_t one = run_time(node, begin), other = run_time(node, end);
    int64_t first = one < other ? one : other, last = one < other ? other : one;
    int64_t margin = node->run_clock.kind == RUN_CLOCK_EXCHANGES ? MARGIN : 0;
    if (is_before(last, f->from, margin) || is_before(f->until, first, margin))
        return RECORD_OUTSIDE;
    return is_before(f->from, first, margin) && is_before(last, f->until, margin) ? RECORD_INSIDE : RECORD_PARTLY;
}

/* ---- whether a condition makes sense ----------------------------------------------------------------------------- */

/* What is wrong with a condition on field `f` of aspect `a`, and what is right. */
static void explain(const struct record_condition *c, const struct dict_aspect *a, const struct dict_field *f,
                    char *text, size_t size)
{
    static const char *const types[] = {[DICT_INT64] = "a whole number",
                                        [DICT_FLOAT64] = "a number",
                                        [DICT_ENUM] = "one of a few labels",
                                        [DICT_STRING] = "a text"};
    const char *remedy = f->type == DICT_STRING || (f->type == DICT_ENUM && c->of != RECORD_OF_TEXT)
                             ? "compare it with a text, by = or !="
                         : f->type == DICT_ENUM ? "compare it by = or !="
                                                : "compare it with a plain number, in the field's own unit";
    const char *unit = f->unit && f->unit[0] && strcmp(f->unit, "1") != 0 ? f->unit : NULL;
    snprintf(text, size, "field '%s' of aspect '%s' is %s%s%s, which cannot be compared with '%s' like that: %s",
             f->name, a->name, types[f->type], unit ? " of unit " : "", unit ? unit : "", c->text, remedy);
}

/* Looks at the aspects of a process. Returns as record_filter_check(). */
static int check_process(const struct record_filter *f, const struct dict *d, char *text, size_t size)
{
    int found = BEZEL_ENOENT;
    for (uint32_t i = 0; i < d->aspect_count; i++) {
        const struct dict_aspect *a = &d->aspects[i];
        int field = record_filter_takes(f->aspect, a->name) ? find_field(&f->condition, a) : -1;
        if (field < 0)
            continue;
        if (is_comparable(&f->condition, &a->fields[field]))
            return 0;
        explain(&f->condition, a, &a->fields[field], text, size);
        found = BEZEL_EINVAL;
    }
    return found;
}

bool record_filter_takes_process(const struct record_filter *f, const struct model_process *p)
{
    return !(f->no_monitor && p->role == ROLE_DAEMON) && record_filter_takes(f->process, p->name);
}

static int say_no_such(const struct near_names *c, const char *subject, char *text, size_t size)
{
    near_names_write(c, subject, text, size);
    return BEZEL_ENOENT;
}

static bool takes(const struct record_filter *f, const struct model_node *node, const struct model_process *p)
{
    return record_filter_takes(f->node, node->name) && record_filter_takes_process(f, p);
}

static int check_node_name(const struct record_filter *f, const struct model *m, char *text, size_t size)
{
    struct near_names c = near_names(f->node);
    for (const struct model_node *node = m->nodes; f->node && node; node = node->next) {
        if (record_filter_takes(f->node, node->name))
            return 0;
        near_names_consider(&c, false, node->name, NULL);
    }
    return c.any ? say_no_such(&c, "the run has no node", text, size) : 0;
}

static int check_process_name(const struct record_filter *f, const struct model *m, char *text, size_t size)
{
    struct near_names c = near_names(f->process);
    for (const struct model_node *node = f->process ? m->nodes : NULL; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next) {
            if (takes(f, node, p))
                return 0;
            if (record_filter_takes(f->node, node->name))
                near_names_consider(&c, p->role == ROLE_DAEMON, p->name, NULL);
        }
    return c.any ? say_no_such(&c, "no process is named", text, size) : 0;
}

static int check_aspect_name(const struct record_filter *f, const struct model *m, char *text, size_t size)
{
    struct near_names c = near_names(f->aspect);
    for (const struct model_node *node = f->aspect ? m->nodes : NULL; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t i = 0; takes(f, node, p) && i < p->dict->aspect_count; i++) {
                if (record_filter_takes(f->aspect, p->dict->aspects[i].name))
                    return 0;
                near_names_consider(&c, p->role == ROLE_DAEMON, p->dict->aspects[i].name, p->name);
            }
    return c.any ? say_no_such(&c, "no process that is wanted has an aspect", text, size) : 0;
}

/* The sentence about a field that no wanted aspect has. */
static int say_no_field(const struct record_filter *f, const struct model *m, char *text, size_t size)
{
    struct near_names c = near_names(f->condition.field);
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t i = 0; takes(f, node, p) && i < p->dict->aspect_count; i++) {
                const struct dict_aspect *a = &p->dict->aspects[i];
                for (uint32_t k = 0; record_filter_takes(f->aspect, a->name) && k < a->field_count; k++)
                    near_names_consider(&c, p->role == ROLE_DAEMON, a->fields[k].name, a->name);
            }
    return say_no_such(&c, "no aspect that is wanted has a field", text, size);
}

static int check_condition(const struct record_filter *f, const struct model *m, char *text, size_t size)
{
    int found = BEZEL_ENOENT;
    if (!f->condition.field[0])
        return 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next) {
            if (!takes(f, node, p))
                continue;
            int err = check_process(f, p->dict, text, size);
            if (err == 0)
                return 0;
            found = err == BEZEL_EINVAL ? err : found;
        }
    return found == BEZEL_ENOENT ? say_no_field(f, m, text, size) : found;
}

int record_filter_check(const struct record_filter *f, const struct model *m, char *text, size_t size)
{
    int err = check_node_name(f, m, text, size);
    err = err ? err : check_process_name(f, m, text, size);
    err = err ? err : check_aspect_name(f, m, text, size);
    return err ? err : check_condition(f, m, text, size);
}
