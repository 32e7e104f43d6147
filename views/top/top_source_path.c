// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The path to what the run did last in the shown interval, as `bezel why --path` has it (docs/WHY.md). */
#include "views/top/top_source_internal.h"

#include "base/saturate.h"

#include <stdlib.h>

enum { ROWS_MOST = 256 };

static void add_row(struct top_source *s, const struct why_page *p, size_t i)
{
    const struct slow_term *t = &s->why.terms.terms[i];
    struct top_item *item = top_source_add(s);
    if (!item)
        return;
    why_term_texts(p, &s->why, t, s->path_texts[i].what, s->path_texts[i].where, sizeof s->path_texts[i].what);
    item->id = (struct top_id){TOP_ANY, i + 1, 0, TOP_ANY, -1};
    item->into = TOP_VIEWS;
    item->texts[0] = s->path_texts[i].what;
    item->texts[1] = s->path_texts[i].where;
    item->values[0] = 100 * t->slow / s->why.terms.slow;
    item->values[1] = t->slow;
}

int top_source_path(struct top_source *s)
{
    const struct why_page p = {.several_nodes = s->c.node_count > 1};
    const struct why_question q = {.of = WHY_PATH,
                                   .from = saturate_add(s->time, -s->interval),
                                   .until = saturate_add(s->time, 1),
                                   .goes_on = !s->at_end};
    why_free(&s->why);
    int err = why_read(s->path, &q, &s->why);
    size_t count = s->why.terms.count < ROWS_MOST ? s->why.terms.count : ROWS_MOST;
    if (!s->path_texts)
        s->path_texts = malloc(ROWS_MOST * sizeof *s->path_texts);
    if (err || !s->path_texts)
        return err ? err : BEZEL_ENOMEM;
    for (size_t i = 0; i < count; i++)
        add_row(s, &p, i);
    s->left_out += s->why.terms.count - count;
    return 0;
}
