// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_messages.h"

#include "base/saturate.h"
#include "run/model/message_keys.h"

#include <stdlib.h>
#include <string.h>

/*
 * A table keeps its entries in a ring, in the order in which they came, and finds them by lists of those with the same
 * last bits of their keys. When it is full, the oldest entry makes room. Memory that no entry has used yet is not
 * touched. Messages that follow each other have mostly keys that do (message_keys()), and so places that do in `lists`
 * and `links`, which a search reads alone.
 */

enum { LEAST = 256 }; /* entries */

struct link {
    uint64_t key;
    uint32_t next; /* of the same list, plus 1; 0: none */
};

struct table {
    uint32_t *lists; /* of `capacity` entries: the first of the list, plus 1; 0: none */
    struct link *links;
    struct record_sent *ring; /* of a receiving: its key alone */
    uint64_t count;           /* that ever came; the last `capacity` of them are there */
    uint64_t forgotten;
    uint32_t capacity; /* a power of two */
    bool in_order;
};

struct record_messages {
    struct table sent, received;
};

/* ---- a table ----------------------------------------------------------------------------------------------------- */

static uint32_t list_of(const struct table *t, uint64_t key)
{
    return (uint32_t)key & (t->capacity - 1);
}

static struct record_sent *find(const struct table *t, uint64_t key)
{
    for (uint32_t i = t->lists[list_of(t, key)]; i > 0; i = t->links[i - 1].next)
        if (t->links[i - 1].key == key)
            return &t->ring[i - 1];
    return NULL;
}

static void link_entry(struct table *t, uint32_t i)
{
    uint32_t *list = &t->lists[list_of(t, t->links[i].key)];
    t->links[i].next = *list;
    *list = i + 1;
}

static void unlink_entry(struct table *t, uint32_t i)
{
    uint32_t *at = &t->lists[list_of(t, t->links[i].key)];
    while (*at != i + 1)
        at = &t->links[*at - 1].next;
    *at = t->links[i].next;
}

/*
 * Adds an entry; of several with one key the earliest counts, unless the one that is there has its place already; or in
 * order, that of the latest process.
 */
static void add(struct table *t, const struct record_sent *sent)
{
    struct record_sent *same = find(t, sent->key);
    if (same) {
        bool takes_over = t->in_order && same->process != sent->process;
        if (takes_over || (!same->given && sent->at.ns < same->at.ns))
            *same = *sent;
        return;
    }
    uint32_t i = (uint32_t)t->count & (t->capacity - 1);
    if (t->count >= t->capacity) {
        unlink_entry(t, i);
        t->forgotten++;
    }
    t->ring[i] = *sent;
    t->links[i].key = sent->key;
    link_entry(t, i);
    t->count++;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void free_table(struct table *t)
{
    free(t->lists);
    free(t->links);
    free(t->ring);
}

/* A table of no more than `memory`, and of less if there is not as much. */
static bool make_table(struct table *t, size_t memory)
{
    size_t most = memory / (sizeof *t->ring + sizeof *t->links + sizeof *t->lists);
    t->capacity = LEAST;
    while (2 * (size_t)t->capacity <= most && t->capacity < UINT32_MAX / 4)
        t->capacity *= 2;
    for (;; t->capacity /= 2) {
        t->lists = calloc(t->capacity, sizeof *t->lists);
        t->links = malloc(t->capacity * sizeof *t->links);
        t->ring = malloc(t->capacity * sizeof *t->ring);
        if (t->lists && t->links && t->ring)
            return true;
        free_table(t);
        *t = (struct table){.capacity = t->capacity};
        if (t->capacity == LEAST)
            return false;
    }
}

struct record_messages *record_messages_new(size_t memory)
{
    struct record_messages *m = calloc(1, sizeof *m);
    if (m && make_table(&m->sent, memory / 2) && make_table(&m->received, memory / 2))
        return m;
    record_messages_free(m);
    return NULL;
}

void record_messages_free(struct record_messages *m)
{
    if (!m)
        return;
    free_table(&m->sent);
    free_table(&m->received);
    free(m);
}

void record_messages_in_order(struct record_messages *m)
{
    m->sent.in_order = true;
}

/* The keys of a message, which it may have with it. */
static int keys_of(const struct record_item *item, enum dict_kind kind, uint64_t keys[2])
{
    if (!item->key_count || item->aspect->kind != kind)
        return message_keys(item->process, item->r, kind, keys);
    memcpy(keys, item->keys, sizeof item->keys);
    return (int)item->key_count;
}

void record_messages_add(struct record_messages *m, const struct record_item *sent)
{
    uint64_t keys[2];
    for (int i = 0, n = keys_of(sent, DICT_SENT, keys); i < n; i++)
        add(&m->sent, &(struct record_sent){.key = keys[i],
                                            .node = sent->process->node->row,
                                            .process = sent->process->row,
                                            .aspect = sent->r->aspect,
                                            .stream = (uint32_t)sent->stream,
                                            .time = sent->time,
                                            .at = sent->at});
}

uint64_t record_messages_forgotten(const struct record_messages *m)
{
    return m->sent.forgotten;
}

const struct record_sent *record_messages_by_key(const struct record_messages *m, uint64_t key)
{
    return find(&m->sent, key);
}

const struct record_sent *record_messages_find(const struct record_messages *m, const struct record_item *received)
{
    uint64_t keys[2];
    const struct record_sent *sent = NULL;
    for (int i = 0, n = keys_of(received, DICT_RECEIVED, keys); i < n && !sent; i++)
        sent = record_messages_by_key(m, keys[i]);
    return sent;
}

struct clock_reading record_message_took(const struct record_sent *sent, const struct record_item *received)
{
    if (sent->node == received->process->node->row)
        return (struct clock_reading){(int64_t)(received->time - sent->time), 0};
    return (struct clock_reading){saturate_sub(received->at.ns, sent->at.ns),
                                  saturate_add(received->at.bound, sent->at.bound)};
}

const struct record_sent *record_messages_pair(const struct record_messages *m, const struct record_item *received)
{
    const struct record_sent *sent = record_messages_find(m, received);
    struct clock_reading took = sent ? record_message_took(sent, received) : (struct clock_reading){0, 0};
    return saturate_add(took.ns, took.bound) < 0 ? NULL : sent;
}

const struct record_sent *record_messages_match(struct record_messages *m, const struct record_item *received,
                                                bool *first)
{
    const struct record_sent *found = record_messages_find(m, received);
    if (!found)
        return NULL;
    struct record_sent *sent = find(&m->sent, found->key);
    *first = !sent->matched;
    sent->matched = true;
    return found;
}

void record_messages_received(struct record_messages *m, const struct record_item *received)
{
    uint64_t keys[2];
    for (int i = 0, n = keys_of(received, DICT_RECEIVED, keys); i < n; i++)
        add(&m->received, &(struct record_sent){.key = keys[i]});
}

bool record_messages_sent(struct record_messages *m, const struct record_item *sent)
{
    uint64_t keys[2];
    bool is_behind = false;
    for (int i = 0, n = keys_of(sent, DICT_SENT, keys); i < n; i++) {
        struct record_sent *e = find(&m->sent, keys[i]);
        if (e && !e->given) { /* the first record of the message counts */
            e->given = true;
            is_behind = is_behind || find(&m->received, keys[i]);
        }
    }
    return is_behind;
}
