// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Asks the collector for the time, over a link of its own and in a thread of its own, which stamps an answer when it
 * arrives, whatever the node does then. It asks as often as is worth it (clock_relation_wait()). The functions are for
 * one other thread, the owner's; none but clock_client_last() waits for the network.
 */
#ifndef BEZEL_BEZELD_NODE_CLOCK_CLIENT_H
#define BEZEL_BEZELD_NODE_CLOCK_CLIENT_H

#include "base/clock_relation.h"
#include "mdr/link/link.h"

enum { CLOCK_CLIENT_SAMPLES = 64 }; /* that wait for clock_client_take(); further ones are dropped */

/** An exchange that made sense, and the clock it was with. */
struct clock_client_sample {
    uint8_t identity[16]; /* clock_identity() of the peer */
    struct clock_exchange x;
    bool contradicted; /* the wall clocks, which something is declared to keep, contradict the exchanges */
    bool jumped;       /* the clocks have jumped against each other, as this exchange and the one before it show ... */
    int64_t step;      /* ... and so far the peer's went ahead of its relation to the own one, ns */
};

struct clock_client;

/**
 * Starts the thread. `keys` are borrowed until clock_client_close(); NULL: none. `keeping` is what keeps the wall clock
 * here. Returns 0, BEZEL_ENOMEM or BEZEL_ESYS.
 */
int clock_client_open(const struct link_keys *keys, const struct clock_keeping *keeping,
                      struct clock_client **c) BEZEL_MUST_CHECK;

/** Ends it. NULL is allowed, here and below. */
void clock_client_close(struct clock_client *c);

/** Asks at `endpoint` from now on, over a new connection; "": asks nobody. A longer one than LINK_ENDPOINT_MAX: too. */
void clock_client_connect(struct clock_client *c, const char *endpoint);

/** Takes the oldest sample that was not taken yet. False: there is none. */
bool clock_client_take(struct clock_client *c, struct clock_client_sample *sample);

/** Asks once more, and waits for the answer, `timeout_ns` at most; does nothing where no answer ever came. */
void clock_client_last(struct clock_client *c, int64_t timeout_ns);

#endif
