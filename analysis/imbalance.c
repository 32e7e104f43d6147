// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/imbalance.h"

#include "base/saturate.h"

#include <stdlib.h>

/* ---- spans ------------------------------------------------------------------------------------------------------- */

static size_t find(const struct imbalance *is, uint32_t name)
{
    size_t i = 0;
    while (i < is->count && is->spans[i].name != name)
        i++;
    return i;
}

static int by_path(const void *x, const void *y)
{
    const struct imbalance_span *a = x, *b = y;
    return (a->path < b->path) - (a->path > b->path);
}

/* What the paths have of each span; the terms with the most come first, so those that are left out have the least. */
static void add_terms(const struct slow_terms *t, struct imbalance *is)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct slow_term *term = &t->terms[i];
        size_t at = find(is, term->span);
        if (term->is != PATH_RUNNING || term->span == ACTIVITY_NONE || at == IMBALANCE_MOST)
            continue;
        if (at == is->count)
            is->spans[is->count++] = (struct imbalance_span){.name = term->span};
        is->spans[at].path += term->slow;
    }
    qsort(is->spans, is->count, sizeof *is->spans, by_path);
    while (is->count && is->spans[is->count - 1].path < t->slow / 100)
        is->count--;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* ns from `from` to `until` in which the thread may have had a CPU: all but what it is known to have been off. */
static int64_t may_have_run(const struct activity_thread *t, int64_t from, int64_t until)
{
    int64_t ns = until - from;
    for (size_t i = activity_interval_before(t, from); i < t->interval_count; i++) {
        const struct activity_interval *next = &t->intervals[i];
        int64_t begin = next->off > 0 ? saturate_sub(next->begin, next->off) : next->begin;
        if (begin >= until)
            break;
        begin = begin > from ? begin : from;
        int64_t end = next->begin < until ? next->begin : until;
        ns -= end > begin ? end - begin : 0;
    }
    return ns;
}

/* Adds what a thread did in the spans in the time of an instance, and notes in `in` which it was in. */
static void add_thread(const struct activity_thread *t, const struct slow_instance *of, struct imbalance *is, bool *in)
{
    const struct activity_inner *first = activity_innermost(t, saturate_add(of->from, 1));
    for (size_t i = first ? (size_t)(first - t->inner) : 0; i < t->inner_count && t->inner[i].at < of->until; i++) {
        size_t at = find(is, t->inner[i].name);
        int64_t from = t->inner[i].at > of->from ? t->inner[i].at : of->from;
        int64_t until = i + 1 < t->inner_count && t->inner[i + 1].at < of->until ? t->inner[i + 1].at : of->until;
        if (at == is->count || from >= until)
            continue;
        is->spans[at].mean += (double)may_have_run(t, from, until);
        in[at] = true;
    }
}

void imbalance_find(const struct activity *a, const struct slow_choice *c, const struct slow_terms *t,
                    struct imbalance *is)
{
    *is = (struct imbalance){0};
    add_terms(t, is);
    for (size_t i = 0; i < a->thread_count && c->slow_count; i++) {
        bool in[IMBALANCE_MOST] = {false};
        for (size_t k = 0; k < c->slow_count; k++)
            add_thread(&a->threads[i], &c->slow[k], is, in);
        for (size_t k = 0; k < is->count; k++)
            is->spans[k].threads += in[k];
    }
    for (size_t i = 0; i < is->count; i++) {
        struct imbalance_span *s = &is->spans[i];
        s->mean /= s->threads ? (double)s->threads * (double)c->slow_count : 1;
        s->least = s->path > s->mean ? s->path - s->mean : 0;
    }
}
