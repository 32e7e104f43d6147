// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_link.h"

#include "base/saturate.h"

#include <stdio.h>
#include <string.h>

static struct linked_state state_of(const struct top_state *s, int64_t newest)
{
    int64_t end = s->follow ? newest : s->end, from = saturate_add(end, -s->span);
    struct linked_state l = {
        .from = from > 0 ? from : 0, .until = end, .cursor = s->follow ? 0 : s->time, .follow = s->follow};
    snprintf(l.filter, sizeof l.filter, "%s", s->filter);
    return l;
}

/* While both views follow the run, each window ends at the newest time that its own view knows: only lengths compare.
 */
static bool is_same(const struct linked_state *a, const struct linked_state *b)
{
    if (a->follow != b->follow || a->cursor != b->cursor || strcmp(a->filter, b->filter) != 0)
        return false;
    return a->follow ? a->until - a->from == b->until - b->from : a->from == b->from && a->until == b->until;
}

void top_link_send(struct top_link *l, const struct top_state *s, int64_t newest)
{
    struct linked_state state = state_of(s, newest);
    if (!l->linked || s->editing || state.from >= state.until || is_same(&state, &l->known))
        return;
    l->known = state;
    linked_send(l->linked, &state);
}

bool top_link_receive(struct top_link *l, struct top_state *s)
{
    struct linked_state state;
    if (!linked_receive(l->linked, &state))
        return false;
    s->follow = state.follow;
    s->span = state.until - state.from;
    s->end = state.until;
    s->time = state.cursor ? state.cursor : state.until;
    snprintf(s->filter, sizeof s->filter, "%.*s", (int)sizeof s->filter - 1, state.filter);
    l->known = state_of(s, state.until);
    return true;
}
