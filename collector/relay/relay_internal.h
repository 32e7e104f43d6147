// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the relay's files; relay.h is the interface. */
#ifndef BEZEL_COLLECTOR_RELAY_RELAY_INTERNAL_H
#define BEZEL_COLLECTOR_RELAY_RELAY_INTERNAL_H

#include "base/hash_index.h"
#include "collector/relay/relay.h"
#include "mdr/link/shares.h"
#include "mdr/link/unidentified_peers.h"
#include "mdr/message.h"
#include "mdr/uplink/direct.h"

#include <stdatomic.h>

/** A node below, here or below another inner collector. It stays in memory while a queue holds frames of it. */
struct relay_child {
    struct link_peer peer;
    uint64_t connection; /* link_connection() of its HELLO */
    uint8_t uuid[16];    /* of its trace */
    uint64_t attempt;    /* of its HELLO */
    struct share *share; /* of its name */
    uint8_t run[16];     /* of its HELLO */
    char node[MESSAGE_NAME_MAX + 1];
    int64_t heard_at;
    bool invited;                 /* its packets may pass directly, and it has not answered yet */
    struct direct_reader *window; /* which is read for it; NULL: its packets take the link */
    uint64_t proof, heard;        /* of its DIRECT; frames that came since */
    int64_t low;                  /* the low watermark that went up */
    bool waits;                   /* it has packets that cannot be taken now */
    _Atomic uint64_t held;        /* bytes in queues to a parent, plus 1 until it is forgotten */
    struct relay_child *next;     /* of those that were forgotten */
};

struct relay {
    struct link *below, *above;
    struct relay_options options;
    uint8_t run[16];
    bool has_run;
    size_t parent;       /* in options.parents */
    int64_t answered_at; /* when the parent last said something, or was connected to */
    int64_t tick_at, unidentified_at;
    uint64_t credit; /* of each child */
    _Atomic uint64_t held;
    struct relay_child **children; /* packed, with room for options.children */
    struct relay_child *forgotten;
    struct hash_index by_peer; /* numbers of children */
    struct shares *shares;     /* of places alone */
    struct unidentified_peers *unidentified_peers;
    unsigned windows, next_window; /* that are read; the child whose turn is next */
    uint32_t clock_port;
    struct relay_clock clock;
    struct relay_status status;
    char trouble[LINK_ENDPOINT_MAX + 256];
    struct message message; /* scratch: too large for the stack */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/** Allocates room for the children, or frees it and them; no queue holds their frames then. 0 or BEZEL_ENOMEM. */
int relay_children_open(struct relay *r) BEZEL_MUST_CHECK;
void relay_children_close(struct relay *r);

/** The child that has sent, or is to receive; NULL: none. */
struct relay_child *relay_find(const struct relay *r, const struct link_peer *peer);

/**
 * Adds a child that sent `hello`, in place of one with the same connection, or of the same node and trace. NULL: memory
 * is short, or there are as many as may be, or as are its node's share.
 */
struct relay_child *relay_add(struct relay *r, const struct link_peer *peer, const struct message_hello *hello,
                              struct share *share);

/** The child of the same node and trace that has another connection; NULL: none. */
const struct relay_child *relay_other(const struct relay *r, const struct link_peer *peer,
                                      const struct message_hello *hello);

/** The bytes of its node that are in queues to the parent: of this child, and of those that were forgotten. */
uint64_t relay_held_of(const struct relay *r, const struct relay_child *child);

/** Sends r->message to a child, and `n` bytes, copied, up in its name. False: there is no memory. Both may forget it.
 */
int relay_send_below(struct relay *r, const struct link_peer *to);
bool relay_pass_copy(struct relay *r, struct relay_child *child, const void *data, uint32_t n);

/** Packets that pass directly (relay_direct.c): invites a child; takes its DIRECT, and may forget it; leaves its
 * window. */
void relay_invite(struct relay *r, struct relay_child *child);
void relay_on_direct(struct relay *r, struct relay_child *child, const struct link_frame *frame);
void relay_leave_window(struct relay *r, struct relay_child *child);

/** Passes up to `most` packets out of windows. Returns how many. */
int relay_take_windows(struct relay *r, int most);

/** Forgets a child, or all: what they send is dropped from now on. */
void relay_forget(struct relay *r, struct relay_child *child);
void relay_forget_all(struct relay *r);

/** Forgets children that said nothing for RELAY_CHILD_SILENCE, and frees those whose frames are gone. */
void relay_look_at_children(struct relay *r, int64_t now);

/** Ends connections that are no child's. */
void relay_end_unidentified(struct relay *r, int64_t now);

/** `bytes` of it went into a queue to the parent; they are in none any more (from any thread). */
void relay_hold(struct relay *r, struct relay_child *child, uint64_t bytes);
void relay_let_go(struct relay *r, struct relay_child *child, uint64_t bytes);

#endif
