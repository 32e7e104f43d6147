// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the link's files share: link.c moves frames, link_keys.c has the keys, link_admit.c answers who is admitted. */
#ifndef BEZEL_MDR_LINK_OWN_H
#define BEZEL_MDR_LINK_OWN_H

#include "mdr/keyring.h"
#include "mdr/link.h"

#include <pthread.h>

struct link {
    void *socket;
    void *monitor; /* of a connected link with keys, until its first frame: tells why there is none; else NULL */
    unsigned told; /* events of the monitor that the operator knows of */
    bool bound, keyed;
    char endpoint[LINK_ENDPOINT_MAX];
    unsigned domain;       /* of a bound link with keys: its number, which is its domain in ZAP; else 0 */
    struct keyring *known; /* who is admitted there */
    struct link *next;     /* among those */
};

/** The process's context, and the lock under which it comes and goes. */
extern pthread_mutex_t link_context_lock;
extern void *link_context;

/** Sets the keys of a link's socket: 0, or -1 with errno. A bound one is admitted to from here on. */
int link_set_keys(struct link *link, const struct link_keys *keys);

/**
 * Has the keys of `known` admitted to `link`, by a thread that starts with the first such link: 0, or -1 with errno. To
 * be taken back by link_admit_nobody().
 */
int link_admit(struct link *link, struct keyring *known);
void link_admit_nobody(struct link *link);

/** Ends that thread. No link is left; the context's lock is held. */
void link_admission_stop(void);

/** Watches the handshakes of a connected link, and tells why they fail; ended once a frame has come. */
void link_monitor_open(struct link *link);
void link_monitor_look(struct link *link);
void link_monitor_close(struct link *link);

#endif
