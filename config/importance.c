// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/importance.h"

#include "base/units.h"
#include "config/findings.h"

#include <fnmatch.h>
#include <stdlib.h>

/* True where the entry is right, and stored in *e. */
static bool read_entry(struct reader *r, const struct tree *t, struct experiment_importance *e)
{
    uint64_t weight = 0;
    const char *why, *text = reader_text(r, t, "a weight such as 10");
    if (!experiment_pattern_ok(t->key)) {
        reader_wrong_key(r, t,
                         "matches no aspect: 1 to %d letters, digits, '_', '.', ':', '*', '?' or sets such as [a-z]",
                         EXPERIMENT_NAME_MAX);
        return false;
    }
    if (!text)
        return false;
    if (units_read_count(text, &weight, &why) != 0) {
        reader_wrong(r, t, "%s is no weight: %s", findings_quote(text).s, why);
        return false;
    }
    if (weight < 1 || weight > EXPERIMENT_IMPORTANCE_MAX) {
        reader_wrong(r, t, "%s is out of range; allowed: 1 .. %d", findings_quote(text).s, EXPERIMENT_IMPORTANCE_MAX);
        return false;
    }
    e->weight = (uint32_t)weight;
    return (e->pattern = reader_copy(r, t->key)) != NULL;
}

void importance_read(struct reader *r, const struct tree *t, void *to)
{
    if (t->refused)
        return;
    if (t->kind != TREE_MAP) {
        reader_wrong(r, t, "a map of patterns and weights is expected, such as {frame_shown: 10, \"debug_*\": 1}");
        return;
    }
    if (t->children > EXPERIMENT_PATTERNS_MAX) {
        reader_wrong(r, t, "has %u entries; allowed: up to %d", t->children, EXPERIMENT_PATTERNS_MAX);
        return;
    }
    struct experiment_importance *rules = calloc(t->children + 1, sizeof *rules), *next = rules;
    if (!rules) {
        r->out_of_memory = true;
        return;
    }
    for (const struct tree *child = t->first; child; child = child->next)
        if (!child->refused && read_entry(r, child, next))
            next++;
    *(struct experiment_importance **)to = rules;
}

void importance_free(struct experiment_importance *rules)
{
    for (struct experiment_importance *e = rules; e && e->pattern; e++)
        free(e->pattern);
    free(rules);
}

uint32_t experiment_importance(const struct experiment_importance *rules, const char *name)
{
    uint32_t weight = 1;
    for (; rules && rules->pattern; rules++)
        if (fnmatch(rules->pattern, name, 0) == 0)
            weight = rules->weight;
    return weight;
}
