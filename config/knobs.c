// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/knobs.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/check_internal.h"
#include "config/diagnostics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char sensor_cpu[] = "sensor_cpu";

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static const struct schema_word helps[] = {{"less", HELPS_LESS, false}, {"more", HELPS_MORE, false}, {NULL, 0, false}};
static const struct schema_word orders[] = {
    {"polling-first", ORDER_POLLING_FIRST, false}, {"knob-first", ORDER_KNOB_FIRST, false}, {NULL, 0, false}};

/* Reads the whole number at the start of `text`; returns the text behind it, NULL if there is no number. */
static const char *take_number(const char *text, int32_t *value)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || errno != 0 || n < INT32_MIN || n > INT32_MAX)
        return NULL;
    *value = (int32_t)n;
    return end + strspn(end, " \t");
}

/* "20 .. 100" */
static void read_range(struct reader *r, const struct tree *t, void *to)
{
    int32_t range[2];
    const char *text = reader_text(r, t, "a range of whole numbers such as 20 .. 100"), *at = text;
    if (!text)
        return;
    at = take_number(at, &range[0]);
    if (at && strncmp(at, "..", 2) == 0)
        at = take_number(at + 2, &range[1]);
    else
        at = NULL;
    if (!at || *at != '\0')
        reader_wrong(r, t, "%s is not a range of a knob; expected: two whole numbers such as 20 .. 100",
                     diagnostics_quote(text).s);
    else if (range[0] >= range[1])
        reader_wrong(r, t, "%s is an empty range; expected: the lower end first, LEAST .. MOST",
                     diagnostics_quote(text).s);
    else
        memcpy(to, range, sizeof range);
}

#define IN(member) offsetof(struct experiment_knob, member)

_Static_assert(IN(max) == IN(min) + sizeof(int32_t), "a range is stored in two neighbours");

const struct schema_field knob_fields[] = {
    {.key = "knob", .kind = SCHEMA_NAME, .offset = IN(name), .required = true, .note = "the name of a knob"},
    {.key = "process", .kind = SCHEMA_CHECKED},
    {.key = "serves",
     .kind = SCHEMA_CHECKED,
     .shape = SCHEMA_IS_TEXT_OR_LIST,
     .required = true,
     .note = "the metrics whose limits the knob helps to hold"},
    {SCHEMA_ROW_WORDS("helps", SCHEMA_WORD, IN(helps), helps), .required = true,
     .note = "less or more: the direction that helps to hold these limits"},
    {SCHEMA_ROW_OWN("range", IN(min), read_range)},
    {SCHEMA_ROW_RANGE("step", SCHEMA_COUNT, IN(step), 0, INT32_MAX)},
    {SCHEMA_ROW_WORDS("order", SCHEMA_WORD, IN(order), orders)},
    {SCHEMA_ROW_RANGE("settle", SCHEMA_DURATION, IN(settle), 0, 3600 * CLOCK_S)},
    {0},
};

const struct experiment_knob knob_default = {.process = -1, .min = INT32_MIN, .max = INT32_MAX};

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static const char *metric_name(const struct experiment *e, const struct experiment_limit *l)
{
    return l->metric == LIMIT_ON_SENSOR_CPU ? sensor_cpu : e->metrics[l->metric].name;
}

static bool is_on(const struct experiment *e, uint32_t i, const char *name)
{
    const struct experiment_limit *l = &e->limits[i];
    return l->text && metric_name(e, l) && strcmp(metric_name(e, l), name) == 0;
}

static void no_such_limit(struct reader *r, const struct tree *t, const struct experiment *e, const char *name)
{
    struct near near = {.wanted = name};
    bool judged = false;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        if (!e->limits[i].text)
            continue;
        judged = judged || is_on(e, i, name);
        if (e->limits[i].kind == LIMIT_HOLD && metric_name(e, &e->limits[i]))
            near_consider(&near, metric_name(e, &e->limits[i]));
    }
    if (judged)
        reader_wrong(r, t, "limits on %s say 'expect': they are only judged, and no knob is steered for them",
                     diagnostics_quote(name).s);
    else
        reader_no_such(r, t, "'hold' limit on a metric", &near, ", so the knob has nothing to help");
}

/* Finds the 'hold' limits on the metric that `t` names. */
static void check_served(struct reader *r, const struct tree *t, const struct experiment *e, struct experiment_knob *k)
{
    const char *name = reader_text(r, t, "the name of a metric, or a list of names");
    const struct experiment_limit *found = NULL;
    if (!name)
        return;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind != LIMIT_HOLD || !is_on(e, i, name))
            continue;
        if (found && found->compare != l->compare) {
            reader_wrong(r, t, "%s and %s require opposite directions, and a knob helps in one only",
                         diagnostics_quote(found->text).s, diagnostics_quote(l->text).s);
            return;
        }
        found = l;
        k->serves |= UINT64_C(1) << i;
    }
    if (!found)
        no_such_limit(r, t, e, name);
    for (const struct tree *other = t->parent && t->parent->kind == TREE_LIST ? t->parent->first : t; other != t;
         other = other->next)
        if (other->kind == TREE_TEXT && !other->refused && strcmp(other->text, name) == 0) {
            reader_wrong(r, t, "%s appears twice in this list", diagnostics_quote(name).s);
            return;
        }
}

static void check_process(struct reader *r, const struct tree *t, const struct experiment *e, struct experiment_knob *k)
{
    const char *name = t ? reader_text(r, t, "the name of a process") : NULL;
    if (name)
        k->process = check_find_process(r, t, e, name, " in 'processes'");
}

/* A knob has one entry: two would undo each other's changes. */
static void check_twice(struct reader *r, const struct tree *t, const struct experiment *e, uint32_t i)
{
    const struct experiment_knob *k = &e->adapt.knobs[i];
    for (uint32_t j = 0; j < i; j++) {
        const struct experiment_knob *other = &e->adapt.knobs[j];
        if (!k->name || !other->name || strcmp(k->name, other->name) != 0 ||
            (k->process >= 0 && other->process >= 0 && k->process != other->process))
            continue;
        reader_wrong(r, t, "is already steered by adapt.knobs[%u] (line %u): name all metrics there%s", j,
                     other->at.line, k->process >= 0 && other->process >= 0 ? "" : ", or give both a 'process'");
        return;
    }
}

static void check_step(struct reader *r, const struct tree *t, const struct experiment_knob *k)
{
    int64_t room = (int64_t)k->max - k->min;
    if (t && k->step > room)
        reader_wrong(r, t, "a step of %u does not fit into the range, %" PRId32 " .. %" PRId32, k->step, k->min,
                     k->max);
}

void knobs_check(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(tree_get(root, "adapt"), "knobs"), e->adapt.knob_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        struct experiment_knob *k = &e->adapt.knobs[i];
        const struct tree *serves = tree_get(t, "serves"), *each = serves;
        if (t->kind != TREE_MAP || t->refused)
            continue;
        check_process(r, tree_get(t, "process"), e, k);
        if (serves && serves->kind == TREE_LIST && serves->children == 0)
            reader_wrong(r, serves, "the list is empty; expected: the metrics whose limits the knob helps to hold");
        bool is_list = serves && serves->kind == TREE_LIST;
        for (each = is_list ? serves->first : serves; each; each = is_list ? each->next : NULL)
            check_served(r, each, e, k);
        if (tree_get(t, "knob"))
            check_twice(r, tree_get(t, "knob"), e, i);
        check_step(r, tree_get(t, "step"), k);
    }
}

void knobs_warn(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(tree_get(root, "adapt"), "knobs"), e->adapt.knob_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        struct experiment_knob k = e->adapt.knobs[i];
        int64_t given = k.settle;
        k.settle = 0;
        if (given > 0 && given < experiment_knob_settle(e, &k))
            reader_warn(
                r, tree_get(t, "settle"),
                "is less than %s, the time until the metrics of its limits show a change: the knob may oscillate",
                units_exact_duration(experiment_knob_settle(e, &k)).s);
    }
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

int64_t experiment_knob_settle(const struct experiment *e, const struct experiment_knob *k)
{
    int64_t longest = 0;
    if (k->settle > 0)
        return k->settle;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        int64_t look_back = experiment_limit_window(e, &e->limits[i]) + e->limits[i].persistence;
        if (k->serves >> i & 1 && look_back > longest)
            longest = look_back;
    }
    return longest + (e->adapt.by == ADAPT_BY_MANAGER ? 3 : 2) * e->adapt.every;
}

bool experiment_knob_is_of(const struct experiment *e, const struct experiment_knob *k, const char *name)
{
    return k->process < 0 || experiment_is_instance(&e->processes[k->process], name);
}

static void print_knob(const struct experiment *e, const struct experiment_knob *k, FILE *out)
{
    uint64_t printed = 0;
    fprintf(out, "{knob: %s, ", k->name);
    if (k->process >= 0)
        fprintf(out, "process: %s, ", e->processes[k->process].name);
    fputs("serves: [", out);
    for (uint32_t i = 0; i < e->limit_count; i++) {
        if (!(k->serves >> i & 1) || printed >> i & 1)
            continue;
        fprintf(out, "%s%s", printed ? ", " : "", metric_name(e, &e->limits[i]));
        for (uint32_t j = i; j < e->limit_count; j++)
            printed |= (uint64_t)(e->limits[j].metric == e->limits[i].metric) << j;
    }
    fprintf(out, "], helps: %s, ", schema_word(helps, (int)k->helps));
    if (k->min != INT32_MIN || k->max != INT32_MAX)
        fprintf(out, "range: %" PRId32 " .. %" PRId32 ", ", k->min, k->max);
    fprintf(out, "step: %u, order: %s, settle: %s}", k->step, schema_word(orders, (int)k->order),
            units_exact_duration(k->settle).s);
}

void knobs_print(const struct experiment *e, FILE *out)
{
    for (uint32_t i = 0; i < e->adapt.knob_count; i++) {
        fputs(i > 0 ? ", " : "", out);
        print_knob(e, &e->adapt.knobs[i], out);
    }
}
