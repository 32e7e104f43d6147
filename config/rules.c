// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/rules.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/diagnostics.h"

#include <fnmatch.h>
#include <stdlib.h>

#define BOUND_MAX (3600 * CLOCK_S)

/* The kind of the values of a map. */
struct value_kind {
    const char *all, *one; /* what is expected, with an example: the map, a value */
    bool (*read)(struct reader *r, const struct tree *t, const char *text, int64_t *value);
};

static bool read_bound(struct reader *r, const struct tree *t, const char *text, int64_t *value)
{
    const char *why;
    if (units_read_duration(text, value, &why) != 0)
        reader_wrong(r, t, "%s is not a duration: %s", diagnostics_quote(text).s, why);
    else if (*value > BOUND_MAX)
        reader_wrong(r, t, "%s is out of range; allowed: 0 .. %s, 0 for none", diagnostics_quote(text).s,
                     units_exact_duration(BOUND_MAX).s);
    else
        return true;
    return false;
}

static bool read_weight(struct reader *r, const struct tree *t, const char *text, int64_t *value)
{
    uint64_t weight = 0;
    const char *why;
    if (units_read_count(text, &weight, &why) != 0)
        reader_wrong(r, t, "%s is not a weight: %s", diagnostics_quote(text).s, why);
    else if (weight < 1 || weight > EXPERIMENT_IMPORTANCE_MAX)
        reader_wrong(r, t, "%s is out of range; allowed: 1 .. %d", diagnostics_quote(text).s,
                     EXPERIMENT_IMPORTANCE_MAX);
    else
        *value = (int64_t)weight;
    return *value > 0;
}

/* Reads an entry into *rule; false: an error was reported. */
static bool read_entry(struct reader *r, const struct tree *t, const struct value_kind *of,
                       struct experiment_rule *rule)
{
    const char *text = reader_text(r, t, of->one);
    rule->value = 0; /* a wrong entry before may have set it */
    if (!experiment_pattern_ok(t->key)) {
        reader_wrong_key(
            r, t, "is not a pattern; allowed: 1 to %d letters, digits, '_', '.', ':', '*', '?' or sets such as [a-z]",
            EXPERIMENT_NAME_MAX);
        return false;
    }
    return text && of->read(r, t, text, &rule->value) && (rule->pattern = reader_copy(r, t->key));
}

static void read_map(struct reader *r, const struct tree *t, const struct value_kind *of, void *to)
{
    if (t->refused)
        return;
    if (t->kind != TREE_MAP) {
        reader_wrong(r, t, "a map of patterns and %s", of->all);
        return;
    }
    if (t->children > EXPERIMENT_PATTERNS_MAX) {
        reader_wrong(r, t, "has %u entries; allowed: up to %d", t->children, EXPERIMENT_PATTERNS_MAX);
        return;
    }
    struct experiment_rule *rules = calloc(t->children + 1, sizeof *rules), *next = rules;
    if (!rules) {
        r->out_of_memory = true;
        return;
    }
    for (const struct tree *child = t->first; child; child = child->next)
        if (!child->refused && read_entry(r, child, of, next))
            next++;
    *(struct experiment_rule **)to = rules;
}

void rules_read_bounds(struct reader *r, const struct tree *t, void *to)
{
    static const struct value_kind bounds = {"bounds is expected, such as {\"frame_*\": 100 ms}",
                                             "a latency bound such as 100 ms", read_bound};
    read_map(r, t, &bounds, to);
}

void rules_read_weights(struct reader *r, const struct tree *t, void *to)
{
    static const struct value_kind weights = {"weights is expected, such as {frame_shown: 10, \"debug_*\": 1}",
                                              "a weight such as 10", read_weight};
    read_map(r, t, &weights, to);
}

void rules_free(struct experiment_rule *rules)
{
    for (struct experiment_rule *rule = rules; rule && rule->pattern; rule++)
        free(rule->pattern);
    free(rules);
}

uint32_t experiment_importance(const struct experiment_rule *rules, const char *name)
{
    int64_t weight = 1;
    for (; rules && rules->pattern; rules++)
        if (fnmatch(rules->pattern, name, 0) == 0)
            weight = rules->value;
    return (uint32_t)weight;
}
