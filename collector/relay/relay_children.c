// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/relay/relay_internal.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_COST = 512 }; /* memory of a frame in a queue beside its bytes */

int relay_children_open(struct relay *r)
{
    uint32_t slots = 2;
    while (slots < 2 * r->options.children)
        slots *= 2;
    r->children = calloc(r->options.children, sizeof *r->children);
    r->by_peer = (struct hash_index){calloc(slots, sizeof *r->by_peer.slots), slots - 1};
    r->shares = shares_new((const uint64_t[SHARE_KINDS]){[SHARE_PLACES] = r->options.children});
    return r->children && r->by_peer.slots && r->shares ? 0 : BEZEL_ENOMEM;
}

void relay_children_close(struct relay *r)
{
    while (r->children && r->status.children > 0)
        relay_forget(r, r->children[0]);
    for (struct relay_child *c = r->forgotten, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(r->children);
    free(r->by_peer.slots);
    shares_free(r->shares);
}

static int number_of(const struct relay *r, const struct link_peer *peer)
{
    return hash_index_find(&r->by_peer, link_peer_key(peer), link_peer_sizes(peer));
}

static void enter(struct relay *r, uint32_t number)
{
    const struct link_peer *peer = &r->children[number]->peer;
    hash_index_put(&r->by_peer, link_peer_key(peer), link_peer_sizes(peer), number);
}

struct relay_child *relay_find(const struct relay *r, const struct link_peer *peer)
{
    int number = number_of(r, peer);
    return number >= 0 && link_peer_is(&r->children[number]->peer, peer) ? r->children[number] : NULL;
}

void relay_forget(struct relay *r, struct relay_child *child)
{
    uint32_t number = 0;
    while (r->children[number] != child)
        number++;
    relay_leave_window(r, child);
    hash_index_remove(&r->by_peer, link_peer_key(&child->peer), link_peer_sizes(&child->peer));
    struct relay_child *last = r->children[--r->status.children];
    if (last != child) {
        r->children[number] = last;
        enter(r, number);
    }
    shares_give(r->shares, child->share, SHARE_PLACES);
    child->next = r->forgotten;
    r->forgotten = child;
    atomic_fetch_sub_explicit(&child->held, 1, memory_order_relaxed); /* relaxed: this thread frees it */
}

void relay_forget_all(struct relay *r)
{
    while (r->status.children > 0)
        relay_forget(r, r->children[r->status.children - 1]);
}

/* Whether the child is the one that sent `hello`. A trace of another name is left to the root to refuse. */
static bool is_same(const struct relay_child *c, const struct message_hello *hello)
{
    return memcmp(c->uuid, hello->uuid, sizeof c->uuid) == 0 && strcmp(c->node, hello->node) == 0;
}

const struct relay_child *relay_other(const struct relay *r, const struct link_peer *peer,
                                      const struct message_hello *hello)
{
    for (unsigned i = 0; i < r->status.children; i++)
        if (is_same(r->children[i], hello) && !link_peer_is(&r->children[i]->peer, peer))
            return r->children[i];
    return NULL;
}

struct relay_child *relay_add(struct relay *r, const struct link_peer *peer, const struct message_hello *hello,
                              struct share *share)
{
    int number = number_of(r, peer);
    if (number >= 0)
        relay_forget(r, r->children[number]);
    for (unsigned i = r->status.children; i-- > 0;)
        if (is_same(r->children[i], hello))
            relay_forget(r, r->children[i]);
    struct relay_child *child = shares_may(r->shares, share, SHARE_PLACES) ? calloc(1, sizeof *child) : NULL;
    if (!child)
        return NULL;
    child->peer = *peer;
    child->share = share;
    shares_take(r->shares, share, SHARE_PLACES);
    memcpy(child->uuid, hello->uuid, sizeof child->uuid);
    memcpy(child->run, hello->run, sizeof child->run);
    child->attempt = hello->attempt;
    memcpy(child->node, hello->node, sizeof child->node);
    atomic_init(&child->held, 1);
    r->children[r->status.children++] = child;
    enter(r, r->status.children - 1);
    return child;
}

uint64_t relay_held_of(const struct relay *r, const struct relay_child *child)
{
    uint64_t held = atomic_load_explicit(&child->held, memory_order_relaxed); /* relaxed: a bound with room behind it */
    for (struct relay_child *c = r->forgotten; c; c = c->next)
        if (c->share == child->share)
            held += atomic_load_explicit(&c->held, memory_order_relaxed); /* relaxed: likewise */
    return held;
}

static void free_forgotten(struct relay *r)
{
    for (struct relay_child **at = &r->forgotten; *at;) {
        struct relay_child *c = *at;
        if (atomic_load_explicit(&c->held, memory_order_acquire) != 0) { /* I1 acquire: pairs I0 */
            at = &c->next;
            continue;
        }
        *at = c->next;
        free(c);
    }
}

void relay_look_at_children(struct relay *r, int64_t now)
{
    for (unsigned i = r->status.children; i-- > 0;)
        if (now - r->children[i]->heard_at > RELAY_CHILD_SILENCE) {
            log_warn("BEZEL-PEER-SILENT",
                     "nothing received from node %s for 5 s: it counts as gone until it sends HELLO",
                     r->children[i]->node);
            relay_forget(r, r->children[i]);
        }
    free_forgotten(r);
}

void relay_end_unidentified(struct relay *r, int64_t now)
{
    size_t n = r->status.children;
    uint64_t *known = calloc(n + 1, sizeof *known);
    if (!known)
        return;
    for (size_t i = 0; i < n; i++)
        known[i] = r->children[i]->connection;
    unsigned ended = unidentified_peers_look(r->unidentified_peers, known, n, now);
    free(known);
    if (ended)
        log_warn("BEZEL-UNIDENTIFIED", "%u connections that belong to no node were ended", ended);
    r->status.unidentified += ended;
}

void relay_hold(struct relay *r, struct relay_child *child, uint64_t bytes)
{
    atomic_fetch_add_explicit(&r->held, bytes + FRAME_COST, memory_order_relaxed); /* relaxed: a count */
    atomic_fetch_add_explicit(&child->held, bytes, memory_order_relaxed);          /* relaxed: the link hands it over */
}

void relay_let_go(struct relay *r, struct relay_child *child, uint64_t bytes)
{
    atomic_fetch_sub_explicit(&r->held, bytes + FRAME_COST, memory_order_relaxed); /* relaxed: a count */
    atomic_fetch_sub_explicit(&child->held, bytes, memory_order_release); /* I0 release: pairs I1, the last use */
}
