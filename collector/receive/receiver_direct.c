// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Packets of nodes on this machine, read out of their windows (mdr/uplink/direct.h). They are frames of a batch like
 * those of the link, and are checked, stored, acknowledged and counted like them. Two things differ. The description of
 * a process comes by the link and may be later than its first packet: that packet waits for it. And a packet that
 * cannot be stored now (a pause, a full disk, a node beyond its rate) stays in the window.
 */
#include "collector/receive/receiver_internal.h"

#include "base/log.h"
#include "base/uuid.h"

#include <stdlib.h>

#define HOLD_MOST CLOCK_S /* for a description; then the node is asked for it */

/* ---- agreeing ---------------------------------------------------------------------------------------------------- */

void receiver_leave_direct(struct receiver *in, struct peer *peer)
{
    if (!peer->direct)
        return;
    peer->direct->next_left = in->left;
    in->left = peer->direct;
    peer->direct = NULL;
    in->direct_count--;
}

void receiver_free_left(struct receiver *in)
{
    while (in->left) {
        struct direct_source *d = in->left;
        in->left = d->next_left;
        direct_reader_close(d->reader);
        free(d);
    }
}

static int open_source(struct receiver *in, struct peer *peer, const struct message_direct *m, char why[DIRECT_WHY_MAX])
{
    uint8_t run[16];
    why[0] = '\0';
    if (in->direct_count == RECEIVER_DIRECT_MAX || !uuid_read(in->model->run, run)) {
        snprintf(why, DIRECT_WHY_MAX, "the collector reads %d windows already", RECEIVER_DIRECT_MAX);
        return BEZEL_EFULL;
    }
    struct direct_source *d = calloc(1, sizeof *d);
    if (!d)
        return BEZEL_ENOMEM;
    int err = direct_reader_open(m->text, run, peer->node->uuid, m->proof, &d->reader, why);
    if (err) {
        free(d);
        return err;
    }
    peer->direct = d;
    in->direct_count++;
    return 0;
}

void receiver_on_direct(struct receiver *in, struct peer *peer, const struct message_direct *m)
{
    char why[DIRECT_WHY_MAX];
    if (m->attempt != peer->attempt || peer->asked_direct) { /* a node asks once for each HELLO, which has its rate */
        in->model->totals.refused++;
        return;
    }
    peer->asked_direct = true;
    peer->direct_proof = m->proof;
    bool agreed = open_source(in, peer, m, why) == 0;
    struct message_direct answer = {.attempt = m->attempt, .proof = m->proof, .agreed = agreed};
    message_text(answer.text, MESSAGE_TEXT_MAX, why);
    in->out.type = MESSAGE_DIRECT;
    in->out.direct = answer;
    if (receiver_send(in, &peer->id) != 0)
        receiver_leave_direct(in, peer); /* packets take the link */
    if (!agreed)
        log_info("BEZEL-DIRECT", "node %s: packets take the link: %s", peer->node->name, why);
}

/* The offered packets are invalid or gone: the node is to send the missing ones over the link. May drop the peer. */
static void give_up(struct receiver *in, struct peer *peer)
{
    log_warn("BEZEL-DIRECT", "node %s: its window can no longer be read: the missing packets come over the link",
             peer->node->name);
    receiver_leave_direct(in, peer);
    in->out.type = MESSAGE_DIRECT;
    in->out.direct = (struct message_direct){.attempt = peer->attempt, .proof = peer->direct_proof};
    message_text(in->out.direct.text, MESSAGE_TEXT_MAX, "the window could not be read on");
    if (receiver_send(in, &peer->id) != 0) /* it connects again */
        receiver_drop(in, peer);
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

/* Whether the packet's process is described, or need not be: it is refused, or has ended. */
static bool is_described(const struct model_node *node, const struct packet_header *h)
{
    const struct model_process *p = model_find_process(node, h->instance);
    if (!p)
        return model_is_untaken(node, h->instance);
    return p->refused || model_is_evicted(p) || dict_includes(p->dict, h->dictionary);
}

/* Whether the packet waits for a description, as long as that can be under way. */
static bool is_held(struct peer *peer, const struct direct_packet *packet, int64_t now)
{
    struct packet_header h;
    struct direct_source *d = peer->direct;
    if (packet_get_header(packet->data, packet->bytes, &h) != 0 || is_described(peer->node, &h)) {
        d->held_at = 0;
        return false;
    }
    if (d->held_at == 0)
        d->held_at = now;
    return now - d->held_at < HOLD_MOST;
}

/* May drop the peer, which it cannot answer. Its source then lives as long as the batch. */
static void take(struct receiver *in, struct peer *peer, const struct direct_packet *packet, int64_t now)
{
    struct direct_source *d = peer->direct;
    struct link_frame *frame = &in->frames[in->batch];
    struct received *a = &in->results[in->batch];
    *frame = (struct link_frame){.peer = peer->id, .data = packet->data, .size = packet->bytes};
    in->direct[in->batch] = true;
    in->received[in->batch] = now; /* no sign of life: the link is to be alive, too */
    receiver_on_packet(in, frame, peer, a);
    if (a->what != RECEIVED_REFUSED && a->stream) {
        a->stream->direct = packet->stream + 1;
        d->streams[packet->stream] = a->stream;
    }
    in->batch++;
    direct_reader_take(d->reader);
}

static void take_from(struct receiver *in, struct peer *peer, size_t most)
{
    struct direct_packet packet;
    struct direct_source *d = peer->direct;
    int more = d->turn == in->turn ? 0 : direct_reader_fill(d->reader);
    d->turn = in->turn;
    d->waits = false;
    while (!more && in->batch < most && (more = direct_reader_look(d->reader, &packet)) > 0) {
        int64_t now = clock_now();
        d->waits = receiver_holds_back(in, peer, now) || is_held(peer, &packet, now);
        if (d->waits)
            return;
        (void)receiver_charge(in, peer, packet.bytes, now);
        take(in, peer, &packet, now);
        if (peer->direct != d)
            return;
        more = 0;
    }
    if (more < 0) {
        give_up(in, peer);
        return;
    }
    int64_t low = direct_reader_low(d->reader);
    if (low > peer->node->low)
        receiver_take_low(in, peer, (uint64_t)low);
}

/* Who fills the batch is the last one whose turn it is again: a node that never stops keeps nobody else waiting. */
void receiver_take_direct(struct receiver *in, size_t most)
{
    bool stands = in->paused || store_failure(in->store, NULL);
    for (unsigned n = in->peer_count; n > 0 && in->direct_count > 0 && in->batch < most; n--) {
        in->next_direct = in->next_direct < in->peer_count ? in->next_direct : 0;
        struct peer *peer = &in->peers[in->next_direct++];
        if (peer->direct && (stands || peer->silenced))
            peer->direct->waits = true;
        else if (peer->direct)
            take_from(in, peer, most);
    }
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

bool receiver_direct_acknowledge(struct peer *peer, const struct model_stream *s, uint64_t next_seq)
{
    struct direct_source *d = peer->direct;
    if (!d || !s->direct || s->behind || d->streams[s->direct - 1] != s)
        return false;
    direct_reader_acknowledge(d->reader, s->direct - 1, next_seq);
    return true;
}

void receiver_direct_acknowledged(struct peer *peer)
{
    if (peer->direct)
        direct_reader_acknowledged(peer->direct->reader);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

int64_t receiver_sleep(struct receiver *in, int *fds, size_t *count, int64_t most)
{
    *count = 0;
    for (unsigned i = 0; i < in->peer_count && *count < in->direct_count; i++) {
        struct direct_source *d = in->peers[i].direct;
        if (!d)
            continue;
        most = direct_reader_sleep(d->reader, d->waits, &fds[*count], most);
        ++*count;
    }
    return most;
}

void receiver_awake(struct receiver *in)
{
    for (unsigned i = 0, n = 0; i < in->peer_count && n < in->direct_count; i++)
        if (in->peers[i].direct) {
            direct_reader_awake(in->peers[i].direct->reader);
            n++;
        }
}
