// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The link to a server of a run (bezel-serve, mdr/read.x), on this machine or another: connecting with or without keys,
 * silence, credit, and the end. It decodes messages; the caller makes something of them. What the server sends may be
 * hostile. One thread.
 */
#ifndef BEZEL_COLLECTOR_REMOTE_REMOTE_LINK_H
#define BEZEL_COLLECTOR_REMOTE_REMOTE_LINK_H

#include "mdr/link/link.h"
#include "mdr/read_message.h"

#include <signal.h>

#define REMOTE_LINK_KEY    "reader"    /* the own key in the folder of keys, unless another is named */
#define REMOTE_LINK_SERVER "collector" /* the server's, likewise */

#define REMOTE_LINK_SILENCE INT64_C(10000000000) /* ns without a sign of life: the server counts as gone */

/** Where the server is, and the keys by which it is reached. */
struct remote_place {
    const char *endpoint;
    const char *keys;                  /* folder; NULL: without keys */
    const char *key;                   /* name of the own secret key there; NULL: REMOTE_LINK_KEY */
    const char *server;                /* name of the server's public key there; NULL: REMOTE_LINK_SERVER */
    const volatile sig_atomic_t *stop; /* waiting ends as soon as it is set; NULL: never */
};

struct remote_link {
    char place[LINK_ENDPOINT_MAX];
    bool answered, over;         /* READING came; END did */
    struct read_reading reading; /* of the answer */
    struct read_end end;
    char why[512]; /* the last error, as a sentence without its dot */
    int error;     /* which stays; 0: none */

    /* Private. */
    const volatile sig_atomic_t *stop;
    struct link_keys keys;
    struct link *link;
    struct link_frame frame; /* the last one, which the last message borrows */
    bool has_frame, asked;
    uint32_t taken; /* bytes that were taken and not given back as credit */
    int64_t heard;  /* when the server last gave a sign of life, or we began to listen */
    int64_t away;   /* since when we do not listen */
};

/** Whether `run` names a server and no run directory. */
bool remote_link_is_endpoint(const char *run);

/** Notes an error with its sentence. Returns `err`. */
int remote_link_fail(struct remote_link *l, int err, const char *format, ...) BEZEL_PRINTF(3, 4);

/**
 * Connects, and sends `first`, a READ or MIRROR; *l is all zeros. The answer comes by remote_link_receive(). Returns 0;
 * BEZEL_EPERM, BEZEL_EINVAL, or another error, with l->why. remote_link_close() in either case.
 */
int remote_link_open(struct remote_link *l, const struct remote_place *place,
                     const struct read_message *first) BEZEL_MUST_CHECK;
void remote_link_close(struct remote_link *l);

/**
 * Waits for the next message until `deadline` (clock_now()). Returns 0 with *m, which borrows the frame until the next
 * call; READING and END have been noted; BEZEL_EAGAIN at the deadline, or where it was stopped; or an error, which
 * stays: BEZEL_EUNREACH where the server is gone or was restarted, BEZEL_EPERM where it refuses, as END says,
 * or BEZEL_EMALFORMED.
 */
int remote_link_receive(struct remote_link *l, struct read_message *m, int64_t deadline) BEZEL_MUST_CHECK;

/** Takes the `n` bytes at `bytes` as a message of the server, as remote_link_receive() does. */
int remote_link_take(struct remote_link *l, const void *bytes, size_t n, struct read_message *m) BEZEL_MUST_CHECK;

/** Sends a message. Returns 0 or an error of link_send(). */
int remote_link_send(struct remote_link *l, const struct read_message *m) BEZEL_MUST_CHECK;

#endif
