// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/proxy_server.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/words.h"
#include "mdr/link/dial.h"
#include "mdr/link/link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A connection has two sides, the client's and the server's. An address that accepts one is looked for (DIAL),
 * connected to (CONNECT), and then bytes flow both ways (FLOW).
 */
enum phase { PAUSE, DIAL, CONNECT, FLOW };
enum side { CLIENT, SERVER };

enum { BACKLOG = 64 };

#define PAUSE_TIME (200 * CLOCK_MS)

struct target {
    struct address address; /* where it connects */
    int listener;
    uint16_t port;
};

/* Bytes on their way to one side. */
struct flow {
    uint8_t bytes[PROXY_SERVER_BUFFER];
    size_t begin, end;
    bool ended, shut; /* the other side sends no more; this side has been shut */
};

struct connection {
    enum phase phase;
    int fds[2];
    int64_t again, until; /* before FLOW: when the PAUSE is over; when it is given up */
    const struct target *target;
    struct dial *dial;
    struct flow to[2];
};

struct proxy_server {
    pthread_t thread;
    int wake; /* eventfd, to end */
    size_t target_count, count;
    struct target *targets;
    struct connection *connections[PROXY_SERVER_CONNECTIONS];
    struct pollfd *polled; /* the thread's: of `wake`, of the targets, two of each connection */
    bool full;             /* it was logged that there are as many as may be */
};

/* ---- A connection ------------------------------------------------------------------------------------------------ */

static void end(struct connection *c)
{
    dial_end(c->dial);
    for (int i = 0; i < 2; i++)
        if (c->fds[i] >= 0)
            close(c->fds[i]);
    free(c);
}

static void prepare(int fd)
{
    (void)!setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    (void)!setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
}

/* Functions named step_ return whether the connection goes on. */
static bool step_pause(struct connection *c)
{
    if (clock_now() < c->again)
        return true;
    c->phase = DIAL;
    return dial_begin(&c->target->address, &c->dial) == 0;
}

static bool pause_after_failure(struct connection *c)
{
    if (c->fds[SERVER] >= 0)
        close(c->fds[SERVER]);
    c->fds[SERVER] = -1;
    c->phase = PAUSE;
    c->again = clock_now() + PAUSE_TIME;
    return true;
}

static bool step_dial(struct connection *c)
{
    struct address number;
    char why[DIAL_WHY_MAX], port[8];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *at = NULL;
    int err = dial_answer(c->dial, &number, why);
    if (err == BEZEL_EAGAIN)
        return true;
    dial_end(c->dial);
    c->dial = NULL;
    snprintf(port, sizeof port, "%u", number.port);
    if (err || getaddrinfo(number.host, port, &hints, &at) != 0)
        return pause_after_failure(c);
    c->phase = CONNECT;
    c->fds[SERVER] = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool connects =
        c->fds[SERVER] >= 0 && (connect(c->fds[SERVER], at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS);
    freeaddrinfo(at);
    return connects || pause_after_failure(c);
}

static bool step_connect(struct connection *c)
{
    int error = 0;
    if (getsockopt(c->fds[SERVER], SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error}) != 0 || error)
        return pause_after_failure(c);
    prepare(c->fds[SERVER]);
    c->phase = FLOW;
    return true;
}

/* Moves bytes to `side` from the other one. Returns whether that can go on. */
static bool move(struct connection *c, enum side side)
{
    struct flow *f = &c->to[side];
    if (!f->ended && f->end < sizeof f->bytes) {
        ssize_t n = recv(c->fds[!side], f->bytes + f->end, sizeof f->bytes - f->end, MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        f->ended = n == 0;
        f->end += n > 0 ? (size_t)n : 0;
    }
    if (f->begin < f->end) {
        ssize_t n = send(c->fds[side], f->bytes + f->begin, f->end - f->begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        f->begin += n > 0 ? (size_t)n : 0;
    }
    if (f->begin == f->end)
        f->begin = f->end = 0;
    if (f->ended && f->end == 0 && !f->shut)
        f->shut = shutdown(c->fds[side], SHUT_WR) == 0;
    return true;
}

static bool step_flow(struct connection *c)
{
    return move(c, CLIENT) && move(c, SERVER) && !(c->to[CLIENT].shut && c->to[SERVER].shut);
}

static bool step(struct connection *c)
{
    if (c->phase == FLOW)
        return step_flow(c);
    return clock_now() < c->until && (c->phase == PAUSE  ? step_pause(c)
                                      : c->phase == DIAL ? step_dial(c)
                                                         : step_connect(c));
}

/* When it is due without an event. */
static int64_t due_at(const struct connection *c)
{
    return c->phase == FLOW ? INT64_MAX : c->phase == PAUSE && c->again < c->until ? c->again : c->until;
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

static void accept_one(struct proxy_server *s, const struct target *to)
{
    int fd = accept4(to->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct connection *c = fd >= 0 && s->count < PROXY_SERVER_CONNECTIONS ? calloc(1, sizeof *c) : NULL;
    if (fd >= 0 && s->count == PROXY_SERVER_CONNECTIONS && !s->full) {
        log_warn("BEZEL-PROXY", "a connection is refused: there are %zu already, the maximum", s->count);
        s->full = true;
    }
    if (!c) {
        if (fd >= 0)
            close(fd);
        return;
    }
    prepare(fd);
    c->target = to;
    c->fds[CLIENT] = fd;
    c->fds[SERVER] = -1;
    c->until = clock_now() + PROXY_SERVER_PATIENCE;
    s->connections[s->count++] = c;
}

/* What the phase waits for of one side. A descriptor that waits for nothing would report its end for ever: it is left
 * out. */
static struct pollfd wanted(const struct connection *c, enum side side)
{
    struct pollfd p = {.fd = c->fds[side]};
    const struct flow *out = &c->to[side], *in = &c->to[!side];
    if (c->phase == FLOW)
        p.events =
            (short)((out->begin < out->end ? POLLOUT : 0) | (!in->ended && in->end < sizeof in->bytes ? POLLIN : 0));
    else if (c->phase == DIAL && side == SERVER)
        p = (struct pollfd){.fd = dial_fd(c->dial), .events = POLLIN};
    else if (c->phase == CONNECT && side == SERVER)
        p.events = POLLOUT;
    if (!p.events)
        p.fd = -1;
    return p;
}

/* Polls; returns the first entry of the connections. */
static const struct pollfd *wait_for_something(struct proxy_server *s)
{
    int64_t now = clock_now(), until = now + CLOCK_S * 3600;
    struct pollfd *p = s->polled;
    *p++ = (struct pollfd){.fd = s->wake, .events = POLLIN};
    for (size_t i = 0; i < s->target_count; i++)
        *p++ = (struct pollfd){.fd = s->targets[i].listener, .events = POLLIN};
    const struct pollfd *first = p;
    for (size_t i = 0; i < s->count; i++) {
        const struct connection *c = s->connections[i];
        *p++ = wanted(c, CLIENT);
        *p++ = wanted(c, SERVER);
        until = due_at(c) < until ? due_at(c) : until;
    }
    int64_t left = until - now;
    if (poll(s->polled, (nfds_t)(p - s->polled), left > 0 ? (int)(left / CLOCK_MS) + 1 : 0) < 0)
        s->polled[0].revents = 0; /* a signal; the others have what they had, and are looked at in vain */
    return first;
}

static void *serve(void *context)
{
    struct proxy_server *s = context;
    for (;;) {
        const struct pollfd *of = wait_for_something(s);
        if (s->polled[0].revents)
            return NULL;
        for (size_t i = s->count; i-- > 0;) {
            struct connection *c = s->connections[i];
            bool due = of[2 * i].revents || of[2 * i + 1].revents || clock_now() >= due_at(c);
            if (!due || step(c))
                continue;
            end(c);
            s->connections[i] = s->connections[--s->count];
            s->full = false;
        }
        for (size_t i = 0; i < s->target_count; i++)
            if (s->polled[1 + i].revents)
                accept_one(s, &s->targets[i]);
    }
}

/* ---- Start and end ----------------------------------------------------------------------------------------------- */

static int read_targets(struct proxy_server *s, const char *forward)
{
    const char *why, *word;
    for (size_t n; (n = words_next(&forward, &word));) {
        char one[2 * ADDRESS_TEXT_MAX];
        if (!grow_by_one(&s->targets, s->target_count, sizeof *s->targets))
            return BEZEL_ENOMEM;
        struct target *t = &s->targets[s->target_count++];
        *t = (struct target){.listener = -1};
        snprintf(one, sizeof one, "%.*s", (int)n, word);
        const char *via = strchr(one, '=');
        if (address_read(via ? via + 1 : one, &t->address, &why) != 0 || t->address.port == 0)
            return BEZEL_EINVAL;
    }
    return 0;
}

/* Listens at a number: 0, BEZEL_EINVAL, or an error with errno. The address of all of IPv6 is that of all of IPv4, too.
 */
static int listen_at(struct target *t, const char *host, uint16_t number)
{
    struct sockaddr_in6 bound;
    char port[8];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *at;
    snprintf(port, sizeof port, "%u", number);
    if (getaddrinfo(host, port, &hints, &at) != 0)
        return BEZEL_EINVAL;
    t->listener = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok = t->listener >= 0 && setsockopt(t->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
              (at->ai_family != AF_INET6 ||
               setsockopt(t->listener, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)) == 0) &&
              bind(t->listener, at->ai_addr, at->ai_addrlen) == 0 && listen(t->listener, BACKLOG) == 0 &&
              getsockname(t->listener, (struct sockaddr *)&bound, &(socklen_t){sizeof bound}) == 0;
    int sys = errno;
    freeaddrinfo(at);
    errno = sys;
    if (!ok)
        return err_from_errno(errno);
    t->port = ntohs(bound.sin6_port); /* struct sockaddr_in has it at the same place */
    return 0;
}

/* All addresses are those of IPv6 and IPv4, where the kernel has IPv6. */
static int listen_for(struct target *t, const struct address *a, uint16_t port)
{
    if (a->kind != ADDRESS_ANY)
        return listen_at(t, a->host, port);
    int err = listen_at(t, "::", port);
    return err && t->listener < 0 ? listen_at(t, "0.0.0.0", port) : err;
}

static int listen_for_all(struct proxy_server *s, const char *endpoint)
{
    struct address a;
    const char *why;
    int err = address_read(endpoint, &a, &why) != 0 || a.port + s->target_count > UINT16_MAX ? BEZEL_EINVAL : 0;
    for (size_t i = 0; i < s->target_count && !err; i++) {
        uint16_t port = a.port ? (uint16_t)(a.port + i) : 0;
        err = listen_for(&s->targets[i], &a, port);
        if (err && port)
            log_error("BEZEL-ENDPOINT", "port %u, at which the proxy listens for commands, cannot be used: %s", port,
                      strerror(errno));
    }
    return err;
}

static void close_all(struct proxy_server *s)
{
    for (size_t i = 0; i < s->target_count; i++)
        if (s->targets[i].listener >= 0)
            close(s->targets[i].listener);
    if (s->wake >= 0)
        close(s->wake);
    free(s->polled);
    free(s->targets);
    free(s);
}

int proxy_server_open(const char *listen, const char *forward, struct proxy_server **out)
{
    struct proxy_server *s = calloc(1, sizeof *s);
    if (!s)
        return BEZEL_ENOMEM;
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = s->wake < 0 ? err_from_errno(errno) : read_targets(s, forward);
    if (!err)
        err = listen_for_all(s, listen);
    if (!err && !(s->polled = calloc(1 + s->target_count + 2 * PROXY_SERVER_CONNECTIONS, sizeof *s->polled)))
        err = BEZEL_ENOMEM;
    if (!err && (errno = link_thread(&s->thread, serve, s)) != 0)
        err = err_from_errno(errno);
    if (!err)
        *out = s;
    else
        close_all(s);
    return err;
}

void proxy_server_close(struct proxy_server *s)
{
    if (!s)
        return;
    (void)eventfd_write(s->wake, 1);
    pthread_join(s->thread, NULL);
    for (size_t i = 0; i < s->count; i++)
        end(s->connections[i]);
    close_all(s);
}

uint16_t proxy_server_port(const struct proxy_server *s, size_t i)
{
    return s->targets[i].port;
}
