// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/clock_server.h"

#include "base/address.h"
#include "base/clock.h"
#include "mdr/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FRAMES_A_TURN = 64 };

struct clock_server {
    pthread_t thread;
    struct link *link; /* the thread's, while it runs */
    int end;           /* eventfd: the thread is to end */
    uint8_t identity[16];
    struct clock_keeping keeping;
    uint8_t bytes[MESSAGE_CLOCK_BYTES];
    struct message message;
};

static void answer(struct clock_server *s, const struct link_frame *frame, int64_t arrived)
{
    struct message *m = &s->message;
    if (!(frame->roles & KEY_OBSERVE) || message_decode(frame->data, frame->size, m) != 0 || m->type != MESSAGE_CLOCK)
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

static void *serve(void *context)
{
    struct clock_server *s = context;
    struct link_frame frame;
    eventfd_t ends;
    while (eventfd_read(s->end, &ends) != 0) {
        (void)link_wait(&s->link, 1, &s->end, 1, -1);
        for (int i = 0; i < FRAMES_A_TURN && link_receive(s->link, &frame) == 0; i++) {
            answer(s, &frame, clock_now());
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
    int err = address_read(data, &address, &why);
    if (!err && address.port != 0 && ++address.port == 0)
        err = BEZEL_EINVAL;
    return err ? err : link_bind(address_print(&address, endpoint), LINK_FRAME_LEAST, keys, link);
}

int clock_server_open(const char *data, const struct link_keys *keys, const struct clock_keeping *keeping,
                      struct clock_server **out)
{
    *out = NULL;
    if (endpoint_path(data) || endpoint_is_loopback(data))
        return 0;
    struct clock_server *s = calloc(1, sizeof *s);
    if (!s)
        return BEZEL_ENOMEM;
    clock_identity(s->identity);
    s->keeping = *keeping;
    s->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = s->end < 0 ? err_from_errno(errno) : bind_beside(data, keys, &s->link);
    if (!err && (errno = link_thread(&s->thread, serve, s)) != 0) {
        err = err_from_errno(errno);
        link_close(s->link, 0);
    }
    if (!err) {
        *out = s;
        return 0;
    }
    if (s->end >= 0)
        close(s->end);
    free(s);
    return err;
}

void clock_server_close(struct clock_server *s)
{
    if (!s)
        return;
    (void)eventfd_write(s->end, 1);
    pthread_join(s->thread, NULL);
    link_close(s->link, 0);
    close(s->end);
    free(s);
}

uint32_t clock_server_port(const struct clock_server *s)
{
    struct address address;
    const char *why;
    return s && address_read(link_endpoint(s->link), &address, &why) == 0 ? address.port : 0;
}
