// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The connection: when to make one, when to give it up; what is said on it stands in forward_send.c, _receive.c. */
#include "sensor/forward_own.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* A new link, and HELLO on it. */
static int attempt(struct forward *f, int64_t now)
{
    int err = link_connect(f->endpoint, MESSAGE_MAX_BYTES, FORWARD_QUEUE, f->keys, &f->link);
    if (err)
        return err;
    f->counts.attempts++;
    f->state = GREETING;
    f->until = now + FORWARD_SILENCE_NS;
    for (uint32_t i = 0; i < WINDOW_STREAMS; i++)
        window_stream(f->window, i)->welcomed = false;
    f->message.type = MESSAGE_HELLO;
    f->hello.attempt = (uint64_t)now > f->hello.attempt ? (uint64_t)now : f->hello.attempt + 1;
    f->message.hello = f->hello;
    forward_message(f, now);
    return 0;
}

static void hang_up(struct forward *f, int64_t until)
{
    link_close(f->link, 0);
    f->link = NULL;
    f->state = WAITING;
    f->until = until;
}

/* Whatever comes back in the name of this connection from now on is not listened to: its link is gone. */
void forward_ask_again(struct forward *f, int64_t now)
{
    if (now < f->again_at || f->state != UP || f->given_up)
        return;
    f->again_at = now + backoff_next(&f->asks);
    hang_up(f, now);
}

void forward_come_up(struct forward *f, int64_t now)
{
    f->state = UP;
    f->counts.welcomes++;
    forward_tear(f, now);
    backoff_reset(&f->attempts);
    backlog_rewind(&f->backlog);
    f->books_at = now - FORWARD_BOOKS_NS;
    f->bye_sent = false;
    f->noted = 0;
    f->unobserved_told = f->unobserved_saved;
    for (uint32_t i = 0; i < external_process_count(f->x); i++) {
        struct external_process *p = external_process(f->x, i);
        if (p)
            p->announce = true, p->books_final = p->books_saved;
    }
    external_stir(f->x, now); /* books of those at rest, too */
}

static void keep_connection(struct forward *f, int64_t now)
{
    if (f->state == UP && now - f->heard > FORWARD_SILENCE_NS) {
        log_warn("BEZEL-COLLECTOR-SILENT", "the collector at %s has been silent for 2 s: connecting anew", f->endpoint);
        hang_up(f, now + backoff_next(&f->attempts));
    } else if (f->state == GREETING && now >= f->until) {
        hang_up(f, now + backoff_next(&f->attempts));
    } else if (f->state == WAITING && now >= f->until) {
        if (attempt(f, now) != 0)
            f->until = now + backoff_next(&f->attempts); /* no memory, or no descriptor: later there may be */
    } else if (f->state == UP && now - f->said > FORWARD_ALIVE_NS) {
        f->message.type = MESSAGE_ALIVE;
        f->message.alive.at = (uint64_t)now;
        forward_message(f, now);
    }
}

static void send_all(struct forward *f, int64_t now, bool bye)
{
    if (!f->given_up)
        forward_packets(f, now);
    bool told = forward_notes(f, now) && forward_books(f, now);
    if (bye && told && !f->bye_sent && backlog_waiting(&f->backlog) == 0) {
        f->message.type = MESSAGE_BYE;
        f->bye_sent = forward_message(f, now);
    }
}

/* Whether what arrived is to be taken now: an eighth of what may wait for an acknowledgement waits already. */
static bool must_look(const struct forward *f, int64_t now, bool bye)
{
    uint64_t waits = backlog_unacknowledged(&f->backlog);
    return f->state != UP || bye || now >= f->look_at || waits > f->credit / 8 ||
           waits > window_capacity(f->window) / 8;
}

int64_t forward_due(const struct forward *f)
{
    return must_look(f, INT64_MIN, false) ? INT64_MIN : f->look_at;
}

void forward_attend(struct forward *f)
{
    f->look_at = 0;
}

void forward_step(struct forward *f, int64_t now, bool bye)
{
    if (f->state == REFUSED || f->state == DONE)
        return;
    if (f->state == GREETING && f->until == 0)
        f->until = now + FORWARD_SILENCE_NS;
    if (f->link && must_look(f, now, bye)) {
        f->look_at = now + FORWARD_LOOK_NS;
        forward_receive(f, now);
    }
    backlog_free(&f->backlog, now);
    if (f->state == UP)
        send_all(f, now, bye);
    backlog_move(&f->backlog, now);
    keep_connection(f, now);
}

/* ---- The rest of the public face --------------------------------------------------------------------------------- */

static uint64_t seed_of(const struct message_hello *hello)
{
    uint64_t h = hash_fnv64(HASH_FNV64_START, hello->uuid, sizeof hello->uuid);
    return hash_fnv64(h, &hello->pid, sizeof hello->pid);
}

int forward_open(struct external *x, const char *endpoint, const struct link_keys *keys,
                 const struct message_hello *hello, struct forward **out)
{
    if (strlen(endpoint) >= LINK_ENDPOINT_MAX)
        return BEZEL_EINVAL;
    struct forward *f = calloc(1, sizeof *f);
    if (!f)
        return BEZEL_ENOMEM;
    f->x = x;
    f->window = external_window(x);
    f->keys = keys;
    f->hello = *hello;
    f->hello.attempt = (uint64_t)clock_now(); /* a former life's attempts were before */
    f->attempts = backoff_make(seed_of(hello), FORWARD_PAUSE_FIRST_NS, FORWARD_PAUSE_LAST_NS);
    f->asks = backoff_make(~seed_of(hello), FORWARD_AGAIN_FIRST_NS, FORWARD_AGAIN_LAST_NS);
    memcpy(f->endpoint, endpoint, strlen(endpoint) + 1);
    int err = backlog_open(&f->backlog, x, clock_now());
    if (!err)
        err = attempt(f, 0);
    if (err) {
        backlog_close(&f->backlog, false);
        free(f);
        return err;
    }
    f->until = 0;
    *out = f;
    return 0;
}

void forward_close(struct forward *f, bool discard)
{
    link_close(f->link, 0);
    backlog_close(&f->backlog, discard);
    free(f);
}

void forward_give_up(struct forward *f)
{
    f->given_up = true;
    external_stir(f->x, clock_now()); /* books of those at rest, too */
}

bool forward_booked(const struct forward *f)
{
    for (uint32_t i = 0; i < external_process_count(f->x); i++) {
        const struct external_process *p = external_process(f->x, i);
        if (p && !p->books_saved)
            return false;
    }
    return external_node_unobserved(f->x) == f->unobserved_saved;
}

uint64_t forward_waiting(const struct forward *f)
{
    return backlog_waiting(&f->backlog);
}

uint64_t forward_spooled(const struct forward *f)
{
    return backlog_spooled(&f->backlog);
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

const char *forward_trouble(const struct forward *f)
{
    return forward_connected(f) || !f->link ? NULL : link_trouble(f->link);
}

const struct forward_counts *forward_counts(const struct forward *f)
{
    return &f->counts;
}

struct link *forward_link(const struct forward *f)
{
    return f->link;
}
