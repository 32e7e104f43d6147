// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/operands.h"

#include "config/diagnostics.h"
#include "config/fields_internal.h"

#include <string.h>

enum { OPERANDS = 2 };

void operands_read(struct reader *r, const struct tree *t, void *to)
{
    char **names, ***operands = to;
    if (t->refused || *operands) /* a second key is reported by the check */
        return;
    if (t->kind != TREE_LIST || t->children != OPERANDS) {
        reader_wrong(r, t, "a list of the names of two metrics is expected, such as [failed, requests]");
        return;
    }
    if (!(names = reader_alloc(r, OPERANDS + 1, sizeof *names)))
        return;
    *operands = names;
    for (const struct tree *child = t->first; child; child = child->next) {
        const char *text = reader_text(r, child, "the name of a metric");
        if (!text || !(*names++ = reader_copy(r, text)))
            return;
    }
}

static const struct tree *operands_key(const struct tree *t)
{
    const struct tree *ratio = tree_get(t, experiment_metric_word(METRIC_RATIO));
    return ratio ? ratio : tree_get(t, experiment_metric_word(METRIC_DIFFERENCE));
}

bool operands_has(const struct tree *t)
{
    return operands_key(t);
}

/* The metric that `t` names; NULL: there is none that can be an operand. */
static const struct experiment_metric *find_operand(struct reader *r, const struct tree *t, const struct experiment *e,
                                                    const struct experiment_metric *m, int i)
{
    int at = experiment_metric_operand(e, m, i);
    const struct experiment_metric *found = at < 0 ? NULL : &e->metrics[at];
    if (!found)
        reader_wrong(r, t, "there is no metric %s in 'metrics'", diagnostics_quote(m->operands[i]).s);
    else if (found->kind == METRIC_HISTOGRAM) {
        reader_wrong(r, t, "metric %s is a histogram, which has no single value", diagnostics_quote(found->name).s);
        return NULL;
    } else if (found->operands || found->kind == METRIC_INTERVAL || experiment_metric_is_built_in(found->kind) ||
               strcmp(found->name, "sensor_cpu") == 0) {
        reader_wrong(r, t, "metric %s is not of the records of one aspect, as both have to be",
                     diagnostics_quote(found->name).s);
        return NULL;
    }
    return found;
}

void operands_check(struct reader *r, const struct tree *t, const struct experiment *e, struct experiment_metric *m)
{
    const struct tree *key = operands_key(t), *other;
    m->kind = strcmp(key->key, experiment_metric_word(METRIC_RATIO)) == 0 ? METRIC_RATIO : METRIC_DIFFERENCE;
    for (other = t->first; other; other = other->next)
        if (other != key && strcmp(other->key, "at") != 0)
            reader_wrong_key(r, other, "cannot be combined with '%s', which is of the values of two other metrics",
                             key->key);
    if (!m->operands || !m->operands[0] || !m->operands[1])
        return;
    const struct experiment_metric *a = find_operand(r, key->first, e, m, 0);
    const struct experiment_metric *b = find_operand(r, key->first->next, e, m, 1);
    if (!a || !b)
        return;
    if (a->per_process != b->per_process)
        reader_wrong(r, key,
                     "one of these metrics has a value for each process, the other one for each node: give both the "
                     "same 'per'");
    m->per_process = a->per_process;
    m->window = a->window > b->window ? a->window : b->window;
}

static bool reads_values(const struct experiment_metric *m)
{
    return m->field || m->arrivals;
}

/* Whether something changed. */
static bool share_time(struct experiment_metric *m, struct experiment_metric *a, struct experiment_metric *b)
{
    bool is_ratio = m->kind == METRIC_RATIO, any = a->in_time || b->in_time || (!is_ratio && m->in_time);
    if (!any || !reads_values(a) || !reads_values(b) || (a->in_time && b->in_time && (is_ratio || m->in_time)))
        return false;
    a->in_time = b->in_time = true;
    m->in_time = !is_ratio;
    return true;
}

void operands_share_time(struct experiment *e)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < e->metric_count; i++) {
            struct experiment_metric *m = &e->metrics[i];
            int a = experiment_metric_operand(e, m, 0), b = experiment_metric_operand(e, m, 1);
            changed = (a >= 0 && b >= 0 && share_time(m, &e->metrics[a], &e->metrics[b])) || changed;
        }
    }
}
