// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/levels/levels_internal.h"

/*
 * What is read from a file may be anything. So a node must have children of lower levels alone, and these must lie in
 * its time, one behind the other: then a visit ends, and takes no longer than it takes to read all rows.
 */

enum { TOGETHER = 64 << 10 }; /* bytes of the stream between two leaves up to which both are read in one go */

struct visit {
    struct levels *l;
    const struct levels_ring *ring;
    struct levels_tree *t;
    const struct levels_track *k;
    const struct levels_visitor *to;
    /* Leaves that are to be read. */
    bool reads;
    struct levels_mark mark;
    uint64_t first, last; /* times */
    uint64_t mark_last;   /* offset of the last one's mark */
};

static int damaged(struct levels_tree *t)
{
    t->damaged = true;
    return BEZEL_EMALFORMED;
}

int levels_seek(struct levels_tree *t, uint64_t time, struct levels_mark *mark)
{
    uint64_t low = 0, high = t->marks.rows;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        const struct levels_mark *m = levels_row(t, &t->marks, LEVELS_TRACKS, 0, middle);
        if (!m)
            return damaged(t);
        if (m->time < time)
            low = middle;
        else
            high = middle;
    }
    const struct levels_mark *m = levels_row(t, &t->marks, LEVELS_TRACKS, 0, low);
    if (!m)
        return damaged(t);
    *mark = *m;
    return 0;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* Reads the leaves that wait for it. */
static int read_leaves(struct visit *v)
{
    if (!v->reads)
        return 0;
    struct levels_walk walk = {.from = v->first > v->to->from ? v->first : v->to->from,
                               .until = v->last < v->to->until ? v->last : v->to->until,
                               .end = v->t->at.bytes,
                               .aspect = v->k->number,
                               .take = v->to->take,
                               .context = v->to->context};
    v->reads = false;
    return levels_walk(v->l, v->ring, &v->mark, &walk);
}

/* The node's records must be read from the stream: with those of the nodes before, if they are near. */
static int add_leaf(struct visit *v, const struct levels_node *node)
{
    struct levels_mark mark;
    int err = 0;
    if (levels_is_leaf(node)) {
        const struct levels_mark *m = levels_row(v->t, &v->t->marks, LEVELS_TRACKS, 0, node->child & ~LEVELS_LEAF);
        if (!m)
            return damaged(v->t);
        mark = *m;
    } else
        err = levels_seek(v->t, node->first, &mark);
    if (err || mark.record < mark.packet || mark.record >= v->t->at.bytes)
        return damaged(v->t);
    if (!v->reads || mark.record - v->mark_last > TOGETHER) {
        err = read_leaves(v);
        v->reads = true;
        v->mark = mark;
        v->first = node->first;
    }
    v->mark_last = mark.record;
    v->last = node->last;
    return err;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Visits a node of a level below `above`, whose time must lie from `first` to `last`. */
static int visit(struct visit *v, const struct levels_node *row, unsigned above, uint64_t first, uint64_t last)
{
    struct levels_node node = *row;
    if (node.first < first || node.last < node.first || node.last > last)
        return damaged(v->t);
    if (node.last < v->to->from || node.first > v->to->until)
        return 0;
    if (node.first >> v->to->width == node.last >> v->to->width) {
        if (!v->reads)
            return v->to->take_node(row, v->to->context);
        uint64_t copy[(sizeof node + DICT_FIELDS_MAX * sizeof(struct levels_values)) / 8]; /* `row` may go */
        __builtin_memcpy(copy, row, v->k->row);
        int err = read_leaves(v);
        return err ? err : v->to->take_node((const struct levels_node *)copy, v->to->context);
    }
    if (levels_is_leaf(&node))
        return add_leaf(v, &node);
    unsigned level = levels_child_level(&node), n = levels_child_count(&node);
    if (level >= above)
        return damaged(v->t);
    int err = 0;
    for (unsigned i = 0; i < n && !err; i++) {
        const struct levels_node *child =
            levels_row(v->t, v->k->lists[level], v->k->number, level, levels_child_row(&node) + i);
        if (!child)
            return v->t->damaged ? BEZEL_EMALFORMED : add_leaf(v, &node); /* they were given up */
        uint64_t end = child->last;
        err = visit(v, child, level, first, node.last);
        first = end + 1;
    }
    return err;
}

int levels_visit(struct levels *l, const struct levels_ring *ring, struct levels_tree *t, uint32_t number,
                 const struct levels_visitor *visitor)
{
    uint64_t leaf[(sizeof(struct levels_node) + DICT_FIELDS_MAX * sizeof(struct levels_values)) / 8], first = 0;
    struct visit v = {.l = l, .ring = ring, .t = t, .k = t->tracks[number], .to = visitor};
    int err = 0;
    if (!v.k)
        return 0;
    for (unsigned level = LEVELS_DEPTH; level-- > 0 && !err;) {
        const struct levels_list *list = v.k->lists[level];
        for (unsigned i = 0; list && i < list->pending && !err; i++) {
            const struct levels_node *row = (const struct levels_node *)(list->waiting + (size_t)i * list->row);
            err = visit(&v, row, level, first, INT64_MAX);
            first = row->last + 1;
        }
    }
    if (!err && levels_leaf_count(v.k)) {
        levels_leaf_row(v.k, leaf);
        err = visit(&v, (struct levels_node *)leaf, 0, first, INT64_MAX);
    }
    return err ? err : read_leaves(&v);
}
