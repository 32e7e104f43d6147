// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The chain of a stream's packets: how far it was taken, and whether a packet is the next one. Whoever stores packets
 * or reads them from files checks them by this. Pure.
 *
 * A stream begins with an opening packet, and nothing follows a closing one. Packets are numbered without gaps. A data
 * packet covers as many ordinals as it has records, a loss packet as many as events_discarded grew by, and a reduced
 * or thinned packet both: so ordinals have no gaps either, and the records and losses of a stream, and the records that
 * ended at a reducer, add up to its next ordinal. The first packet has the ordinal at which they begin. Times do not
 * fall.
 */
#ifndef BEZEL_RUN_MODEL_PACKET_CHAIN_H
#define BEZEL_RUN_MODEL_PACKET_CHAIN_H

#include "mdr/packet.h"

/** How far a chain was taken: behind some packet, or behind a cover. All zeros: before the first packet. */
struct packet_chain {
    uint64_t next_seq, next_ordinal, discarded;
    uint64_t reduced;  /* of the discarded ones: those that ended at a reducer, since the cover */
    uint64_t last_end; /* timestamp_end of the last packet */
    bool closed;       /* the last packet was the closing one */
};

/** Whether `h` is the next packet: NULL, or the reason why it is not, in static storage. */
const char *packet_chain_check(const struct packet_chain *c, const struct packet_header *h) BEZEL_MUST_CHECK;

/** Goes on behind packet `h`, which packet_chain_check() has accepted. Returns the records that it counts as lost. */
uint64_t packet_chain_take(struct packet_chain *c, const struct packet_header *h);

/** Goes on behind the packets that cover `h` stands for. */
void packet_chain_pass(struct packet_chain *c, const struct packet_header *h);

#endif
