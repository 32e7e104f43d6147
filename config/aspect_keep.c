// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/aspect_keep.h"

#include "base/clock_units.h"
#include "base/units.h"
#include "config/check_internal.h"
#include "config/diagnostics.h"

#include <fnmatch.h>
#include <string.h>

const struct schema_word aspect_keep_words[] = {
    {"all", KEEP_ALL, false}, {"reduced", KEEP_REDUCED, false}, {NULL, 0, false}};

/* The last rule that matches `name`; NULL: none. */
static const struct experiment_rule *rule_of(const struct experiment *e, const char *name)
{
    const struct experiment_rule *found = NULL;
    for (const struct experiment_rule *rule = e->sensing.keep; rule && rule->pattern; rule++)
        if (fnmatch(rule->pattern, name, 0) == 0)
            found = rule;
    return found && found->value == KEEP_REDUCED ? found : NULL;
}

/* Whether an interval has the aspect: then its records are needed at the root. */
static bool is_of_interval(const struct experiment *e, const char *aspect)
{
    for (uint32_t i = 0; i < e->metric_count; i++)
        if (e->metrics[i].kind == METRIC_INTERVAL && experiment_metric_is_of(&e->metrics[i], aspect))
            return true;
    return false;
}

/* The rule by which metric `m`, a node's, reduces the records that it reads; NULL: none does. */
static const struct experiment_rule *reduces(const struct experiment *e, const struct experiment_metric *m)
{
    bool of_programs = m->aspect && experiment_sampler_of(m->aspect) == EXPERIMENT_SAMPLERS;
    return of_programs && !is_of_interval(e, m->aspect) ? rule_of(e, m->aspect) : NULL;
}

/* Whether `rule` reduces records that metric `m` reads, wherever it is computed; with NULL: whether any rule does. */
static bool uses(const struct experiment *e, const struct experiment_metric *m, const struct experiment_rule *rule)
{
    const struct experiment_rule *found = reduces(e, m);
    bool used = found && (!rule || found == rule);
    for (uint32_t i = 0; i < m->interval.count && !used; i++) {
        found = rule_of(e, m->interval.aspects[i]);
        used = found && (!rule || found == rule);
    }
    return used;
}

bool experiment_reduces(const struct experiment *e, const char *aspect)
{
    for (uint32_t i = 0; i < e->metric_count; i++)
        if (e->metrics[i].aspect && strcmp(e->metrics[i].aspect, aspect) == 0 && reduces(e, &e->metrics[i]))
            return true;
    return false;
}

bool experiment_reduces_at_root(const struct experiment *e, const char *aspect)
{
    return rule_of(e, aspect) && is_of_interval(e, aspect);
}

bool experiment_interval_is_reduced(const struct experiment *e, uint32_t metric)
{
    const struct experiment_interval *i = &e->metrics[metric].interval;
    for (uint32_t at = 0; at < i->count; at++)
        if (rule_of(e, i->aspects[at]))
            return true;
    return false;
}

int64_t experiment_hand_on_period(const struct experiment *e)
{
    int64_t period = 0;
    for (uint32_t i = 0; i < e->metric_count; i++) {
        const struct experiment_metric *m = &e->metrics[i];
        int64_t half = m->window / 2 < CLOCK_S ? m->window / 2 : CLOCK_S;
        if (reduces(e, m) && (period == 0 || half < period))
            period = half;
    }
    return period;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

/* The entry of `sensing.keep` that made `rule`. */
static const struct tree *entry_of(const struct tree *root, const struct experiment_rule *rule)
{
    const struct tree *keep = tree_get(tree_get(root, "sensing"), "keep"), *t = keep ? keep->first : NULL;
    while (t && strcmp(t->key, rule->pattern) != 0)
        t = t->next;
    return t ? t : keep;
}

static bool expires(const struct experiment *e, const char *name)
{
    int64_t bound = 0;
    for (const struct experiment_rule *x = e->sensing.expire; x && x->pattern; x++)
        if (fnmatch(x->pattern, name, 0) == 0)
            bound = x->value;
    return bound > 0;
}

/* Aspect `aspect`, which metric `m` reads and `rule` reduces, at whatever place. */
static void check_aspect(struct reader *r, const struct tree *t, const struct experiment *e,
                         const struct experiment_metric *m, const char *aspect)
{
    if (e->sensing.when_full == WHEN_FULL_OVERWRITE)
        reader_wrong(r, t, "reduces %s, but the rings of flight recorders ('when-full: overwrite') are not polled",
                     aspect);
    if (expires(e, aspect))
        reader_wrong(
            r, t,
            "reduces %s, which has a latency bound (sensing.expire): a record that expires is not evaluated, and "
            "would leave no trace; give up one of both",
            aspect);
    if (m->window / 2 < e->adapt.every)
        reader_wrong(r, t,
                     "reduces %s, and metric %s looks back %s, less than two sampling periods (adapt.every, %s): a "
                     "record could leave the window before a value has it; lengthen the window, or shorten adapt.every",
                     aspect, diagnostics_quote(m->name).s, units_exact_duration(m->window).s,
                     units_exact_duration(e->adapt.every).s);
}

static bool is_limited(const struct experiment *e, const struct experiment_metric *m)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].metric >= 0 && &e->metrics[e->limits[i].metric] == m)
            return true;
    return false;
}

/* The root evaluates an interval where the manager judges a limit on it; else later, from stored records. */
static void check_interval(struct reader *r, const struct tree *root, const struct experiment *e,
                           const struct experiment_metric *m)
{
    bool evaluated = is_limited(e, m);
    for (uint32_t i = 0; i < m->interval.count; i++) {
        const struct experiment_rule *rule = rule_of(e, m->interval.aspects[i]);
        const struct tree *t = rule ? entry_of(root, rule) : NULL;
        if (rule && !evaluated)
            reader_wrong(r, t,
                         "reduces %s, whose records metric %s needs in the store: without a limit it is computed when "
                         "the run has ended; set a limit on it, or keep them all",
                         m->interval.aspects[i], diagnostics_quote(m->name).s);
        else if (rule)
            check_aspect(r, t, e, m, m->interval.aspects[i]);
    }
}

static void check_metric(struct reader *r, const struct tree *root, const struct experiment *e,
                         const struct experiment_metric *m)
{
    const struct experiment_rule *rule = reduces(e, m);
    check_interval(r, root, e, m);
    if (!rule)
        return;
    check_aspect(r, entry_of(root, rule), e, m, m->aspect);
    if (m->tumbles)
        reader_wrong(r, entry_of(root, rule),
                     "reduces %s, and metric %s has windows that follow one another: the last one, which is not over "
                     "when a process ends, would have no value; give it 'windows: sliding'",
                     m->aspect, diagnostics_quote(m->name).s);
}

void aspect_keep_check(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *keep = tree_get(tree_get(root, "sensing"), "keep");
    bool any = false;
    for (uint32_t i = 0; i < e->metric_count; i++) {
        if (e->metrics[i].name) /* else it is wrong already */
            check_metric(r, root, e, &e->metrics[i]);
        any = any || uses(e, &e->metrics[i], NULL);
    }
    if (any && (e->store.keep.bytes || e->store.keep.time))
        reader_wrong(r, keep,
                     "reduces records in a run whose oldest packets expire (store.keep): what of these were reduced "
                     "would not be known; give up one of both");
}

void aspect_keep_warn(struct reader *r, const struct tree *root, const struct experiment *e)
{
    for (const struct experiment_rule *rule = e->sensing.keep; rule && rule->pattern; rule++) {
        bool used = rule->value != KEEP_REDUCED;
        for (uint32_t i = 0; i < e->metric_count; i++)
            used = used || uses(e, &e->metrics[i], rule);
        if (!used)
            reader_warn(r, entry_of(root, rule),
                        "has no effect: no metric reads an aspect that it matches, so the records are stored; "
                        "'sensing: {aspects: {count: [...]}}' leaves records out");
    }
}
