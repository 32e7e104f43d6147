// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/address.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "bezeld/node/node_internal.h"
#include "sensor/external/notes.h"

#include <stdlib.h>
#include <string.h>

#define TRACE_LEAST (5 * CLOCK_S)   /* how old a trace is at least that ends behind a jump */
#define LAST_MAX    (50 * CLOCK_MS) /* for the last exchange: the other nodes of the thread wait for it */

/*
 * How the node's clock runs against its collector's: exchanges of times become records of the own trace, from which the
 * collector and the report know the rest. A node that has the collector's clock needs none.
 */

static void open_client(struct node *n)
{
    int err =
        clock_client_open(n->options.data_keys, &n->options.experiment->nodes[n->options.node].clock, &n->clock.client);
    if (err)
        notes_record(n->external, NULL, clock_now(), "BEZEL-CLOCK",
                     "cannot start the thread that asks the collector for the time: %s: times of this node are "
                     "compared with other nodes' by the wall clocks alone",
                     ulimit_reason(err));
}

/* A thread that is started later would inherit the CPUs of the polling thread. */
void node_clock_start(struct node *n)
{
    const char *collector = sender_endpoint(n->sender);
    state_file_init(&n->clock.parting, n->options.dir, "parting", n->options.run, "that it goes on in a new trace");
    char *parting = state_file_read(&n->clock.parting);
    n->clock.new_trace = parting != NULL; /* a predecessor was killed meanwhile; its trace was old enough */
    n->clock.began = parting ? clock_now() - TRACE_LEAST : clock_now();
    free(parting);
    n->clock.client = n->options.clock_client;
    if (!n->clock.client && !endpoint_path(collector) && !endpoint_is_loopback(collector))
        open_client(n);
}

/* The collector was reached, for the first time or again: asks it, unless its clock is this one. */
static void welcomed(struct node *n)
{
    const struct sender_clock *theirs = sender_clock(n->sender);
    struct address address;
    const char *why;
    char endpoint[ADDRESS_TEXT_MAX];
    bool other = memcmp(theirs->identity, n->clock.identity, sizeof n->clock.identity) != 0;
    const char *at = endpoint_path(sender_endpoint(n->sender)) ? "tcp://127.0.0.1:1" : sender_endpoint(n->sender);
    bool asks = other && theirs->port > 0 && theirs->port <= UINT16_MAX && address_read(at, &address, &why) == 0;
    if (asks && !n->clock.client)
        open_client(n);
    address.port = asks ? (uint16_t)theirs->port : 0;
    clock_client_connect(n->clock.client, asks ? address_print(&address, endpoint) : "");
}

/* Once: the report counts them all. */
static void note_contradiction(struct node *n)
{
    if (!n->clock.contradicted)
        notes_record(n->external, NULL, clock_now(), "BEZEL-CLOCK-CONTRADICTED",
                     "the wall clocks of this node and of the collector's machine are further apart than their 'clock' "
                     "in the experiment's file allows, as exchanges of times show: they are not used while that lasts; "
                     "check what synchronises them");
    n->clock.contradicted = true;
}

int64_t node_new_trace_due(const struct node *n)
{
    return n->clock.new_trace ? n->clock.began + TRACE_LEAST : INT64_MAX;
}

/*
 * One offset cannot place what was recorded before a jump and behind it, so the node goes on in a new trace: at once,
 * or when this one is old enough, since a clock that jumps all the time shall fill no disk with traces.
 */
static void note_jump(struct node *n, int64_t step)
{
    int64_t now = clock_now();
    n->clock.new_trace = true;
    notes_record(
        n->external, NULL, now, "BEZEL-CLOCK-JUMPED",
        "the collector's clock has jumped by %s%s against this node's, as when one of the machines sleeps: the "
        "node goes on in a new trace%s, and does not observe its processes until the old one is stored",
        step < 0 ? "-" : "", units_duration(step < 0 ? -step : step).s,
        node_new_trace_due(n) <= now ? "" : " when the old one is 5 s old");
}

bool node_wants_new_trace(const struct node *n)
{
    return !n->draining && sender_connected(n->sender) && node_new_trace_due(n) <= clock_now();
}

void node_clock_turn(struct node *n)
{
    struct clock_client_sample s;
    uint64_t welcomes = sender_counts(n->sender)->welcomes;
    if (n->clock.welcomes != welcomes)
        welcomed(n);
    n->clock.welcomes = welcomes;
    while (clock_client_take(n->clock.client, &s)) {
        if (s.contradicted)
            note_contradiction(n);
        if (s.jumped)
            note_jump(n, s.step);
        own_trace_record_exchange(n->own_trace, &(struct builtin_exchange){.clock = clock_identity_short(s.identity),
                                                                           .sent = s.x.sent,
                                                                           .arrived = s.x.arrived,
                                                                           .answered = s.x.answered,
                                                                           .received = s.x.received,
                                                                           .own = s.x.own.ahead,
                                                                           .own_error = s.x.own.error,
                                                                           .peer = s.x.peer.ahead,
                                                                           .peer_error = s.x.peer.error});
    }
}

void node_clock_end(struct node *n)
{
    clock_client_last(n->clock.client, LAST_MAX);
    node_clock_turn(n);
}
