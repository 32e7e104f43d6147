// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "import/pairs.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    int64_t key[PAIRS_KEYS], time;
    struct pair *next;
};

static struct pair **chain_of(struct pairs *p, const int64_t key[PAIRS_KEYS])
{
    uint64_t h = (uint64_t)key[0] * 31 + (uint64_t)key[1] * 1009 + (uint64_t)key[2] * 7919;
    return &p->chains[(h ^ h >> 16) % PAIRS_CHAINS];
}

bool pairs_enter(struct pairs *p, const int64_t key[PAIRS_KEYS], int64_t time)
{
    struct pair **first = chain_of(p, key), *e = p->count < PAIRS_MAX ? malloc(sizeof *e) : NULL;
    if (!e)
        return pairs_lose(p, time), false;
    memcpy(e->key, key, sizeof e->key);
    e->time = time;
    e->next = *first;
    *first = e;
    p->count++;
    return true;
}

int64_t pairs_leave(struct pairs *p, const int64_t key[PAIRS_KEYS], int64_t time)
{
    struct pair **at = chain_of(p, key), *e;
    while (*at && memcmp((*at)->key, key, sizeof(*at)->key) != 0)
        at = &(*at)->next;
    if (!(e = *at))
        return -1;
    int64_t since = e->time;
    *at = e->next;
    free(e);
    p->count--;
    return (since > p->lost_until || p->lost_until == 0) && time >= since ? time - since : -1;
}

void pairs_lose(struct pairs *p, int64_t until)
{
    p->lost_until = until > p->lost_until ? until : p->lost_until;
}

void pairs_free(struct pairs *p)
{
    for (int i = 0; i < PAIRS_CHAINS; i++)
        while (p->chains[i]) {
            struct pair *e = p->chains[i];
            p->chains[i] = e->next;
            free(e);
        }
}
