// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/foxglove/foxglove_clients.h"
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "mediators/foxglove/foxglove_request.h"

#include <inttypes.h>
#include <stdarg.h>

enum { ADVERTISED_BYTES = 64 << 10, TIME_BYTES = 9 };

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static struct json begin(char **text, size_t *n, const char *op)
{
    struct json j = {.out = open_memstream(text, n), .compact = true};
    if (!j.out)
        return j;
    json_object(&j, NULL);
    json_text(&j, "op", op);
    return j;
}

/* Returns 0; BEZEL_EAGAIN: there is no room now; or BEZEL_ENOMEM. One that is gone gets nothing more. */
static int send(const struct foxglove_clients *c, const struct foxglove_client *to, const void *bytes, size_t n,
                bool text)
{
    int err = web_send(c->web, to->page, bytes, n, text);
    return err == BEZEL_ENOENT ? 0 : err;
}

static int end(const struct foxglove_clients *c, const struct foxglove_client *to, struct json *j, char **text,
               const size_t *n)
{
    if (!j->out)
        return BEZEL_ENOMEM;
    json_object_end(j);
    int err = fclose(j->out) == 0 ? send(c, to, *text, *n, true) : BEZEL_ENOMEM;
    free(*text);
    return err;
}

static int say_info(const struct foxglove_clients *c, const struct foxglove_client *to)
{
    char *text = NULL;
    size_t n = 0;
    struct json j = begin(&text, &n, "serverInfo");
    if (j.out) {
        json_text(&j, "name", c->name);
        json_array(&j, "capabilities");
        json_text(&j, NULL, "time");
        json_array_end(&j);
        json_text(&j, "sessionId", c->session);
    }
    return end(c, to, &j, &text, &n);
}

static int say(const struct foxglove_clients *c, const struct foxglove_client *to, int level, const char *message)
{
    char *text = NULL;
    size_t n = 0;
    struct json j = begin(&text, &n, "status");
    if (j.out) {
        json_int(&j, "level", level);
        json_text(&j, "message", message);
    }
    return end(c, to, &j, &text, &n);
}

void foxglove_clients_say(struct foxglove_clients *c, int level, const char *text)
{
    for (size_t i = 0; i < WEB_PAGES; i++)
        if (c->list[i].page)
            (void)say(c, &c->list[i], level, text);
}

/* Answers a request; who does not take the answer does without. */
static void BEZEL_PRINTF(3, 4)
    complain(const struct foxglove_clients *c, const struct foxglove_client *to, const char *format, ...)
{
    char text[160];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    (void)say(c, to, 1, text);
}

/* Tells of channels that the client does not know yet, some at a time. */
static int advertise(const struct foxglove_clients *c, struct foxglove_client *to)
{
    static const char head[] = "{\"op\":\"advertise\",\"channels\":[", tail[] = "]}";
    struct grow_bytes b = {.at = NULL};
    size_t next = to->known;
    grow_bytes_add(&b, head, sizeof head - 1);
    for (; next < c->channels->count && b.n < ADVERTISED_BYTES; next++) {
        const struct foxglove_channel *channel = &c->channels->list[next];
        grow_bytes_add(&b, ",", next > to->known);
        grow_bytes_add(&b, channel->about, channel->about_bytes);
    }
    grow_bytes_add(&b, tail, sizeof tail - 1);
    int err = b.short_of_memory ? BEZEL_ENOMEM : send(c, to, b.at, b.n, true);
    free(b.at);
    if (!err)
        to->known = next;
    return err;
}

/* A client shows a record at the time that it was told last, so that comes first; it never goes back. */
static int send_time(const struct foxglove_clients *c, struct foxglove_client *to, int64_t time)
{
    uint8_t bytes[TIME_BYTES] = {2};
    if (time <= to->clock)
        return 0;
    mcap_set(bytes + 1, (uint64_t)time, 8);
    int err = send(c, to, bytes, sizeof bytes, false);
    if (!err)
        to->clock = time;
    return err;
}

/* Sends the newest record of a channel. Returns whether there was room. */
static bool send_newest(const struct foxglove_clients *c, struct foxglove_client *to, size_t number)
{
    struct foxglove_channel *channel = &c->channels->list[number];
    mcap_set(channel->newest.at + 1, to->of[number].id, 4);
    if (send_time(c, to, channel->time) != 0 || send(c, to, channel->newest.at, channel->newest.n, false) != 0)
        return false;
    to->sent++;
    return true;
}

/* ---- what is due ------------------------------------------------------------------------------------------------- */

static void set_due(struct foxglove_client *to, size_t number, bool due, bool owed)
{
    struct foxglove_subscription *s = &to->of[number];
    to->due += due && !s->due;
    to->due -= !due && s->due;
    s->due = due;
    s->owed = due && owed;
}

/* Each channel in turn, so that none has to wait for one that is busy. */
static void send_due(const struct foxglove_clients *c, struct foxglove_client *to)
{
    for (size_t i = 0; i < c->channels->count && to->due > 0; i++) {
        size_t number = (to->turn + i) % c->channels->count;
        if (!to->of[number].due)
            continue;
        if (c->channels->list[number].newest.n > 0 && !send_newest(c, to, number)) {
            to->turn = number;
            return;
        }
        set_due(to, number, false, false);
    }
}

static bool has_doubled(uint64_t missed, uint64_t before)
{
    return missed > before && missed >= 2 * before;
}

/* Says how many records a client has missed, whenever that has doubled: in the log, and to the client once it has room.
 */
static void say_missed(const struct foxglove_clients *c, struct foxglove_client *to)
{
    char text[256];
    if (!has_doubled(to->missed, to->said) && !has_doubled(to->missed, to->logged))
        return;
    snprintf(text, sizeof text,
             "%" PRIu64 " records were dropped for this client, and %" PRIu64
             " sent: it takes them more slowly than they come. Each topic goes on with its newest record. Subscribe "
             "to fewer topics; the run has all records",
             to->missed, to->sent);
    if (has_doubled(to->missed, to->logged)) {
        log_warn("BEZEL-FOXGLOVE-SLOW", "client %" PRIu32 ": %s", to->page, text);
        to->logged = to->missed;
    }
    if (has_doubled(to->missed, to->said) && say(c, to, 1, text) == 0)
        to->said = to->missed;
}

bool foxglove_clients_serve(struct foxglove_clients *c)
{
    bool more = false;
    for (size_t i = 0; i < WEB_PAGES; i++) {
        struct foxglove_client *to = &c->list[i];
        if (!to->page)
            continue;
        while (to->known < c->channels->count && advertise(c, to) == 0)
            ;
        say_missed(c, to);
        send_due(c, to);
        more = more || to->due > 0 || to->known < c->channels->count;
    }
    return more;
}

void foxglove_clients_give(struct foxglove_clients *c, size_t number, bool past)
{
    for (size_t i = 0; i < WEB_PAGES; i++) {
        struct foxglove_client *to = &c->list[i];
        if (!to->page || !to->of[number].on)
            continue;
        if (!past && !to->of[number].due && send_newest(c, to, number))
            continue;
        to->missed += to->of[number].owed;
        c->missed += to->of[number].owed;
        set_due(to, number, true, !past);
    }
}

bool foxglove_clients_hold(struct foxglove_clients *c, int64_t now, int64_t patience)
{
    bool hold = false;
    for (size_t i = 0; i < WEB_PAGES; i++) {
        struct foxglove_client *to = &c->list[i];
        bool room = !to->page || to->on == 0 || (to->due == 0 && web_has_room(c->web, to->page));
        to->stuck_since = room ? 0 : to->stuck_since ? to->stuck_since : now;
        hold = hold || (!room && now - to->stuck_since < patience);
    }
    return hold;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* The channel of subscription `id`; the number of channels: there is none. */
static size_t find(const struct foxglove_clients *c, const struct foxglove_client *of, uint32_t id)
{
    size_t i = 0;
    while (i < c->channels->count && !(of->of[i].on && of->of[i].id == id))
        i++;
    return i;
}

static void subscribe(const struct foxglove_clients *c, struct foxglove_client *to, const struct foxglove_item *q)
{
    if (q->channel >= to->known)
        complain(c, to, "there is no channel %" PRIu32, q->channel);
    else if (to->of[q->channel].on)
        complain(c, to, "channel %" PRIu32 " has a subscription already", q->channel);
    else if (find(c, to, q->id) < c->channels->count)
        complain(c, to, "subscription %" PRIu32 " is there already", q->id);
    else {
        to->of[q->channel] = (struct foxglove_subscription){.id = q->id, .on = true};
        to->on++;
        set_due(to, q->channel, c->channels->list[q->channel].newest.n > 0, false);
    }
}

static void unsubscribe(const struct foxglove_clients *c, struct foxglove_client *to, uint32_t id)
{
    size_t number = find(c, to, id);
    if (number < c->channels->count) {
        set_due(to, number, false, false);
        to->of[number].on = false;
        to->on--;
    } else
        complain(c, to, "there is no subscription %" PRIu32, id);
}

static void request(const struct foxglove_clients *c, struct foxglove_client *to, const char *text, size_t n)
{
    static struct foxglove_request q;
    const char *why;
    if (foxglove_request_read(text, n, &q, &why) != 0) {
        complain(c, to, "a message of this client cannot be read: %s", why);
        return;
    }
    if (q.op == FOXGLOVE_OTHER)
        complain(c, to, "this server takes subscribe and unsubscribe alone, not %s", q.name);
    for (size_t i = 0; i < q.count; i++)
        if (q.op == FOXGLOVE_SUBSCRIBE)
            subscribe(c, to, &q.items[i]);
        else
            unsubscribe(c, to, q.items[i].id);
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

static struct foxglove_client *find_page(struct foxglove_clients *c, uint32_t page)
{
    for (size_t i = 0; i < WEB_PAGES; i++)
        if (c->list[i].page == page)
            return &c->list[i];
    return NULL;
}

static void open_client(struct foxglove_clients *c, uint32_t page)
{
    struct foxglove_client *to = find_page(c, 0);
    struct foxglove_subscription *of = to ? calloc(FOXGLOVE_CHANNELS, sizeof *of) : NULL;
    if (!of) {
        log_warn("BEZEL-FOXGLOVE", "memory is short: client %" PRIu32 " gets nothing", page);
        return;
    }
    *to = (struct foxglove_client){.page = page, .of = of};
    (void)say_info(c, to);
}

static void close_client(struct foxglove_clients *c, struct foxglove_client *of)
{
    if (of->missed > 0)
        log_warn("BEZEL-FOXGLOVE-SLOW", "client %" PRIu32 " has gone: it was sent %s records, and %s were dropped",
                 of->page, units_count(of->sent).s, units_count(of->missed).s);
    free(of->of);
    *of = (struct foxglove_client){.page = 0};
    c->emptied = true;
    for (size_t i = 0; i < WEB_PAGES; i++)
        c->emptied = c->emptied && !c->list[i].page;
}

void foxglove_clients_take(struct foxglove_clients *c, struct web_event *e)
{
    struct foxglove_client *from = e->page ? find_page(c, e->page) : NULL;
    if (e->kind == WEB_OPENED)
        open_client(c, e->page);
    else if (e->kind == WEB_TEXT && from)
        request(c, from, e->text, e->length);
    else if (e->kind == WEB_CLOSED && from)
        close_client(c, from);
    free(e->text);
}

void foxglove_clients_fini(struct foxglove_clients *c)
{
    for (size_t i = 0; i < WEB_PAGES; i++)
        if (c->list[i].page)
            close_client(c, &c->list[i]);
}

size_t foxglove_clients_subscriptions(const struct foxglove_clients *c)
{
    size_t on = 0;
    for (size_t i = 0; i < WEB_PAGES; i++)
        on += c->list[i].on;
    return on;
}
