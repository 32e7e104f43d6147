// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_messages.h"

#include "base/saturate.h"
#include "run/model/message_keys.h"

#include <stdlib.h>
#include <string.h>

/*
 * A table keeps its entries in a ring, in the order in which they came, and finds them by lists of those with the same
 * last bits of their keys. It grows up to its bound; then the oldest entry makes room.
 */

enum { FIRST = 256, NONE = UINT32_MAX };

struct entry {
    struct record_sent sent; /* of a receiving: its key alone */
    uint32_t next;           /* of the same list */
};

struct table {
    uint32_t *lists; /* of `capacity` entries; NULL: there is none yet */
    struct entry *ring;
    uint64_t count; /* that ever came; the last `capacity` of them are there */
    uint64_t forgotten;
    uint32_t capacity, most;
};

struct record_messages {
    struct table sent, received;
};

/* ---- a table ----------------------------------------------------------------------------------------------------- */

static uint32_t list_of(const struct table *t, uint64_t key)
{
    return (uint32_t)(key >> 20) & (t->capacity - 1);
}

static struct entry *find(const struct table *t, uint64_t key)
{
    for (uint32_t i = t->capacity ? t->lists[list_of(t, key)] : NONE; i != NONE; i = t->ring[i].next)
        if (t->ring[i].sent.key == key)
            return &t->ring[i];
    return NULL;
}

static void link_entry(struct table *t, uint32_t i)
{
    uint32_t *list = &t->lists[list_of(t, t->ring[i].sent.key)];
    t->ring[i].next = *list;
    *list = i;
}

static void unlink_entry(struct table *t, uint32_t i)
{
    uint32_t *at = &t->lists[list_of(t, t->ring[i].sent.key)];
    while (*at != i)
        at = &t->ring[*at].next;
    *at = t->ring[i].next;
}

static bool grow(struct table *t)
{
    uint32_t larger = t->capacity ? 2 * t->capacity : FIRST;
    uint32_t *lists = malloc(larger * sizeof *lists);
    struct entry *ring = lists ? realloc(t->ring, larger * sizeof *ring) : NULL;
    if (!ring) {
        free(lists);
        return false;
    }
    free(t->lists);
    t->lists = lists;
    t->ring = ring;
    t->capacity = larger;
    memset(lists, 0xff, larger * sizeof *lists); /* NONE */
    for (uint32_t i = 0; i < t->count; i++)
        link_entry(t, i);
    return true;
}

/* Adds an entry; of several with one key the earliest counts, unless the one that is there has its place already. */
static void add(struct table *t, const struct record_sent *sent)
{
    struct entry *same = find(t, sent->key);
    if (same) {
        if (!same->sent.given && sent->at.ns < same->sent.at.ns)
            same->sent = *sent;
        return;
    }
    bool room = t->count < t->capacity || (2 * (uint64_t)t->capacity <= t->most && grow(t));
    t->forgotten += !room;
    if (!room && t->capacity == 0)
        return;
    uint32_t i = (uint32_t)t->count & (t->capacity - 1);
    if (!room)
        unlink_entry(t, i);
    t->ring[i] = (struct entry){.sent = *sent};
    link_entry(t, i);
    t->count++;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

struct record_messages *record_messages_new(size_t memory)
{
    struct record_messages *m = calloc(1, sizeof *m);
    if (m)
        m->sent.most = m->received.most = (uint32_t)(memory / 2 / (sizeof(struct entry) + sizeof(uint32_t)));
    return m;
}

void record_messages_free(struct record_messages *m)
{
    if (!m)
        return;
    free(m->sent.lists);
    free(m->sent.ring);
    free(m->received.lists);
    free(m->received.ring);
    free(m);
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
                                            .stream = sent->stream,
                                            .time = sent->time,
                                            .at = sent->at});
}

uint64_t record_messages_forgotten(const struct record_messages *m)
{
    return m->sent.forgotten;
}

const struct record_sent *record_messages_by_key(const struct record_messages *m, uint64_t key)
{
    const struct entry *e = find(&m->sent, key);
    return e ? &e->sent : NULL;
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
    struct entry *e = find(&m->sent, found->key);
    *first = !e->sent.matched;
    e->sent.matched = true;
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
        struct entry *e = find(&m->sent, keys[i]);
        if (e && !e->sent.given) { /* the first record of the message counts */
            e->sent.given = true;
            is_behind = is_behind || find(&m->received, keys[i]);
        }
    }
    return is_behind;
}
