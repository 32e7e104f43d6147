// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/levels/levels_tree.h"

#include "base/grow.h"
#include "run/levels/levels_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * All that waits lies in the cell of the present time: nodes that wait in a level are children of one cell of the next
 * width, and are earlier than those of lower levels. Below the base, the level of the open leaf, nothing waits.
 */

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void list_init(const struct levels_tree *t, struct levels_list *list, uint32_t row)
{
    list->row = row;
    list->block_rows = (uint32_t)levels_store_block_rows(t->store, row);
}

void levels_tree_init(struct levels_tree *t, struct levels_store *store)
{
    t->store = store;
    t->memory = sizeof *t;
    list_init(t, &t->marks, sizeof(struct levels_mark));
}

static void list_fini(struct levels_list *list)
{
    for (size_t i = 0; i < list->blocks; i++)
        if (list->at[i] & LEVELS_IN_MEMORY)
            free(levels_block_memory(list->at[i]));
    free(list->at);
    free(list->open);
    free(list->waiting);
}

struct levels_list *levels_track_list(struct levels_tree *t, struct levels_track *k, unsigned level)
{
    struct levels_list *list = k->lists[level];
    if (list)
        return list;
    list = calloc(1, sizeof *list);
    if (!list)
        return NULL;
    list_init(t, list, k->row);
    list->waiting = malloc((size_t)LEVELS_PENDING * k->row);
    if (!list->waiting) {
        free(list);
        return NULL;
    }
    t->memory += sizeof *list + (size_t)LEVELS_PENDING * k->row;
    return k->lists[level] = list;
}

/* Makes room for an open row more. Small lists stay small. */
static int grow_open(struct levels_tree *t, struct levels_list *list, size_t open)
{
    if (open < list->open_capacity)
        return 0;
    size_t larger = list->open_capacity ? 2 * list->open_capacity : 4;
    if (larger > list->block_rows)
        larger = list->block_rows;
    if (!grow_to(&list->open, larger, list->row))
        return BEZEL_ENOMEM;
    t->memory += (larger - list->open_capacity) * list->row;
    list->open_capacity = larger;
    return 0;
}

static int grow_blocks(struct levels_tree *t, struct levels_list *list)
{
    if (list->blocks < list->capacity)
        return 0;
    size_t larger = list->capacity ? 2 * list->capacity : 8;
    if (!grow_to(&list->at, larger, sizeof *list->at))
        return BEZEL_ENOMEM;
    t->memory += (larger - list->capacity) * sizeof *list->at;
    list->capacity = larger;
    return 0;
}

int levels_append(struct levels_tree *t, struct levels_list *list, uint32_t track, unsigned level, const void *rows,
                  unsigned n, uint64_t *first)
{
    int err = 0;
    *first = list->rows;
    for (unsigned i = 0; i < n && !err; i++) {
        size_t open = list->rows - list->blocks * list->block_rows;
        err = grow_open(t, list, open);
        if (err)
            return err;
        memcpy(list->open + open * list->row, (const uint8_t *)rows + (size_t)i * list->row, list->row);
        list->rows++;
        if (open + 1 < list->block_rows)
            continue;
        err = grow_blocks(t, list);
        if (!err)
            err = levels_store_block(t, list, track, level, &list->at[list->blocks]);
        list->blocks += !err;
    }
    return err;
}

/* ---- tracks ------------------------------------------------------------------------------------------------------ */

struct levels_track *levels_track_new(struct levels_tree *t, const struct dict *d, uint32_t number)
{
    struct levels_track *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    bool is_aspect = number != LEVELS_ALL && number != LEVELS_LOSSES;
    k->number = number;
    k->fields = is_aspect ? d->field_counts[number] : 0;
    for (uint32_t i = 0; i < k->fields; i++)
        k->floats |= (uint32_t)(d->aspects[number - 1].fields[i].type == DICT_FLOAT64) << i;
    k->row = (uint32_t)(sizeof(struct levels_node) + k->fields * sizeof(struct levels_values) +
                        (number == LEVELS_LOSSES ? sizeof(uint64_t) : 0));
    k->record = number == LEVELS_LOSSES ? PACKET_HEADER_BYTES : PACKET_RECORD_BYTES + 8 * k->fields;
    t->memory += sizeof *k;
    t->count++;
    return t->tracks[number] = k;
}

void levels_tree_fini(struct levels_tree *t)
{
    for (unsigned i = 0; i < LEVELS_TRACKS; i++) {
        for (unsigned level = 0; t->tracks[i] && level < LEVELS_DEPTH; level++)
            if (t->tracks[i]->lists[level]) {
                list_fini(t->tracks[i]->lists[level]);
                free(t->tracks[i]->lists[level]);
            }
        free(t->tracks[i]);
        t->tracks[i] = NULL;
    }
    list_fini(&t->marks);
}

/*
 * The bytes that a track may have by now: some of its own records', and some of the stream's, which is much for a rare
 * aspect: of that, all records can be nodes, so that none has to be looked for among those of others.
 */
static uint64_t allowance(const struct levels_tree *t, const struct levels_track *k)
{
    enum { START = 1024 };
    uint64_t all = t->at.bytes / 50;
    if (k->number == LEVELS_ALL)
        return START + all;
    uint64_t own = (k->records + levels_leaf_count(k)) * k->record * 3 / 40;
    return START + own + (k->number == LEVELS_LOSSES ? all / 4 : all / t->count);
}

/*
 * How many records leaves have at most that were made one. Two that lie beside each other have more, so at worst all
 * have half of that: with the nodes above them, which are a seventh, their rows keep within the allowance.
 */
static uint64_t leaf_most(const struct levels_track *k, uint64_t allowed)
{
    return 16 * (uint64_t)k->row * (k->records + levels_leaf_count(k)) / (7 * allowed) + 1;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static double number_of(const struct levels_track *k, uint32_t field, int64_t key)
{
    int64_t bits = levels_key(key);
    double v;
    if (!(k->floats >> field & 1))
        return (double)key;
    memcpy(&v, &bits, sizeof v);
    return v;
}

void levels_leaf_row(const struct levels_track *k, void *row)
{
    struct levels_node *node = row;
    struct levels_values *values = (struct levels_values *)(node + 1);
    *node = k->leaf;
    node->count = levels_leaf_count(k);
    if (k->number == LEVELS_LOSSES)
        memcpy(values, &k->lost, sizeof k->lost);
    for (uint32_t i = 0; i < k->fields; i++) {
        const struct levels_field *f = &k->values[i];
        values[i] = (struct levels_values){NAN, NAN, NAN};
        if (f->min <= f->max)
            values[i] =
                (struct levels_values){number_of(k, i, f->min), number_of(k, i, f->max), number_of(k, i, f->last)};
    }
}

/* Adds what node `b` has, which follows `a`. */
static void join(const struct levels_track *k, void *a, const void *b)
{
    struct levels_node *to = a;
    const struct levels_node *of = b;
    struct levels_values *x = (struct levels_values *)(to + 1);
    const struct levels_values *y = (const struct levels_values *)(of + 1);
    to->last = of->last;
    to->count += of->count;
    if (k->number == LEVELS_LOSSES)
        *(uint64_t *)(to + 1) += *(const uint64_t *)(of + 1);
    for (uint32_t i = 0; i < k->fields; i++) {
        x[i].min = y[i].min < x[i].min || isnan(x[i].min) ? y[i].min : x[i].min;
        x[i].max = y[i].max > x[i].max || isnan(x[i].max) ? y[i].max : x[i].max;
        x[i].last = isnan(y[i].last) ? x[i].last : y[i].last;
    }
}

/* Has a node wait in a level. */
static int put(struct levels_tree *t, struct levels_track *k, unsigned level, const void *row)
{
    struct levels_list *list = levels_track_list(t, k, level);
    if (!list)
        return BEZEL_ENOMEM;
    if (list->pending == LEVELS_PENDING)
        return BEZEL_EMALFORMED; /* of a state that was not ours */
    memcpy(list->waiting + (size_t)list->pending++ * list->row, row, list->row);
    return 0;
}

/*
 * Leaves that lie in one cell of 1 << shift ns become one where that has no more than `most` records. Returns how many
 * nodes there are then.
 */
static unsigned merge_leaves(const struct levels_track *k, uint8_t *rows, unsigned n, unsigned shift, uint64_t most)
{
    unsigned last = 0;
    for (unsigned i = 1; i < n; i++) {
        struct levels_node *a = (struct levels_node *)(rows + (size_t)last * k->row);
        const struct levels_node *b = (const struct levels_node *)(rows + (size_t)i * k->row);
        if (levels_is_leaf(a) && levels_is_leaf(b) && a->first >> shift == b->first >> shift &&
            a->count + b->count <= most)
            join(k, a, b);
        else if (++last < i)
            memcpy(rows + (size_t)last * k->row, b, k->row);
    }
    return last + 1;
}

/* Whether each node lies in a cell of 1 << shift ns of its own. */
static bool are_apart(const struct levels_list *list, unsigned n, unsigned shift)
{
    for (unsigned i = 1; i < n; i++) {
        const struct levels_node *a = (const struct levels_node *)(list->waiting + (size_t)(i - 1) * list->row);
        const struct levels_node *b = (const struct levels_node *)(list->waiting + (size_t)i * list->row);
        if (a->first >> shift == b->first >> shift)
            return false;
    }
    return true;
}

static bool are_leaves(const struct levels_list *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!levels_is_leaf((const struct levels_node *)(list->waiting + (size_t)i * list->row)))
            return false;
    return true;
}

/*
 * The cell above a level is over: what waits there becomes a node, or stays one. Where all of it is one leaf, cells of
 * this width were too narrow for the present rate.
 */
static int close_level(struct levels_tree *t, struct levels_track *k, unsigned level)
{
    uint64_t row[(sizeof(struct levels_node) + DICT_FIELDS_MAX * sizeof(struct levels_values)) / 8], first;
    struct levels_list *list = k->lists[level];
    struct levels_node *node = (struct levels_node *)row;
    uint64_t allowed = allowance(t, k);
    unsigned before = list->pending, n = before, shift = 3 * level;
    list->pending = 0;
    if (n > 1 && k->spent + (uint64_t)n * list->row > allowed && are_leaves(list, n))
        n = merge_leaves(k, list->waiting, n, shift + 3, UINT64_MAX);
    for (unsigned i = 1; i <= 3 && n > 1; i++) {
        n = merge_leaves(k, list->waiting, n, shift + i, leaf_most(k, allowed));
        if (level == k->base && i == k->wider + 1 && i < 3 && n > 1 && are_apart(list, n, shift + i))
            k->wider = i;
    }
    if (n == 1) {
        if (before > 1) {
            k->base = level + 1;
            k->wider = 0;
        }
        return put(t, k, level + 1, list->waiting);
    }
    memcpy(row, list->waiting, list->row);
    for (unsigned i = 1; i < n; i++)
        join(k, row, list->waiting + (size_t)i * list->row);
    int err = levels_append(t, list, k->number, level, list->waiting, n, &first);
    k->spent += (uint64_t)n * list->row;
    node->child = levels_child(level, n, first);
    return err ? err : put(t, k, level + 1, row);
}

/* Closes all cells that are over at `time`. */
static int close_levels(struct levels_tree *t, struct levels_track *k, uint64_t time)
{
    int err = 0;
    for (unsigned level = k->base; level < LEVELS_DEPTH - 1 && !err; level++) {
        const struct levels_list *list = k->lists[level];
        if (!list || !list->pending)
            continue;
        unsigned shift = 3 * (level + 1);
        if (((const struct levels_node *)list->waiting)->first >> shift == time >> shift)
            break;
        err = close_level(t, k, level);
    }
    return err;
}

/* Closes the open leaf, within its cell or at its end. */
static int close_leaf(struct levels_tree *t, struct levels_track *k, bool within)
{
    uint64_t row[(sizeof(struct levels_node) + DICT_FIELDS_MAX * sizeof(struct levels_values)) / 8];
    levels_leaf_row(k, row);
    if (within && k->wider)
        k->wider--;
    else if (within) {
        k->base--;
        k->wider = 2;
    }
    k->records += levels_leaf_count(k);
    k->cut = k->left = 0;
    return put(t, k, k->base, row);
}

int levels_open_leaf(struct levels_tree *t, struct levels_track *k, uint64_t time)
{
    int err = 0;
    if (k->end && time < k->end) {
        if (time == k->leaf.last) { /* a cut lies between two times */
            k->cut++;
            k->left++;
            return 0;
        }
        err = close_leaf(t, k, true);
    } else if (k->end) {
        err = close_leaf(t, k, false);
        if (!err)
            err = close_levels(t, k, time);
    }
    unsigned shift = 3 * k->base + k->wider;
    k->end = ((time >> shift) + 1) << shift;
    k->cut = k->left = LEVELS_CUT * leaf_most(k, allowance(t, k));
    k->leaf = (struct levels_node){.first = time, .last = time, .child = LEVELS_LEAF | (t->marks.rows - 1)};
    k->lost = 0;
    for (uint32_t i = 0; i < k->fields; i++)
        k->values[i] = (struct levels_field){INT64_MAX, INT64_MIN, 0};
    return err;
}
