// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/deepen.h"

#include <math.h>
#include <string.h>

/* ---- what an aspect is about ------------------------------------------------------------------------------------- */

/* Whether hypothesis `why` is true, or not known, over all of the time. */
static bool is_open(const struct search *s, enum search_why why, bool or_true)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->nodes[i].why == why && s->nodes[i].place == SEARCH_RUN && !s->nodes[i].with)
            return s->nodes[i].is == SEARCH_OPEN || (or_true && s->nodes[i].is == SEARCH_TRUE);
    return false;
}

static bool is_any_open(const struct search *s)
{
    for (int why = 0; why < SEARCH_WHYS; why++)
        if (why != SEARCH_SMALL && why != SEARCH_MONITOR && is_open(s, (enum search_why)why, false))
            return true;
    return false;
}

static bool is_of(const struct activity_thread *t, const char *node, const char *process)
{
    return strcmp(t->node, node) == 0 && strcmp(t->process, process) == 0;
}

/* Whether records of `kind` could explain what term `t`, of their own process or not, is. */
static bool may_explain(const struct search *s, const struct slow_term *t, enum dict_kind kind, bool own)
{
    bool waited = t->is == PATH_UNKNOWN && is_any_open(s);
    bool for_whom =
        t->why == PATH_BLOCKED || t->why == PATH_SOFTIRQ || t->why == PATH_UNSENT || t->why == PATH_NO_SWITCHES;
    switch (kind) {
    case DICT_SPAN:
        return own && t->span == ACTIVITY_NONE &&
               ((t->is == PATH_RUNNING && is_open(s, SEARCH_RUNNING, true)) ||
                (t->is == PATH_READY && is_open(s, SEARCH_READY, true)));
    case DICT_WAIT:
        return own && waited && (for_whom || t->why == PATH_WOKEN || t->why == PATH_INTERRUPT);
    case DICT_RECEIVED:
        return own && waited && for_whom;
    case DICT_SENT:
        return waited && for_whom;
    default:
        return false;
    }
}

/* Whether a message that is on the path was received in a process, from `peer`, or `sent` there; NULL: any. */
static bool has_message(const struct activity *a, const struct slow_terms *t, const char *node, const char *process,
                        bool sent, const struct activity_thread *peer)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->terms[i].is != PATH_MESSAGE || t->terms[i].peer == ACTIVITY_NONE)
            continue;
        const struct activity_thread *to = &a->threads[t->terms[i].thread], *from = &a->threads[t->terms[i].peer];
        const struct activity_thread *own = sent ? from : to, *other = sent ? to : from;
        if (is_of(own, node, process) && (!peer || is_of(other, peer->node, peer->process)))
            return true;
    }
    return false;
}

/* Whether records of an aspect explain term `x`: of a message, what its sender did before. */
static bool explains(const struct activity *a, const struct slow_terms *t, const struct slow_term *x, const char *node,
                     const char *process, const char *name, enum dict_kind kind)
{
    const struct activity_thread *of = &a->threads[x->thread];
    bool own = is_of(of, node, process);
    switch (kind) {
    case DICT_SPAN:
    case DICT_WAIT:
        return own && x->span != ACTIVITY_NONE && strcmp(a->names[x->span], name) == 0;
    case DICT_SENT:
        return own && has_message(a, t, node, process, true, NULL);
    case DICT_RECEIVED:
        return own ? x->is == PATH_MESSAGE : has_message(a, t, node, process, false, of);
    default:
        return false;
    }
}

void deepen_weigh(const struct activity *a, const struct slow_terms *t, const struct search *s, const char *node,
                  const char *process, const char *name, enum dict_kind kind, struct deepen_aspect *is)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct slow_term *x = &t->terms[i];
        if (may_explain(s, x, kind, is_of(&a->threads[x->thread], node, process)))
            is->may += x->slow / s->all;
        if (explains(a, t, x, node, process, name, kind))
            is->says += x->slow / s->all;
    }
    is->may = is->may < 1 ? is->may : 1;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static void turn_off(struct deepen_aspect *a, int64_t now)
{
    a->turn = DEEPEN_OFF;
    a->on = false;
    a->tried = true;
    a->since = now;
}

/* Of those that are recorded the one that explains least; NULL: there is none. */
static struct deepen_aspect *least_worth(struct deepen_aspect *a, size_t count)
{
    struct deepen_aspect *least = NULL;
    for (size_t i = 0; i < count; i++)
        if (a[i].on && (!least || a[i].says < least->says))
            least = &a[i];
    return least;
}

bool deepen_is_wanted(const struct deepen_aspect *a)
{
    return !a->on && !a->tried && a->may >= DEEPEN_SHARE && !isnan(a->cost);
}

/* Of those that fit into `room` the one that may explain most, and of several the cheapest; NULL: there is none. */
static struct deepen_aspect *best(struct deepen_aspect *a, size_t count, double room)
{
    struct deepen_aspect *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!deepen_is_wanted(&a[i]) || a[i].cost > room)
            continue;
        if (!best || a[i].may > best->may || (!(a[i].may < best->may) && a[i].cost < best->cost))
            best = &a[i];
    }
    return best;
}

/* What was turned so lately that it is not seen in what is used: the cost of what is recorded now, or is not any more.
 */
static double unseen(const struct deepen_aspect *a, size_t count, bool on, int64_t now)
{
    double cost = 0;
    for (size_t i = 0; i < count; i++)
        cost += (a[i].on || a[i].tried) && a[i].on == on && now - a[i].since < DEEPEN_SEEN ? a[i].cost : 0;
    return cost;
}

/* Whether nothing was turned on for so long that what is recorded can be judged. */
static bool is_settled(const struct deepen_aspect *a, size_t count, int64_t now)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].on && now - a[i].since < DEEPEN_ENOUGH)
            return false;
    return true;
}

void deepen_decide(const struct deepen *s, struct deepen_aspect *aspects, size_t count, int64_t now)
{
    double room = s->limit - s->used - unseen(aspects, count, true, now);
    double over = -room - unseen(aspects, count, false, now);
    bool settled = is_settled(aspects, count, now);
    struct deepen_aspect *a;
    for (size_t i = 0; i < count; i++) {
        aspects[i].turn = DEEPEN_STAY;
        if (aspects[i].on && settled && aspects[i].says < DEEPEN_SHARE)
            turn_off(&aspects[i], now);
    }
    while ((over > 0 || s->monitor) && (a = least_worth(aspects, count)) != NULL) {
        over -= a->cost;
        turn_off(a, now);
    }
    while (!s->monitor && (a = best(aspects, count, room)) != NULL) {
        room -= a->cost;
        a->turn = DEEPEN_ON;
        a->on = true;
        a->since = now;
    }
}

bool deepen_is_done(const struct deepen *s, const struct deepen_aspect *aspects, size_t count, int64_t now)
{
    if (!is_settled(aspects, count, now))
        return false;
    for (size_t i = 0; i < count; i++) {
        bool judged = !aspects[i].on || aspects[i].says >= DEEPEN_SHARE;
        if (!judged || (!s->monitor && deepen_is_wanted(&aspects[i]) && aspects[i].cost <= s->limit - s->used))
            return false;
    }
    return true;
}
