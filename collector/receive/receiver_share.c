// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/receive/receiver_internal.h"

#include <string.h>

/* What a node is refused because it has had its share. Said once of each node and kind in a collector's life. */
enum beyond { CROWDED, RESTLESS, IMPATIENT, TALKATIVE };

static const char *const texts[] = {
    [CROWDED] = "this node has as many connections as are its share at this collector: the others are kept for other "
                "nodes. Give each node a name of its own, or raise the limit (`store: {limits: {connections: N}}`)",
    [RESTLESS] = "this node has begun 256 traces in this run, which is its share: its bezeld starts anew too often, or "
                 "somebody else uses its key",
    [IMPATIENT] = "this node sent HELLO more than 8 times a second, which is its share: those beyond are dropped, and "
                  "counted as refused; maybe somebody else uses its key",
    [TALKATIVE] = "this node sent more than 16384 messages a second, which is its share: those beyond are dropped, and "
                  "counted as refused; maybe somebody else uses its key",
};

_Static_assert(SHARE_TRACES_MAX == 256 && SHARE_HELLOS == 8 && SHARE_MESSAGES == 16384, "the texts say so");

int receiver_shares_open(struct receiver *in)
{
    const uint64_t limits[SHARE_KINDS] = {[SHARE_PLACES] = in->limits.connections,
                                          [SHARE_PROCESSES] = in->limits.processes,
                                          [SHARE_STREAMS] = in->limits.streams ? in->limits.streams : RECEIVER_STREAMS};
    in->shares = shares_new(limits);
    for (const struct model_node *node = in->model->nodes; in->shares && node; node = node->next) {
        struct share *share = shares_of(in->shares, node->name);
        if (!share)
            return BEZEL_ENOMEM;
        share->traces++;
        for (const struct model_process *p = node->processes; p; p = p->next) {
            shares_take(in->shares, share, SHARE_PROCESSES);
            for (uint32_t ring = 0; ring < p->ring_count; ring++)
                if (p->streams[ring] && p->streams[ring]->packets)
                    shares_take(in->shares, share, SHARE_STREAMS);
        }
    }
    return in->shares ? 0 : BEZEL_ENOMEM;
}

/* The run has the note with the node's first trace. */
static void say_once(struct receiver *in, struct share *share, enum beyond what)
{
    const struct model_node *node = in->model->nodes;
    if (share->said & 1u << what)
        return;
    share->said |= 1u << what;
    while (node && strcmp(node->name, share->node) != 0)
        node = node->next;
    if (node)
        receiver_note_node(in, node, "BEZEL-NODE-SHARE", texts[what]);
}

void receiver_count_stream(struct receiver *in, const struct peer *peer)
{
    shares_take(in->shares, peer->share, SHARE_STREAMS);
    peer->node->no_stream = !shares_may(in->shares, peer->share, SHARE_STREAMS);
}

static bool refuse_beyond(struct receiver *in, struct share *share, enum beyond what)
{
    in->model->totals.refused++;
    in->changed = true;
    say_once(in, share, what);
    return false;
}

bool receiver_hello_in_share(struct receiver *in, struct share *share)
{
    return share_hello(share, clock_now()) || refuse_beyond(in, share, IMPATIENT);
}

bool receiver_message_in_share(struct receiver *in, const struct peer *peer, size_t bytes)
{
    return share_message(peer->share, bytes, peer->received_at) || refuse_beyond(in, peer->share, TALKATIVE);
}

const char *receiver_check_share(struct receiver *in, const struct model_node *node, struct share *share)
{
    bool has_place = node && receiver_find_node(in, node);
    if (!has_place && in->peer_count >= in->limits.connections)
        return "this collector serves as many connections as its limit allows; raise the limit "
               "(`store: {limits: {connections: N}}`)";
    if (!node && in->model->totals.nodes >= in->limits.processes)
        return "this run has had as many nodes as its limit of processes allows; raise the limit "
               "(`store: {limits: {processes: N}}`)";
    bool is_crowded = !has_place && !shares_may(in->shares, share, SHARE_PLACES);
    if (!is_crowded && (node || share->traces < SHARE_TRACES_MAX))
        return NULL;
    enum beyond what = is_crowded ? CROWDED : RESTLESS;
    say_once(in, share, what);
    return texts[what];
}
