// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/send_queue.h"

#include "base/ulimit.h"

#include <stdlib.h>
#include <string.h>

enum { SEND_QUEUE_RETRY_NS = 500000000 /* after an error of the disk */ };

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/*
 * Whether a packet in the spool of an earlier daemon is possible: the next one of its stream. A packet of an unknown
 * stream is possible too: it was acknowledged.
 */
static bool take_back(struct send_queue *b, const uint8_t *packet, int n)
{
    struct packet_header h;
    if (packet_get_header(packet, (size_t)n, &h) != 0 || h.size_bytes != (uint64_t)n)
        return false;
    int i = window_find(b->window, h.instance, h.ring);
    return i < 0 || window_take_back(b->window, (uint32_t)i, h.seq);
}

/* Reads the spool of an earlier daemon up to the first impossible packet. Returns the bytes from there on, lost. */
static uint64_t take_all_back(struct send_queue *b)
{
    int n;
    for (uint64_t at = spool_oldest(b->spool), from = at;; from = at) {
        n = spool_read(b->spool, &at, b->buffer, WINDOW_PACKET_BYTES);
        if (n > 0 && take_back(b, b->buffer, n))
            continue;
        if (n == 0)
            return 0;
        uint64_t lost = spool_written(b->spool) - from;
        spool_truncate(b->spool, from);
        return lost;
    }
}

/* Whether packets are missing from a doubtful spool shows when the receiver says what it has (sender_tear()). */
static void note_found(struct send_queue *b, const struct spool_found *found, uint64_t lost, int64_t now)
{
    bool lost_bytes = found->damaged + lost > 0;
    b->damaged = spool_is_doubtful(b->spool);
    if (found->torn)
        b->source.add_note(b->source.context, 0, now, "BEZEL-SPOOL-TORN",
                           "bezeld was killed while it wrote a packet to %s: the part is removed, and the packet is "
                           "sent from the window",
                           spool_path(b->spool));
    if (lost_bytes)
        b->source.add_note(
            b->source.context, 0, now, "BEZEL-SPOOL-DAMAGED",
            "%s does not contain what was written to it: at least %llu bytes of packets are lost; check the disk",
            spool_path(b->spool), (unsigned long long)found->damaged + lost);
}

int send_queue_open(struct send_queue *b, const struct uplink_source *source, const char *spool_dir,
                    uint64_t spool_bytes, int64_t now)
{
    struct spool_found found;
    *b = (struct send_queue){.source = *source, .window = source->window};
    if (spool_bytes == 0)
        return 0;
    (void)spool_clear(spool_dir);
    int err = spool_open(spool_dir, source->run, source->uuid, spool_bytes, &b->spool, &found);
    if (err)
        return err;
    b->buffer = malloc(WINDOW_PACKET_BYTES);
    err = b->buffer ? spool_settle(b->spool, source->dir) : BEZEL_ENOMEM;
    if (err) {
        send_queue_close(b, false);
        return err;
    }
    note_found(b, &found, take_all_back(b), now);
    send_queue_rewind(b);
    return 0;
}

void send_queue_close(struct send_queue *b, bool discard)
{
    if (discard)
        spool_discard(b->spool);
    else
        spool_close(b->spool);
    free(b->buffer);
    b->spool = NULL;
    b->buffer = NULL;
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

void send_queue_rewind(struct send_queue *b)
{
    b->spool_sending = b->spool ? spool_oldest(b->spool) : 0;
    b->sending = window_oldest(b->window);
}

/* Reads the header of the packet at *at of the spool, and moves *at behind it. 0; BEZEL_ENOENT at the end; an error. */
static int peek(struct send_queue *b, uint64_t *at, struct packet_header *h)
{
    int n = spool_peek(b->spool, at, b->buffer, PACKET_HEADER_BYTES);
    int err = n > 0 ? packet_get_header(b->buffer, (size_t)n, h) : n == 0 ? BEZEL_ENOENT : n;
    return err == BEZEL_EAGAIN && n == PACKET_HEADER_BYTES ? 0 : err; /* only the header was read */
}

/*
 * Gives up the stream of a packet that cannot be read back: nothing can be stored behind a gap. If the packet's header
 * cannot be read either, gives up every stream that has packets in the spool.
 */
static void lose(struct send_queue *b, int64_t now)
{
    struct packet_header h;
    uint64_t at = b->spool_sending;
    bool known = peek(b, &at, &h) == 0;
    spool_doubt(b->spool);
    for (uint32_t i = 0; i < WINDOW_STREAMS; i++) {
        const struct window_stream *s = window_stream(b->window, i);
        bool hit = known ? s->instance == h.instance && s->ring == h.ring : s->acked_seq < s->spooled_seq;
        if (s->used && hit)
            window_tear(b->window, i);
    }
    b->source.add_note(b->source.context, 0, now, "BEZEL-SPOOL-DAMAGED",
                       "cannot read back what was written to %s: packets are lost, and later packets of their rings "
                       "cannot be stored; check the disk",
                       spool_path(b->spool));
}

static bool next_of_spool(struct send_queue *b, struct send_queue_packet *p, int64_t now)
{
    while (b->spool && b->spool_sending < spool_written(b->spool)) {
        b->spool_next = b->spool_sending;
        int n = spool_read(b->spool, &b->spool_next, b->buffer, WINDOW_PACKET_BYTES);
        if (n > 0 && packet_get_header(b->buffer, (size_t)n, &p->header) == 0) {
            int i = window_find(b->window, p->header.instance, p->header.ring);
            if (i >= 0 && p->header.seq >= window_stream(b->window, (uint32_t)i)->acked_seq) {
                p->stream = (uint32_t)i;
                p->data = b->buffer;
                p->bytes = (uint32_t)n;
                p->in_window = NULL;
                return true;
            }
        } else if (n != 0) {
            lose(b, now);
        }
        b->spool_sending = b->spool_next;
    }
    return false;
}

bool send_queue_next(struct send_queue *b, struct send_queue_packet *p, int64_t now)
{
    if (next_of_spool(b, p, now))
        return true;
    if (b->sending < window_oldest(b->window))
        b->sending = window_oldest(b->window);
    for (b->window_next = b->sending;; b->sending = b->window_next) {
        struct window_packet *in_window = window_next(b->window, &b->window_next);
        if (!in_window)
            return false;
        const struct window_stream *s = window_stream(b->window, in_window->stream);
        if (packet_get_header(in_window->data, in_window->bytes, &p->header) != 0 || p->header.seq < s->acked_seq ||
            p->header.seq < s->spooled_seq)
            continue;
        p->stream = in_window->stream;
        p->data = in_window->data;
        p->bytes = in_window->bytes;
        p->in_window = in_window;
        return true;
    }
}

void send_queue_sent(struct send_queue *b, const struct send_queue_packet *p)
{
    window_sent(b->window, p->stream, p->header.seq + 1);
    if (p->in_window)
        b->sending = b->window_next;
    else
        b->spool_sending = b->spool_next;
}

void send_queue_mark(struct send_queue *b, int64_t low)
{
    struct send_queue_mark mark = {window_end(b->window), low};
    struct send_queue_mark *last = b->mark_count ? &b->marks[b->mark_count - 1] : NULL;
    if (low <= 0 || (last && low <= last->low))
        return;
    if (last && (last->window == mark.window || b->mark_count == SEND_QUEUE_MARKS))
        *last = mark;
    else
        b->marks[b->mark_count++] = mark;
}

/* The last mark stays: it holds again when all was sent once more, on the next connection. */
int64_t send_queue_low(struct send_queue *b)
{
    uint64_t at = b->sending > window_oldest(b->window) ? b->sending : window_oldest(b->window), next = at;
    unsigned passed = 0;
    if (b->spool && b->spool_sending < spool_written(b->spool))
        return 0;
    if (!window_next(b->window, &next))
        at = window_end(b->window);
    while (passed < b->mark_count && b->marks[passed].window <= at)
        passed++;
    if (passed == 0)
        return 0;
    b->mark_count -= passed - 1;
    memmove(b->marks, b->marks + passed - 1, b->mark_count * sizeof *b->marks);
    return b->marks[0].low;
}

static uint64_t under_way(const struct send_queue *b, uint64_t spool_to, uint64_t window_to)
{
    uint64_t spool = b->spool ? spool_oldest(b->spool) : 0, window = window_oldest(b->window);
    return (spool_to > spool ? spool_to - spool : 0) + (window_to > window ? window_to - window : 0);
}

uint64_t send_queue_unacknowledged(const struct send_queue *b)
{
    return under_way(b, b->spool_sending, b->sending);
}

uint64_t send_queue_with_next(const struct send_queue *b)
{
    bool in_spool = b->spool && b->spool_sending < spool_written(b->spool);
    return in_spool ? under_way(b, b->spool_next, b->sending) : under_way(b, b->spool_sending, b->window_next);
}

uint64_t send_queue_spooled(const struct send_queue *b)
{
    return b->spool ? spool_written(b->spool) - spool_oldest(b->spool) : 0;
}

uint64_t send_queue_waiting(const struct send_queue *b)
{
    return send_queue_spooled(b) + window_waiting(b->window);
}

/* ---- Freeing ----------------------------------------------------------------------------------------------------- */

static void report_stored(void *send_queue, const struct packet_header *h)
{
    const struct send_queue *b = send_queue;
    b->source.stored(b->source.context, h, b->now);
}

/* Whether the packet at *at may be freed: it is stored, lost, or of a removed process. Moves *at behind it. */
static bool may_go(struct send_queue *b, uint64_t *at)
{
    struct packet_header h;
    int err = peek(b, at, &h), i = err ? -1 : window_find(b->window, h.instance, h.ring);
    if (err)
        return err == BEZEL_EMALFORMED; /* lost, which lose() has noted */
    if (i >= 0 && h.seq >= window_stream(b->window, (uint32_t)i)->acked_seq)
        return false;
    if (i >= 0 && !window_stream(b->window, (uint32_t)i)->torn)
        report_stored(b, &h);
    return true;
}

void send_queue_free(struct send_queue *b, int64_t now)
{
    b->now = now;
    window_free_each(b->window, report_stored, b);
    if (!b->spool || now < b->retry_at)
        return;
    uint64_t until = spool_oldest(b->spool);
    for (uint64_t at = until, i = 0; i < SEND_QUEUE_TURN && until < b->spool_sending && may_go(b, &at); i++)
        until = at;
    if (spool_free(b->spool, until) != 0)
        b->retry_at = now + SEND_QUEUE_RETRY_NS;
}

/* ---- Moving ------------------------------------------------------------------------------------------------------ */

static void note_full(struct send_queue *b, int err, int64_t now)
{
    const char *path = spool_path(b->spool);
    if (err == BEZEL_EFULL)
        b->source.add_note(
            b->source.context, 0, now, "BEZEL-SPOOL-FULL",
            "%s has reached its size: records that find no room in window and rings are lost; raise sensing.spool.size",
            path);
    else
        b->source.add_note(
            b->source.context, 0, now, "BEZEL-SPOOL-FULL",
            "cannot write to %s: %s: records that find no room in window and rings are lost; make room on the disk",
            path, ulimit_reason(err));
}

/* Moves the oldest packet. False: the spool has no room, or it need not move. */
static bool move_one(struct send_queue *b, uint64_t *moved, int64_t now)
{
    struct packet_header h;
    uint64_t oldest = window_oldest(b->window), next = oldest;
    const struct window_packet *p = window_next(b->window, &next);
    if (!p || packet_get_header(p->data, p->bytes, &h) != 0)
        return false;
    const struct window_stream *s = window_stream(b->window, p->stream);
    if (h.seq < s->acked_seq || h.seq < s->spooled_seq)
        return false; /* a queue still reads it */
    int err = spool_append(b->spool, p->data, p->bytes);
    b->full = err != 0;
    if (err) {
        note_full(b, err, now);
        b->retry_at = err == BEZEL_EFULL ? 0 : now + SEND_QUEUE_RETRY_NS;
        return false;
    }
    if (b->sending >= next) /* it and all packets before it, in the spool too, were sent */
        b->spool_sending = spool_written(b->spool);
    *moved += p->bytes;
    window_spooled(b->window, p->stream, h.seq + 1);
    window_free_each(b->window, report_stored, b); /* what was stored may have stood behind it */
    return true;
}

bool send_queue_must_move(const struct send_queue *b, int64_t now)
{
    return b->spool && now >= b->retry_at && window_waiting(b->window) > window_capacity(b->window) / 4 * 3;
}

void send_queue_move(struct send_queue *b, int64_t now)
{
    uint64_t capacity = window_capacity(b->window), moved = 0;
    b->now = now;
    if (!b->spool || now < b->retry_at)
        return;
    b->full = false;
    if (send_queue_must_move(b, now))
        while (moved < SEND_QUEUE_TURN_BYTES && window_waiting(b->window) > capacity / 2 && move_one(b, &moved, now))
            ;
    b->source.spool_full(b->source.context, b->full);
}
