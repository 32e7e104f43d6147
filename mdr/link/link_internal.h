// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the link's files: link.c moves frames, link_keys.c has the keys, link_admit.c decides admission,
 * link_dial.c finds the address of a name. */
#ifndef BEZEL_MDR_LINK_LINK_INTERNAL_H
#define BEZEL_MDR_LINK_LINK_INTERNAL_H

#include "mdr/link/dial.h"
#include "mdr/link/keyring.h"
#include "mdr/link/link.h"

#include <pthread.h>

struct zmq_msg_t;

enum { LINK_HANDSHAKE_MS = 5000 };

struct link {
    void *socket;
    struct link_dial *dial; /* NULL: the link is bound or connected */
    void *monitor;   /* of a connected link with keys, until its first frame: reports failed handshakes; else NULL */
    unsigned logged; /* events of the monitor that were logged */
    bool bound, keyed;
    bool relay;     /* link_set_relay() */
    bool drained;   /* nothing could be received, and nothing was sent since: `fd` shows when that may have changed */
    bool still;     /* the last wait saw that nothing came, and nothing was asked for since */
    int fd;         /* ZeroMQ's, of the socket */
    bool connected; /* the monitor has seen a connection ... */
    int64_t connected_at; /* ... the last one then */
    char endpoint[LINK_ENDPOINT_MAX];
    unsigned domain;       /* of a bound link with keys: its number, which is its domain in ZAP; else 0 */
    struct keyring *known; /* the keys that it admits */
    struct link *next;     /* among those */
};

/** The process's context, and the lock under which it comes and goes. */
extern pthread_mutex_t link_context_lock;
extern void *link_context;

/** Sets the keys of a link's socket: 0, or -1 with errno. A bound link admits peers from here on. */
int link_set_keys(struct link *link, const struct link_keys *keys);

/**
 * Admits the keys of `known` to `link`; starts the admission thread with the first such link. Returns 0, or -1 with
 * errno. link_admit_nobody() takes it back.
 */
int link_admit(struct link *link, struct keyring *known);
void link_admit_nobody(struct link *link);

/** Ends the admission thread. No link may be left; the caller holds the context's lock. */
void link_admission_stop(void);

/** Connects the socket to an endpoint whose host is a number: 0, or -1 with errno. */
int link_connect_number(struct link *link, bool ipv6, const char *endpoint);

/**
 * A link to a name: link_dial_begin() dials it (0, or -1 with errno). Until it has an address, link_dial_keep() keeps
 * parts of frames, and returns as zmq_msg_send() with ZMQ_DONTWAIT and `flags`. link_dial_step() takes the next step,
 * after which link->dial is NULL where ZeroMQ has the address and the frames. link_dial_fd(): readable when a step is
 * due; -1: none is under way. link_dial_why(): why there is no address yet; NULL: not known.
 */
int link_dial_begin(struct link *link, const struct address *address, int queue);
int link_dial_keep(struct link *link, struct zmq_msg_t *part, int flags);
void link_dial_step(struct link *link);
int link_dial_fd(const struct link *link);
const char *link_dial_why(const struct link *link);
void link_dial_end(struct link *link);

/** Watch the handshakes of a connected link, and log why they fail; closed once a frame has arrived. */
void link_monitor_open(struct link *link);
void link_monitor_look(struct link *link);
void link_monitor_close(struct link *link);

#endif
