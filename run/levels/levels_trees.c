// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/levels/levels_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void levels_ring_publish(struct levels_ring *ring)
{
    const struct trace_position *at = &ring->at;
    struct levels_stream *s = &ring->is;
    s->records = at->records;
    s->bytes = at->bytes;
    s->lost = at->chain.discarded - at->chain.reduced;
    s->first = (int64_t)at->first;
    s->last = at->bytes ? (int64_t)at->last.timestamp_end : -1;
    s->thread = at->bytes ? at->last.thread : s->thread;
    s->closed = at->chain.closed;
}

/* ---- one --------------------------------------------------------------------------------------------------------- */

static struct levels_identity identity_of(const struct levels_ring *ring)
{
    struct levels_identity of = {.path = ring->is.path,
                                 .dict = ring->is.process->dict,
                                 .instance = ring->is.process->instance,
                                 .ring = ring->is.ring};
    memcpy(of.uuid, ring->is.process->node->uuid, sizeof of.uuid);
    return of;
}

static void free_tree(struct levels_tree *t)
{
    levels_store_forget(t->store, t);
    levels_tree_fini(t);
    free(t);
}

static struct levels_tree *new_tree(struct levels *l, struct levels_ring *ring)
{
    struct levels_tree *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    levels_tree_init(t, &l->store);
    t->path = ring->is.path;
    t->ring = ring;
    t->saved_at = clock_now();
    return t;
}

/* Whether the last packet that the tree took in is where it was. */
static bool is_of_file(struct levels *l, const struct levels_ring *ring, const struct levels_tree *t)
{
    uint8_t header[PACKET_HEADER_BYTES];
    const uint8_t *bytes;
    if (t->at.bytes > ring->size)
        return false;
    packet_put_header(header, &t->at.last);
    ssize_t n = trace_part_get(&l->part, ring->is.path, t->at.bytes - t->at.last.size_bytes, sizeof header,
                               sizeof header, &bytes);
    if (n == BEZEL_EAGAIN) /* it has expired since then */
        return true;
    return n >= (ssize_t)sizeof header && memcmp(bytes, header, sizeof header) == 0;
}

/* Loads the tree, if it is stored. Returns 0 or an error. */
static int load(struct levels *l, struct levels_ring *ring, struct levels_tree **t)
{
    struct levels_identity of = identity_of(ring);
    struct levels_tree *it = new_tree(l, ring);
    *t = NULL;
    if (!it)
        return BEZEL_ENOMEM;
    int err = levels_store_load(it, &of);
    if (!err && is_of_file(l, ring, it)) {
        *t = it;
        return 0;
    }
    free_tree(it);
    return err == BEZEL_ENOMEM ? err : 0;
}

/* A new tree, of nothing yet. */
static int begin(struct levels *l, struct levels_ring *ring, struct levels_tree **t)
{
    struct levels_tree *it = new_tree(l, ring);
    if (!it)
        return BEZEL_ENOMEM;
    levels_store_remove(&l->store, ring->is.path);
    if (getrandom(&it->nonce, sizeof it->nonce, GRND_NONBLOCK) != (ssize_t)sizeof it->nonce)
        it->nonce = (uint64_t)clock_now();
    *t = it;
    return 0;
}

int levels_tree_get(struct levels *l, struct levels_ring *ring, bool make, struct levels_tree **t)
{
    *t = ring->tree;
    if (!*t && !ring->raw && (make || ring->built)) {
        int err = load(l, ring, t);
        if (!err && !*t && make)
            err = begin(l, ring, t);
        if (err)
            return err;
        ring->tree = *t;
        ring->built = *t ? (*t)->at.bytes : 0;
        l->memory += *t ? (*t)->memory : 0;
    }
    if (!*t)
        return 0;
    if ((*t)->at.bytes > ring->at.bytes) {
        ring->at = (*t)->at;
        levels_ring_publish(ring);
    }
    (*t)->used = ++l->uses;
    levels_trees_fit(l, ring);
    return 0;
}

void levels_tree_drop(struct levels *l, struct levels_ring *ring)
{
    if (!ring->tree)
        return;
    l->memory -= ring->tree->memory;
    free_tree(ring->tree);
    ring->tree = NULL;
}

void levels_tree_remove(struct levels *l, struct levels_ring *ring)
{
    levels_tree_drop(l, ring);
    levels_store_remove(&l->store, ring->is.path);
    ring->built = 0;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static int save(struct levels_ring *ring)
{
    struct levels_identity of = identity_of(ring);
    int err = ring->tree->changed ? levels_store_save(ring->tree, &of) : 0;
    ring->tree->saved_at = clock_now();
    return err;
}

void levels_trees_save(struct levels *l, bool all)
{
    int64_t now = clock_now();
    bool any = false;
    for (size_t i = 0; i < l->count && l->store.writes; i++) {
        struct levels_tree *t = l->rings[i]->tree;
        if (t && t->changed && (all || now - t->saved_at >= LEVELS_SAVE_EVERY))
            any = save(l->rings[i]) == 0 || any;
    }
    if (any)
        levels_store_measure(&l->store);
    levels_store_rest(&l->store);
}

/* Gives up the finest level that has blocks in memory, of each track. Returns whether there was one. */
static bool shed(struct levels_tree *t)
{
    size_t before = t->store->in_memory;
    for (unsigned i = 0; i < LEVELS_TRACKS; i++)
        for (unsigned level = 0; t->tracks[i] && level < LEVELS_DEPTH; level++) {
            struct levels_list *list = t->tracks[i]->lists[level];
            size_t had = t->store->in_memory;
            if (list)
                levels_store_drop(t, list);
            if (had > t->store->in_memory)
                break;
        }
    return t->store->in_memory < before;
}

/* The tree that was used the longest time ago, but that of `but`; only one that can be loaded again if `stored`. */
static struct levels_ring *oldest(struct levels *l, const struct levels_ring *but, bool stored)
{
    struct levels_ring *found = NULL;
    l->memory = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct levels_ring *ring = l->rings[i];
        l->memory += ring->tree ? ring->tree->memory : 0;
        if (!ring->tree || ring == but || (stored && ring->tree->changed && !l->store.writes))
            continue;
        if (!found || ring->tree->used < found->tree->used)
            found = ring;
    }
    return found;
}

static void fit_blocks(struct levels *l)
{
    for (size_t i = 0; i < l->count && l->store.in_memory > l->blocks_bytes; i++)
        while (l->rings[i]->tree && l->store.in_memory > l->blocks_bytes && shed(l->rings[i]->tree))
            ;
}

void levels_trees_fit(struct levels *l, const struct levels_ring *ring)
{
    if (l->store.in_memory > l->blocks_bytes)
        fit_blocks(l);
    while (l->memory > l->trees_bytes) {
        struct levels_ring *old = oldest(l, ring, true);
        if (l->memory <= l->trees_bytes)
            return;
        if (!old || save(old) != 0) { /* it cannot be stored: it is read without levels from now on */
            old = oldest(l, ring, false);
            if (!old)
                return;
            old->raw = old->tree->changed;
            old->built = old->raw ? 0 : old->built;
        }
        levels_tree_drop(l, old);
    }
}
