// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/remote/remote_link.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/ulimit.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Credit goes back in quarters, so that the server always has enough for a message of any length. */
enum { QUEUE = 256, LINGER_MS = 100, GIVE_BACK = READ_CREDIT_MAX / 4 };

_Static_assert(READ_CREDIT_MAX - GIVE_BACK >= READ_CREDIT_MIN, "the server is never left without credit");

#define AWAY      CLOCK_S
#define ASK_AFTER (REMOTE_LINK_SILENCE / 2) /* ns of silence, after which the server is asked whether it knows us */

bool remote_link_is_endpoint(const char *run)
{
    return strncmp(run, "tcp://", 6) == 0 || strncmp(run, "ipc://", 6) == 0;
}

int remote_link_fail(struct remote_link *l, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(l->why, sizeof l->why, format, args);
    va_end(args);
    return l->error = err;
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

static int take_end(struct remote_link *l, const struct read_end *end)
{
    l->over = true;
    l->end = *end;
    int err = error_of(end->why);
    return err ? remote_link_fail(l, err, "%s", end->reason) : 0;
}

int remote_link_take(struct remote_link *l, const void *bytes, size_t n, struct read_message *m)
{
    int err = read_message_decode(bytes, n, m);
    if (err == BEZEL_EVERSION)
        return remote_link_fail(l, err, "%s: %s", l->place, m->refuse.reason);
    if (err)
        return remote_link_fail(l, err, "%s sends bytes that are no messages of a server of runs", l->place);
    if (read_is_counted(m->type))
        l->taken += (uint32_t)n;
    if (m->type == READ_REFUSE)
        return remote_link_fail(l, l->answered ? BEZEL_EUNREACH : BEZEL_EPERM, "%s refuses: %s", l->place,
                                m->refuse.reason);
    if (m->type == READ_END)
        return take_end(l, &m->end);
    if (m->type == READ_READING) {
        l->answered = true;
        l->reading = m->reading;
    }
    return 0;
}

/* ---- the link ---------------------------------------------------------------------------------------------------- */

int remote_link_send(struct remote_link *l, const struct read_message *m)
{
    uint8_t bytes[READ_TOKEN_MAX + 1024]; /* whatever is not sent by a server is short */
    int n = read_message_encode(m, bytes, sizeof bytes);
    return n < 0 ? n : link_send(l->link, NULL, bytes, (size_t)n);
}

static void give_credit(struct remote_link *l)
{
    if (l->taken < GIVE_BACK || !l->link)
        return;
    struct read_message m = {.type = READ_CREDIT, .credit = l->taken};
    if (remote_link_send(l, &m) == 0)
        l->taken = 0; /* else with the next message */
}

static void drop_frame(struct remote_link *l)
{
    if (l->has_frame)
        link_frame_free(&l->frame);
    l->has_frame = false;
}

/* Asks a silent server whether it knows us. Returns 0, or BEZEL_EUNREACH where it has been silent for too long. */
static int watch_silence(struct remote_link *l, int64_t now)
{
    struct read_message m = {.type = READ_HEARTBEAT, .heartbeat.at = (uint64_t)now};
    const char *why = link_trouble(l->link);
    if (why && !l->answered && link_is_refused(l->link))
        return remote_link_fail(l, BEZEL_EPERM, "%s %s", l->place, why);
    if (now - l->heard >= REMOTE_LINK_SILENCE)
        return l->answered ? remote_link_fail(l, BEZEL_EUNREACH,
                                              "%s has not answered for 10 s: the server has ended, or the "
                                              "network is cut; read the run again once it is reached",
                                              l->place)
               : why       ? remote_link_fail(l, BEZEL_EUNREACH, "%s %s", l->place, why)
                           : remote_link_fail(l, BEZEL_EUNREACH,
                                              "%s does not answer: check that `bezel serve`, or a collector "
                                                    "with `store: {serve: ...}`, listens there",
                                              l->place);
    if (now - l->heard >= ASK_AFTER && l->answered && !l->asked)
        l->asked = remote_link_send(l, &m) == 0;
    return 0;
}

/* Waits for the next message, and takes it. Returns 0, BEZEL_EAGAIN at the deadline, or an error. */
static int receive(struct remote_link *l, struct read_message *m, int64_t deadline)
{
    drop_frame(l);
    give_credit(l);
    for (;;) {
        int err = link_receive(l->link, &l->frame);
        int64_t now = clock_now();
        if (!err) {
            l->has_frame = true;
            l->heard = now;
            l->asked = false;
            return remote_link_take(l, l->frame.data, l->frame.size, m);
        }
        if (err != BEZEL_EAGAIN)
            return remote_link_fail(l, err, "%s: %s", l->place, ulimit_reason(err));
        err = watch_silence(l, now);
        if (err)
            return err;
        if (now >= deadline || (l->stop && *l->stop))
            return BEZEL_EAGAIN;
        int64_t until = deadline - now < CLOCK_S ? deadline - now : CLOCK_S;
        (void)link_wait(&l->link, 1, NULL, 0, l->answered ? until : until < CLOCK_MS * 50 ? until : CLOCK_MS * 50);
    }
}

int remote_link_receive(struct remote_link *l, struct read_message *m, int64_t deadline)
{
    int64_t now = clock_now();
    if (l->error)
        return l->error;
    if (now - l->away > AWAY) /* what its program did meanwhile is not the server's silence */
        l->heard = now;
    int err = receive(l, m, deadline);
    l->away = clock_now();
    return err;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int open_keys(struct remote_link *l, const struct remote_place *place)
{
    char own[PATH_MAX], server[PATH_MAX];
    snprintf(own, sizeof own, "%s/%s.key", place->keys, place->key ? place->key : REMOTE_LINK_KEY);
    snprintf(server, sizeof server, "%s/%s.pub", place->keys, place->server ? place->server : REMOTE_LINK_SERVER);
    log_forget_error();
    int err = link_keys_open(own, NULL, server, &l->keys);
    return err ? remote_link_fail(l, err, "%s", log_last_error()) : 0;
}

static int connect_to(struct remote_link *l, const struct remote_place *place)
{
    log_forget_error();
    int err = endpoint_check(place->endpoint);
    if (!err && !place->keys && !endpoint_path(place->endpoint) && !endpoint_is_loopback(place->endpoint))
        return remote_link_fail(
            l, BEZEL_EPERM,
            "%s is refused: without keys only this machine's servers are read, at ipc:// and tcp://127.0.0.1; make "
            "a key with `bezel keygen --role read`, and give the folder of keys (--keys DIR)",
            place->endpoint);
    if (!err && place->keys)
        err = open_keys(l, place);
    if (l->error)
        return err;
    if (!err)
        err = link_connect(place->endpoint, READ_FRAME_MAX, QUEUE, place->keys ? &l->keys : NULL, &l->link);
    if (!err)
        return 0;
    const char *why = log_last_error();
    return remote_link_fail(l, err, "%s%s%s", why[0] ? "" : place->endpoint, why[0] ? "" : ": ",
                            why[0]                ? why
                            : err == BEZEL_EINVAL ? "not an endpoint: tcp://HOST:PORT or ipc:///PATH"
                                                  : ulimit_reason(err));
}

int remote_link_open(struct remote_link *l, const struct remote_place *place, const struct read_message *first)
{
    l->stop = place->stop;
    snprintf(l->place, sizeof l->place, "%s", place->endpoint);
    int err = connect_to(l, place);
    if (!err && remote_link_send(l, first) != 0)
        err = remote_link_fail(l, BEZEL_EINVAL, "a name, pattern or condition is too long, or not UTF-8");
    l->heard = l->away = clock_now();
    return err;
}

void remote_link_close(struct remote_link *l)
{
    drop_frame(l);
    if (l->link && l->answered && !l->over && !l->error) {
        struct read_message m = {.type = READ_END};
        (void)!remote_link_send(l, &m); /* its place is free at once; else when the server finds that we are gone */
    }
    link_close(l->link, LINGER_MS);
    link_keys_close(&l->keys);
}
