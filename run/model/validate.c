// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/validate.h"

#include <string.h>

/*
 * A data packet covers as many ordinals as it has records; a loss packet as many as events_discarded grew by. So
 * ordinals have no gaps, and a stream's records and losses add up to its next ordinal. The first packet has the ordinal
 * at which they begin.
 */
static const char *check_position(const struct model_stream *s, const struct packet_header *h, uint64_t *lost)
{
    *lost = 0;
    if (h->timestamp_end > MODEL_TIME_MAX)
        return "a time beyond the clock's range";
    if (h->seq == 0) {
        if (h->kind != PACKET_OPEN || h->discarded != 0)
            return "a stream that does not begin with an opening packet";
        return NULL;
    }
    if (s->closed)
        return "a packet behind the closing one";
    if (h->kind == PACKET_OPEN)
        return "an opening packet within a stream";
    if (h->first_ordinal != s->at.next_ordinal)
        return "an ordinal that does not follow";
    if (h->timestamp_begin < s->last_end)
        return "a time before that of the packet before";
    if (h->kind == PACKET_DATA && h->discarded != s->at.discarded)
        return "a loss in a packet of records";
    if (h->discarded < s->at.discarded)
        return "fewer losses than before";
    if (h->discarded > MODEL_ATTEMPTS_MAX)
        return "more losses than can be";
    *lost = h->discarded - s->at.discarded;
    return NULL;
}

const char *validate_check(const struct model_process *process, const struct model_stream *s,
                           const struct packet_header *h, const uint8_t *p, struct validate_found *found)
{
    if (h->stream_id != process->stream_id)
        return "the stream class of another process";
    const char *reason = check_position(s, h, &found->lost);
    if (!reason && packet_check(p, h, process->dict->field_counts, process->dict->aspect_count, &found->all) != 0)
        reason = "records that do not fit the dictionary";
    return reason;
}

void validate_advance(struct model_stream *s, const struct packet_header *h, uint64_t lost)
{
    struct model_totals *totals = &s->process->node->model->totals;
    if (s->packets++ == 0)
        totals->streams++;
    s->records += h->records;
    s->at.next_seq = h->seq + 1;
    s->at.next_ordinal = h->first_ordinal + h->records + lost;
    s->at.discarded = h->discarded;
    s->last_end = h->timestamp_end;
    s->closed = h->kind == PACKET_CLOSE;
    s->behind = false;
    totals->packets++;
    totals->bytes += h->size_bytes;
    totals->records += h->records;
    totals->discarded += lost;
}
