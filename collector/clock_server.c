// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/clock_server.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "mdr/message.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FRAMES_A_TURN = 64 };

struct clock_server {
    pthread_t thread;
    struct link *link; /* the thread's, while it runs, as the rest up to `lock` */
    struct link *above;
    uint8_t identity[16];
    struct clock_keeping keeping;
    const struct link_keys *keys;
    bool answers;
    uint8_t bytes[MESSAGE_CLOCK_BYTES];
    struct message message;
    int wake; /* eventfd: what follows has changed */
    pthread_mutex_t lock;
    bool end, moved;
    bool own;                         /* the clock that is asked for is this machine's */
    char endpoint[LINK_ENDPOINT_MAX]; /* else where questions are passed on to; "": nowhere */
};

static void answer(struct clock_server *s, const struct link_frame *frame, int64_t arrived)
{
    struct message *m = &s->message;
    if (message_decode(frame->data, frame->size, m) != 0 || m->type != MESSAGE_CLOCK)
        return;
    memcpy(m->clock.identity, s->identity, sizeof s->identity);
    struct clock_wall wall = clock_wall_read(&s->keeping);
    m->clock.ahead = wall.ahead;
    m->clock.error = wall.error;
    m->clock.arrived = (uint64_t)arrived;
    m->clock.answered = (uint64_t)clock_now();
    int n = message_encode(m, s->bytes, sizeof s->bytes);
    if (n > 0)
        (void)!link_send(s->link, &frame->peer, s->bytes, (size_t)n); /* without an answer the node asks again */
}

/* Takes what clock_server_pass() and clock_server_close() have set. Returns whether the thread is to go on. */
static bool take_change(struct clock_server *s)
{
    char endpoint[LINK_ENDPOINT_MAX];
    eventfd_t changes;
    if (eventfd_read(s->wake, &changes) != 0)
        return true;
    pthread_mutex_lock(&s->lock);
    bool end = s->end, moved = s->moved;
    s->moved = false;
    s->answers = s->own;
    memcpy(endpoint, s->endpoint, sizeof endpoint);
    pthread_mutex_unlock(&s->lock);
    if (moved) {
        link_close(s->above, 0);
        s->above = NULL;
        if (endpoint[0] && link_connect(endpoint, LINK_FRAME_LEAST, FRAMES_A_TURN, s->keys, &s->above) == 0)
            link_set_relay(s->above);
    }
    return !end;
}

static void take_question(struct clock_server *s, const struct link_frame *frame)
{
    if (!(frame->roles & KEY_OBSERVE))
        return;
    if (s->answers)
        answer(s, frame, clock_now());
    else if (s->above)
        (void)!link_send(s->above, &frame->peer, frame->data, frame->size);
}

static void *serve(void *context)
{
    struct clock_server *s = context;
    struct link_frame frame;
    while (take_change(s)) {
        struct link *links[] = {s->link, s->above};
        (void)link_wait(links, 2, &s->wake, 1, -1);
        for (int i = 0; i < FRAMES_A_TURN && link_receive(s->link, &frame) == 0; i++) {
            take_question(s, &frame);
            link_frame_free(&frame);
        }
        for (int i = 0; i < FRAMES_A_TURN && s->above && link_receive(s->above, &frame) == 0; i++) {
            (void)!link_send(s->link, &frame.peer, frame.data, frame.size);
            link_frame_free(&frame);
        }
    }
    return NULL;
}

static int bind_beside(const char *data, const struct link_keys *keys, struct link **link)
{
    struct address address;
    const char *why;
    char endpoint[ADDRESS_TEXT_MAX];
    if (endpoint_path(data) || endpoint_is_loopback(data))
        return link_bind("tcp://127.0.0.1:*", LINK_FRAME_LEAST, keys, link);
    int err = address_read(data, &address, &why);
    if (!err && address.port != 0 && ++address.port == 0)
        err = BEZEL_EINVAL;
    return err ? err : link_bind(address_print(&address, endpoint), LINK_FRAME_LEAST, keys, link);
}

static int open_server(const char *data, const struct link_keys *keys, const struct clock_keeping *keeping, bool inner,
                       struct clock_server **out)
{
    struct clock_server *s = calloc(1, sizeof *s);
    if (!s)
        return BEZEL_ENOMEM;
    clock_identity(s->identity);
    s->keeping = *keeping;
    s->keys = keys;
    s->answers = s->own = !inner;
    pthread_mutex_init(&s->lock, NULL);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = s->wake < 0 ? err_from_errno(errno) : bind_beside(data, keys, &s->link);
    if (!err)
        link_set_relay(s->link);
    if (!err && (errno = link_thread(&s->thread, serve, s)) != 0) {
        err = err_from_errno(errno);
        link_close(s->link, 0);
    }
    if (!err) {
        *out = s;
        return 0;
    }
    if (s->wake >= 0)
        close(s->wake);
    free(s);
    return err;
}

struct clock_server *clock_server_open(const char *data, const struct link_keys *keys,
                                       const struct clock_keeping *keeping, bool inner)
{
    struct clock_server *s = NULL;
    bool alone = endpoint_path(data) || endpoint_is_loopback(data);
    int err = alone && !inner ? 0 : open_server(data, keys, keeping, inner, &s);
    if (err)
        log_warn("BEZEL-CLOCK",
                 "the port above %s, where nodes ask for the time, cannot be used (%s): clocks of other machines are "
                 "compared by their wall clocks alone",
                 data, ulimit_reason(err));
    return s;
}

void clock_server_pass(struct clock_server *s, const uint8_t identity[16], const char *endpoint)
{
    if (!s)
        return;
    bool own = memcmp(identity, s->identity, sizeof s->identity) == 0;
    pthread_mutex_lock(&s->lock);
    s->own = own;
    s->moved = true;
    snprintf(s->endpoint, sizeof s->endpoint, "%s", own ? "" : endpoint);
    pthread_mutex_unlock(&s->lock);
    (void)eventfd_write(s->wake, 1);
}

void clock_server_close(struct clock_server *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->end = true;
    pthread_mutex_unlock(&s->lock);
    (void)eventfd_write(s->wake, 1);
    pthread_join(s->thread, NULL);
    link_close(s->above, 0);
    link_close(s->link, 0);
    close(s->wake);
    free(s);
}

uint32_t clock_server_port(const struct clock_server *s)
{
    struct address address;
    const char *why;
    return s && address_read(link_endpoint(s->link), &address, &why) == 0 ? address.port : 0;
}
