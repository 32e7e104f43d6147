// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/accept.h"

#include "collector/retire.h"

#include <string.h>

/*
 * A data packet covers as many ordinals as it holds records, one that tells a loss as many as events_discarded grew by;
 * so ordinals have no gaps, and a stream's records and losses sum to its next ordinal. The first packet says where they
 * begin.
 */
static const char *check_position(const struct model_stream *s, const struct packet_header *h, uint64_t *lost)
{
    *lost = 0;
    if (h->timestamp_end > INT64_MAX)
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

const char *accept_check(const struct model_process *process, const struct model_stream *s,
                         const struct packet_header *h, const uint8_t *p, struct accept_found *found)
{
    if (h->stream_id != process->stream_id)
        return "the stream class of another process";
    const char *reason = check_position(s, h, &found->lost);
    if (!reason && packet_check(p, h, process->dict->field_counts, process->dict->aspect_count, &found->all) != 0)
        reason = "records that do not fit the dictionary";
    return reason;
}

void accept_advance(struct model_stream *s, const struct packet_header *h, uint64_t lost)
{
    struct model_totals *totals = &s->process->node->model->totals;
    if (s->packets++ == 0)
        totals->streams++;
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

/* The reason why a frame is no packet of this node, or NULL with the header read. */
static const char *check_frame(const struct model_node *node, const void *frame, size_t n, struct packet_header *h)
{
    int err = packet_get_header(frame, n, h);
    if (err == BEZEL_EVERSION)
        return "a packet of another version";
    if (err)
        return "a malformed packet";
    if (h->size_bytes != n)
        return "bytes behind the packet";
    if (memcmp(h->uuid, node->uuid, sizeof h->uuid) != 0)
        return "a packet of another trace";
    return NULL;
}

static enum accept accept_next(struct store *store, const void *frame, struct accepted *a)
{
    struct model_stream *s = a->stream;
    a->reason = accept_check(s->process, s, &a->header, frame, &a->found);
    if (a->reason) {
        s->process->refusals++;
        return ACCEPT_REFUSED;
    }
    if (store_append(store, s, frame, a->header.size_bytes) != 0) {
        s->behind = true;
        return ACCEPT_FAILED;
    }
    accept_advance(s, &a->header, a->found.lost);
    s->process->refusals = 0;
    model_touch(s);
    return ACCEPT_STORED;
}

/* All of it is stored: it can only be a repetition. */
static enum accept accept_retired(const struct model_process *p, struct accepted *a)
{
    a->stream = p->streams[a->header.ring];
    if (a->stream && a->header.seq < a->stream->at.next_seq) {
        model_touch(a->stream);
        return ACCEPT_DUPLICATE;
    }
    a->reason = "a packet of a process that has ended";
    return ACCEPT_REFUSED;
}

static enum accept accept_thrown(struct model_process *p, struct accepted *a)
{
    a->stream = p ? model_stream(p, a->header.ring) : NULL;
    if (a->stream) {
        a->stream->thrown = a->header.seq + 1;
        a->stream->behind = false;
        model_touch(a->stream);
    }
    return ACCEPT_THROWN;
}

static enum accept accept_identified(struct model_node *node, struct store *store, const void *frame,
                                     struct accepted *a)
{
    const struct packet_header *h = &a->header;
    struct model_process *p = model_find_process(node, h->instance);
    if (p ? p->refused : model_is_untaken(node, h->instance))
        return accept_thrown(p, a);
    if (p && retire_is(p))
        return accept_retired(p, a);
    if (!p || !dict_includes(p->dict, h->dictionary)) {
        if (p)
            p->needed = true;
        return ACCEPT_NEED;
    }
    a->stream = model_stream(p, h->ring);
    if (!a->stream)
        return ACCEPT_FAILED;
    if (h->seq < a->stream->at.next_seq) {
        model_touch(a->stream);
        return ACCEPT_DUPLICATE;
    }
    if (h->seq == a->stream->at.next_seq)
        return accept_next(store, frame, a);
    /* Told once; intake_tick() repeats it. To answer each of many would have each of them sent many times. */
    if (!a->stream->behind)
        model_touch(a->stream);
    a->stream->behind = true;
    return ACCEPT_AHEAD;
}

void accept_packet(struct model_node *node, struct store *store, const void *frame, size_t n, struct accepted *a)
{
    *a = (struct accepted){0};
    a->reason = check_frame(node, frame, n, &a->header); /* fills what an initializer would clear */
    a->what = a->reason ? ACCEPT_REFUSED : ACCEPT_NEED;
    if (!a->reason)
        a->what = accept_identified(node, store, frame, a);
    if (a->what == ACCEPT_REFUSED)
        node->model->totals.refused++;
}
