// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What comes down. Nothing of it is believed further than it can be true; nothing that it says frees what is not
 * stored, unless the store itself lies about a packet that it was sent. */
#include "sensor/forward_own.h"

#include "base/log.h"
#include "sensor/notes.h"

#include <string.h>

enum { FORWARD_TURN_FRAMES = 64 }; /* frames taken in one step */

/* The sentence has no numbers that change: it is told once for each ring, however often it is heard. */
static void disbelieve(struct forward *f, const struct message_position *at, int64_t now, const char *code,
                       const char *what)
{
    f->counts.disbelieved++;
    notes_tell(f->x, external_find(f->x, at->instance), now, code, "the collector %s of its ring %u", what, at->ring);
}

/* Whether all packets of stream `i` from `from` on are here, in the spool and behind it in the window. */
static bool has_no_gap(const struct forward *f, uint32_t i, uint64_t from)
{
    const struct window_stream *s = window_stream(f->window, i);
    uint64_t first = window_first(f->window, i);
    return from >= first || (from >= s->acked_seq && s->spooled_seq >= first);
}

/*
 * A position that moves on acknowledges. One that repeats itself lacks what was sent behind it. Positions of streams
 * that this node does not have are of processes that are done with.
 */
static void take_position(struct forward *f, const struct message_position *at, int64_t now)
{
    int n = window_find(f->window, at->instance, at->ring);
    if (n < 0)
        return;
    struct window_stream *s = window_stream(f->window, (uint32_t)n);
    if (f->state == GREETING && f->backlog.damaged) {
        s->welcomed = has_no_gap(f, (uint32_t)n, at->next_seq);
        if (!s->welcomed)
            return; /* see forward_tear() */
    }
    if (at->next_seq > s->sent_seq)
        disbelieve(f, at, now, "BEZEL-AHEAD", "says that it has packets, which were never sent,");
    else if (at->next_seq < s->acked_seq)
        disbelieve(f, at, now, "BEZEL-BEHIND", "lacks packets, which it had acknowledged and which are gone,");
    else if (at->next_seq > s->acked_seq) {
        window_acknowledge(f->window, (uint32_t)n, at->next_seq);
        backoff_reset(&f->asks);
    } else if (f->state == UP && s->acked_seq < s->sent_seq)
        forward_ask_again(f, now);
}

void forward_tear(struct forward *f, int64_t now)
{
    for (uint32_t i = 0; i < WINDOW_STREAMS && f->backlog.damaged; i++) {
        const struct window_stream *s = window_stream(f->window, i);
        if (!s->used || s->welcomed || has_no_gap(f, i, 0)) /* who was not named is at 0 */
            continue;
        window_tear(f->window, i);
        notes_tell(f->x, external_find(f->x, s->instance), now, "BEZEL-SPOOL-LOST",
                   "packets of its ring %u were lost with the spool: what follows them is not stored", s->ring);
    }
    f->backlog.damaged = false;
}

static void take_positions(struct forward *f, const struct message_position *rows, uint32_t count, int64_t now)
{
    for (uint32_t i = 0; i < count && f->link; i++)
        take_position(f, &rows[i], now);
}

static void take_welcome(struct forward *f, const struct message_welcome *w, int64_t now)
{
    if (f->state != GREETING)
        return;
    take_positions(f, w->streams, w->stream_count, now);
    uint64_t most = (uint64_t)FORWARD_QUEUE * PACKET_HEADER_BYTES; /* so that ZeroMQ's bound lies above it */
    f->credit = w->credit_bytes && w->credit_bytes < most ? w->credit_bytes : most;
    f->counts.credit = f->credit;
    if (!w->more)
        forward_come_up(f, now);
}

static void take_message(struct forward *f, int64_t now)
{
    const struct message *m = &f->message;
    switch (m->type) {
    case MESSAGE_WELCOME:
        take_welcome(f, &m->welcome, now);
        break;
    case MESSAGE_REFUSE:
        f->state = REFUSED;
        memcpy(f->refused, m->refuse.reason, sizeof f->refused);
        break;
    case MESSAGE_ACK:
        if (f->state == UP)
            take_positions(f, m->ack.streams, m->ack.stream_count, now);
        break;
    case MESSAGE_NEED: { /* it dropped the packets that it could not read: all of them again, with the process first */
        struct external_process *p = external_find(f->x, m->need.instance);
        if (p)
            p->announce = true, p->books_final = p->books_saved = false;
        forward_ask_again(f, now);
        break;
    }
    case MESSAGE_BOOKS: { /* an answer to books that were sent before these is not of these */
        struct external_process *p = external_find(f->x, m->books.instance);
        if (m->books.instance == 0 && m->books.at >= f->node_books_at)
            f->unobserved_saved = f->unobserved_told;
        if (p && p->books_final && m->books.at >= p->books_at)
            p->books_saved = true;
        break;
    }
    case MESSAGE_BYE:
        if (f->bye_sent)
            f->state = DONE;
        break;
    default: /* ALIVE: to be heard was all */
        break;
    }
}

void forward_receive(struct forward *f, int64_t now)
{
    struct link_frame frame;
    for (int i = 0; i < FORWARD_TURN_FRAMES && f->link && link_receive(f->link, &frame) == 0; i++) {
        int err = message_decode(frame.data, frame.size, &f->message);
        link_frame_free(&frame);
        if (err) {
            log_warn("BEZEL-DECODE", "a message from the collector is not understood: %s", err_text(err));
            continue;
        }
        f->heard = now;
        take_message(f, now);
    }
}
