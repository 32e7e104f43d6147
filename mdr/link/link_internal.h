// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the link's files: link.c moves frames, link_keys.c has the keys, link_admit.c decides admission. */
#ifndef BEZEL_MDR_LINK_LINK_INTERNAL_H
#define BEZEL_MDR_LINK_LINK_INTERNAL_H

#include "mdr/link/keyring.h"
#include "mdr/link/link.h"

#include <pthread.h>

struct link {
    void *socket;
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

/** Watch the handshakes of a connected link, and log why they fail; closed once a frame has arrived. */
void link_monitor_open(struct link *link);
void link_monitor_look(struct link *link);
void link_monitor_close(struct link *link);

#endif
