// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The decision of ZAP (ZeroMQ RFC 27): a request is the parts of a message, the answer a status, a text, and the user
 * id that ZeroMQ then attaches to every frame of the connection. Ours is the public key, in Z85. Needs no ZeroMQ; pure
 * except for the look into the key ring.
 */
#ifndef BEZEL_MDR_LINK_ZAP_H
#define BEZEL_MDR_LINK_ZAP_H

#include "mdr/link/keyring.h"

enum { ZAP_PARTS = 7, ZAP_USER_MAX = KEY_Z85 + 1, ZAP_ADDRESS_MAX = 64 };

struct zap_part {
    const void *data;
    size_t size;
};

/** A request: may this peer connect? */
struct zap_request {
    struct zap_part version, id, domain;
    char address[ZAP_ADDRESS_MAX]; /* of the peer, for messages; truncated where it is longer */
    bool curve;
    uint8_t key[KEY_BYTES];
};

struct zap_answer {
    const char *status, *text; /* static */
    char user[ZAP_USER_MAX];   /* "" if the peer is not admitted */
};

/** Parses a request: 0, or BEZEL_EMALFORMED; borrows the parts. */
int zap_read(const struct zap_part *parts, size_t count, struct zap_request *request) BEZEL_MUST_CHECK;

/** Decides at time `now`; `ring` is that of the request's domain, NULL if there is none: then nobody is admitted. */
void zap_decide(const struct zap_request *request, struct keyring *ring, int64_t now, struct zap_answer *answer);

/** The public key of user id `user`. Returns 0, or BEZEL_EMALFORMED if `user` is NULL or not an id of ours. */
int zap_key(const char *user, uint8_t key[KEY_BYTES]) BEZEL_MUST_CHECK;

#endif
