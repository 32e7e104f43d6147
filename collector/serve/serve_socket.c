// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/serve/serve_socket.h"

#include "base/clock.h"
#include "mdr/parts.h"
#include "run/rundb/rundb.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/* Starts it with `end` as its descriptor SERVE_READER_FD, and no other but the standard ones. Returns 0 or an errno. */
static int spawn_reader(const char *program, const char *run, int end, pid_t *pid)
{
    const char *args[] = {"bezel-serve", "--reader", "--run", run, NULL};
    posix_spawn_file_actions_t actions;
    int sys = posix_spawn_file_actions_init(&actions);
    if (sys)
        return sys;
    sys = posix_spawn_file_actions_adddup2(&actions, end, SERVE_READER_FD);
    if (!sys)
        sys = posix_spawn_file_actions_addclosefrom_np(&actions, SERVE_READER_FD + 1);
    if (!sys)
        sys = posix_spawn(pid, program, &actions, NULL, (char **)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&actions);
    return sys;
}

int serve_socket_start_reader(const char *program, const char *run, int *fd, pid_t *pid)
{
    int pair[2];
    *fd = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_from_errno(errno);
    int sys = spawn_reader(program, run, pair[1], pid);
    close(pair[1]);
    if (!sys)
        return *fd = pair[0], 0;
    *pid = 0;
    close(pair[0]);
    return errno = sys, err_from_errno(sys);
}

int serve_socket_put(struct serve_socket *s, const uint8_t *bytes, size_t n)
{
    ssize_t sent;
    do
        sent = send(s->fd, bytes, n, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)n ? 0 : SERVE_GONE;
}

int serve_socket_send(struct serve_socket *s)
{
    int n = read_message_encode(&s->message, s->bytes, sizeof s->bytes);
    return n > 0 ? serve_socket_put(s, s->bytes, (size_t)n) : n;
}

int serve_socket_receive(struct serve_socket *s, int64_t ns, struct read_message *m)
{
    struct pollfd in = {.fd = s->fd, .events = POLLIN};
    int wait_ms = ns < 0 ? -1 : (int)((ns + CLOCK_MS - 1) / CLOCK_MS);
    if (poll(&in, 1, wait_ms) <= 0)
        return 0;
    ssize_t n;
    do
        n = recv(s->fd, s->bytes, sizeof s->bytes, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return BEZEL_EUNREACH;
    s->received = (size_t)n;
    int err = read_message_decode(s->bytes, (size_t)n, m);
    return err ? err : 1;
}

bool serve_socket_is_ending(const struct serve_socket *s, int64_t ns)
{
    struct pollfd pipe = {.fd = s->fd, .events = POLLIN | POLLRDHUP};
    uint8_t end[64];
    if (poll(&pipe, 1, (int)(ns / CLOCK_MS)) <= 0)
        return false;
    (void)!recv(s->fd, end, sizeof end,
                MSG_DONTWAIT); /* whoever closes a socket that holds something loses what it sent */
    return true;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static enum read_end_why why_of(int err)
{
    switch (err) {
    case 0:
        return READ_END_DONE;
    case BEZEL_EINVAL:
        return READ_END_WRONG;
    case BEZEL_ENOENT:
        return READ_END_ABSENT;
    case BEZEL_EMALFORMED:
        return READ_END_DAMAGED;
    case BEZEL_EVERSION:
        return READ_END_VERSION;
    default:
        return READ_END_FAILED;
    }
}

int serve_socket_end(struct serve_socket *s, int err, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->end.why = why_of(err);
    message_text(s->end.reason, MESSAGE_TEXT_MAX, text);
    return err;
}

/* Paths of this machine are not the consumer's business. */
int serve_socket_end_unread(struct serve_socket *s, int err)
{
    return serve_socket_end(s, err, "the run cannot be read: %s", rundb_why(err));
}

int serve_socket_end_stopped(struct serve_socket *s)
{
    (void)serve_socket_end(s, 0, "the server ends, and the run goes on");
    s->end.why = READ_END_STOPPED;
    return 0;
}

int serve_socket_send_end(struct serve_socket *s)
{
    s->message.type = READ_END;
    s->message.end = s->end;
    return serve_socket_send(s);
}
