// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/receive/receiver_packet.h"

#include <stdlib.h>
#include <string.h>

/* Returns NULL with the header read, or the reason why the frame is no packet of this node. */
static const char *check_frame(const struct model_node *node, const void *frame, size_t n, struct packet_header *h)
{
    int err = packet_get_header(frame, n, h);
    if (err == BEZEL_EVERSION)
        return "a packet of another version";
    if (err)
        return "a malformed packet";
    if (h->size_bytes != n)
        return "bytes behind the packet";
    if (h->kind == PACKET_THINNED)
        return "a packet that only a collector makes";
    if (memcmp(h->uuid, node->uuid, sizeof h->uuid) != 0)
        return "a packet of another trace";
    return NULL;
}

static enum received_as take_next(struct store *store, struct evaluate *evaluate, const void *frame, struct received *a)
{
    struct model_stream *s = a->stream;
    a->reason = validate_check(s->process, s, &a->header, frame, &a->found);
    if (a->reason) {
        s->process->refusals++;
        return RECEIVED_REFUSED;
    }
    struct evaluate_thinned *t = &a->thinned;
    int err = evaluate_thin(evaluate, s, &a->header, frame, &a->found.all, t);
    const struct packet_header *stored = t->bytes ? &t->header : &a->header;
    if (err || store_append(store, s, t->bytes ? t->bytes : frame, stored->size_bytes) != 0) {
        free(t->bytes);
        t->bytes = NULL;
        s->behind = true;
        return RECEIVED_FAILED;
    }
    validate_advance(s, stored);
    s->process->refusals = 0;
    model_touch(s);
    return RECEIVED_STORED;
}

/* Its node has had its share of streams: the process is refused, once and for all. */
static enum received_as refuse_stream(struct received *a)
{
    a->stream->process->refusals = MODEL_REFUSALS;
    a->reason = "its node has had as many streams as are its share of the run";
    return RECEIVED_REFUSED;
}

/* Of an evicted process everything is stored: a packet of it can only be a repetition. */
static enum received_as take_repetition(const struct model_process *p, struct received *a)
{
    a->stream = model_find_stream(p, a->header.ring);
    if (a->stream && a->header.seq < a->stream->at.next_seq) {
        model_touch(a->stream);
        return RECEIVED_DUPLICATE;
    }
    a->reason = "a packet of a process that has ended";
    return RECEIVED_REFUSED;
}

static enum received_as throw_away(struct model_process *p, struct received *a)
{
    a->stream = p ? model_stream(p, a->header.ring) : NULL;
    if (a->stream) {
        a->stream->thrown = a->header.seq + 1;
        a->stream->behind = false;
        model_touch(a->stream);
    }
    return RECEIVED_THROWN;
}

static enum received_as take_identified(struct model_node *node, struct store *store, struct evaluate *evaluate,
                                        const void *frame, struct received *a)
{
    const struct packet_header *h = &a->header;
    struct model_process *p = model_find_process(node, h->instance);
    if (p ? p->refused : model_is_untaken(node, h->instance))
        return throw_away(p, a);
    if (p && model_is_evicted(p))
        return take_repetition(p, a);
    if (!p || !dict_includes(p->dict, h->dictionary)) {
        if (p)
            p->needed = true;
        return RECEIVED_UNKNOWN;
    }
    a->stream = model_stream(p, h->ring);
    if (!a->stream)
        return RECEIVED_FAILED;
    if (h->seq < a->stream->at.next_seq) {
        model_touch(a->stream);
        return RECEIVED_DUPLICATE;
    }
    if (node->no_stream && a->stream->packets == 0)
        return refuse_stream(a);
    if (h->seq == a->stream->at.next_seq)
        return take_next(store, evaluate, frame, a);
    /* Answered once; receiver_tick() repeats it. Answering each packet would have all of them sent many times. */
    if (!a->stream->behind)
        model_touch(a->stream);
    a->stream->behind = true;
    return RECEIVED_AHEAD;
}

void receiver_take_packet(struct model_node *node, struct store *store, struct evaluate *evaluate, const void *frame,
                          size_t n, struct received *a)
{
    *a = (struct received){0};
    a->reason = check_frame(node, frame, n, &a->header); /* fills what an initializer would clear */
    a->what = a->reason ? RECEIVED_REFUSED : RECEIVED_UNKNOWN;
    if (!a->reason)
        a->what = take_identified(node, store, evaluate, frame, a);
    if (a->what == RECEIVED_REFUSED)
        node->model->totals.refused++;
}
