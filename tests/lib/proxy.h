// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A TCP proxy that is a bad network: it listens on one host and connects on another (network namespaces; one and the
 * same where none can be made), and holds, delays, slows, damages or breaks what goes through. A process of its own
 * with one thread; the tests command it, and each command is answered when it is in force.
 */
#ifndef BEZEL_TESTS_LIB_PROXY_H
#define BEZEL_TESTS_LIB_PROXY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum proxy_way { PROXY_UP, PROXY_DOWN }; /* from who connects to who listens, and back */

/** What happens to the bytes of every connection. All zero: they pass. */
struct proxy_mode {
    bool hold[2];           /* by enum proxy_way: taken, as a network that swallows them would, and kept */
    int64_t delay, jitter;  /* ns: each piece leaves between delay and delay + jitter later, in order */
    uint64_t bytes_per_s;   /* of each connection in each direction; 0: no limit */
    uint64_t corrupt_every; /* one bit in so many bytes on the average is turned; 0: none */
};

/** What it has done so far. */
struct proxy_counts {
    uint32_t accepted, open, orphans; /* connections: ever, now, and of these those whose near end was cut alone */
    uint64_t bytes[2];                /* delivered, by enum proxy_way */
    uint64_t held[2];                 /* taken and not yet delivered */
    uint64_t corrupted;               /* bits turned */
};

struct proxy {
    pid_t pid;
    int control;
    bool apart;    /* whether it listens on a host of its own */
    uint16_t port; /* where it listens */
};

/**
 * Starts one that connects to port `up` of `address` (IPv4, as a number) here. With `apart` it makes itself a network
 * namespace and listens on the same address and port there, where only who enters /proc/<pid>/ns/net meets it; else, or
 * where that is not permitted, on a free port of it here. The caller ends it by proxy_stop(); it ends with its parent
 * too.
 */
bool proxy_start(struct proxy *p, const char *address, uint16_t up, bool apart, uint64_t seed);
void proxy_stop(struct proxy *p);

/** Puts a mode in force for all connections, those that are open too. What was held then goes its way. */
bool proxy_set(struct proxy *p, const struct proxy_mode *mode);

/** Cuts every connection at both ends at once (RST); what was under way is gone. */
bool proxy_cut(struct proxy *p);

/**
 * Cuts every connection at the end that connected, and keeps its way up and what is held of it: delivered once nothing
 * is held any more, after newer connections have opened, and then closed.
 */
bool proxy_orphan(struct proxy *p);

/** Lets connections made from now on lead to port `up`. */
bool proxy_lead(struct proxy *p, uint16_t up);

bool proxy_count(struct proxy *p, struct proxy_counts *counts);

#endif
