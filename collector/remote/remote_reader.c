// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/remote/remote_reader.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "collector/remote/remote_schemas.h"
#include "mdr/link/link.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Credit goes back in quarters, so that the server always has enough for a message of any length. */
enum { QUEUE = 64, LINGER_MS = 100, GIVE_BACK = READ_CREDIT_MAX / 4 };

_Static_assert(READ_CREDIT_MAX - GIVE_BACK >= READ_CREDIT_MIN, "the server is never left without credit");

#define AWAY      CLOCK_S
#define ASK_AFTER (REMOTE_READER_SILENCE / 2) /* ns of silence, after which the server is asked whether it knows us */

struct remote_reader {
    char place[LINK_ENDPOINT_MAX];
    const volatile sig_atomic_t *stop;
    struct link_keys keys;
    struct link *link;
    struct link_frame frame; /* the last one, which `records` borrows */
    bool has_frame, asked;
    struct read_records records;
    size_t offset;  /* in these */
    uint32_t left;  /* items of these */
    uint32_t taken; /* bytes that were taken and not given back as credit */
    int64_t heard;  /* when the server last gave a sign of life, or we began to listen */
    int64_t away;   /* since when we do not listen */
    bool answered, over;
    int error;
    struct read_reading reading;
    struct remote_schemas schemas;
    struct packet_header packet; /* of the last item */
    struct packet_record record;
    struct remote_reader_totals totals;
    int64_t logical; /* of the last item */
    char why[512];
};

bool remote_reader_is_endpoint(const char *run)
{
    return strncmp(run, "tcp://", 6) == 0 || strncmp(run, "ipc://", 6) == 0;
}

static BEZEL_PRINTF(3, 4) int fail(struct remote_reader *r, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->why, sizeof r->why, format, args);
    va_end(args);
    return r->error = err;
}

const char *remote_reader_why(const struct remote_reader *r)
{
    return r->why;
}

const struct read_reading *remote_reader_said(const struct remote_reader *r)
{
    return &r->reading;
}

const struct model *remote_reader_model(const struct remote_reader *r, uint64_t *age)
{
    if (age)
        *age = r->schemas.age;
    return r->schemas.model;
}

struct remote_reader_totals remote_reader_totals(const struct remote_reader *r)
{
    return r->totals;
}

/* ---- messages of the server -------------------------------------------------------------------------------------- */

static int error_of(enum read_end_why why)
{
    static const int errors[] = {[READ_END_DONE] = 0,
                                 [READ_END_WRONG] = BEZEL_EINVAL,
                                 [READ_END_ABSENT] = BEZEL_ENOENT,
                                 [READ_END_DAMAGED] = BEZEL_EMALFORMED,
                                 [READ_END_VERSION] = BEZEL_EVERSION,
                                 [READ_END_FAILED] = BEZEL_ESYS,
                                 [READ_END_STOPPED] = BEZEL_EUNREACH};
    return errors[why];
}

static int take_end(struct remote_reader *r, const struct read_end *end)
{
    r->over = true;
    r->totals.cut = end->cut;
    r->totals.rest = end->rest;
    r->totals.behind = end->behind;
    int err = error_of(end->why);
    return err ? fail(r, err, "%s", end->reason) : 0;
}

static int take_message(struct remote_reader *r, const struct read_message *m, size_t size)
{
    switch (m->type) {
    case READ_REFUSE:
        return fail(r, r->answered ? BEZEL_EUNREACH : BEZEL_EPERM, "%s refuses: %s", r->place, m->refuse.reason);
    case READ_HEARTBEAT:
        return 0;
    case READ_READING:
        r->answered = true;
        r->reading = m->reading;
        return 0;
    case READ_SCHEMA: {
        r->taken += (uint32_t)size;
        int err = remote_schemas_take(&r->schemas, &m->schema);
        return err ? fail(r, err, "%s sends a process that makes no sense, or too many", r->place) : 0;
    }
    case READ_RECORDS:
        r->taken += (uint32_t)size;
        r->records = m->records;
        r->offset = 0;
        r->left = m->records.count;
        r->totals.behind = m->records.behind;
        return 0;
    case READ_END:
        return take_end(r, &m->end);
    default:
        return fail(r, BEZEL_EMALFORMED, "%s sends what a server does not send", r->place);
    }
}

static int take_bytes(struct remote_reader *r, const void *bytes, size_t n)
{
    struct read_message m;
    int err = read_message_decode(bytes, n, &m);
    if (err == BEZEL_EVERSION)
        return fail(r, err, "%s: %s", r->place, m.refuse.reason);
    if (err)
        return fail(r, err, "%s sends bytes that are no messages of a server of runs", r->place);
    return take_message(r, &m, n);
}

/* ---- the link ---------------------------------------------------------------------------------------------------- */

static int send_message(struct remote_reader *r, const struct read_message *m)
{
    uint8_t bytes[2048];
    int n = read_message_encode(m, bytes, sizeof bytes);
    return n < 0 ? n : link_send(r->link, NULL, bytes, (size_t)n);
}

static void give_credit(struct remote_reader *r)
{
    if (r->taken < GIVE_BACK || !r->link)
        return;
    struct read_message m = {.type = READ_CREDIT, .credit = r->taken};
    if (send_message(r, &m) == 0)
        r->taken = 0; /* else with the next message */
}

static void drop_frame(struct remote_reader *r)
{
    if (r->has_frame)
        link_frame_free(&r->frame);
    r->has_frame = false;
}

/* Asks a silent server whether it knows us. Returns 0, or BEZEL_EUNREACH where it has been silent for too long. */
static int watch_silence(struct remote_reader *r, int64_t now)
{
    struct read_message m = {.type = READ_HEARTBEAT, .heartbeat.at = (uint64_t)now};
    const char *why = link_trouble(r->link);
    if (why && !r->answered && link_is_refused(r->link))
        return fail(r, BEZEL_EPERM, "%s %s", r->place, why);
    if (now - r->heard >= (r->answered ? REMOTE_READER_SILENCE : REMOTE_READER_PATIENCE))
        return r->answered ? fail(r, BEZEL_EUNREACH,
                                  "%s has not answered for 10 s: the server has ended, or the "
                                  "network is cut; what comes later can be read from there anew",
                                  r->place)
               : why       ? fail(r, BEZEL_EUNREACH, "%s %s", r->place, why)
                           : fail(r, BEZEL_EUNREACH,
                                  "%s does not answer: check that `bezel serve`, or a collector "
                                        "with `store: {serve: ...}`, listens there",
                                  r->place);
    if (now - r->heard >= ASK_AFTER && r->answered && !r->asked)
        r->asked = send_message(r, &m) == 0;
    return 0;
}

/* Waits for the next message, and takes it. Returns 0, BEZEL_EAGAIN at the deadline, or an error. */
static int receive(struct remote_reader *r, int64_t deadline)
{
    drop_frame(r);
    give_credit(r);
    for (;;) {
        int err = link_receive(r->link, &r->frame);
        int64_t now = clock_now();
        if (!err) {
            r->has_frame = true;
            r->heard = now;
            r->asked = false;
            return take_bytes(r, r->frame.data, r->frame.size);
        }
        if (err != BEZEL_EAGAIN)
            return fail(r, err, "%s: %s", r->place, ulimit_reason(err));
        err = watch_silence(r, now);
        if (err)
            return err;
        if (now >= deadline || (r->stop && *r->stop))
            return BEZEL_EAGAIN;
        int64_t until = deadline - now < CLOCK_S ? deadline - now : CLOCK_S;
        (void)link_wait(&r->link, 1, NULL, 0, r->answered ? until : until < CLOCK_MS * 50 ? until : CLOCK_MS * 50);
    }
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

/* Whether the record is one of the process. */
static bool read_record(struct remote_reader *r, const struct read_item *item, const struct dict *d)
{
    struct packet_record *to = &r->record;
    to->aspect = bytes_get_u32(item->record);
    to->timestamp = bytes_get_u64(item->record + 4);
    to->value_count = (item->record_bytes - PACKET_RECORD_BYTES) / 8;
    to->values = item->record + PACKET_RECORD_BYTES;
    return to->aspect >= 1 && to->aspect <= d->aspect_count && d->field_counts[to->aspect] == to->value_count;
}

/* Gives the next item of the last message. Returns 1, 0 where there is none, or an error. */
static int next_item(struct remote_reader *r, struct record_item *to)
{
    struct read_item item;
    if (r->left == 0 || !read_item_get(&r->records, &r->offset, &item))
        return 0;
    r->left--;
    const struct model_process *p = remote_schemas_find(&r->schemas, item.schema);
    if (!p || (item.order != READ_LOSS && !read_record(r, &item, p->dict)))
        return fail(r, BEZEL_EMALFORMED, "%s sends a record that its process cannot have made", r->place);
    r->packet = (struct packet_header){.instance = p->instance, .ring = item.ring, .thread = item.thread};
    *to = (struct record_item){.process = p,
                               .packet = &r->packet,
                               .lost = item.lost,
                               .time = item.time,
                               .at = {item.run_time, item.error < 0 ? INT64_MAX : item.error},
                               .logical = r->logical = record_logical(r->logical, item.run_time)};
    if (item.order == READ_LOSS) {
        r->totals.lost += item.lost;
        return 1;
    }
    to->r = &r->record;
    to->aspect = &p->dict->aspects[r->record.aspect - 1];
    to->lost = 0;
    to->time = r->record.timestamp;
    to->proof = (enum record_proof)item.order;
    r->totals.records++;
    r->totals.proofs[item.order]++;
    return 1;
}

int remote_reader_next(struct remote_reader *r, struct record_item *item, int64_t deadline)
{
    int err = r->error ? r->error : next_item(r, item);
    if (err || r->over)
        return err;
    int64_t now = clock_now();
    if (now - r->away > AWAY) /* what its program did meanwhile is not the server's silence */
        r->heard = now;
    while (!err && !r->over) {
        err = receive(r, deadline);
        if (!err)
            err = next_item(r, item);
    }
    r->away = clock_now();
    return err;
}

int remote_reader_feed(struct remote_reader *r, const uint8_t *bytes, size_t n)
{
    struct record_item item;
    int err = take_bytes(r, bytes, n), items = 0;
    while (!err && (err = next_item(r, &item)) > 0) {
        items++;
        err = 0;
    }
    return err < 0 ? err : items;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int open_keys(struct remote_reader *r, const struct remote_reader_place *place)
{
    char own[PATH_MAX], server[PATH_MAX];
    snprintf(own, sizeof own, "%s/%s.key", place->keys, place->key ? place->key : REMOTE_READER_KEY);
    snprintf(server, sizeof server, "%s/%s.pub", place->keys, place->server ? place->server : REMOTE_READER_SERVER);
    log_forget_error();
    int err = link_keys_open(own, NULL, server, &r->keys);
    return err ? fail(r, err, "%s", log_last_error()) : 0;
}

static int connect_to(struct remote_reader *r, const struct remote_reader_place *place)
{
    log_forget_error();
    int err = endpoint_check(place->endpoint);
    if (!err && !place->keys && !endpoint_path(place->endpoint) && !endpoint_is_loopback(place->endpoint))
        return fail(
            r, BEZEL_EPERM,
            "%s is refused: without keys only this machine's servers are read, at ipc:// and tcp://127.0.0.1; make "
            "a key with `bezel keygen --role read`, and give the folder of keys (--keys DIR)",
            place->endpoint);
    if (!err && place->keys)
        err = open_keys(r, place);
    if (r->error)
        return err;
    if (!err)
        err = link_connect(place->endpoint, READ_FRAME_MAX, QUEUE, place->keys ? &r->keys : NULL, &r->link);
    if (!err)
        return 0;
    const char *why = log_last_error();
    return fail(r, err, "%s%s%s", why[0] ? "" : place->endpoint, why[0] ? "" : ": ",
                why[0]                ? why
                : err == BEZEL_EINVAL ? "not an endpoint: tcp://HOST:PORT or ipc:///PATH"
                                      : ulimit_reason(err));
}

struct remote_reader *remote_reader_new(void)
{
    struct remote_reader *r = calloc(1, sizeof *r);
    if (r && remote_schemas_init(&r->schemas) == 0)
        return r;
    free(r);
    return NULL;
}

int remote_reader_open(const struct remote_reader_place *place, const struct read_request *request,
                       struct remote_reader **out)
{
    struct remote_reader *r = *out = remote_reader_new();
    if (!r)
        return BEZEL_ENOMEM;
    struct read_message m = {.type = READ_READ, .read = *request};
    m.read.credit = READ_CREDIT_MAX;
    r->stop = place->stop;
    r->logical = INT64_MIN;
    snprintf(r->place, sizeof r->place, "%s", place->endpoint);
    int err = connect_to(r, place);
    if (!err && send_message(r, &m) != 0)
        err = fail(r, BEZEL_EINVAL, "a name, pattern or condition is too long, or not UTF-8");
    r->heard = clock_now();
    while (!err && !r->answered && !r->over)
        err = receive(r, INT64_MAX);
    if (!err && !r->answered)
        err = fail(r, BEZEL_EMALFORMED, "%s ends before it has answered", r->place);
    return err;
}

void remote_reader_close(struct remote_reader *r)
{
    if (!r)
        return;
    drop_frame(r);
    if (r->link && r->answered && !r->over && !r->error) {
        struct read_message m = {.type = READ_END};
        (void)send_message(r, &m); /* so that its place is free at once; else when the server finds that we are gone */
    }
    link_close(r->link, LINGER_MS);
    link_keys_close(&r->keys);
    remote_schemas_fini(&r->schemas);
    free(r);
}
