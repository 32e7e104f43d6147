// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The control endpoint of a bezeld, where it takes requests for sessions: a socket in a folder of mode 0700, or a tcp
 * port for holders of keys with the role control. Anybody with access to it can make bezeld read any folder of this
 * user. One thread.
 */
#ifndef BEZEL_BEZELD_CONTROL_ENDPOINT_H
#define BEZEL_BEZELD_CONTROL_ENDPOINT_H

#include "bezeld/collector_place.h"
#include "bezeld/scheduler.h"

struct control_endpoint;

struct control_endpoint_options {
    const char *control;  /* an ipc endpoint, whose folder is made with mode 0700 if it is missing, or a tcp one */
    const char *key;      /* file of the secret key; NULL over ipc */
    const char *keys;     /* folder of the keys that experiments name, and of those who may command over tcp; NULL:
                             experiments that name keys are refused */
    const char *launcher; /* folder of bezel-launcher; borrowed for as long as the endpoint is; NULL: there is none */
    int64_t idle_timeout; /* of sessions, ns; 0: none */
};

/**
 * Opens it. Returns 0 with *d for control_endpoint_close(); or, after a line on stderr, an error: BEZEL_EBUSY if
 * another bezeld uses the folder, BEZEL_EPERM if others may enter it or write to the folder of keys, ...
 */
int control_endpoint_open(const struct control_endpoint_options *options, struct control_endpoint **d) BEZEL_MUST_CHECK;
void control_endpoint_close(struct control_endpoint *d);

/** The link, to wait on. */
struct link *control_endpoint_link(const struct control_endpoint *d);

/** Adds descriptors to wait on, at most COLLECTOR_PLACES_MAX. Returns their number. */
size_t control_endpoint_fds(const struct control_endpoint *d, int *fds);

/** Answers commands that arrived, a few in each turn. Returns whether SHUTDOWN was among them. */
bool control_endpoint_turn(struct control_endpoint *d, struct scheduler *all);

/** Notes that session `s` is over. If it ended by itself, a later CONFIGURE for it is refused. */
void control_endpoint_note_end(struct control_endpoint *d, const struct session *s);

/** From now on refuses new sessions. */
void control_endpoint_shut(struct control_endpoint *d);

#endif
