// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the intake's files share: connections, and what is being received. intake.h is the others' view of it. */
#ifndef BEZEL_COLLECTOR_INTAKE_OWN_H
#define BEZEL_COLLECTOR_INTAKE_OWN_H

#include "collector/accept.h"
#include "collector/intake.h"
#include "mdr/guests.h"

/*
 * A peer is one connection. It is unknown until its HELLO; what unknown ones send is dropped without an answer, so that
 * a sender whose collector was started again hears no heartbeat, and says HELLO. A node has at most one peer: the
 * latest.
 */
struct peer {
    struct link_peer id;
    struct model_node *node;
    uint64_t attempt;    /* of its HELLO */
    uint64_t connection; /* link_connection() of that */
    int64_t heard;
    bool over; /* beyond its rate, which was told */
    bool bye;  /* said BYE, which is answered when all before it is saved */
    struct peer *next;
};

struct intake {
    struct model *model;
    struct facts *facts;
    struct store *store;
    struct link *link;
    struct peer *peers;
    struct intake_limits limits;
    uint64_t over_rate, strangers;
    struct guests *guests; /* connections of no peer */
    unsigned peer_count;
    bool changed;
    int64_t alive_at, saved_at, guests_at;
    struct message in, out;
    uint8_t bytes[MESSAGE_MAX_BYTES];
    size_t batch; /* frames that wait to be accounted for */
    struct link_frame frames[INTAKE_BATCH];
    struct accepted accepted[INTAKE_BATCH];
    int64_t received[INTAKE_BATCH];
};

/** The connection that `id` names, or that of a node; NULL where there is none. */
struct peer *intake_find(struct intake *in, const struct link_peer *id);
struct peer *intake_find_node(const struct intake *in, const struct model_node *node);

/** Makes a connection known, NULL where memory is short; forgets one. */
struct peer *intake_add(struct intake *in, const struct link_peer *id, struct model_node *node);
void intake_drop(struct intake *in, struct peer *peer);

/** Takes `bytes` that a peer sent at `now` from what its rate allows. Whether it may still be heard. */
bool intake_charge(struct intake *in, struct peer *peer, size_t bytes, int64_t now);

/** Whether the peer is to wait for its acknowledgement: it is beyond its rate, and stays. */
bool intake_holds_back(const struct intake *in, struct peer *peer, int64_t now);

/** Brings all of a node to stable storage. Returns 0, or an error where some of it does not get there. */
int intake_sync(struct intake *in, const struct model_node *node) BEZEL_MUST_CHECK;

/** Sends in->out. Returns 0, or an error where it did not go: heartbeats and HELLO mend what that breaks. */
int intake_send(struct intake *in, const struct link_peer *id);

/**
 * Refuses a process that the model has, for good: what comes of it from now on is thrown away and acknowledged, so that
 * the others of its node are not held up. The run's notes say why.
 */
void intake_refuse_process(struct intake *in, struct model_process *p, const char *reason);

/** Acknowledges a packet that was thrown away, of a process that the model does not have. */
void intake_throw(struct intake *in, struct peer *peer, const struct packet_header *h);

/** Sends REFUSE, NEED, or WELCOME with all positions of the peer's node. */
void intake_refuse(struct intake *in, const struct link_peer *id, const char *reason);
void intake_need(struct intake *in, const struct link_peer *id, uint64_t instance);
void intake_welcome(struct intake *in, const struct peer *peer);

/**
 * Obeys a frame that is no packet; `peer` is NULL where its sender is unknown. Of one who is not `heard`, being too far
 * beyond its rate, nothing that costs memory or disk is taken.
 */
void intake_take_message(struct intake *in, const struct link_frame *frame, struct peer *peer, bool heard);

/** Tells of a write of the database that failed: nothing is known by it, so the sender will say it again. */
void intake_facts_failed(struct intake *in, int err, const char *what);

#endif
