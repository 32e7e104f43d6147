// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launcher.h"

#include "base/clock.h"
#include "bezeld/launch/process_tree.h"
#include "bezeld/launch/unix_socket.h"
#include "mdr/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FINISH_EVERY_MS = 10 /* between two rounds of SIGKILL */ };

static struct message message; /* one thread; too large for a stack */
static uint8_t bytes[MESSAGE_MAX_BYTES];

static _Noreturn void become_launcher(int64_t grace, const struct launch_environment *environment, int socket,
                                      pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGCONT); /* a stopped launcher must continue when its parent dies */
    prctl(PR_SET_NAME, "bezel-launcher");
    if (getppid() != parent)
        _exit(1);
    (void)launcher_serve(&(struct launcher_serving){.environment = *environment,
                                                    .grace = grace,
                                                    .connection = socket,
                                                    .owned = true,
                                                    .listening = -1,
                                                    .folder = -1});
    _exit(0);
}

int launcher_fork(int64_t grace, struct launcher *l)
{
    int ends[2];
    /* Of the shell: 0, the caller's own, where that is in another pid namespace. */
    struct launch_environment environment = launch_environment_read(getppid());
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_from_errno(errno);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become_launcher(grace, &environment, ends[1], parent);
    }
    int saved = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return errno = saved, err_from_errno(saved);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* see launcher_finish() */
    *l = (struct launcher){.pid = pid, .fd = ends[0], .grace = grace};
    return 0;
}

void launcher_session_name(const uint8_t run[16], const char *node, char name[LAUNCHER_NAME_MAX])
{
    snprintf(name, LAUNCHER_NAME_MAX, "%02x%02x%02x%02x-%s", run[0], run[1], run[2], run[3], node);
}

/* Asks the service for a launcher of session `name`, and passes it the connection. */
static int ask_service(int dir, const char *name, struct launcher *l)
{
    int err = unix_socket_connect(dir, LAUNCHER_SOCKET, &l->fd);
    if (err)
        return err;
    ssize_t sent = send(l->fd, name, strlen(name), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)strlen(name))
        return 0;
    close(l->fd);
    l->fd = -1;
    return BEZEL_EAGAIN;
}

int launcher_connect(const char *dir, const char *name, struct launcher *l)
{
    *l = (struct launcher){.fd = -1};
    int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return err_from_errno(errno);
    int session = openat(folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int err = session < 0 ? BEZEL_ENOENT : unix_socket_connect(session, LAUNCHER_SOCKET, &l->fd);
    if (err && err != BEZEL_EAGAIN)
        err = ask_service(folder, name, l);
    int saved = errno;
    if (session >= 0)
        close(session);
    close(folder);
    return errno = saved, err;
}

int launcher_send(struct launcher *l, const struct message *m)
{
    ssize_t r;
    int n = message_encode(m, bytes, sizeof bytes);
    if (n < 0 || l->fd < 0)
        return n < 0 ? n : BEZEL_EUNREACH;
    do
        r = send(l->fd, bytes, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    return r >= 0 ? 0 : errno == EAGAIN ? BEZEL_EAGAIN : BEZEL_EUNREACH;
}

int launcher_start(struct launcher *l, const struct launch *launch)
{
    message.type = MESSAGE_LAUNCH;
    message.envelope = (struct message_envelope){.life = 0};
    message.launch.id = ++l->id;
    int err = launch_to_message(launch, &message.launch);
    return err ? err : launcher_send(l, &message);
}

int launcher_end(struct launcher *l, enum message_ending how)
{
    message.type = MESSAGE_COMMAND;
    message.envelope = (struct message_envelope){.life = 0};
    message.command = (struct message_command){.id = ++l->id, .verb = VERB_ENDING, .ending = how};
    return launcher_send(l, &message);
}

int launcher_receive(struct launcher *l, struct message *m)
{
    if (l->fd < 0)
        return BEZEL_EUNREACH;
    for (;;) {
        ssize_t n = recv(l->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == ECONNRESET)) /* a reset is reported once, before what was sent */
            continue;
        if (n <= 0)
            return n < 0 && errno == EAGAIN ? BEZEL_EAGAIN : BEZEL_EUNREACH;
        int err = message_decode(bytes, (size_t)n, m);
        if (err == BEZEL_EVERSION || (!err && (m->type == MESSAGE_REPLY || m->type == MESSAGE_REFUSE)))
            return err;
    }
}

bool launcher_close(struct launcher *l)
{
    bool ended = true;
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    if (l->pid <= 0)
        return true;
    int64_t deadline = clock_now() + l->grace + LAUNCHER_FINISH;
    pid_t got;
    while ((got = waitpid(l->pid, NULL, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        kill(l->pid, SIGCONT);
        if (ended && clock_now() > deadline) {
            kill(l->pid, SIGKILL);
            ended = false;
        }
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
    *l = (struct launcher){.fd = -1};
    return ended;
}

void launcher_kill(struct launcher *l)
{
    if (l->pid > 0) {
        kill(l->pid, SIGKILL);
        while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (l->fd >= 0)
        close(l->fd);
    *l = (struct launcher){.fd = -1};
}

bool launcher_finish(const pid_t *spare, size_t spare_count)
{
    int64_t deadline = clock_now() + LAUNCHER_FINISH;
    for (size_t alive = 1, dead = SIZE_MAX, before = 0; alive > 0 || dead != before;) {
        before = dead;
        alive = process_tree_kill(spare, spare_count, &dead);
        if (alive > 0 && clock_now() > deadline)
            return false;
        clock_sleep_until(clock_now() + FINISH_EVERY_MS * CLOCK_MS);
    }
    return true;
}
