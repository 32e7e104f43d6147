// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Dials an address: finds what its name resolves to, and which of those addresses accepts a connection. ZeroMQ would
 * call getaddrinfo(3) in the thread that moves all frames of the process, at every connect. Here threads do it that
 * have nothing else to do, at most DIAL_THREADS of them, and end when no dial is left. Functions are thread-safe.
 */
#ifndef BEZEL_MDR_LINK_DIAL_H
#define BEZEL_MDR_LINK_DIAL_H

#include "base/address.h"
#include "base/err.h"

enum {
    DIAL_THREADS = 16,
    DIAL_WHY_MAX = 256,
};

#define DIAL_EACH_MS 1000 /* how long an address may take to accept a connection */

struct dial;

/**
 * Begins to dial `address`, which has a host and a port. Returns 0 with *dial for dial_end(); BEZEL_ENOMEM; or
 * BEZEL_ESYS where no thread or descriptor can be had.
 */
int dial_begin(const struct address *address, struct dial **dial) BEZEL_MUST_CHECK;

/** Ends it, whether it has an answer or not; never waits. NULL is allowed. */
void dial_end(struct dial *dial);

/** A descriptor that can be read as soon as there is an answer; it belongs to the dial. */
int dial_fd(const struct dial *dial);

/**
 * The answer: 0 with *found, a number that accepted a connection, or the only address of a name, which was not tried;
 * BEZEL_EAGAIN if there is none yet; BEZEL_ENOENT if the name has no address; BEZEL_EUNREACH where no address
 * accepted one. Except for 0 and BEZEL_EAGAIN, `why` is a sentence that goes on behind the address.
 */
int dial_answer(struct dial *dial, struct address *found, char why[DIAL_WHY_MAX]) BEZEL_MUST_CHECK;

#endif
