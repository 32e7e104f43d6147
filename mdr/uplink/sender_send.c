// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Messages to the receiver: packets within the credit, each process before its packets, notes, books. */
#include "mdr/uplink/sender_internal.h"

#include "base/log.h"
#include "mdr/message.h"

enum {
    SENDER_COPY_BYTES = 2048,         /* shorter packets are copied, which is cheaper than counting their readers */
    SENDER_READ_BACK_BYTES = 1 << 20, /* from the spool in one step, while the rings wait */
};

bool sender_message(struct sender *f, int64_t now)
{
    int n = message_encode(&f->message, f->bytes, sizeof f->bytes);
    if (n < 0) {
        log_error("BEZEL-ENCODE", "cannot encode a message of type %d: %s: it is not sent", (int)f->message.type,
                  err_text(n));
        return false;
    }
    if (link_send(f->link, NULL, f->bytes, (size_t)n) != 0)
        return false;
    f->sent_at = now;
    f->direct.said++;
    return true;
}

struct sender_process *sender_sent(struct sender *f, const struct uplink_process *p)
{
    struct sender_process *sent = &f->processes[p->place];
    if (sent->instance != p->instance)
        *sent = (struct sender_process){.instance = p->instance};
    return sent;
}

/* Sends the description of `p`, unless its present version was sent. False: it cannot be sent now. */
static bool describe(struct sender *f, const struct uplink_process *p, int64_t now)
{
    struct sender_process *sent = sender_sent(f, p);
    if (sent->described && sent->version == p->version)
        return true;
    f->message.type = MESSAGE_PROCESS;
    f->source.describe(f->source.context, p->instance, &f->message.process);
    sent->described = sender_message(f, now);
    sent->version = p->version;
    return sent->described;
}

static void let_go(void *data, void *hint)
{
    (void)data;
    struct window_packet *p = hint;
    atomic_fetch_sub_explicit(&p->references, 1, memory_order_release); /* F0 release: pairs F1, the reads are done */
}

/*
 * With a spool all packets are copied, because a packet that a queue reads cannot leave the window. ZeroMQ's queue then
 * holds up to the credit in bytes besides.
 */
static bool send_packet(struct sender *f, const struct send_queue_packet *packet)
{
    struct window_packet *p = packet->in_window;
    if (f->direct.used)
        return true; /* sender_offer() */
    if (!p || f->send_queue.spool || p->bytes <= SENDER_COPY_BYTES)
        return link_send(f->link, NULL, packet->data, packet->bytes) == 0;
    atomic_fetch_add_explicit(&p->references, 1, memory_order_relaxed); /* relaxed: the link hands it over */
    return link_send_shared(f->link, NULL, p->data, p->bytes, let_go, p) == 0;
}

/* Whether the next packet may be sent: nothing is unacknowledged, or the credit covers it too. */
static bool credit_allows(const struct sender *f)
{
    return send_queue_unacknowledged(&f->send_queue) == 0 || send_queue_with_next(&f->send_queue) <= f->credit;
}

void sender_packets(struct sender *f, int64_t now)
{
    struct send_queue_packet packet;
    uint32_t read_back = 0;
    while (read_back < SENDER_READ_BACK_BYTES && send_queue_next(&f->send_queue, &packet, now) && credit_allows(f)) {
        struct uplink_process p;
        if (!sender_may_go(f, &packet, now))
            break;
        if (f->source.find(f->source.context, packet.header.instance, &p) && !describe(f, &p, now))
            break;
        if (!send_packet(f, &packet))
            break;
        f->direct.said += !f->direct.used;
        send_queue_sent(&f->send_queue, &packet);
        f->packet_at = now;
        read_back += packet.in_window ? 0 : packet.bytes;
        if (!f->direct.used)
            f->sent_at = now;
    }
    sender_offer(f, now);
    f->counts.unacknowledged = send_queue_unacknowledged(&f->send_queue);
    if ((f->sent_at == now || f->packet_at == now) && f->look_at > now + f->look)
        f->look_at = now + f->look;
}

static void send_books(struct sender *f, const struct uplink_process *p, bool final, int64_t now)
{
    if (!describe(f, p, now)) /* it may have recorded nothing yet */
        return;
    f->message.type = MESSAGE_BOOKS;
    f->source.books(f->source.context, p->instance, final, now, &f->message.books);
    bool sent = sender_message(f, now);
    if (final) {
        sender_sent(f, p)->final = sent;
        sender_sent(f, p)->books_at = f->message.books.at;
    }
}

/* Sends the node's own books if they changed. False: they are still to be sent. */
static bool send_node_books(struct sender *f, int64_t now)
{
    if (f->source.unobserved(f->source.context) == f->unobserved_sent)
        return true;
    f->message.type = MESSAGE_BOOKS;
    f->source.books(f->source.context, 0, false, now, &f->message.books);
    if (!sender_message(f, now))
        return false;
    f->unobserved_sent = f->message.books.unobserved;
    f->node_books_at = f->message.books.at;
    return true;
}

bool sender_books(struct sender *f, int64_t now)
{
    bool due = now - f->books_at >= SENDER_BOOKS_NS, complete = send_node_books(f, now);
    struct uplink_process p = {.place = UINT32_MAX};
    while (f->source.next(f->source.context, p.place + 1, false, &p)) {
        const struct sender_process *sent = sender_sent(f, &p);
        if (sent->final || p.saved)
            continue;
        bool final = f->given_up ? !p.recording : p.complete;
        if (final || due)
            send_books(f, &p, final, now);
        complete = complete && sent->final;
    }
    if (due)
        f->books_at = now;
    return complete;
}

bool sender_notes(struct sender *f, int64_t now)
{
    for (const struct message_note *n; (n = f->source.note(f->source.context, f->notes_sent)); f->notes_sent++) {
        struct message_note *m = &f->message.note;
        f->message.type = MESSAGE_NOTE;
        *m = (struct message_note){.instance = n->instance, .pid = n->pid, .at = n->at};
        message_text(m->name, MESSAGE_NAME_MAX, n->name);
        message_text(m->code, MESSAGE_NAME_MAX, n->code);
        message_text(m->text, MESSAGE_TEXT_MAX, n->text);
        if (!sender_message(f, now))
            return false;
    }
    return true;
}
