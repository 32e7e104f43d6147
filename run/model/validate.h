// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Checks that a packet is valid and the next one of its stream, so that packets that are sent again count once. For
 * packets that arrive, and for those read from files.
 */
#ifndef BEZEL_RUN_MODEL_VALIDATE_H
#define BEZEL_RUN_MODEL_VALIDATE_H

#include "run/model/run_model.h"

struct validate_found {
    uint64_t lost;         /* records that the packet counts as lost, ... */
    uint64_t since;        /* ... after this time, the end of the packet before it; 0: it is the first one */
    struct packet_run all; /* its records, if they are all of one aspect; else a run of 0 */
};

/**
 * Checks that packet `p`, with header `h`, is valid, belongs to `process` and follows the last packet of stream `s`.
 * The caller has checked that h->seq is s->at.next_seq. Returns NULL with *found, or the reason for the refusal, in
 * static storage.
 */
const char *validate_check(const struct model_process *process, const struct model_stream *s,
                           const struct packet_header *h, const uint8_t *p,
                           struct validate_found *found) BEZEL_MUST_CHECK;

/**
 * Advances a stream's position (not its bytes) and the totals over a stored packet that validate_check() has accepted.
 */
void validate_advance(struct model_stream *s, const struct packet_header *h);

/**
 * Takes packet `p` of a stream file, which is the next one of `s` by its reader (run/store/trace_reader.h), and whose
 * dictionary the process has: advances the position, with the bytes, and counts the records. Returns NULL, or the
 * reason why the packet is refused, with nothing changed.
 */
const char *validate_take(struct model_stream *s, const struct packet_header *h, const uint8_t *p) BEZEL_MUST_CHECK;

/** Takes the position of stream `s` behind a cover over packets with `records`; the totals stay as they are. */
void validate_pass(struct model_stream *s, const struct packet_header *cover, uint64_t records);

#endif
