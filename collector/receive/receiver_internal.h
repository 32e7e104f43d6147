// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the receiver's files: peers, and the batch that is being received. */
#ifndef BEZEL_COLLECTOR_RECEIVE_RECEIVER_INTERNAL_H
#define BEZEL_COLLECTOR_RECEIVE_RECEIVER_INTERNAL_H

#include "base/hash_index.h"
#include "collector/receive/receiver.h"
#include "collector/receive/receiver_packet.h"
#include "mdr/link/shares.h"
#include "mdr/link/unidentified_peers.h"
#include "mdr/message.h"
#include "mdr/uplink/direct.h"

/*
 * A peer is a connection that has sent HELLO, here or at a relay below. Frames of others are dropped without an answer:
 * a sender whose collector was restarted then receives no heartbeat, and sends HELLO. A node has at most one peer, its
 * latest.
 */
struct peer {
    struct link_peer id;
    struct model_node *node;
    struct share *share;          /* of the node's name */
    uint64_t attempt;             /* of its HELLO */
    uint64_t connection;          /* link_connection() of that: many peers have that of their relay */
    int64_t received_at;          /* of its last frame */
    bool over;                    /* beyond its rate, which was logged */
    bool gap;                     /* a packet of this connection was not stored: it will come again */
    bool bye;                     /* sent BYE, which is answered when all before it is saved */
    bool key_taken;               /* its key counts no more, which was noted */
    bool silenced;                /* its last frame had such a key: nothing of it counts */
    bool asked_direct;            /* it sent DIRECT, which was answered */
    struct direct_source *direct; /* its packets pass directly; NULL: by the link */
    uint64_t direct_proof;        /* of its DIRECT */
};

/** A window that is read directly (mdr/uplink/direct.h). */
struct direct_source {
    struct direct_reader *reader;
    int64_t held_at; /* since when a packet waits for the description of its process; 0: none does */
    bool waits;      /* it has packets that cannot be taken now */
    uint64_t turn;   /* of the receiver: when it was filled last. Frames of a batch stand in its memory */
    struct direct_source *next_left;
    struct model_stream *streams[WINDOW_STREAMS]; /* by number in the window */
};

struct receiver {
    struct model *model;
    struct rundb *rundb;
    struct store *store;
    struct link *link;
    struct peer *peers; /* peer_count of them, closely packed, with room for as many as the limit allows */
    unsigned peer_count;
    struct hash_index by_id; /* numbers of peers, by connection and by node */
    struct receiver_limits limits;
    struct shares *shares;
    uint64_t over_rate;    /* how often a peer went beyond its rate */
    uint64_t unidentified; /* connections of no peer that were ended: without HELLO, or replaced by a newer one */
    struct unidentified_peers *unidentified_peers; /* connections of no peer */
    bool changed, paused;
    uint32_t clock_port;
    struct watermarks *watermarks; /* NULL: none */
    struct keep *keep;             /* NULL: everything is kept */
    struct evaluate *evaluate;     /* NULL: nothing is evaluated */
    int64_t tick_at, beat_at, saved_at, unidentified_at;
    struct message in, out;
    uint8_t bytes[MESSAGE_MAX_BYTES];
    struct token_bucket evaluation; /* of ns that statistics took */
    size_t batch;                   /* frames received in this turn, not yet counted */
    struct link_frame frames[RECEIVER_BATCH];
    bool direct[RECEIVER_BATCH]; /* of a frame: it is a packet of a window, and belongs to its reader */
    unsigned direct_count;       /* peers whose packets pass directly */
    unsigned next_direct;        /* the peer whose turn is next */
    struct direct_source *left;  /* those of peers that are gone; frames of this batch may stand in them */
    uint64_t turn;
    struct received results[RECEIVER_BATCH];
    int64_t received[RECEIVER_BATCH];
};

/** Allocates room for as many peers as the limits allow, or frees it. Returns 0 or BEZEL_ENOMEM. */
int receiver_peers_open(struct receiver *in) BEZEL_MUST_CHECK;
void receiver_peers_close(struct receiver *in);

/** The peer of connection `id`, or of a node; NULL if there is none. */
struct peer *receiver_find(struct receiver *in, const struct link_peer *id);
struct peer *receiver_find_node(const struct receiver *in, const struct model_node *node);

/**
 * Adds a peer for a node that has none (NULL where the limit is reached), in its share; drops one. The last peer moves
 * to the place of a dropped one, so a loop that drops must go from the last to the first.
 */
struct peer *receiver_add(struct receiver *in, const struct link_peer *id, struct model_node *node,
                          struct share *share);
void receiver_drop(struct receiver *in, struct peer *peer);

/** Counts `bytes` that a peer sent at `now` against its rate. False where it is beyond RECEIVER_OVERDRAFT. */
bool receiver_charge(struct receiver *in, struct peer *peer, size_t bytes, int64_t now);

/** Whether acknowledgements to the peer wait: it is beyond its rate, and has not sent BYE. */
bool receiver_holds_back(const struct receiver *in, struct peer *peer, int64_t now);

/** Makes the shares, with what each node took before this collector began. Returns 0 or BEZEL_ENOMEM. */
int receiver_shares_open(struct receiver *in) BEZEL_MUST_CHECK;

/** Whether a HELLO is within its node's share. If not, it is counted, and the run gets a note of the first one. */
bool receiver_hello_in_share(struct receiver *in, struct share *share);

/** Likewise of any message of a peer, of `bytes`, before it is decoded. */
bool receiver_message_in_share(struct receiver *in, const struct peer *peer, size_t bytes);

/** Counts a stream whose first packet was stored. */
void receiver_count_stream(struct receiver *in, const struct peer *peer);

/**
 * Why a node cannot have a connection; NULL: it can. `node` NULL: nor begin a trace. The run gets a note of the first
 * refusal.
 */
const char *receiver_check_share(struct receiver *in, const struct model_node *node, struct share *share);

/** Logs `text` about a node, and adds it to the run as a note. */
void receiver_note_node(struct receiver *in, const struct model_node *node, const char *code, const char *text);

/** Brings all streams of a node to stable storage. Returns 0, or BEZEL_ESYS where one of them fails. */
int receiver_sync(struct receiver *in, const struct model_node *node) BEZEL_MUST_CHECK;

/** Sends in->out. Returns 0 or link_send()'s error. A lost message is made up for by heartbeats and HELLO. */
int receiver_send(struct receiver *in, const struct link_peer *id);

/**
 * Refuses a process that the model has, for good: its packets are from now on thrown away and acknowledged, so that
 * they do not hold up the other processes of its node. Adds a note with the reason to the run.
 */
void receiver_refuse_process(struct receiver *in, struct model_process *p, const char *reason);

/** Acknowledges a packet of a process that the model does not have, and that was thrown away. */
void receiver_throw(struct receiver *in, struct peer *peer, const struct packet_header *h);

/** Sends REFUSE; NEED_PROCESS for a process; WELCOME with all positions of the peer's node, as several if needed. */
void receiver_refuse(struct receiver *in, const struct link_peer *id, const char *reason);
void receiver_need(struct receiver *in, const struct link_peer *id, uint64_t instance);
void receiver_welcome(struct receiver *in, const struct peer *peer);

/**
 * Handles a frame that is no packet. `peer`: its sender, NULL where it is unidentified. `within_rate`: false where the
 * peer is too far beyond its rate; then messages that cost memory or disk are refused.
 */
void receiver_take_message(struct receiver *in, const struct link_frame *frame, struct peer *peer, bool within_rate);

/** Checks, and stores or refuses, the packet in `frame` of `peer`; *a says which. */
void receiver_on_packet(struct receiver *in, const struct link_frame *frame, struct peer *peer, struct received *a);

/** Takes the low watermark of a peer, unless a packet of it is missing. */
void receiver_take_low(struct receiver *in, const struct peer *peer, uint64_t low);

/** Answers DIRECT, once for each HELLO: reads the peer's packets out of its window from now on, if that can be. */
void receiver_on_direct(struct receiver *in, struct peer *peer, const struct message_direct *m);

/** Takes packets that pass directly, until the batch has `most` frames. */
void receiver_take_direct(struct receiver *in, size_t most);

/** Acknowledges stream `s` of the peer directly. False: it takes the link. ..._acknowledged() publishes it. */
bool receiver_direct_acknowledge(struct peer *peer, const struct model_stream *s, uint64_t next_seq);
void receiver_direct_acknowledged(struct peer *peer);

/** Its packets take the link from now on. ..._free_left(), behind a batch, frees what was left so. */
void receiver_leave_direct(struct receiver *in, struct peer *peer);
void receiver_free_left(struct receiver *in);

/** Logs that `what` could not be written to the run database: it counts as not received, and its sender repeats it. */
void receiver_rundb_failed(struct receiver *in, int err, const char *what);

#endif
