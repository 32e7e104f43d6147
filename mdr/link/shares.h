// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What each node may take of a collector, so that none can take what the others need. A node is its name, by whatever
 * connections, traces and inner collectors it comes: with keys nobody else speaks in that name. What a node may not
 * take is refused to it alone.
 *
 * Where all nodes together have a limit, a sixteenth of it is divided among the nodes that are known: so much, at least
 * one, is each one's own, and stays free for it, until it leaves in order. The rest is taken by whoever comes first; a
 * node that is alone may take all. Where there is too little for each, nodes that came first are served first.
 *
 * Pure: no clock, no I/O. One thread. Names beyond SHARES_MAX have one share together, so the table stays bounded.
 */
#ifndef BEZEL_MDR_LINK_SHARES_H
#define BEZEL_MDR_LINK_SHARES_H

#include "base/token_bucket.h"
#include "mdr/bounds.h"

#include <stdbool.h>

enum {
    SHARES_MAX = 4096,       /* names */
    SHARES_OWN = 16,         /* of a limit such a part is divided among the nodes */
    SHARE_TRACES_MAX = 256,  /* traces that a node may begin in a run: one for each life of its bezeld */
    SHARE_HELLOS = 8,        /* HELLOs that a node may send a second ... */
    SHARE_HELLOS_BURST = 64, /* ... and beyond that at once: a correct bezeld pauses between them */
    SHARE_MESSAGES = 16384,  /* other messages that a node may send a second, each started 4 KiB counting as one: ... */
    SHARE_MESSAGES_BURST = 262144, /* ... a bezeld sends some for each process each second, and all on a new connection
                                    */
};

enum share_kind {
    SHARE_PLACES,    /* of connected peers */
    SHARE_PROCESSES, /* of the run */
    SHARE_STREAMS,   /* of the run: each is a file */
    SHARE_KINDS
};

struct share {
    char node[MESSAGE_NAME_MAX + 1];
    uint32_t number; /* of names that came before it */
    bool left;       /* it left in order: nothing is kept for it until it takes something */
    uint64_t used[SHARE_KINDS];
    uint64_t traces;
    struct token_bucket hellos, messages;
    unsigned said; /* the caller's: bits of the refusals that it has reported */
};

struct shares;

/** `limits`: of all nodes together. NULL: no memory. */
struct shares *shares_new(const uint64_t limits[SHARE_KINDS]);
void shares_free(struct shares *s);

/** The share of a node, made if its name is new; valid as long as `s`. NULL: no memory. */
struct share *shares_of(struct shares *s, const char *node);

/** Whether the node may take one more: of its own part as long as there is any that is not kept for earlier names. */
bool shares_may(const struct shares *s, const struct share *of, enum share_kind kind);

/** Counts one that the node takes, or gives back. */
void shares_take(struct shares *s, struct share *of, enum share_kind kind);
void shares_give(struct shares *s, struct share *of, enum share_kind kind);

/** Whether a HELLO at `now`, ns, is within the node's rate; counts it then. */
bool share_hello(struct share *of, int64_t now);

/** Likewise of a message of another kind, of `bytes`. */
bool share_message(struct share *of, size_t bytes, int64_t now);

#endif
