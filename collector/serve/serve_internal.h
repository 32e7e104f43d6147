// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by serve_server.c, which has the loop and takes what comes, and serve_consumer.c, which has what goes. */
#ifndef BEZEL_COLLECTOR_SERVE_SERVE_INTERNAL_H
#define BEZEL_COLLECTOR_SERVE_SERVE_INTERNAL_H

#include "collector/serve/serve_server.h"
#include "mdr/link/unidentified_peers.h"
#include "mdr/read_message.h"

#include <sys/types.h>

#define SERVE_RETRY INT64_C(20000000) /* ns until a frame is sent again for which ZeroMQ's queue had no room */

struct serve_consumer {
    struct link_peer peer;
    uint64_t connection;
    char key[KEY_NAME_MAX + 1];
    pid_t pid;
    int fd;           /* the reader's messages */
    bool mirrors;     /* it has sent MIRROR, and not READ */
    uint32_t credit;  /* bytes of counted messages that may be sent */
    uint32_t waiting; /* bytes of the reader's next message, which lacks credit; 0: not known */
    uint8_t *held;    /* a message for which there was no room; NULL: none */
    size_t held_size;
    uint64_t sent; /* bytes */
};

/* A reader that was killed, and has not ended yet. */
struct serve_ending {
    pid_t pid;
    uint64_t connection; /* of its consumer */
};

struct serve_server {
    const struct serve_server_options *options;
    int signals;
    struct link_keys keys;
    struct link *link;
    struct unidentified_peers *unidentified;
    int64_t beat_at, unidentified_at;
    int64_t end_at, end_latest; /* end_at 0: it serves */
    unsigned count, ending;     /* readers are both: as many as consumers may be, at most */
    struct serve_consumer *consumers[SERVE_CONSUMERS_MAX];
    struct serve_ending endings[SERVE_CONSUMERS_MAX];
    uint64_t begun, sent; /* consumers; bytes */
    uint8_t bytes[READ_FRAME_MAX];
};

struct serve_consumer *serve_find(const struct serve_server *v, const struct link_peer *peer);

/** Sends a message to a peer: 0, or an error of link_send(). */
int serve_send(struct serve_server *v, const struct link_peer *peer, const struct read_message *m);

/** Sends REFUSE, and logs that, or does not. */
void serve_deny(struct serve_server *v, const struct link_peer *peer, const char *why);
void serve_refuse(struct serve_server *v, const struct link_peer *peer, const char *why);

/** Starts the reader for the sender of `frame`, whose READ or MIRROR is `m`. Returns 0 or an error, with errno. */
int serve_consumer_start(struct serve_server *v, const struct link_frame *frame,
                         const struct read_message *m) BEZEL_MUST_CHECK;

/** Takes credit; or passes an answer of a mirror, a HAVE, on to its reader. False: it was not asked for so much. */
void serve_consumer_credit(struct serve_consumer *c, uint32_t bytes);
bool serve_consumer_answer(struct serve_consumer *c, const struct link_frame *frame) BEZEL_MUST_CHECK;

/** The descriptor to wait for; -1: there is nothing that could be sent. */
int serve_consumer_fd(const struct serve_consumer *c);

/** Passes on at most one message of its reader, as far as credit goes. May end the consumer. */
void serve_consumer_turn(struct serve_server *v, struct serve_consumer *c);

/** Has its reader send what is stored by now, and END. */
void serve_consumer_finish(struct serve_consumer *c);

/** Ends it with END, or without a word. Frees `c`. */
void serve_consumer_stop(struct serve_server *v, struct serve_consumer *c, const char *why);
void serve_consumer_end(struct serve_server *v, struct serve_consumer *c);

/** Looks which of the readers that were killed have ended. */
void serve_reap(struct serve_server *v);

#endif
