// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The connection: when to make one, and when to give it up. Messages are in sender_send.c and sender_receive.c. */
#include "mdr/uplink/sender_internal.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/words.h"
#include "mdr/message.h"

#include <stdlib.h>
#include <string.h>

static void greet(struct sender *f, int64_t now)
{
    f->state = GREETING;
    f->until = now + SENDER_SILENCE_NS;
    sender_leave_direct(f);
    memset(f->welcomed, 0, sizeof f->welcomed);
    f->message.type = MESSAGE_HELLO;
    f->hello.attempt = (uint64_t)now > f->hello.attempt ? (uint64_t)now : f->hello.attempt + 1;
    f->message.hello = f->hello;
    sender_message(f, now);
}

/* A new link, and HELLO on it. */
static int attempt(struct sender *f, int64_t now)
{
    int err = link_connect(sender_endpoint(f), MESSAGE_MAX_BYTES, SENDER_QUEUE, f->keys, &f->link);
    if (err)
        return err;
    f->counts.attempts++;
    greet(f, now);
    return 0;
}

static void hang_up(struct sender *f, int64_t until)
{
    link_close(f->link, 0);
    sender_leave_direct(f);
    f->link = NULL;
    f->state = WAITING;
    f->until = until;
}

/* Acknowledgements that were on the way are not taken any more: the next WELCOME has what they said. */
void sender_ask_again(struct sender *f, int64_t now)
{
    if (now < f->again_at || f->state != UP || f->given_up)
        return;
    f->again_at = now + backoff_next(&f->asks);
    greet(f, now);
}

void sender_come_up(struct sender *f, int64_t now)
{
    f->state = UP;
    f->counts.welcomes++;
    sender_tear(f, now);
    backoff_reset(&f->attempts);
    memset(f->refusing, 0, sizeof f->refusing);
    send_queue_rewind(&f->send_queue);
    f->books_at = now - SENDER_BOOKS_NS;
    f->bye_sent = false;
    f->low = 0;
    f->notes_sent = 0;
    f->unobserved_sent = f->unobserved_saved;
    memset(f->processes, 0, sizeof f->processes);
    f->source.books_due(f->source.context, now);
    sender_ask_direct(f, now);
}

/* There is no answer here: tries the next endpoint. */
static void give_up_connection(struct sender *f, int64_t now)
{
    f->endpoint = (f->endpoint + 1) % f->endpoint_count;
    hang_up(f, now + backoff_next(&f->attempts));
}

/* An inner collector may be full, or lack the node's key, where another one takes the node. */
void sender_take_refusal(struct sender *f, int64_t now)
{
    const char *by = sender_endpoint(f);
    bool all = true;
    memcpy(f->refused, f->message.refuse.reason, sizeof f->refused);
    f->refusing[f->endpoint] = true;
    for (unsigned i = 0; i < f->endpoint_count; i++)
        all = all && f->refusing[i];
    if (all || f->state != GREETING) {
        f->state = REFUSED;
        return;
    }
    give_up_connection(f, now);
    log_warn("BEZEL-COLLECTOR-REFUSES", "the collector at %s refuses this node: %s: connecting to %s", by, f->refused,
             sender_endpoint(f));
}

/* It goes with other messages, which costs no wake-up of its own, if it can; and rarely from a node that is quiet. */
bool sender_low_is_due(const struct sender *f, bool others, int64_t now)
{
    int64_t alone = now - f->packet_at >= SENDER_QUIET_NS ? SENDER_LOW_QUIET_NS : SENDER_LOW_ALONE_NS;
    return now - f->low_at >= (others ? SENDER_LOW_NS : alone);
}

/* A sign of life: a new low watermark, or a heartbeat after some silence. */
static void beat(struct sender *f, int64_t now)
{
    bool by_link = !f->direct.used; /* else the low watermark goes with the packets, and is heard beside the link */
    int64_t low = by_link && sender_low_is_due(f, f->sent_at == now, now) ? send_queue_low(&f->send_queue) : 0;
    if (low > f->low) {
        f->message.type = MESSAGE_WATERMARK;
        f->message.watermark.low = (uint64_t)low;
        f->low_at = now;
        f->low = sender_message(f, now) ? low : f->low;
    } else if (now - f->sent_at > (by_link ? SENDER_ALIVE_NS : 2 * SENDER_ALIVE_NS)) {
        f->message.type = MESSAGE_HEARTBEAT;
        f->message.heartbeat.at = (uint64_t)now;
        sender_message(f, now);
    }
}

static void keep_connection(struct sender *f, int64_t now)
{
    if (f->state == UP && now - f->received_at > SENDER_SILENCE_NS) {
        const char *silent = sender_endpoint(f);
        give_up_connection(f, now);
        log_warn("BEZEL-COLLECTOR-SILENT",
                 "no message from the collector at %s for 2 s: connecting %s%s; packets wait in the window", silent,
                 f->endpoint_count > 1 ? "to " : "again", f->endpoint_count > 1 ? sender_endpoint(f) : "");
    } else if (f->state == GREETING && now >= f->until) {
        give_up_connection(f, now);
    } else if (f->state == WAITING && now >= f->until) {
        if (attempt(f, now) != 0)
            f->until = now + backoff_next(&f->attempts); /* no memory, or no descriptor now */
    } else if (f->state == UP) {
        beat(f, now);
    }
}

static void send_all(struct sender *f, int64_t now, bool bye)
{
    if (!f->given_up)
        sender_packets(f, now);
    bool all_sent = sender_notes(f, now) && sender_books(f, now);
    if (bye && all_sent && !f->bye_sent && send_queue_waiting(&f->send_queue) == 0) {
        f->message.type = MESSAGE_BYE;
        f->bye_sent = sender_message(f, now);
    }
}

/* Whether to receive now: it is due, or an eighth of the credit or of the window waits for an acknowledgement. */
static bool must_look(const struct sender *f, int64_t now, bool bye)
{
    uint64_t waits = send_queue_unacknowledged(&f->send_queue);
    return f->state != UP || bye || now >= f->look_at || waits > f->credit / 8 ||
           waits > window_capacity(f->window) / 8;
}

int64_t sender_due(const struct sender *f)
{
    return must_look(f, INT64_MIN, false) ? INT64_MIN : f->look_at;
}

void sender_attend(struct sender *f)
{
    f->look_at = 0;
}

bool sender_attend_within(struct sender *f, int64_t now, int64_t time)
{
    bool soon = sender_due(f) <= now + time;
    if (soon)
        sender_attend(f);
    return soon;
}

void sender_step(struct sender *f, int64_t now, bool bye)
{
    if (f->state == REFUSED || f->state == DONE)
        return;
    if (f->state == GREETING && f->until == 0)
        f->until = now + SENDER_SILENCE_NS;
    if (f->link && must_look(f, now, bye)) {
        sender_receive(f, now);
        bool expects = send_queue_unacknowledged(&f->send_queue) > 0;
        f->look_at = now + (expects ? f->look : SENDER_IDLE_LOOK_NS);
    }
    sender_direct_acknowledged(f, now);
    send_queue_free(&f->send_queue, now);
    send_queue_mark(&f->send_queue, f->source.low(f->source.context, now));
    if (f->state == UP)
        send_all(f, now, bye);
    if (send_queue_must_move(&f->send_queue, now))
        sender_withdraw(f);
    send_queue_move(&f->send_queue, now);
    keep_connection(f, now);
}

/* ---- The rest of the interface ----------------------------------------------------------------------------------- */

static uint64_t seed_of(const struct message_hello *hello)
{
    uint64_t h = hash_fnv64(HASH_FNV64_START, hello->uuid, sizeof hello->uuid);
    return hash_fnv64(h, &hello->pid, sizeof hello->pid);
}

/* Takes other endpoints than there are. Returns 0, or BEZEL_EINVAL and leaves those. */
static int set_endpoints(struct sender *f, const char *text)
{
    char list[SENDER_ENDPOINTS_MAX][LINK_ENDPOINT_MAX] = {{0}};
    unsigned n = 0;
    const char *word;
    for (size_t length; (length = words_next(&text, &word));) {
        if (n == SENDER_ENDPOINTS_MAX || length >= LINK_ENDPOINT_MAX)
            return BEZEL_EINVAL;
        memcpy(list[n++], word, length);
    }
    if (n == 0 || memcmp(f->endpoints, list, sizeof list) == 0)
        return BEZEL_EINVAL;
    memcpy(f->endpoints, list, sizeof list);
    f->endpoint_count = n;
    f->endpoint = 0;
    memset(f->refusing, 0, sizeof f->refusing);
    return 0;
}

int sender_open(const struct uplink_source *source, const struct sender_options *options, struct sender **out)
{
    struct sender *f = calloc(1, sizeof *f);
    if (!f)
        return BEZEL_ENOMEM;
    if (set_endpoints(f, options->endpoints) != 0) {
        free(f);
        return BEZEL_EINVAL;
    }
    f->source = *source;
    f->window = source->window;
    f->keys = options->keys;
    f->look = options->asks_when ? SENDER_LOOK_NS : SENDER_IDLE_LOOK_NS;
    f->hello = options->hello;
    memcpy(f->hello.run, source->run, sizeof f->hello.run);
    memcpy(f->hello.uuid, source->uuid, sizeof f->hello.uuid);
    f->hello.attempt = (uint64_t)clock_now(); /* above all attempts of earlier daemons */
    f->direct.offer = (struct direct_offer){.bell = -1, .guard = -1};
    f->direct.by_link = options->by_link;
    f->attempts = backoff_make(seed_of(&f->hello), SENDER_PAUSE_FIRST_NS, SENDER_PAUSE_LAST_NS);
    f->asks = backoff_make(~seed_of(&f->hello), SENDER_AGAIN_FIRST_NS, SENDER_AGAIN_LAST_NS);
    int err = send_queue_open(&f->send_queue, source, options->spool_dir, options->spool_bytes, clock_now());
    if (!err)
        err = attempt(f, 0);
    if (err) {
        send_queue_close(&f->send_queue, false);
        free(f);
        return err;
    }
    f->until = 0;
    f->moved = window_is_torn(f->window); /* an earlier daemon gave it up, and perhaps the receiver never heard of it */
    *out = f;
    return 0;
}

void sender_close(struct sender *f, bool discard)
{
    link_close(f->link, 0);
    direct_offer_close(&f->direct.offer);
    send_queue_close(&f->send_queue, discard || f->state == DONE); /* after BYE nothing waits, and nobody comes back */
    free(f);
}

const char *sender_endpoint(const struct sender *f)
{
    return f->endpoints[f->endpoint];
}

void sender_redirect(struct sender *f, const char *endpoints, int64_t now)
{
    if (set_endpoints(f, endpoints) != 0)
        return;
    if (f->state == DONE || f->state == REFUSED)
        return;
    f->moved = true;
    hang_up(f, now);
}

void sender_give_up(struct sender *f)
{
    f->given_up = true;
    f->source.books_due(f->source.context, clock_now());
}

void sender_next(struct sender *f, int64_t next)
{
    f->direct.next = next;
}

bool sender_booked(const struct sender *f)
{
    struct uplink_process p = {.place = UINT32_MAX};
    while (f->source.next(f->source.context, p.place + 1, true, &p))
        if (!p.saved)
            return false;
    return f->source.unobserved(f->source.context) == f->unobserved_saved;
}

uint64_t sender_spooled(const struct sender *f)
{
    return send_queue_spooled(&f->send_queue);
}

bool sender_connected(const struct sender *f)
{
    return f->state == UP || f->state == DONE;
}

bool sender_done(const struct sender *f)
{
    return f->state == DONE;
}

const char *sender_refused(const struct sender *f)
{
    return f->state == REFUSED ? f->refused : NULL;
}

const char *sender_trouble(const struct sender *f)
{
    return sender_connected(f) || !f->link ? NULL : link_trouble(f->link);
}

const struct sender_clock *sender_clock(const struct sender *f)
{
    return &f->clock;
}

const struct sender_counts *sender_counts(const struct sender *f)
{
    return &f->counts;
}

struct link *sender_link(const struct sender *f)
{
    return f->link;
}
