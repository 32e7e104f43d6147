// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * States of the connection: GREETING (HELLO sent, again every second until answered) -> UP (WELCOME received: `sending`
 * starts at the oldest packet, what the receiver already has is acknowledged at once) -> silence or an error -> a new
 * link, GREETING again. Two things are told again on each new connection: processes before their packets, final books.
 */
#include "sensor/forward.h"

#include "base/log.h"
#include "sensor/notes.h"

#include <stdlib.h>
#include <string.h>

enum {
    FORWARD_GREET_NS = 1000000000,
    FORWARD_QUEUE = 1 << 20,       /* ZeroMQ's own bound is to lie above the window's, which is the bound */
    FORWARD_COPY_BYTES = 2048,     /* shorter packets are copied: cheaper than keeping books of who reads them */
    FORWARD_RESEND_NS = 200000000, /* however often we are asked, not more often than this */
    FORWARD_TURN_FRAMES = 64,      /* frames taken in one step */
};

enum forward_state { GREETING, UP, REFUSED, DONE };

struct forward {
    struct external *x;
    struct window *window;
    struct link *link;
    char endpoint[LINK_ENDPOINT_MAX];
    const struct link_keys *keys;
    struct message_hello hello;
    enum forward_state state;
    bool bye_sent;
    int64_t greeted, heard, said, books_at, resent;
    uint32_t noted;   /* notes that were told on this connection */
    uint64_t sending; /* position in the window: packets before it were sent on this connection */
    char refused[MESSAGE_TEXT_MAX + 1];
    struct message message; /* scratch: too large for the stack */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

static bool send_message(struct forward *f, int64_t now)
{
    int n = message_encode(&f->message, f->bytes, sizeof f->bytes);
    if (n < 0) {
        log_error("BEZEL-ENCODE", "a message of type %d cannot be encoded: %s", (int)f->message.type, err_text(n));
        return false;
    }
    if (link_send(f->link, NULL, f->bytes, (size_t)n) != 0)
        return false;
    f->said = now;
    return true;
}

static void greet(struct forward *f, int64_t now)
{
    f->greeted = now;
    f->message.type = MESSAGE_HELLO;
    f->message.hello = f->hello;
    send_message(f, now);
}

static bool announce(struct forward *f, struct external_process *p, int64_t now)
{
    struct message_process *m = &f->message.process;
    const struct attached *a = p->at;
    f->message.type = MESSAGE_PROCESS;
    m->instance = a->instance;
    m->stream_id = p->stream_id;
    m->pid = a->pid;
    m->role = p->role;
    m->overwrites = a->when_full == SEGMENT_OVERWRITE;
    message_text(m->name, MESSAGE_NAME_MAX, p->name);
    message_text(m->program, MESSAGE_TEXT_MAX, a->executable);
    m->started = a->started;
    m->dictionary_bytes = a->dict_used;
    if (a->dict_used)
        memcpy(m->dictionary, a->dict_bytes, a->dict_used);
    if (!send_message(f, now))
        return false;
    p->announce = false;
    return true;
}

static void let_go(void *data, void *hint)
{
    (void)data;
    struct window_packet *p = hint;
    atomic_fetch_sub_explicit(&p->references, 1, memory_order_release); /* F0 release: pairs F1, the reads are done */
}

static bool send_packet(struct forward *f, struct window_packet *p)
{
    if (p->bytes <= FORWARD_COPY_BYTES)
        return link_send(f->link, NULL, p->data, p->bytes) == 0;
    atomic_fetch_add_explicit(&p->references, 1, memory_order_relaxed); /* relaxed: the link hands it over */
    if (link_send_shared(f->link, p->data, p->bytes, let_go, p) == 0)
        return true;
    let_go(p->data, p);
    return false;
}

static void send_packets(struct forward *f, int64_t now)
{
    if (f->sending < window_oldest(f->window))
        f->sending = window_oldest(f->window);
    for (uint64_t next = f->sending;; f->sending = next) {
        struct packet_header h;
        struct window_packet *packet = window_next(f->window, &next);
        if (!packet)
            return;
        const struct window_stream *s = window_stream(f->window, packet->stream);
        if (packet_get_header(packet->data, packet->bytes, &h) != 0 || h.seq < s->acked_seq)
            continue;
        struct external_process *p = external_find(f->x, s->instance);
        if (p && p->announce && !announce(f, p, now))
            return;
        if (!send_packet(f, packet))
            return;
        f->said = now;
    }
}

static bool send_books(struct forward *f, struct external_process *p, int64_t now)
{
    if (p->announce && !announce(f, p, now)) /* books of a process that has recorded nothing yet */
        return false;
    f->message.type = MESSAGE_BOOKS;
    external_books(p, now, &f->message.books);
    return send_message(f, now);
}

/* Books of the living once a second; final ones once, when all packets before them are acknowledged. */
static bool send_all_books(struct forward *f, int64_t now)
{
    bool due = now - f->books_at >= FORWARD_BOOKS_NS, complete = true;
    for (uint32_t i = 0; i < external_process_count(f->x); i++) {
        struct external_process *p = external_process(f->x, i);
        if (!p || p->books_final)
            continue;
        bool final = p->phase == EXTERNAL_CLOSED && p->closed_at;
        if (final)
            p->books_final = send_books(f, p, now);
        else if (due)
            send_books(f, p, now);
        complete = complete && p->books_final;
    }
    if (due)
        f->books_at = now;
    return complete;
}

/* Every note, once on each connection. False: some are left. */
static bool send_notes(struct forward *f, int64_t now)
{
    for (; f->noted < external_note_count(f->x); f->noted++) {
        const struct message_note *n = external_note(f->x, f->noted);
        struct message_note *m = &f->message.note;
        f->message.type = MESSAGE_NOTE;
        *m = (struct message_note){.instance = n->instance, .pid = n->pid, .at = n->at};
        message_text(m->name, MESSAGE_NAME_MAX, n->name);
        message_text(m->code, MESSAGE_NAME_MAX, n->code);
        message_text(m->text, MESSAGE_TEXT_MAX, n->text);
        if (!send_message(f, now))
            return false;
    }
    return true;
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

/* Sends everything that is not acknowledged once more. Asked again too early it does nothing: the asking goes on. */
static void resend(struct forward *f, int64_t now)
{
    if (now - f->resent < FORWARD_RESEND_NS)
        return;
    f->resent = now;
    f->sending = window_oldest(f->window);
}

/* Positions that move on acknowledge; one that repeats itself asks for what comes behind it. */
static void take_positions(struct forward *f, const struct message_position *rows, uint32_t count, int64_t now)
{
    for (uint32_t i = 0; i < count; i++) {
        int n = window_find(f->window, rows[i].instance, rows[i].ring);
        if (n < 0)
            continue;
        struct window_stream *s = window_stream(f->window, (uint32_t)n);
        if (rows[i].next_seq == s->acked_seq && s->acked_seq < s->next_seq)
            resend(f, now);
        window_acknowledge(f->window, (uint32_t)n, rows[i].next_seq);
        if (rows[i].next_seq > s->next_seq)
            notes_tell(f->x, external_find(f->x, rows[i].instance), now, "BEZEL-AHEAD",
                       "the collector has packets of its ring %u that this node never cut", rows[i].ring);
    }
}

static void come_up(struct forward *f, int64_t now)
{
    f->state = UP;
    f->sending = window_oldest(f->window);
    f->books_at = now - FORWARD_BOOKS_NS;
    f->bye_sent = false;
    f->noted = 0;
    for (uint32_t i = 0; i < external_process_count(f->x); i++) {
        struct external_process *p = external_process(f->x, i);
        if (p)
            p->announce = true, p->books_final = false;
    }
}

static void take_message(struct forward *f, int64_t now)
{
    const struct message *m = &f->message;
    struct external_process *p;
    switch (m->type) {
    case MESSAGE_WELCOME:
        take_positions(f, m->welcome.streams, m->welcome.stream_count, now);
        if (!m->welcome.more && f->state == GREETING)
            come_up(f, now);
        break;
    case MESSAGE_REFUSE:
        f->state = REFUSED;
        memcpy(f->refused, m->refuse.reason, sizeof f->refused);
        break;
    case MESSAGE_ACK:
        take_positions(f, m->ack.streams, m->ack.stream_count, now);
        break;
    case MESSAGE_NEED: /* it dropped the packets that it could not read: all of them again, with the process first */
        if ((p = external_find(f->x, m->need.instance)) != NULL)
            p->announce = true;
        resend(f, now);
        break;
    case MESSAGE_BYE:
        if (f->bye_sent)
            f->state = DONE;
        break;
    default: /* ALIVE: to be heard was all */
        break;
    }
}

static void receive_all(struct forward *f, int64_t now)
{
    struct link_frame frame;
    for (int i = 0; i < FORWARD_TURN_FRAMES && link_receive(f->link, &frame) == 0; i++) {
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

/* ---- The connection ---------------------------------------------------------------------------------------------- */

static int connect_anew(struct forward *f, int64_t now)
{
    link_close(f->link, 0);
    f->link = NULL;
    int err = link_connect(f->endpoint, MESSAGE_MAX_BYTES, FORWARD_QUEUE, f->keys, &f->link);
    if (err)
        return err;
    f->state = GREETING;
    f->heard = now;
    greet(f, now);
    return 0;
}

static void keep_connection(struct forward *f, int64_t now)
{
    if (f->state == UP && now - f->heard > FORWARD_SILENCE_NS) {
        log_warn("BEZEL-COLLECTOR-SILENT", "the collector at %s has been silent for 2 s: connecting anew", f->endpoint);
        if (connect_anew(f, now) != 0)
            f->heard = now; /* and once more in two seconds */
    } else if (f->state == GREETING && now - f->greeted > FORWARD_GREET_NS) {
        greet(f, now);
    } else if (f->state == UP && now - f->said > FORWARD_ALIVE_NS) {
        f->message.type = MESSAGE_ALIVE;
        f->message.alive.at = (uint64_t)now;
        send_message(f, now);
    }
}

void forward_step(struct forward *f, int64_t now, bool bye)
{
    if (f->state == REFUSED || f->state == DONE || !f->link)
        return;
    receive_all(f, now);
    window_free_acknowledged(f->window);
    if (f->state == UP) {
        send_packets(f, now);
        bool told = send_notes(f, now) && send_all_books(f, now);
        if (bye && told && !f->bye_sent && window_waiting(f->window) == 0) {
            f->message.type = MESSAGE_BYE;
            f->bye_sent = send_message(f, now);
        }
    }
    keep_connection(f, now);
}

/* ---- The rest of the public face --------------------------------------------------------------------------------- */

int forward_open(struct external *x, const char *endpoint, const struct link_keys *keys,
                 const struct message_hello *hello, struct forward **out)
{
    struct forward *f = calloc(1, sizeof *f);
    if (!f)
        return BEZEL_ENOMEM;
    f->x = x;
    f->window = external_window(x);
    f->keys = keys;
    f->hello = *hello;
    if (strlen(endpoint) >= sizeof f->endpoint) {
        free(f);
        return BEZEL_EINVAL;
    }
    memcpy(f->endpoint, endpoint, strlen(endpoint) + 1);
    int err = connect_anew(f, 0);
    if (err) {
        free(f);
        return err;
    }
    f->greeted = f->heard = 0;
    *out = f;
    return 0;
}

void forward_close(struct forward *f)
{
    link_close(f->link, 0);
    free(f);
}

bool forward_connected(const struct forward *f)
{
    return f->state == UP || f->state == DONE;
}

bool forward_done(const struct forward *f)
{
    return f->state == DONE;
}

const char *forward_refused(const struct forward *f)
{
    return f->state == REFUSED ? f->refused : NULL;
}

struct link *forward_link(const struct forward *f)
{
    return f->link;
}
