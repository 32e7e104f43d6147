// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The link: the one user of ZeroMQ. A link is a DEALER that connects upward or a ROUTER that binds downward, on tcp://
 * or ipc://. It moves frames; what they mean is message.h's and packet.h's. "Sent" means queued, nothing more: whoever
 * needs to know waits for an acknowledgement. Heartbeats are the caller's (ZMQ_HEARTBEAT_IVL stays 0: it loses
 * messages).
 *
 * A link belongs to one thread. Nothing here is async-signal-safe. The process has one ZeroMQ context, made with the
 * first link and terminated with the last (fork before it, never after).
 */
#ifndef BEZEL_MDR_LINK_H
#define BEZEL_MDR_LINK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link;

enum { LINK_PEER_MAX = 16, LINK_ENDPOINT_MAX = 256, LINK_WAIT_MAX = 64 };

/** Who sent a frame to a bound link. Plain value; valid as long as that connection lives. */
struct link_peer {
    uint8_t size; /* 0: the peer of a connected link */
    uint8_t id[LINK_PEER_MAX];
};

/**
 * A received frame, alive until link_frame_free(). Short data stand in `handle` itself: do not copy or move a frame.
 */
struct link_frame {
    struct link_peer peer;
    const void *data;
    size_t size;
    uint64_t handle[8]; /* room for ZeroMQ's message */
};

/**
 * Binds a link that serves many peers. Returns 0 with *link owned by the caller (link_close), BEZEL_EBUSY where the
 * endpoint is in use (an ipc path: also by a file that is no socket; a socket that a dead process left is replaced),
 * BEZEL_EINVAL where it is not an endpoint or its path is too long for a socket, BEZEL_EPERM where it may not be bound
 * or is tcp on anything but loopback (which waits for keys), BEZEL_ENOENT where its folder is missing, BEZEL_ENOMEM,
 * BEZEL_ESYS. A tcp endpoint may end in ":*": link_endpoint() tells the port that was found. `max_frame` bounds the
 * bytes of a received frame: a longer one ends the connection that sent it.
 */
int link_bind(const char *endpoint, size_t max_frame, struct link **link) BEZEL_MUST_CHECK;

/**
 * Connects a link to a bound one, now or whenever that one appears, and again after it went away. About `queue` frames
 * (at least 1) wait unsent, over a reconnect too: they then come ahead of what is sent after it. Errors as link_bind().
 */
int link_connect(const char *endpoint, size_t max_frame, int queue, struct link **link) BEZEL_MUST_CHECK;

/**
 * Closes, giving queued frames up to `linger_ms` to leave (0: none). The last link of the process waits for them, the
 * others do so behind the scenes. NULL is allowed.
 */
void link_close(struct link *link, int linger_ms);

/** The endpoint as bound, with its real port, or as connected; belongs to the link. */
const char *link_endpoint(const struct link *link);

/**
 * Queues a copy of `n` bytes for `peer` (NULL on a connected link). Returns 0; BEZEL_EAGAIN where the queue is full;
 * BEZEL_EUNREACH where a bound link has no such peer any more; BEZEL_EINVAL where a peer is missing or out of place;
 * BEZEL_ENOMEM, BEZEL_ESYS.
 */
int link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n) BEZEL_MUST_CHECK;

/**
 * Queues `n` bytes on a connected link without copying: they must stay as they are until `release(data, hint)` is
 * called, once, from any thread, when no queue holds them any more; it must not use a link. On failure release is not
 * called. Errors as link_send().
 */
int link_send_shared(struct link *link, void *data, size_t n, void (*release)(void *data, void *hint),
                     void *hint) BEZEL_MUST_CHECK;

/**
 * Takes the next frame: 0 with *frame to be freed by link_frame_free(), BEZEL_EAGAIN where there is none, BEZEL_ESYS.
 * Never blocks. Messages of several parts, which Bezel does not send, are dropped.
 */
int link_receive(struct link *link, struct link_frame *frame) BEZEL_MUST_CHECK;

void link_frame_free(struct link_frame *frame);

/**
 * Waits until one of `links` (NULLs are skipped) can be received from, one of the descriptors `fds` (-1s are skipped)
 * can be read, or `timeout_ns` have passed (0: do not wait; -1: for ever). Returns the number of ready ones, 0 at the
 * timeout or when a signal arrived. Time is rounded up to milliseconds. Links and descriptors together: LINK_WAIT_MAX
 * at most, the others are not looked at.
 */
int link_wait(struct link *const *links, size_t link_count, const int *fds, size_t fd_count, int64_t timeout_ns);

#endif
