// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/intervals.h"

#include "base/units.h"
#include "config/diagnostics.h"
#include "config/fields_internal.h"

#include <stdlib.h>
#include <string.h>

static const char by_messages[] = "messages", chosen[] = "yes";

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

/* Of one aspect the records of several processes may stand at several places. */
static bool is_listed(const struct experiment_interval *i, const char *aspect, const char *process)
{
    for (uint32_t at = 0; at < i->count; at++)
        if (strcmp(i->aspects[at], aspect) == 0 &&
            (!process || !i->processes[at] || strcmp(i->processes[at], process) == 0))
            return true;
    return false;
}

static bool is_glob_of_names(const char *text)
{
    size_t n = strlen(text), at = 0;
    while (at < n && (strchr(schema_name_characters, text[at]) || text[at] == '*' || text[at] == '?'))
        at++;
    return n > 0 && n <= EXPERIMENT_NAME_MAX && at == n;
}

/* Of "frame_shown of client" the second name. */
static bool read_process(struct reader *r, const struct tree *t, const char *name, char **to)
{
    if (is_glob_of_names(name))
        *to = reader_copy(r, name);
    else
        reader_wrong(r, t,
                     "%s cannot be the name of a process behind 'of'; allowed: 1 to %d letters, digits, '_', '-', '.', "
                     "'*' or '?'",
                     diagnostics_quote(name).s, EXPERIMENT_NAME_MAX);
    return *to;
}

static void read_aspect(struct reader *r, const struct tree *t, struct experiment_interval *i)
{
    char *name = NULL, **process = &i->processes[i->count];
    const char *of = t->kind == TREE_TEXT && t->text ? strstr(t->text, " of ") : NULL;
    struct tree aspect = *t;
    if (of && !read_process(r, t, of + strlen(" of "), process))
        return;
    if (of && !(aspect.text = strndup(t->text, (size_t)(of - t->text))))
        r->out_of_memory = true;
    if (aspect.text || !of)
        fields_read_aspect(r, &aspect, &name);
    if (of)
        free(aspect.text);
    if (!name)
        return; /* experiment_free() frees *process */
    if (is_listed(i, name, *process))
        reader_wrong(r, t, "%s appears twice in this list", diagnostics_quote(name).s);
    else if (experiment_sampler_of(name) != EXPERIMENT_SAMPLERS)
        reader_wrong(r, t, "%s is recorded by a sampler: its records belong to no others", name);
    else {
        i->aspects[i->count++] = name;
        return;
    }
    free(name);
    free(*process);
    *process = NULL;
}

void intervals_read_aspects(struct reader *r, const struct tree *t, void *to)
{
    struct experiment_interval *i = to;
    if (t->refused)
        return;
    if (t->kind != TREE_LIST || t->children < 2 || t->children > EXPERIMENT_STAGES_MAX) {
        reader_wrong(r, t,
                     "a list of 2 to %d aspects is expected, in the order of their records, such as [frame_captured, "
                     "frame_shown]",
                     EXPERIMENT_STAGES_MAX);
        return;
    }
    if (!(i->aspects = reader_alloc(r, t->children + 1, sizeof *i->aspects)))
        return;
    for (const struct tree *child = t->first; child; child = child->next)
        read_aspect(r, child, i);
}

void intervals_read_match(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "the name of a field that all these aspects have, or 'messages'");
    if (text && strcmp(text, by_messages) != 0)
        fields_read_field(r, t, to);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

bool intervals_has(const struct tree *t)
{
    return tree_get(t, "interval");
}

static void read_chosen(struct reader *r, const struct tree *t)
{
    const char *text = reader_text(r, t, chosen);
    if (text && strcmp(text, chosen) != 0)
        reader_wrong(r, t, "%s is unknown; allowed: yes, as the statistic is of the times between the records",
                     diagnostics_quote(text).s);
}

static void check_statistic(struct reader *r, const struct tree *t, struct experiment_metric *m)
{
    const struct tree *found = NULL;
    for (int kind = METRIC_MEAN; kind <= METRIC_QUANTILE; kind++) {
        const struct tree *key = tree_get(t, experiment_metric_word((enum experiment_metric_kind)kind));
        if (key && found)
            reader_wrong_key(r, key, "cannot be combined with '%s': a metric is one statistic", found->key);
        if (!key || found)
            continue;
        found = key;
        m->interval.statistic = (enum experiment_metric_kind)kind;
        if (kind == METRIC_QUANTILE)
            reader_share(r, key, "a percentage such as 99 %",
                         "; in an interval, 'quantile' has the share, such as 99 %", &m->share);
        else
            read_chosen(r, key);
    }
    if (!found)
        reader_missing(r, t, "quantile",
                       "is missing; expected: a share such as 99 %%, or instead one of 'mean: yes', 'min: yes', 'max: "
                       "yes', 'last: yes'");
}

void intervals_check(struct reader *r, const struct tree *t, struct experiment_metric *m)
{
    static const char *const others[] = {"histogram", "edges",     "ratio",  "difference", "rate",  "first", "count",
                                         "percent",   "time-mean", "misses", "of",         "where", "share", "period"};
    const struct tree *key;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if ((key = tree_get(t, others[i])))
            reader_wrong_key(r, key, "cannot be combined with 'interval', which names its aspects itself");
    m->kind = METRIC_INTERVAL;
    m->in_time = true;
    m->interval.by_end = tree_get(t, "per");
    m->per_process = m->per_process && m->interval.by_end;
    check_statistic(r, t, m);
    if (!tree_get(t, "match"))
        reader_missing(r, t, "match",
                       "is missing; expected: the field that has the same value in records that belong together, or "
                       "'messages'");
    else if (!m->interval.match && m->interval.count > 2)
        reader_wrong(r, tree_get(t, "match"),
                     "a message has one sending and its receivings, and this interval has %u aspects; expected: a "
                     "field, or 2 aspects",
                     m->interval.count);
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

void intervals_print(const struct experiment_metric *m, FILE *out)
{
    const struct experiment_interval *i = &m->interval;
    fputs("interval: [", out);
    for (uint32_t at = 0; at < i->count; at++) {
        char text[2 * EXPERIMENT_NAME_MAX + sizeof " of "];
        snprintf(text, sizeof text, "%s%s%s", i->aspects[at], i->processes[at] ? " of " : "",
                 i->processes[at] ? i->processes[at] : "");
        fputs(at > 0 ? ", " : "", out);
        schema_print_text(text, out);
    }
    fputc(']', out);
    fputs(", match: ", out);
    schema_print_text(i->match ? i->match : by_messages, out);
    fprintf(out, ", %s: ", experiment_metric_word(i->statistic));
    if (i->statistic == METRIC_QUANTILE)
        fprintf(out, "%s %%, ", units_exact_number(m->share * 100).s);
    else
        fprintf(out, "%s, ", chosen);
}
