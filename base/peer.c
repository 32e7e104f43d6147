// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/peer.h"

#include <sys/socket.h>
#include <unistd.h>

uid_t peer_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.uid : (uid_t)-1;
}

uid_t peer_self(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return geteuid();
    uid_t user = peer_user(ends[0]);
    close(ends[0]);
    close(ends[1]);
    return user == (uid_t)-1 ? geteuid() : user;
}
