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
    for (const struct summary_node *n = s->nodes; n < s->nodes + s->node_count; n++)
        if (verdict_unheard(v, s, e, n) > (most ? verdict_unheard(v, s, e, most) : 0))
            most = n;
    return most;
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
