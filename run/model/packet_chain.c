// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/packet_chain.h"

const char *packet_chain_check(const struct packet_chain *c, const struct packet_header *h)
{
    if (h->seq != c->next_seq)
        return h->seq > c->next_seq ? "packets are missing before this one" : "a packet that came before";
    if (h->seq == 0)
        return h->kind == PACKET_OPEN && h->discarded == 0 ? NULL
                                                           : "a stream that does not begin with an opening packet";
    if (c->closed)
        return "a packet behind the closing one";
    if (h->kind == PACKET_OPEN)
        return "an opening packet within a stream";
    if (h->first_ordinal != c->next_ordinal)
        return "an ordinal that does not follow";
    if (h->timestamp_begin < c->last_end)
        return "a time before that of the packet before";
    if (h->kind == PACKET_DATA && h->discarded != c->discarded)
        return "a loss in a packet of records";
    return h->discarded < c->discarded ? "fewer losses than before" : NULL;
}

uint64_t packet_chain_take(struct packet_chain *c, const struct packet_header *h)
{
    uint64_t lost = packet_lost(h, c->discarded), more = h->discarded - c->discarded;
    *c = (struct packet_chain){.next_seq = h->seq + 1,
                               .next_ordinal = h->first_ordinal + h->records + more,
                               .discarded = h->discarded,
                               .reduced = c->reduced + more - lost,
                               .last_end = h->timestamp_end,
                               .closed = h->kind == PACKET_CLOSE};
    return lost;
}

void packet_chain_pass(struct packet_chain *c, const struct packet_header *h)
{
    *c = (struct packet_chain){.next_seq = h->seq + 1,
                               .next_ordinal = h->first_ordinal,
                               .discarded = h->discarded,
                               .last_end = h->timestamp_end};
}
