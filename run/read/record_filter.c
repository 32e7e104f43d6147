// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_filter.h"

#include "base/clock.h"
#include "base/near.h"
#include "base/units.h"
#include "metric/where.h"
#include "run/read/record_item.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static int compare_texts(const char *text, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(text, wanted, length) == 0 ? 0 : 1;
}

bool record_filter_holds(const struct condition *c, const struct dict *d, const struct packet_record *r, uint32_t field)
{
    const struct dict_aspect *a = &d->aspects[r->aspect - 1];
    struct record_value v = record_item_value(d, r, field);
    int64_t scale = c->of == CONDITION_OF_TIME ? units_time(a->fields[field].unit) : 1;
    if (v.as == RECORD_TEXT && (a->fields[field].type == DICT_STRING || c->of == CONDITION_OF_TEXT))
        return condition_result(c->bound.compare, compare_texts(v.text, v.length, c->text));
    if (v.as == RECORD_ABSENT || c->of == CONDITION_OF_TEXT)
        return c->bound.compare == CONDITION_UNEQUAL;
    if (v.as == RECORD_FLOAT)
        return condition_holds_real(&c->bound, v.real, scale);
    int64_t value = (int64_t)packet_value(r, field);
    if (dict_is_duration(a, field) && value < 0 && c->of == CONDITION_OF_TIME)
        return false; /* its duration is unknown */
    return condition_holds_whole(&c->bound, value, scale);
}

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

bool record_filter_takes(const char *glob, const char *name)
{
    return !glob || fnmatch(glob, name, 0) == 0;
}

bool record_filter_aspects(const struct record_filter *f, const struct dict *d, uint8_t wanted[DICT_ASPECTS_MAX + 1])
{
    bool any = false;
    memset(wanted, RECORD_UNWANTED, DICT_ASPECTS_MAX + 1);
    for (uint32_t i = 0; i < d->aspect_count; i++) {
        const struct dict_aspect *a = &d->aspects[i];
        int field = dict_field_of(a, f->condition.field);
        if (!record_filter_takes(f->aspect, a->name) || (f->takes && !f->takes(f->of, a)))
            continue;
        if (!f->condition.field[0])
            wanted[a->id] = RECORD_WANTED;
        else if (field >= 0 && where_compares(&f->condition, &a->fields[field]))
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

bool record_filter_in_time(const struct record_filter *f, const struct model_node *node, uint64_t time)
{
    int64_t ns = model_run_time(node, time);
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
    int64_t one = model_run_time(node, begin), other = model_run_time(node, end);
    int64_t first = one < other ? one : other, last = one < other ? other : one;
    int64_t margin = node->run_clock.kind == RUN_CLOCK_EXCHANGES ? MARGIN : 0;
    if (is_before(last, f->from, margin) || is_before(f->until, first, margin))
        return RECORD_OUTSIDE;
    return is_before(f->from, first, margin) && is_before(last, f->until, margin) ? RECORD_INSIDE : RECORD_PARTLY;
}

/* ---- whether a condition makes sense ----------------------------------------------------------------------------- */

/* What is wrong with a condition on field `f` of aspect `a`, and what is right. */
static void explain(const struct condition *c, const struct dict_aspect *a, const struct dict_field *f, char *text,
                    size_t size)
{
    if (where_lacks_label(c, a, f, text, size))
        return;
    static const char *const types[] = {[DICT_INT64] = "a whole number",
                                        [DICT_FLOAT64] = "a number",
                                        [DICT_ENUM] = "one of a few labels",
                                        [DICT_STRING] = "a text"};
    const char *remedy = f->type == DICT_STRING || f->type == DICT_ENUM
                             ? "compare it with a text, by = or !="
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
        int field = record_filter_takes(f->aspect, a->name) ? dict_field_of(a, f->condition.field) : -1;
        if (field < 0)
            continue;
        if (where_compares(&f->condition, &a->fields[field]))
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
