// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "collector/receive/receiver_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- peers ------------------------------------------------------------------------------------------------------- */

static struct peer *peer_at(const struct receiver *in, uint64_t key, uint32_t rest)
{
    int number = hash_index_find(&in->by_id, key, rest);
    return number < 0 ? NULL : &in->peers[number];
}

/* Of two peers with the same key the later one is found; the other one falls silent, and sends HELLO. */
static void enter(struct receiver *in, const struct peer *p)
{
    uint32_t number = (uint32_t)(p - in->peers);
    hash_index_put(&in->by_id, link_peer_key(&p->id), link_peer_sizes(&p->id), number);
    hash_index_put(&in->by_id, (uint64_t)p->node->row, HASH_INDEX_NO_RING, number);
}

int receiver_peers_open(struct receiver *in)
{
    uint32_t slots = 4; /* twice as many as keys, of which each peer has two */
    while (slots < 4 * in->limits.connections)
        slots *= 2;
    in->peers = calloc(in->limits.connections, sizeof *in->peers);
    in->by_id = (struct hash_index){calloc(slots, sizeof *in->by_id.slots), slots - 1};
    return in->peers && in->by_id.slots ? 0 : BEZEL_ENOMEM;
}

void receiver_peers_close(struct receiver *in)
{
    for (unsigned i = 0; i < in->peer_count; i++)
        receiver_leave_direct(in, &in->peers[i]);
    receiver_free_left(in);
    free(in->peers);
    free(in->by_id.slots);
}

struct peer *receiver_find(struct receiver *in, const struct link_peer *id)
{
    struct peer *p = peer_at(in, link_peer_key(id), link_peer_sizes(id));
    return p && link_peer_is(&p->id, id) ? p : NULL;
}

struct peer *receiver_find_node(const struct receiver *in, const struct model_node *node)
{
    return peer_at(in, (uint64_t)node->row, HASH_INDEX_NO_RING);
}

void receiver_drop(struct receiver *in, struct peer *peer)
{
    const struct peer *last = &in->peers[--in->peer_count];
    receiver_leave_direct(in, peer);
    shares_give(in->shares, peer->share, SHARE_PLACES);
    hash_index_remove(&in->by_id, link_peer_key(&peer->id), link_peer_sizes(&peer->id));
    hash_index_remove(&in->by_id, (uint64_t)peer->node->row, HASH_INDEX_NO_RING);
    if (peer == last)
        return;
    *peer = *last;
    enter(in, peer);
}

struct peer *receiver_add(struct receiver *in, const struct link_peer *id, struct model_node *node, struct share *share)
{
    if (in->peer_count == in->limits.connections)
        return NULL;
    struct peer *p = &in->peers[in->peer_count++];
    *p = (struct peer){.id = *id, .node = node, .share = share, .received_at = clock_now()};
    shares_take(in->shares, share, SHARE_PLACES);
    enter(in, p);
    return p;
}

bool receiver_charge(struct receiver *in, struct peer *peer, size_t bytes, int64_t now)
{
    token_bucket_take(&peer->node->bucket, in->limits.rate, bytes, now);
    uint64_t beyond = token_bucket_overdrawn(&peer->node->bucket, in->limits.rate, now);
    if (beyond && !peer->over) {
        peer->over = true;
        in->over_rate++;
        log_warn("BEZEL-PEER-RATE",
                 "node %s sends more than the limit of %s a second: its acknowledgements are delayed", peer->node->name,
                 units_bytes(in->limits.rate).s);
    }
    return beyond <= RECEIVER_OVERDRAFT;
}

bool receiver_holds_back(const struct receiver *in, struct peer *peer, int64_t now)
{
    if (peer->over && !token_bucket_overdrawn(&peer->node->bucket, in->limits.rate, now))
        peer->over = false;
    return peer->over && !peer->bye;
}

int receiver_send(struct receiver *in, const struct link_peer *id)
{
    int n = message_encode(&in->out, in->bytes, sizeof in->bytes);
    return n < 0 ? n : link_send(in->link, id, in->bytes, (size_t)n);
}

void receiver_refuse(struct receiver *in, const struct link_peer *id, const char *reason)
{
    in->model->totals.refused++;
    in->changed = true;
    log_warn("BEZEL-PEER-REFUSED", "%s", reason);
    in->out.type = MESSAGE_REFUSE;
    message_text(in->out.refuse.reason, MESSAGE_TEXT_MAX, reason);
    (void)!receiver_send(in, id);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void welcome_flush(struct receiver *in, const struct link_peer *id, bool more)
{
    in->out.welcome.more = more;
    (void)!receiver_send(in, id);
    in->out.welcome.stream_count = 0;
}

int receiver_sync(struct receiver *in, const struct model_node *node)
{
    for (const struct model_process *p = node->processes; p; p = p->next)
        for (uint32_t ring = 0; ring < p->ring_count; ring++)
            if (p->streams[ring] && store_sync(in->store, p->streams[ring]) != 0)
                return BEZEL_ESYS;
    return 0;
}

void receiver_welcome(struct receiver *in, const struct peer *peer)
{
    struct message_welcome *w = &in->out.welcome;
    if (receiver_sync(in, peer->node) != 0) /* a position is an acknowledgement here as well */
        return; /* the store fails for good, as QUERY reports; the nodes keep their packets */
    in->out.type = MESSAGE_WELCOME;
    w->credit_bytes = RECEIVER_CREDIT;
    memcpy(w->clock, in->model->clock, sizeof w->clock);
    w->clock_port = in->clock_port;
    w->stream_count = 0;
    for (const struct model_process *p = peer->node->processes; p; p = p->next)
        for (uint32_t ring = 0; ring < p->ring_count; ring++) {
            if (p->refused || !p->streams[ring] || !p->streams[ring]->packets)
                continue;
            if (w->stream_count == MESSAGE_ROWS_MAX)
                welcome_flush(in, &peer->id, true);
            w->streams[w->stream_count++] = model_position(p->streams[ring]);
        }
    welcome_flush(in, &peer->id, false);
}

void receiver_throw(struct receiver *in, struct peer *peer, const struct packet_header *h)
{
    in->out.type = MESSAGE_ACK;
    in->out.ack.stream_count = 1;
    in->out.ack.streams[0] = (struct message_position){
        .instance = h->instance,
        .ring = h->ring,
        .next_seq = h->seq + 1,
        .next_ordinal = h->first_ordinal + h->records,
        .discarded = h->discarded,
    };
    if (receiver_send(in, &peer->id) != 0) /* it connects again and repeats the packet */
        receiver_drop(in, peer);
}

void receiver_need(struct receiver *in, const struct link_peer *id, uint64_t instance)
{
    in->out.type = MESSAGE_NEED_PROCESS;
    in->out.need_process.instance = instance;
    (void)!receiver_send(in, id);
}
