// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/units.h"
#include "collector/intake_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct peer *intake_find(struct intake *in, const struct link_peer *id)
{
    struct peer *p = in->peers;
    while (p && (p->id.size != id->size || memcmp(p->id.id, id->id, id->size) != 0))
        p = p->next;
    return p;
}

struct peer *intake_find_node(const struct intake *in, const struct model_node *node)
{
    struct peer *p = in->peers;
    while (p && p->node != node)
        p = p->next;
    return p;
}

void intake_drop(struct intake *in, struct peer *peer)
{
    struct peer **at = &in->peers;
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    in->peer_count--;
    free(peer);
}

struct peer *intake_add(struct intake *in, const struct link_peer *id, struct model_node *node)
{
    struct peer *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (struct peer){.id = *id, .node = node, .heard = clock_now(), .next = in->peers};
    in->peers = p;
    in->peer_count++;
    return p;
}

bool intake_charge(struct intake *in, struct peer *peer, size_t bytes, int64_t now)
{
    bucket_take(&peer->node->bucket, in->limits.rate, bytes, now);
    uint64_t beyond = bucket_overdrawn(&peer->node->bucket, in->limits.rate, now);
    if (beyond && !peer->over) {
        peer->over = true;
        in->over_rate++;
        log_warn("BEZEL-PEER-RATE", "node %s sends more than the limit of %s a second: it waits for acknowledgements",
                 peer->node->name, units_bytes(in->limits.rate).s);
    }
    return beyond <= INTAKE_OVERDRAFT;
}

bool intake_holds_back(const struct intake *in, struct peer *peer, int64_t now)
{
    if (peer->over && !bucket_overdrawn(&peer->node->bucket, in->limits.rate, now))
        peer->over = false;
    return peer->over && !peer->bye;
}

int intake_send(struct intake *in, const struct link_peer *id)
{
    int n = message_encode(&in->out, in->bytes, sizeof in->bytes);
    return n < 0 ? n : link_send(in->link, id, in->bytes, (size_t)n);
}

void intake_refuse(struct intake *in, const struct link_peer *id, const char *reason)
{
    in->model->totals.refused++;
    in->changed = true;
    log_warn("BEZEL-PEER-REFUSED", "%s", reason);
    in->out.type = MESSAGE_REFUSE;
    snprintf(in->out.refuse.reason, sizeof in->out.refuse.reason, "%s", reason);
    (void)!intake_send(in, id);
}

/* ---- what peers hear --------------------------------------------------------------------------------------------- */

static void welcome_flush(struct intake *in, const struct link_peer *id, bool more)
{
    in->out.welcome.more = more;
    (void)!intake_send(in, id);
    in->out.welcome.stream_count = 0;
}

int intake_sync(struct intake *in, const struct model_node *node)
{
    for (const struct model_process *p = node->processes; p; p = p->next)
        for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
            if (p->streams[ring] && store_sync(in->store, p->streams[ring]) != 0)
                return BEZEL_ESYS;
    return 0;
}

void intake_welcome(struct intake *in, const struct peer *peer)
{
    struct message_welcome *w = &in->out.welcome;
    if (intake_sync(in, peer->node) != 0) /* a position is an acknowledgement here as well */
        return; /* the store fails for good, which STATUS tells; its senders keep what they have */
    in->out.type = MESSAGE_WELCOME;
    w->credit_bytes = INTAKE_CREDIT;
    w->stream_count = 0;
    for (const struct model_process *p = peer->node->processes; p; p = p->next)
        for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++) {
            if (p->refused || !p->streams[ring] || !p->streams[ring]->packets)
                continue;
            if (w->stream_count == MESSAGE_ROWS_MAX)
                welcome_flush(in, &peer->id, true);
            w->streams[w->stream_count++] = p->streams[ring]->at;
        }
    welcome_flush(in, &peer->id, false);
}

void intake_throw(struct intake *in, struct peer *peer, const struct packet_header *h)
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
    if (intake_send(in, &peer->id) != 0) /* on its next connection it sends the packet again, and hears of it */
        intake_drop(in, peer);
}

void intake_need(struct intake *in, const struct link_peer *id, uint64_t instance)
{
    in->out.type = MESSAGE_NEED;
    in->out.need.instance = instance;
    (void)!intake_send(in, id);
}
