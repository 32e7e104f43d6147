// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The link: the one user of ZeroMQ. A link is a DEALER that connects upward or a ROUTER that binds downward, on tcp://
 * or ipc://. It moves frames; message.h and packet.h define their contents. "Sent" means queued, nothing more: only an
 * acknowledgement proves arrival. Heartbeats are the caller's (ZMQ_HEARTBEAT_IVL stays 0: it loses messages).
 *
 * With keys a link is encrypted (CURVE): the connecting side verifies the bound side by its public key, and the bound
 * side admits only the keys of its key ring. Each frame comes with the roles that its key has now, which the receiver
 * checks: two seconds after a key or a role was taken back, it does not count any more.
 *
 * A link belongs to one thread. Nothing here is async-signal-safe. The process has one ZeroMQ context, made with the
 * first link and terminated with the last (fork before it, never after). A thread of its own decides admission while a
 * link is bound with keys, so that a busy owner delays no handshake.
 */
#ifndef BEZEL_MDR_LINK_LINK_H
#define BEZEL_MDR_LINK_LINK_H

#include "base/err.h"
#include "mdr/link/endpoint.h"
#include "mdr/link/key.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link;
struct keyring;

enum {
    LINK_FRAME_LEAST = 1024, /* of `max_frame`: handshakes with keys need up to 512 */
    LINK_PEER_MAX = 8,       /* ZeroMQ's own ids have 5 bytes; a peer with a longer one is not Bezel's */
    LINK_PATH_MAX = 54,      /* bytes of a path: nine relays, as ZeroMQ's ids are */
    LINK_ENDPOINT_MAX = ENDPOINT_MAX,
    LINK_HOST_MAX = 63,   /* bytes of an address as a number, with its zone */
    LINK_WAIT_MAX = 2112, /* two for each node of an experiment, and some */
};

/** The keys of a link; copied, but for `known`. */
struct link_keys {
    struct key_secret own;
    uint8_t server[KEY_BYTES]; /* connecting: the public key of the bound side */
    struct keyring *known;     /* binding: the keys that are admitted; borrowed until link_close() */
};

/**
 * The sender of a frame to a bound link, or to a link of a relay. Plain value, zeros behind the sizes; valid as long as
 * that connection lives.
 */
struct link_peer {
    uint8_t size;      /* of its id, or of that of the relay through which it comes; 0: the peer of a connected link */
    uint8_t path_size; /* 0: it comes through no relay */
    uint8_t id[LINK_PEER_MAX];
    uint8_t path[LINK_PATH_MAX]; /* from there on: of each hop the size of an id, and the id */
};

/** Whether both are the same one. */
bool link_peer_is(const struct link_peer *a, const struct link_peer *b);

/**
 * The two parts of a peer's key in a struct hash_index; the second one is no ring's number, nor HASH_INDEX_NO_RING. Two
 * peers behind relays may have the same key, so what is found is to be compared.
 */
uint64_t link_peer_key(const struct link_peer *peer);
uint32_t link_peer_sizes(const struct link_peer *peer);

/** A received frame, valid until link_frame_free(). Short data are in `handle` itself: do not copy or move a frame. */
struct link_frame {
    struct link_peer peer;
    unsigned roles;             /* of enum key_role: the sender's; all of them where the link has no keys */
    char key[KEY_NAME_MAX + 1]; /* name of the sender's key; "" if the link has no keys, or the key was taken back */
    const void *data;
    size_t size;
    uint64_t handle[8]; /* room for ZeroMQ's message */
};

/**
 * Binds a link that serves many peers. Returns 0 with *link owned by the caller (link_close), BEZEL_EBUSY where the
 * endpoint is in use (an ipc path: also by a file that is no socket; a socket that a dead process left is replaced),
 * BEZEL_EINVAL if it is not an endpoint or its path is too long for a socket, BEZEL_EPERM where it may not be bound
 * or is tcp on anything but loopback without keys, BEZEL_ENOENT where its folder is missing, BEZEL_ENOMEM, BEZEL_ESYS
 * (errno ENOTSUP: this ZeroMQ has no CURVE). A tcp endpoint may end in ":*": ZeroMQ then chooses a port, which
 * link_endpoint() returns. HOST is a number, an interface, or `*` (all addresses, of IPv4 and IPv6). `max_frame` bounds
 * the bytes of a received frame: a longer one ends the connection that sent it. `keys` NULL: none.
 */
int link_bind(const char *endpoint, size_t max_frame, const struct link_keys *keys,
              struct link **link) BEZEL_MUST_CHECK;

/**
 * Connects a link to a bound one, now or when that one appears, and again after it went away. About `queue` frames (at
 * least 1) wait unsent. They survive a reconnect, and arrive ahead of frames sent after it. Errors as link_bind().
 * Refused keys show only later: link_receive() logs them.
 *
 * A name of a host is looked up by another thread (mdr/link/dial.h), until it has an address that answers;
 * link_receive() then connects there, and the link keeps to it: to look the name up anew, close the link and connect
 * another.
 */
int link_connect(const char *endpoint, size_t max_frame, int queue, const struct link_keys *keys,
                 struct link **link) BEZEL_MUST_CHECK;

/**
 * Closes; queued frames may still be sent for `linger_ms` (0: they are dropped). Only the last link of the process
 * blocks for that time. NULL is allowed.
 */
void link_close(struct link *link, int linger_ms);

/** The endpoint as bound, with its real port, or as connected; belongs to the link. */
const char *link_endpoint(const struct link *link);

/**
 * The link is one of a collector, where relays connect (a bound link), or the one by which a relay connects: its frames
 * have parts that say from whom they come, or for whom they are. Right after it was opened.
 */
void link_set_relay(struct link *link);

/**
 * Queues a copy of `n` bytes. `peer`: on a bound link the receiver; on a relay's connected link the child, a peer of
 * its bound link, whose frame it passes on; on another connected link NULL. Returns 0; BEZEL_EAGAIN where the queue is
 * full; BEZEL_EUNREACH if a bound link has no such peer any more; BEZEL_EFULL where the path through all relays is
 * too long; BEZEL_EINVAL where a link gets no peer that needs one, or the other way round; BEZEL_ENOMEM; BEZEL_ESYS.
 */
int link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n) BEZEL_MUST_CHECK;

/**
 * Queues `n` bytes on a connected link without copying: they must stay as they are until `release(data, hint)` is
 * called, once, from any thread, when no queue holds them any more; it must not use a link. On failure it has been
 * called when this returns, but for BEZEL_EINVAL. `peer` and errors as link_send().
 */
int link_send_shared(struct link *link, const struct link_peer *peer, void *data, size_t n,
                     void (*release)(void *data, void *hint), void *hint) BEZEL_MUST_CHECK;

/**
 * Takes the next frame: 0 with *frame to be freed by link_frame_free(), BEZEL_EAGAIN if there is none, BEZEL_ESYS.
 * Never blocks. Messages of other parts than Bezel sends are dropped.
 */
int link_receive(struct link *link, struct link_frame *frame) BEZEL_MUST_CHECK;

void link_frame_free(struct link_frame *frame);

/**
 * A number of the connection that brought `frame`, unique among those of this process while it lives; 0 where it has
 * ended, or is not known.
 */
uint64_t link_connection(const struct link_frame *frame);

/** The address from which `frame` came, as a number, with brackets for IPv6; "" if it did not come over tcp. */
void link_host(const struct link_frame *frame, char host[LINK_HOST_MAX + 1]);

/**
 * Waits until one of `links` (NULLs are skipped) can be received from, one of the descriptors `fds` (-1s are skipped)
 * can be read, or `timeout_ns` have passed (0: do not wait; -1: for ever). Returns the number of ready ones, 0 at the
 * timeout or when a signal arrived. Time is rounded up to milliseconds. Links and descriptors together: LINK_WAIT_MAX
 * at most, the others are not looked at.
 */
int link_wait(struct link *const *links, size_t link_count, const int *fds, size_t fd_count, int64_t timeout_ns);

/** The same; a descriptor that was looked at and cannot be read becomes -1. */
int link_wait_which(struct link *const *links, size_t link_count, int *fds, size_t fd_count, int64_t timeout_ns);

/**
 * Reads the keys of a daemon from files: `own`, its secret key; `known`, the folder of keys that it admits (NULL: it
 * can only connect); `server`, the public key of the daemon that it connects to (NULL: it can only bind). Returns 0
 * with *keys for link_keys_close(), or logs the reason and returns an error.
 */
int link_keys_open(const char *own, const char *known, const char *server, struct link_keys *keys) BEZEL_MUST_CHECK;
void link_keys_close(struct link_keys *keys);

/** Whether the sender of `frame` has `role`; logs a warning if not. */
bool link_may(const struct link_frame *frame, enum key_role role);

/** Whether the sender of `frame`, which `link` received, may speak for `node`; everybody may where it has no keys. */
bool link_speaks_for(const struct link *link, const struct link_frame *frame, const char *node);

/**
 * Why no frame has arrived over a connected link, as far as failed handshakes and names without an address show: a
 * sentence that goes on behind the endpoint's name. Valid until the link's next call. NULL: nothing is known, or the
 * link is bound.
 */
const char *link_trouble(const struct link *link);

/**
 * Whether a handshake of a connected link failed before its first frame. ZeroMQ does not connect a link again whose key
 * was not admitted: connect another one.
 */
bool link_is_refused(const struct link *link);

/** Whether somebody, not necessarily a daemon, accepted a connection of a link with keys before its first frame. */
bool link_is_connected(const struct link *link);

/** Whether a connected link still looks for an address of its name that answers. */
bool link_is_dialing(const struct link *link);

/** Starts a thread that takes no signals, and no part in its maker's real-time scheduling. Returns 0 or an errno. */
int link_thread(pthread_t *thread, void *(*run)(void *), void *context) BEZEL_MUST_CHECK;

/** Whether this ZeroMQ supports keys; if not, functions that need them fail with errno ENOTSUP. */
bool link_has_keys(void);

/** Makes a new key; the public part of one. Return 0, or BEZEL_ESYS with errno. Thread-safe. */
int link_key_new(struct key_secret *secret) BEZEL_MUST_CHECK;
int link_key_public(const struct key_secret *secret, uint8_t public[KEY_BYTES]) BEZEL_MUST_CHECK;

/** Makes a new pair, with the roles and nodes that *public has, and writes it: key_write_pair(). */
int link_key_write_pair(const char *dir, const char *name, bool replace, struct key_secret *secret,
                        struct key_public *public, char *path, size_t size) BEZEL_MUST_CHECK;

#endif
