// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Packets that pass directly: when, and their acknowledgements. The offer itself is in direct_offer.c. */
#include "mdr/uplink/sender_internal.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "mdr/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_NS (CLOCK_S / 2) /* for so long packets wait for the receiver's answer */

static void take_the_link(struct sender *f, const char *why)
{
    message_text(f->direct.why, MESSAGE_TEXT_MAX, why);
    f->source.add_note(f->source.context, 0, clock_now(), "BEZEL-BY-LINK", "packets take the link: %s", f->direct.why);
}

static void offer_none(struct sender *f)
{
    char why[MESSAGE_TEXT_MAX + 1];
    int sys = errno;
    snprintf(why, sizeof why, "no page for them can be made in %.150s: %s", f->source.dir, strerror(sys));
    take_the_link(f, why);
}

static void ask(struct sender *f, int64_t now)
{
    struct sender_direct *d = &f->direct;
    struct message_direct *m = &f->message.direct;
    if (direct_offer_open(&d->offer, f->source.dir, f->source.run, f->source.uuid) != 0) {
        offer_none(f);
        return;
    }
    f->message.type = MESSAGE_DIRECT;
    *m = (struct message_direct){.attempt = f->hello.attempt, .proof = d->offer.page->proof};
    message_text(m->text, MESSAGE_TEXT_MAX, d->offer.dir);
    if (strcmp(m->text, d->offer.dir) != 0)
        take_the_link(f, "the path of the node's folder is longer than 255 bytes: let BEZEL_DIR name a shorter one");
    else if (sender_message(f, now)) /* if the queue is full, packets take the link */
        d->answer_by = now + ANSWER_NS;
    d->said = 0;
}

void sender_ask_direct(struct sender *f, int64_t now)
{
    uint8_t own[16];
    clock_identity(own);
    direct_offer_close(&f->direct.offer);
    if (!f->direct.by_link && memcmp(own, f->clock.identity, sizeof own) == 0)
        ask(f, now); /* else the receiver is on another machine */
}

static bool is_invited(const struct sender *f, const struct message_direct *m)
{
    uint8_t own[16];
    char text[37];
    clock_identity(own);
    return m->proof == 0 && m->agreed && m->attempt == f->hello.attempt && !f->direct.by_link &&
           !f->direct.offer.page && strcmp(m->text, uuid_print(own, text)) == 0;
}

void sender_take_direct(struct sender *f, const struct message_direct *m, int64_t now)
{
    struct sender_direct *d = &f->direct;
    if (f->state == UP && is_invited(f, m)) {
        ask(f, now);
        return;
    }
    if (f->state != UP || !d->offer.page || m->attempt != f->hello.attempt || m->proof != d->offer.page->proof)
        return;
    d->agreed = m->agreed;
    d->answer_by = 0;
    d->lost = !m->agreed && d->used;
    d->why[0] = '\0';
    if (!m->agreed && m->text[0])
        take_the_link(f, m->text);
}

void sender_leave_direct(struct sender *f)
{
    struct sender_direct *d = &f->direct;
    if (d->offer.page && d->used)
        direct_offer_begin(&d->offer, UINT64_MAX);
    d->agreed = d->used = d->lost = false;
    d->answer_by = 0;
    if (!d->by_link)
        d->why[0] = '\0';
}

/* Offered packets count as sent: the receiver may have taken some, and its next WELCOME says how many. */
void sender_withdraw(struct sender *f)
{
    struct sender_direct *d = &f->direct;
    if (!d->used || d->lost)
        return;
    direct_offer_begin(&d->offer, UINT64_MAX);
    d->lost = true;
}

bool sender_is_direct(const struct sender *f, const char **why)
{
    bool torn = f->direct.agreed && window_is_torn(f->window);
    *why = torn ? "packets of a ring are lost, and its process is still there" : f->direct.why;
    return f->direct.agreed && !torn;
}

/*
 * A number of the window is given to another stream when the first one is gone: what the page has of that is cleared
 * before a packet of the other one is offered.
 */
static void name_stream(struct sender_direct *d, const struct send_queue_packet *packet)
{
    const struct packet_header *h = &packet->header;
    if (d->streams[packet->stream].instance == h->instance && d->streams[packet->stream].ring == h->ring)
        return;
    d->streams[packet->stream].instance = h->instance;
    d->streams[packet->stream].ring = h->ring;
    direct_offer_forget(&d->offer, packet->stream);
    if (packet->stream >= d->stream_end)
        d->stream_end = packet->stream + 1;
}

/* Of a torn stream nothing is sent, and it is freed at once: no receiver can read past its packets in the window. */
bool sender_may_go(struct sender *f, const struct send_queue_packet *packet, int64_t now)
{
    struct sender_direct *d = &f->direct;
    bool wanted = d->agreed && packet->in_window && !window_is_torn(f->window);
    if (d->lost || now < d->answer_by)
        return false;
    if (wanted != d->used) {
        if (send_queue_unacknowledged(&f->send_queue) > 0)
            return false; /* those that went the other way come first */
        d->used = wanted;
        d->waits_at = now;
        d->in_vain = false;
        d->offered = wanted ? f->send_queue.sending : UINT64_MAX;
        direct_offer_begin(&d->offer, d->offered);
    }
    if (wanted)
        name_stream(d, packet);
    return true;
}

void sender_offer(struct sender *f, int64_t now)
{
    struct sender_direct *d = &f->direct;
    if (!d->used || d->lost)
        return;
    bool any = d->offered != f->send_queue.sending;
    int64_t low = sender_low_is_due(f, any, now) ? send_queue_low(&f->send_queue) : 0;
    bool rises = low > f->low;
    if (rises) {
        f->low = low;
        f->low_at = now;
    }
    d->offered = f->send_queue.sending;
    if (!any && !rises)
        return;
    direct_offer_said(&d->offer, d->said);
    direct_offer_next(&d->offer, d->next);
    direct_offer_up_to(&d->offer, d->offered, rises ? low : 0);
}

/*
 * What is offered waits while the receiver stores nothing, as when it is paused, or where another process writes into
 * the page: then the receiver finds no offer there, and packets take the link for good; or the sender no
 * acknowledgement, and a new page has those of WELCOME. The receiver is alive, or the connection would have been given
 * up.
 */
static void look_whether_taken(struct sender *f, int64_t now)
{
    struct sender_direct *d = &f->direct;
    uint64_t waiting = send_queue_unacknowledged(&f->send_queue), oldest = f->send_queue.sending - waiting;
    if (waiting == 0 || oldest != d->oldest) {
        d->oldest = oldest;
        d->waits_at = now;
        d->in_vain = false;
    }
    if (now - d->waits_at < SENDER_SILENCE_NS)
        return;
    if (!direct_offer_is_own(&d->offer)) {
        char why[MESSAGE_TEXT_MAX + 1];
        snprintf(why, sizeof why, "another process has written into %.150s/" DIRECT_NAME, d->offer.dir);
        d->by_link = true;
        take_the_link(f, why);
    } else if (!d->in_vain) {
        return;
    }
    sender_withdraw(f);
}

void sender_direct_acknowledged(struct sender *f, int64_t now)
{
    struct sender_direct *d = &f->direct;
    if (!d->used || f->state != UP)
        return;
    if (!d->lost)
        look_whether_taken(f, now);
    if (d->lost || direct_offer_is_broken(&d->offer)) {
        d->lost = true;
        sender_ask_again(f, now);
        return;
    }
    if (!direct_offer_looks(&d->offer))
        return;
    d->in_vain = true;
    for (uint32_t i = 0; i < d->stream_end; i++) {
        const struct window_stream *s = window_stream(f->window, i);
        if (!s->used || s->torn || s->acked_seq >= s->sent_seq || d->streams[i].instance != s->instance ||
            d->streams[i].ring != s->ring)
            continue;
        uint64_t next = direct_offer_acknowledged(&d->offer, i);
        if (next > s->acked_seq && next <= s->sent_seq) {
            window_acknowledge(f->window, i, next);
            backoff_reset(&f->asks);
        }
    }
}
