// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/serve/serve_internal.h"

#include "base/bytes.h"
#include "base/log.h"
#include "base/units.h"
#include "collector/serve/serve_socket.h"
#include "mdr/parts.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TYPE_AT = 8, HEAD_BYTES = 12 }; /* of a message's type; of all in front of its fields */

struct serve_consumer *serve_find(const struct serve_server *v, const struct link_peer *peer)
{
    for (unsigned i = 0; i < v->count; i++) {
        const struct link_peer *it = &v->consumers[i]->peer;
        if (it->size == peer->size && memcmp(it->id, peer->id, it->size) == 0)
            return v->consumers[i];
    }
    return NULL;
}

int serve_send(struct serve_server *v, const struct link_peer *peer, const struct read_message *m)
{
    uint8_t bytes[1024]; /* what this process sends itself is short: readers send the run */
    int n = read_message_encode(m, bytes, sizeof bytes);
    return n < 0 ? n : link_send(v->link, peer, bytes, (size_t)n);
}

void serve_refuse(struct serve_server *v, const struct link_peer *peer, const char *why)
{
    log_warn("BEZEL-SERVE-REFUSED", "a consumer was refused: %s", why);
    serve_deny(v, peer, why);
}

void serve_deny(struct serve_server *v, const struct link_peer *peer, const char *why)
{
    struct read_message m = {.type = READ_REFUSE};
    message_text(m.refuse.reason, MESSAGE_TEXT_MAX, why);
    (void)serve_send(v, peer, &m); /* one that is gone needs no answer */
}

/* ---- its reader -------------------------------------------------------------------------------------------------- */

/* Starts the reader, and gives it the request. */
static int start_reader(struct serve_server *v, struct serve_consumer *c, const struct link_frame *frame)
{
    int err = serve_socket_start_reader(v->options->program, v->options->run, &c->fd, &c->pid);
    if (!err && send(c->fd, frame->data, frame->size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)frame->size)
        err = BEZEL_ESYS;
    return err;
}

/* It only reads; serve_reap() waits for it. */
static void kill_reader(struct serve_server *v, const struct serve_consumer *c)
{
    kill(c->pid, SIGKILL);
    v->endings[v->ending++] = (struct serve_ending){c->pid, c->connection};
}

int serve_consumer_start(struct serve_server *v, const struct link_frame *frame, const struct read_message *m)
{
    struct serve_consumer *c = calloc(1, sizeof *c);
    bool mirrors = m->type == READ_MIRROR, follows = mirrors ? m->mirror.follow : m->read.follow;
    if (!c)
        return BEZEL_ENOMEM;
    *c = (struct serve_consumer){
        .peer = frame->peer, .connection = link_connection(frame), .fd = -1, .mirrors = mirrors};
    serve_consumer_credit(c, mirrors ? m->mirror.credit : m->read.credit);
    memcpy(c->key, frame->key, sizeof c->key);
    int err = start_reader(v, c, frame);
    if (err) {
        int sys = errno;
        if (c->pid > 0)
            kill_reader(v, c);
        if (c->fd >= 0)
            close(c->fd);
        free(c);
        errno = sys;
        return err;
    }
    v->consumers[v->count++] = c;
    v->begun++;
    log_info("BEZEL-SERVE-BEGIN", "a %s%s%s %s%s", mirrors ? "mirror" : "consumer", c->key[0] ? " with key " : "",
             c->key, mirrors ? "copies the run" : "reads", follows ? ", and follows it" : "");
    return 0;
}

void serve_reap(struct serve_server *v)
{
    for (unsigned i = v->ending; i-- > 0;)
        if (waitpid(v->endings[i].pid, NULL, WNOHANG) != 0)
            v->endings[i] = v->endings[--v->ending];
}

void serve_consumer_credit(struct serve_consumer *c, uint32_t bytes)
{
    c->credit = bytes < READ_CREDIT_MAX - c->credit ? c->credit + bytes : READ_CREDIT_MAX;
}

/* It answers offers of its reader, which has room for as many answers. */
bool serve_consumer_answer(struct serve_consumer *c, const struct link_frame *frame)
{
    return send(c->fd, frame->data, frame->size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)frame->size || errno == EPIPE;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

void serve_consumer_finish(struct serve_consumer *c)
{
    const struct read_message m = {.type = READ_END};
    uint8_t bytes[128];
    int n = read_message_encode(&m, bytes, sizeof bytes);
    if (n < 0 || send(c->fd, bytes, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n)
        shutdown(c->fd, SHUT_WR);
}

void serve_consumer_end(struct serve_server *v, struct serve_consumer *c)
{
    unsigned i = 0;
    while (v->consumers[i] != c)
        i++;
    v->consumers[i] = v->consumers[--v->count];
    log_info("BEZEL-SERVE-LEFT", "a consumer%s%s left; it was sent %s", c->key[0] ? " with key " : "", c->key,
             units_bytes(c->sent).s);
    kill_reader(v, c);
    close(c->fd);
    free(c->held);
    free(c);
}

void serve_consumer_stop(struct serve_server *v, struct serve_consumer *c, const char *why)
{
    struct read_message m = {.type = READ_END, .end.why = READ_END_STOPPED};
    message_text(m.end.reason, MESSAGE_TEXT_MAX, why);
    (void)serve_send(v, &c->peer, &m);
    serve_consumer_end(v, c);
}

/* ---- what it is sent --------------------------------------------------------------------------------------------- */

int serve_consumer_fd(const struct serve_consumer *c)
{
    return c->held || c->waiting > c->credit ? -1 : c->fd;
}

/* Sends `n` bytes of a message. Returns 0; BEZEL_EAGAIN if ZeroMQ's queue has no room; or another error. */
static int pass_on(struct serve_server *v, struct serve_consumer *c, const uint8_t *bytes, size_t n)
{
    int err = link_send(v->link, &c->peer, bytes, n);
    if (err)
        return err;
    v->sent += n;
    c->sent += n;
    return bytes_get_u32(bytes + TYPE_AT) == READ_END ? BEZEL_EUNREACH : 0; /* that was the last one */
}

/* Sends what there was no room for before. Returns 0 where nothing is held any more, or as pass_on(). */
static int retry(struct serve_server *v, struct serve_consumer *c)
{
    int err = c->held ? pass_on(v, c, c->held, c->held_size) : 0;
    if (!err) {
        free(c->held);
        c->held = NULL;
    }
    return err;
}

static int hold(struct serve_server *v, struct serve_consumer *c, size_t n)
{
    c->held = malloc(n);
    if (!c->held)
        return BEZEL_ENOMEM;
    memcpy(c->held, v->bytes, n);
    c->held_size = n;
    return 0;
}

/* The type of its reader's next message, whose size is *n. BEZEL_EAGAIN: there is none, or no credit for it. */
static int look_at_next(struct serve_consumer *c, size_t *n)
{
    uint8_t head[HEAD_BYTES];
    if (c->waiting > c->credit)
        return BEZEL_EAGAIN;
    ssize_t size = recv(c->fd, head, sizeof head, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    /* A reader that ended before it had read that the server ends: the kernel says so once, and then gives what it
     * sent. */
    if (size < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
        return BEZEL_EAGAIN;
    if (size < HEAD_BYTES || size > READ_FRAME_MAX)
        return BEZEL_EMALFORMED;
    c->waiting = read_is_counted(bytes_get_u32(head + TYPE_AT)) ? (uint32_t)size : 0;
    *n = (size_t)size;
    return c->waiting > c->credit ? BEZEL_EAGAIN : 0;
}

void serve_consumer_turn(struct serve_server *v, struct serve_consumer *c)
{
    size_t n = 0;
    int err = retry(v, c);
    if (!err)
        err = look_at_next(c, &n);
    if (err == BEZEL_EMALFORMED) {
        serve_consumer_stop(v, c,
                            "the process that read the run for this consumer has failed: the server's log says why");
        return;
    }
    if (!err && recv(c->fd, v->bytes, n, MSG_DONTWAIT) == (ssize_t)n) {
        c->credit -= c->waiting;
        c->waiting = 0;
        err = pass_on(v, c, v->bytes, n);
        if (err == BEZEL_EAGAIN)
            err = hold(v, c, n);
    }
    if (err && err != BEZEL_EAGAIN)
        serve_consumer_end(v, c);
}
