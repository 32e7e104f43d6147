// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Messages from the receiver. Impossible positions are ignored, so a wrong one frees no packet that was never sent. */
#include "mdr/uplink/sender_internal.h"

#include "base/log.h"
#include "mdr/message.h"

#include <string.h>

enum { SENDER_TURN_FRAMES = 64 }; /* frames taken in one step */

/* The sentence has no numbers that change, so there is one note for each ring, however often this happens. */
static void note_impossible(struct sender *f, const struct message_position *at, int64_t now, const char *code,
                            const char *what)
{
    f->counts.impossible++;
    f->source.add_note(f->source.context, at->instance, now, code, "the collector %s of its ring %u", what, at->ring);
}

/* Whether all packets of stream `i` from `from` on are here, in the spool and behind it in the window. */
static bool has_no_gap(const struct sender *f, uint32_t i, uint64_t from)
{
    const struct window_stream *s = window_stream(f->window, i);
    uint64_t first = window_first(f->window, i);
    return from >= first || (from >= s->acked_seq && s->spooled_seq >= first);
}

/*
 * A position that has moved on acknowledges packets. If it is repeated, the receiver lacks the packets sent after it.
 * Positions of unknown streams are of processes that were removed.
 */
static void take_position(struct sender *f, const struct message_position *at, int64_t now)
{
    int n = window_find(f->window, at->instance, at->ring);
    if (n < 0)
        return;
    const struct window_stream *s = window_stream(f->window, (uint32_t)n);
    if (f->state == GREETING && (f->send_queue.damaged || f->moved)) {
        f->welcomed[n] = has_no_gap(f, (uint32_t)n, at->next_seq);
        if (!f->welcomed[n])
            return; /* see sender_tear() */
    }
    if (s->torn) /* what the collector lacks of it has been reported already */
        return;
    if (at->next_seq > s->sent_seq)
        note_impossible(f, at, now, "BEZEL-AHEAD", "acknowledges packets that this node never sent,");
    else if (at->next_seq < s->acked_seq)
        note_impossible(f, at, now, "BEZEL-BEHIND",
                        "lacks packets that it had acknowledged, and that this node has freed,");
    else if (at->next_seq > s->acked_seq) {
        window_acknowledge(f->window, (uint32_t)n, at->next_seq);
        backoff_reset(&f->asks);
    } else if (f->state == UP && s->acked_seq < s->sent_seq)
        sender_ask_again(f, now);
}

void sender_tear(struct sender *f, int64_t now)
{
    for (uint32_t i = 0; i < WINDOW_STREAMS && (f->send_queue.damaged || f->moved); i++) {
        const struct window_stream *s = window_stream(f->window, i);
        if (!s->used || f->welcomed[i] || has_no_gap(f, i, 0)) /* a stream without a position is at 0 */
            continue;
        window_tear(f->window, i);
        if (f->send_queue.damaged)
            f->source.add_note(f->source.context, s->instance, now, "BEZEL-SPOOL-LOST",
                               "packets of its ring %u were lost with the spool: later packets of the ring cannot be "
                               "stored",
                               s->ring);
        else
            f->source.add_note(f->source.context, s->instance, now, "BEZEL-BEHIND",
                               "another collector has the first packets of its ring %u: later packets of the ring "
                               "cannot be stored",
                               s->ring);
    }
    f->send_queue.damaged = f->moved = false;
}

static void take_positions(struct sender *f, const struct message_position *rows, uint32_t count, int64_t now)
{
    for (uint32_t i = 0; i < count && f->link; i++)
        take_position(f, &rows[i], now);
}

static void take_welcome(struct sender *f, const struct message_welcome *w, int64_t now)
{
    if (f->state != GREETING)
        return;
    take_positions(f, w->streams, w->stream_count, now);
    uint64_t most = (uint64_t)SENDER_QUEUE * PACKET_HEADER_BYTES; /* below ZeroMQ's bound */
    f->credit = w->credit_bytes && w->credit_bytes < most ? w->credit_bytes : most;
    f->counts.credit = f->credit;
    memcpy(f->clock.identity, w->clock, sizeof f->clock.identity);
    f->clock.port = w->clock_port;
    if (!w->more)
        sender_come_up(f, now);
}

static void take_message(struct sender *f, int64_t now)
{
    const struct uplink_source *source = &f->source;
    const struct message *m = &f->message;
    struct uplink_process p;
    switch (m->type) {
    case MESSAGE_WELCOME:
        take_welcome(f, &m->welcome, now);
        break;
    case MESSAGE_REFUSE:
        sender_take_refusal(f, now);
        break;
    case MESSAGE_ACK:
        if (f->state == UP)
            take_positions(f, m->ack.streams, m->ack.stream_count, now);
        break;
    case MESSAGE_NEED_PROCESS: /* the receiver dropped the packets: they are sent again, after PROCESS */
        if (source->find(source->context, m->need_process.instance, &p)) {
            *sender_sent(f, &p) = (struct sender_process){0};
            source->saved(source->context, p.instance, false);
        }
        sender_ask_again(f, now);
        break;
    case MESSAGE_BOOKS: /* an answer to older books is ignored */
        if (m->books.instance == 0 && m->books.at >= f->node_books_at)
            f->unobserved_saved = f->unobserved_sent;
        if (source->find(source->context, m->books.instance, &p) && sender_sent(f, &p)->final &&
            m->books.at >= sender_sent(f, &p)->books_at)
            source->saved(source->context, p.instance, true);
        break;
    case MESSAGE_DIRECT:
        sender_take_direct(f, &m->direct, now);
        break;
    case MESSAGE_BYE:
        if (f->bye_sent)
            f->state = DONE;
        break;
    default: /* HEARTBEAT only sets received_at */
        break;
    }
}

void sender_receive(struct sender *f, int64_t now)
{
    struct link_frame frame;
    for (int i = 0; i < SENDER_TURN_FRAMES && f->link && link_receive(f->link, &frame) == 0; i++) {
        int err = message_decode(frame.data, frame.size, &f->message);
        link_frame_free(&frame);
        /* Versions are settled by the greeting: a message of another version after it is damaged. */
        if (err && (err != BEZEL_EVERSION || f->state == UP)) {
            log_warn("BEZEL-DECODE", "cannot decode a message from the collector: %s: it is dropped", err_text(err));
            continue;
        }
        f->received_at = now;
        take_message(f, now);
    }
}
