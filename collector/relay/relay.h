// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What an inner collector does: it passes frames of its children, nodes and further inner collectors, to one parent,
 * and the answers back, over one link on which each frame names its child. It stores nothing and acknowledges nothing:
 * positions, gaps and refusals are between a node and the root (docs/decisions/an-inner-collector-passes-frames-on.md).
 *
 * Bounds: queues to the parent hold at most `buffer` bytes. Each child gets a part of that as its credit, and one that
 * has much more than this under way is forgotten. While the queues are full nothing is received from below.
 *
 * A parent that is silent is left for the next one of the list. Then all children are forgotten: they hear nothing any
 * more, send HELLO, and learn from the root's positions where to go on.
 *
 * One thread; nothing blocks; the caller passes the time, ns of CLOCK_MONOTONIC.
 */
#ifndef BEZEL_COLLECTOR_RELAY_RELAY_H
#define BEZEL_COLLECTOR_RELAY_RELAY_H

#include "mdr/link/link.h"

enum {
    RELAY_PARENTS_MAX = 4,
    RELAY_CREDIT_LEAST = 64 << 10, /* bytes that a child gets at least */
    RELAY_WINDOWS = 64,            /* that are read at a time; packets of further nodes take the link */
    RELAY_EXCESS = 1 << 20,        /* bytes beyond its credit that a child may have under way: messages, and a packet */
};

#define RELAY_BUFFER        (UINT64_C(64) << 20)
#define RELAY_BUFFER_LEAST  (UINT64_C(4) << 20)
#define RELAY_TICK          INT64_C(100000000)  /* ns between two ticks */
#define RELAY_SILENCE       INT64_C(1500000000) /* ns after which a parent that answers no child is left */
#define RELAY_CHILD_SILENCE INT64_C(5000000000) /* ns after which a child that says nothing is forgotten */

struct relay_options {
    char parents[RELAY_PARENTS_MAX][LINK_ENDPOINT_MAX]; /* endpoints, the first one first */
    size_t parent_count;                                /* at least 1 */
    const struct link_keys *keys;                       /* to connect with; borrowed; NULL: none */
    unsigned children;                                  /* at a time, at least 1; a further one is refused */
    uint64_t buffer;                                    /* bytes, at least RELAY_BUFFER_LEAST */
    const uint8_t *run;                                 /* the only run that is served, 16 bytes, copied; NULL: all */
};

struct relay;

/** A relay of the children of `below`, a bound link that is borrowed. Returns NULL where memory is short. */
struct relay *relay_new(struct link *below, const struct relay_options *options);

/** Frees it. What waits for the parent is dropped, and link_close() is done with it before this returns. */
void relay_free(struct relay *r);

/** Moves frames, a bounded number of them. Returns how many; 0: none waited. */
int relay_turn(struct relay *r, int64_t now);

/** Leaves a silent parent, forgets silent children. Returns when to call it again; earlier calls do nothing. */
int64_t relay_tick(struct relay *r, int64_t now);

/** The link to the parent; NULL while there are no children. */
struct link *relay_above(const struct relay *r);

/** Whether to wait for frames from below: not while the queues to the parent are full. */
bool relay_takes(const struct relay *r);

/**
 * Before sleeping `most` ns: fills `fds` with bells of windows, RELAY_WINDOWS at most, and returns how long the wait
 * may be; 0: something can be taken. relay_awake() behind the wait.
 */
int64_t relay_sleep(struct relay *r, int *fds, size_t *count, int64_t most);
void relay_awake(struct relay *r);

/** The parent's clock by the last WELCOME, for those who ask for the time. */
struct relay_clock {
    uint8_t identity[16]; /* the root's */
    uint32_t port;        /* where the parent answers questions; 0: nowhere, or no WELCOME came yet */
    char parent[LINK_ENDPOINT_MAX];
};
const struct relay_clock *relay_clock(const struct relay *r);

/** WELCOME names this port instead, where the children may ask for the time; 0, as at first: none. */
void relay_set_clock_port(struct relay *r, uint32_t port);

/** What a relay holds now; frames, bytes, refused and dropped count since relay_new(). */
struct relay_status {
    unsigned children;
    uint64_t frames, bytes; /* passed to a parent */
    uint64_t held;          /* bytes in queues to the parent */
    uint64_t refused;       /* HELLOs */
    uint64_t dropped;       /* frames from connections that are no child, or to them */
    uint64_t forgotten;     /* children that had too much under way, or did not read */
    uint64_t unidentified;  /* connections that were ended, since they belong to no child */
    uint64_t moves;         /* from one parent to the next */
    bool circle;            /* what goes up to the parent comes down here: it does not reach the root */
};
struct relay_status relay_status(const struct relay *r);

/** Why a parent was left that has not answered: a sentence; NULL as soon as one answers. Valid until the next turn. */
const char *relay_trouble(const struct relay *r);

/** The parent that is in use, or would be. */
const char *relay_parent(const struct relay *r);

#endif
