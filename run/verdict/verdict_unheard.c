// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Nodes of a run that goes on of which nothing comes: since then nobody here knows what holds there. */
#include "base/clock.h"
#include "base/saturate.h"
#include "run/verdict/verdict.h"

#include <string.h>

int64_t verdict_unheard_after(const struct experiment *e)
{
    return saturate_add(2 * CLOCK_S, e->adapt.every > CLOCK_S ? e->adapt.every : CLOCK_S);
}

/* A machine that was booted anew is a new node with its old name. */
static bool came_again(const struct summary *s, const struct summary_node *n)
{
    for (const struct summary_node *later = n + 1; later < s->nodes + s->node_count; later++)
        if (strcmp(later->name, n->name) == 0)
            return true;
    return false;
}

int64_t verdict_unheard(const struct verdict *v, const struct summary *s, const struct experiment *e,
                        const struct summary_node *n)
{
    bool may_sleep = e->limit_count == 0 && e->trigger_count == 0; /* then it need not record anything */
    int64_t unheard = saturate_sub(v->now, n->last_at ? saturate_add(n->last_at, n->ahead) : v->started);
    bool counts = v->run == RUN_RUNNING && n->open && !may_sleep && unheard > verdict_unheard_after(e);
    return counts && !came_again(s, n) ? unheard : 0;
}

const struct summary_node *verdict_unheard_node(const struct verdict *v, const struct summary *s,
                                                const struct experiment *e)
{
    const struct summary_node *most = NULL;
    for (size_t i = 0; i < s->node_count; i++)
        if (verdict_unheard(v, s, e, &s->nodes[i]) > (most ? verdict_unheard(v, s, e, most) : 0))
            most = &s->nodes[i];
    return most;
}

/* What its managers said last of a global limit. */
static int64_t manager_unheard(const struct verdict *v, const struct summary *s, const struct experiment *e,
                               const struct builtin_limit *row)
{
    int64_t last = row->at ? INT64_MIN : v->now;
    for (size_t i = 0; i < s->limit_count; i++) {
        const struct builtin_limit *l = &s->limits[i];
        if (l->epoch > 0 && l->limit == row->limit && saturate_add(l->at, s->nodes[l->node].ahead) > last)
            last = saturate_add(l->at, s->nodes[l->node].ahead);
    }
    int64_t unheard = saturate_sub(v->now, last);
    bool counts = v->run == RUN_RUNNING && s->nodes[row->node].open && unheard > verdict_unheard_after(e);
    return counts ? unheard : 0;
}

int64_t verdict_row_unheard(const struct verdict *v, const struct summary *s, const struct experiment *e,
                            const struct builtin_limit *row)
{
    if (row->epoch == 0)
        return verdict_unheard(v, s, e, &s->nodes[row->node]);
    const struct summary_node *n = verdict_unheard_node(v, s, e);
    int64_t nodes = n ? verdict_unheard(v, s, e, n) : 0, manager = manager_unheard(v, s, e, row);
    return nodes > manager ? nodes : manager;
}

static bool has_row(const struct summary *s, uint32_t node)
{
    bool has = false;
    for (size_t i = 0; i < s->limit_count; i++)
        has = has || s->limits[i].node == node;
    return has;
}

bool verdict_lacks_node(const struct verdict *v, const struct summary *s, const struct experiment *e)
{
    bool lacks = false;
    for (uint32_t i = 0; i < e->node_count; i++)
        lacks = lacks || verdict_is_unjoined(s, e->nodes[i].name);
    for (uint32_t i = 0; i < s->node_count; i++)
        lacks = lacks || (!has_row(s, i) && verdict_unheard(v, s, e, &s->nodes[i]) > 0);
    return lacks && v->run == RUN_RUNNING;
}
