// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/unix_socket.h"

#include "base/log.h"
#include "base/peer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64 };

static int make(int folder, const char *name, struct sockaddr_un *address, int *fd)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", folder, name);
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return *fd < 0 ? err_from_errno(errno) : 0;
}

static int give_up(int *fd, int error)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = error;
    return error == ECONNREFUSED ? BEZEL_EUNREACH : error == EAGAIN ? BEZEL_EAGAIN : err_from_errno(error);
}

/* Whether the process at the other end is of this user, or root's. */
static bool is_ours(int fd, uid_t *user)
{
    *user = peer_user(fd);
    return *user != (uid_t)-1 && (*user == peer_self() || *user == 0);
}

int unix_socket_listen(int folder, const char *name, int *fd)
{
    struct sockaddr_un address;
    int err = make(folder, name, &address, fd);
    if (err)
        return err;
    unlink(address.sun_path);
    /* The umask decides the mode that bind() gives; nobody can connect before listen(). */
    if (bind(*fd, (struct sockaddr *)&address, sizeof address) != 0 || chmod(address.sun_path, 0600) != 0 ||
        listen(*fd, BACKLOG) != 0)
        return give_up(fd, errno);
    return 0;
}

int unix_socket_accept(int listening)
{
    uid_t user;
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || is_ours(fd, &user))
        return fd;
    log_warn("BEZEL-LAUNCHER-USER", "a connection of user %u was closed: programs are started for user %u alone",
             (unsigned)user, (unsigned)geteuid());
    close(fd);
    return -1;
}

int unix_socket_connect(int folder, const char *name, int *fd)
{
    struct sockaddr_un address;
    int err = make(folder, name, &address, fd);
    if (err)
        return err;
    uid_t user;
    if (connect(*fd, (struct sockaddr *)&address, sizeof address) != 0)
        return give_up(fd, errno);
    return is_ours(*fd, &user) ? 0 : give_up(fd, EPERM);
}
