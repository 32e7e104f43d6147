// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/link/shares.h"

#include "base/hash.h"
#include "base/hash_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * SHARES_MAX };

struct shares {
    uint64_t limits[SHARE_KINDS], used[SHARE_KINDS];
    struct hash_index by_name; /* numbers of shares, by the hash of their names */
    struct share *list[SHARES_MAX];
    uint32_t count;
    struct share others; /* of names beyond SHARES_MAX, or with the hash of another name */
};

struct shares *shares_new(const uint64_t limits[SHARE_KINDS])
{
    struct shares *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    memcpy(s->limits, limits, sizeof s->limits);
    s->by_name = (struct hash_index){calloc(SLOTS, sizeof *s->by_name.slots), SLOTS - 1};
    s->others.number = SHARES_MAX;
    if (s->by_name.slots)
        return s;
    free(s);
    return NULL;
}

void shares_free(struct shares *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->count; i++)
        free(s->list[i]);
    free(s->by_name.slots);
    free(s);
}

struct share *shares_of(struct shares *s, const char *node)
{
    uint64_t key = hash_fnv64(HASH_FNV64_START, node, strlen(node));
    int number = hash_index_find(&s->by_name, key, HASH_INDEX_NO_RING);
    if (number >= 0)
        return strcmp(s->list[number]->node, node) == 0 ? s->list[number] : &s->others;
    if (s->count == SHARES_MAX)
        return &s->others;
    struct share *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    snprintf(made->node, sizeof made->node, "%s", node);
    made->number = s->count;
    s->list[s->count] = made;
    hash_index_put(&s->by_name, key, HASH_INDEX_NO_RING, s->count++);
    return made;
}

/* What the nodes before number `until`, but for one, have not taken yet of their own parts, `part` each. */
static uint64_t owed(const struct shares *s, uint32_t until, const struct share *but, enum share_kind kind,
                     uint64_t part)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->count && i < until; i++)
        if (s->list[i] != but && !s->list[i]->left && s->list[i]->used[kind] < part)
            sum += part - s->list[i]->used[kind];
    return sum;
}

bool shares_may(const struct shares *s, const struct share *of, enum share_kind kind)
{
    if (s->used[kind] >= s->limits[kind])
        return false;
    uint64_t part = s->count ? s->limits[kind] / SHARES_OWN / s->count : 0;
    part = part ? part : 1;
    uint32_t until = of->used[kind] < part ? of->number : s->count;
    return s->limits[kind] - s->used[kind] > owed(s, until, of, kind, part);
}

void shares_take(struct shares *s, struct share *of, enum share_kind kind)
{
    s->used[kind]++;
    of->used[kind]++;
    of->left = false;
}

void shares_give(struct shares *s, struct share *of, enum share_kind kind)
{
    s->used[kind]--;
    of->used[kind]--;
}

static bool share_rate(struct token_bucket *of, uint64_t rate, uint64_t burst, uint64_t cost, int64_t now)
{
    if (token_bucket_overdrawn(of, rate, now) > burst)
        return false;
    token_bucket_take(of, rate, cost, now);
    return true;
}

bool share_hello(struct share *of, int64_t now)
{
    return share_rate(&of->hellos, SHARE_HELLOS, SHARE_HELLOS_BURST, 1, now);
}

bool share_message(struct share *of, size_t bytes, int64_t now)
{
    return share_rate(&of->messages, SHARE_MESSAGES, SHARE_MESSAGES_BURST, 1 + bytes / 4096, now);
}
