// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/edges.h"

#include "base/units.h"
#include "config/diagnostics.h"

#include <string.h>

/* A duration, or a number, maybe negative. */
static bool read_edge(const char *text, double *edge, bool *in_time)
{
    const char *numeric = text + strspn(text, " \t"), *why;
    bool minus = *numeric == '-';
    int64_t ns;
    *in_time = units_read_duration(text, &ns, &why) == 0 && strspn(numeric, "0123456789. ") < strlen(numeric);
    if (*in_time)
        *edge = (double)ns;
    else if (units_read_number(numeric + minus, edge, &why) != 0)
        return false;
    else if (minus)
        *edge = -*edge;
    return true;
}

void edges_read(struct reader *r, const struct tree *t, void *to)
{
    struct experiment_edges *e = to;
    if (t->refused)
        return;
    if (t->kind != TREE_LIST || t->children < 1 || t->children > EXPERIMENT_EDGES_MAX) {
        reader_wrong(r, t, "a list of 1 to %d numbers or durations is expected, such as [1 ms, 5 ms, 20 ms]",
                     EXPERIMENT_EDGES_MAX);
        return;
    }
    for (const struct tree *child = t->first; child; child = child->next) {
        const char *text = reader_text(r, child, "a number or a duration");
        bool in_time;
        double edge;
        if (!text)
            return;
        if (!read_edge(text, &edge, &in_time)) {
            reader_wrong(r, child, "%s is neither a number nor a duration", diagnostics_quote(text).s);
            return;
        }
        if (e->count > 0 && in_time != e->in_time) {
            reader_wrong(r, child, "%s does not fit the edges before it: all are numbers, or all are durations",
                         diagnostics_quote(text).s);
            return;
        }
        if (e->count > 0 && edge <= e->at[e->count - 1]) {
            reader_wrong(r, child, "%s is not above the edge before it; edges ascend", diagnostics_quote(text).s);
            return;
        }
        e->in_time = in_time;
        e->at[e->count++] = edge;
    }
}

void edges_check(struct reader *r, const struct tree *t, struct experiment_metric *m)
{
    static const char *const not_its[] = {"window", "windows"};
    const struct tree *edges = tree_get(t, "edges");
    if (m->kind != METRIC_HISTOGRAM) {
        if (edges)
            reader_wrong_key(r, edges, "applies only to 'histogram'");
        return;
    }
    m->in_time = m->edges.in_time;
    if (!edges)
        reader_missing(r, t, "edges", "is missing; expected: where its buckets end, such as [1 ms, 5 ms, 20 ms]");
    for (size_t i = 0; i < sizeof not_its / sizeof *not_its; i++)
        if (tree_get(t, not_its[i]))
            reader_wrong_key(r, tree_get(t, not_its[i]),
                             "does not apply to 'histogram', which counts over the whole run");
    if (m->field && (strcmp(m->field, experiment_arrivals_word(ARRIVALS_TIME)) == 0 ||
                     strcmp(m->field, experiment_arrivals_word(ARRIVALS_JITTER)) == 0))
        reader_wrong(r, tree_get(t, "histogram"), "a histogram is of a field; expected: the name of one");
}

static struct units_text edge_text(const struct experiment_edges *e, uint32_t i)
{
    struct units_text text, number;
    if (e->in_time)
        return units_exact_duration((int64_t)e->at[i]);
    number = units_exact_number(e->at[i] < 0 ? -e->at[i] : e->at[i]);
    snprintf(text.s, sizeof text.s, "%s%.*s", e->at[i] < 0 ? "-" : "", (int)sizeof text.s - 2, number.s);
    return text;
}

void edges_print(const struct experiment_edges *e, FILE *out)
{
    fputs("edges: [", out);
    for (uint32_t i = 0; i < e->count; i++)
        fprintf(out, "%s%s", i ? ", " : "", edge_text(e, i).s);
    fputs("], ", out);
}

void experiment_bucket_name(const struct experiment_metric *m, uint32_t i, char *name, size_t size)
{
    const struct experiment_edges *e = &m->edges;
    if (i == 0)
        snprintf(name, size, "%s <= %s", m->name, edge_text(e, 0).s);
    else if (i == e->count)
        snprintf(name, size, "%s > %s", m->name, edge_text(e, i - 1).s);
    else
        snprintf(name, size, "%s %s .. %s", m->name, edge_text(e, i - 1).s, edge_text(e, i).s);
}
