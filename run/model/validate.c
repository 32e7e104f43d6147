// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/validate.h"

#include "run/model/packet_chain.h"
#include "run/model/statistics.h"

/* How far the chain of a stream was taken, by the packets of its node. */
static struct packet_chain chain_of(const struct model_stream *s)
{
    return (struct packet_chain){.next_seq = s->at.next_seq,
                                 .next_ordinal = s->at.next_ordinal,
                                 .discarded = s->at.discarded - s->thinned,
                                 .last_end = s->last_end,
                                 .closed = s->closed};
}

/* What a packet must be wherever it stands in its stream. */
static const char *check_alone(const struct model_process *process, const struct packet_header *h, const uint8_t *p,
                               struct packet_run *all)
{
    if (h->timestamp_end > MODEL_TIME_MAX)
        return "a time beyond the clock's range";
    if (h->discarded > MODEL_ATTEMPTS_MAX)
        return "more losses than can be";
    if (packet_check(p, h, process->dict->field_counts, process->dict->aspect_count, all) != 0)
        return "records that do not fit the dictionary";
    return NULL;
}

const char *validate_check(const struct model_process *process, const struct model_stream *s,
                           const struct packet_header *h, const uint8_t *p, struct validate_found *found)
{
    if (h->stream_id != process->stream_id)
        return "the stream class of another process";
    struct packet_chain chain = chain_of(s);
    const char *reason = packet_chain_check(&chain, h);
    found->lost = packet_lost(h, chain.discarded);
    found->since = s->last_end;
    return reason ? reason : check_alone(process, h, p, &found->all);
}

void validate_advance(struct model_stream *s, const struct packet_header *h)
{
    uint64_t lost = packet_lost(h, s->at.discarded), more = h->discarded - s->at.discarded;
    struct model_totals *totals = &s->process->node->model->totals;
    if (s->packets++ == 0)
        totals->streams++;
    s->records += h->records;
    s->at.next_seq = h->seq + 1;
    s->at.next_ordinal = h->first_ordinal + h->records + more;
    s->reduced += more - lost;
    s->thinned += h->kind == PACKET_THINNED ? more : 0;
    s->at.discarded = h->discarded;
    s->last_end = h->timestamp_end;
    s->closed = h->kind == PACKET_CLOSE;
    s->behind = false;
    totals->packets++;
    totals->bytes += h->size_bytes;
    model_count(s->process, h->records, lost);
}

const char *validate_take(struct model_stream *s, const struct packet_header *h, const uint8_t *p)
{
    struct packet_run all;
    const char *reason = check_alone(s->process, h, p, &all);
    if (reason)
        return reason;
    validate_advance(s, h);
    s->bytes += h->size_bytes;
    statistics_count(s, h, p, &all, 0);
    return NULL;
}

void validate_pass(struct model_stream *s, const struct packet_header *cover, uint64_t records)
{
    s->packets = s->at.next_seq = cover->seq + 1;
    s->at.next_ordinal = cover->first_ordinal;
    s->at.discarded = cover->discarded;
    s->last_end = cover->timestamp_end;
    s->records = records;
    s->bytes = cover->size_bytes;
}
