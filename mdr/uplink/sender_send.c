// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What goes up: packets as far as the credit goes, processes ahead of them, notes, books. */
#include "sensor/forward_own.h"

#include "base/log.h"

#include <string.h>

enum {
    FORWARD_COPY_BYTES = 2048,         /* shorter packets are copied: cheaper than keeping books of who reads them */
    FORWARD_READ_BACK_BYTES = 1 << 20, /* from the spool in one step: the rings wait meanwhile */
};

bool forward_message(struct forward *f, int64_t now)
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
    if (!forward_message(f, now))
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

/*
 * With a spool all are copied: a packet that a queue reads could not leave the window for it. Then as many bytes as the
 * credit allows for may stand in ZeroMQ's queue besides.
 */
static bool send_packet(struct forward *f, const struct backlog_packet *packet)
{
    struct window_packet *p = packet->in_window;
    if (!p || f->backlog.spool || p->bytes <= FORWARD_COPY_BYTES)
        return link_send(f->link, NULL, packet->data, packet->bytes) == 0;
    atomic_fetch_add_explicit(&p->references, 1, memory_order_relaxed); /* relaxed: the link hands it over */
    return link_send_shared(f->link, p->data, p->bytes, let_go, p) == 0;
}

/* Whether the next packet may go: what was sent before it may be all there is, or fit with it. */
static bool credit_allows(const struct forward *f)
{
    return backlog_unacknowledged(&f->backlog) == 0 || backlog_with_next(&f->backlog) <= f->credit;
}

void forward_packets(struct forward *f, int64_t now)
{
    struct backlog_packet packet;
    uint32_t read_back = 0;
    while (read_back < FORWARD_READ_BACK_BYTES && backlog_next(&f->backlog, &packet, now) && credit_allows(f)) {
        struct external_process *p = external_find(f->x, packet.header.instance);
        if (p && p->announce && !announce(f, p, now))
            break;
        if (!send_packet(f, &packet))
            break;
        backlog_sent(&f->backlog, &packet);
        read_back += packet.in_window ? 0 : packet.bytes;
        f->counts.packets++;
        f->counts.bytes += packet.bytes;
        f->said = now;
    }
    f->counts.unacknowledged = backlog_unacknowledged(&f->backlog);
}

static bool send_books(struct forward *f, struct external_process *p, bool final, int64_t now)
{
    if (p->announce && !announce(f, p, now)) /* books of a process that has recorded nothing yet */
        return false;
    f->message.type = MESSAGE_BOOKS;
    external_books(p, now, &f->message.books);
    if (final) /* also of one that is given up before its rings were read to the end */
        f->message.books.state = p->state;
    return forward_message(f, now);
}

static void send_final_books(struct forward *f, struct external_process *p, int64_t now)
{
    p->books_final = send_books(f, p, true, now);
    p->books_at = f->message.books.at;
}

/* A node of which there is nothing to say says nothing. False: they are still to be sent. */
static bool send_node_books(struct forward *f, int64_t now)
{
    if (external_node_unobserved(f->x) == f->unobserved_told)
        return true;
    f->message.type = MESSAGE_BOOKS;
    external_node_books(f->x, now, &f->message.books);
    if (!forward_message(f, now))
        return false;
    f->unobserved_told = f->message.books.unobserved;
    f->node_books_at = f->message.books.at;
    return true;
}

bool forward_books(struct forward *f, int64_t now)
{
    bool due = now - f->books_at >= FORWARD_BOOKS_NS, complete = send_node_books(f, now);
    for (int i = -1; (i = external_next(f->x, (uint32_t)(i + 1))) >= 0;) {
        struct external_process *p = external_process(f->x, (uint32_t)i);
        if (p->books_final)
            continue;
        bool final = f->given_up ? p->phase != EXTERNAL_LIVE : p->phase == EXTERNAL_CLOSED && p->closed_at;
        if (final)
            send_final_books(f, p, now);
        else if (due)
            send_books(f, p, false, now);
        complete = complete && p->books_final;
    }
    if (due)
        f->books_at = now;
    return complete;
}

bool forward_notes(struct forward *f, int64_t now)
{
    for (; f->noted < external_note_count(f->x); f->noted++) {
        const struct message_note *n = external_note(f->x, f->noted);
        struct message_note *m = &f->message.note;
        f->message.type = MESSAGE_NOTE;
        *m = (struct message_note){.instance = n->instance, .pid = n->pid, .at = n->at};
        message_text(m->name, MESSAGE_NAME_MAX, n->name);
        message_text(m->code, MESSAGE_NAME_MAX, n->code);
        message_text(m->text, MESSAGE_TEXT_MAX, n->text);
        if (!forward_message(f, now))
            return false;
    }
    return true;
}
