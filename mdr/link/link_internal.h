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
#include <zmq.h>

enum { LINK_KEPT = 16 }; /* frames that wait for the address of a name */

/** A link to a name that has no address yet. */
struct link_dial {
    struct address address;
    struct dial *dial;        /* NULL: the last one found nothing, and `again` is when the next one begins */
    int64_t again;            /* ns */
    char why[DIAL_WHY_MAX];   /* of the last one; "": none yet */
    int kept_max, kept_count; /* kept_max: at most LINK_KEPT */
    zmq_msg_t kept[LINK_KEPT];
};

struct link {
    void *socket;
    struct link_dial *dial; /* NULL: the link is bound or connected */
    void *monitor;   /* of a connected link with keys, until its first frame: reports failed handshakes; else NULL */
    unsigned logged; /* events of the monitor that were logged */
    bool bound, keyed;
    char endpoint[LINK_ENDPOINT_MAX];
    unsigned domain;       /* of a bound link with keys: its number, which is its domain in ZAP; else 0 */
    struct keyring *known; /* the keys that it admits */
    struct link *next;     /* among those */
};

/** The process's context, and the lock under which it comes and goes. */
extern pthread_mutex_t link_context_lock;
extern void *link_context;

/** Starts a thread that takes no signals, and no part in its maker's real-time scheduling. Returns 0 or an errno. */
int link_thread(pthread_t *thread, void *(*run)(void *));

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
 * A link to a name: begin to dial it (0, or -1 with errno); keep a frame until it has an address, as zmq_msg_send()
 * does with ZMQ_DONTWAIT; take the next step, after which link->dial is NULL where ZeroMQ has the address and the
 * frames; end.
 */
int link_dial_begin(struct link *link, const struct address *address, int queue);
int link_dial_keep(struct link *link, zmq_msg_t *frame);
void link_dial_step(struct link *link);
void link_dial_end(struct link *link);

/** Watch the handshakes of a connected link, and log why they fail; closed once a frame has arrived. */
void link_monitor_open(struct link *link);
void link_monitor_look(struct link *link);
void link_monitor_close(struct link *link);

#endif
