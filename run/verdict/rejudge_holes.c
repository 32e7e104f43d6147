// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A limit that is judged from the records alone is judged over the time of which they are all there. Where some were
 * lost, as while a node is paused, or an operator had turned their aspect off, there is a hole: until the latest value
 * that may lack one of them.
 */
#include "base/grow.h"
#include "base/saturate.h"
#include "run/verdict/rejudge.h"
#include "run/verdict/rejudge_replay_internal.h"
#include "run/verdict/verdict_internal.h"

#include <stdlib.h>

bool replay_looks_further(const struct replay *r, const struct experiment_limit *l)
{
    return l->kind == LIMIT_HOLD || experiment_metric_is_of_arrivals(&r->e.metrics[l->metric]);
}

int replay_add_hole(const struct replay *r, struct replay_gap *g, int64_t begin, int64_t end, const char *why)
{
    struct replay_hole *last = g->hole_count ? &g->holes[g->hole_count - 1] : NULL;
    const struct experiment_limit *l = &r->e.limits[g->gap->limit];
    int64_t values = saturate_add(2 * experiment_limit_window(&r->e, l) + 2 * r->e.adapt.every, l->persistence);
    int64_t until = replay_looks_further(r, l) ? INT64_MAX : saturate_add(end, values);
    if (last && last->why == why && begin >= last->begin && begin <= last->end) {
        last->end = saturate_most(end, last->end);
        last->until = saturate_most(until, last->until);
        return 0;
    }
    if (!grow_list(&g->holes, &g->hole_room, g->hole_count, sizeof *g->holes))
        return BEZEL_ENOMEM;
    g->holes[g->hole_count++] = (struct replay_hole){.begin = begin, .end = end, .until = until, .why = why};
    return 0;
}

/* The same from `off` to `on`, as far as the run had processes on that node that have the aspect. */
static int replay_add_off(const struct replay *r, struct replay_gap *g, uint32_t node, int64_t off, int64_t on)
{
    static const char why[] = "its aspect was off";
    const char *aspect = r->e.metrics[r->e.limits[g->gap->limit].metric].aspect;
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < r->s->process_count; i++) {
        const struct summary_process *p = &r->s->processes[i];
        if (p->node != node || !summary_book_of(p, aspect))
            continue;
        int64_t ended = verdict_ended(r->s, p, r->e.adapt.every), started = replay_time(r, node, p->started);
        begin = saturate_least(begin, started);
        end = saturate_most(end, ended < INT64_MAX ? replay_time(r, node, ended) : saturate_most(r->told, g->end));
    }
    begin = saturate_most(saturate_most(begin, r->begun), off);
    end = saturate_least(end, on);
    return begin < end ? replay_add_hole(r, g, begin, end, why) : 0;
}

/* Of the time in which the aspect was off on a node, by an operator or by the file: nobody counts its records then. */
static int replay_find_switched(const struct replay *r, struct replay_gap *g, uint32_t node)
{
    const char *aspect = r->e.metrics[r->e.limits[g->gap->limit].metric].aspect;
    int64_t off =
        experiment_pattern_of(r->e.sensing.off, aspect) ? INT64_MIN : INT64_MAX; /* since when; the latter: on */
    int err = 0;
    for (size_t i = 0; i < r->s->note_count && !err; i++) {
        const struct summary_note *n = &r->s->notes[i];
        int64_t at = n->node == node ? replay_time(r, node, n->at) : 0;
        if (n->node == node && verdict_switches(n, "off", aspect)) {
            off = off < INT64_MAX ? off : saturate_sub(at, r->e.adapt.every);
        } else if (n->node == node && (verdict_switches(n, "on", aspect) || verdict_switches(n, "count", aspect))) {
            err = off < INT64_MAX ? replay_add_off(r, g, node, off, at) : 0;
            off = INT64_MAX;
        }
    }
    return err || off == INT64_MAX ? err : replay_add_off(r, g, node, off, INT64_MAX);
}

int replay_find_all_switched(struct replay *r)
{
    int err = 0;
    for (size_t i = r->first; i < r->last && !err; i++)
        for (uint32_t node = 0; node < r->s->node_count && !err; node++)
            if (rejudge_is_all(r->s, r->gaps[i].gap) && (r->all || node == r->node))
                err = replay_find_switched(r, &r->gaps[i], node);
    return err;
}

static int by_begin(const void *a, const void *b)
{
    const struct replay_hole *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* How much of a time is in holes, which are in order. */
static int64_t replay_in_holes(const struct replay_gap *g, int64_t from, int64_t until)
{
    int64_t sum = 0;
    for (size_t i = 0; i < g->hole_count; i++) {
        int64_t begin = saturate_most(g->holes[i].begin, from), end = saturate_least(g->holes[i].end, until);
        sum += begin < end ? end - begin : 0;
        from = begin < end ? end : from;
    }
    return sum;
}

void replay_lengthen(struct replay_gap *g)
{
    int64_t begin = g->begin, end = g->end;
    for (size_t i = 0; i < g->hole_count; i++) {
        begin = saturate_least(begin, g->holes[i].begin);
        end = saturate_most(end, g->holes[i].end);
    }
    g->gap->unknown += g->begin - begin + end - g->end;
    g->gap->doubtful += replay_in_holes(g, begin, g->begin) + replay_in_holes(g, g->end, end);
    g->gap->begin = begin - g->ahead;
    g->gap->end = end - g->ahead;
}

bool replay_sort_holes(struct replay *r)
{
    bool any = false;
    for (size_t i = r->first; i < r->last; i++) {
        struct replay_gap *g = &r->gaps[i];
        any = any || g->hole_count > 0;
        if (g->hole_count > 0)
            qsort(g->holes, g->hole_count, sizeof *g->holes, by_begin);
    }
    return any;
}

bool replay_is_in_hole(struct replay_gap *g, int64_t from, int64_t until)
{
    while (g->hole < g->hole_count && g->holes[g->hole].until <= from)
        g->hole++;
    return g->hole < g->hole_count && g->holes[g->hole].begin < until;
}
