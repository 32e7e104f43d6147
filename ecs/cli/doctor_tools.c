// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/doctor.h"

#include "base/program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MULTICAST_WAIT_MS = 500 };

/* Sends a datagram to a group on the loopback interface and waits for it. Returns NULL, or what failed. */
static const char *try_multicast(int fd)
{
    struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_addr.s_addr = htonl(0xefff4265); /* 239.255.66.101, of the range for private use */
    struct ip_mreq group = {.imr_multiaddr = to.sin_addr, .imr_interface = loopback};
    socklen_t n = sizeof to;
    struct sockaddr_in bound = to;
    if (bind(fd, (struct sockaddr *)&bound, sizeof bound) != 0 || getsockname(fd, (struct sockaddr *)&bound, &n) != 0)
        return "bind";
    to.sin_port = bound.sin_port;
    if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) != 0)
        return "join the group";
    if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback) != 0)
        return "choose the interface";
    if (sendto(fd, "bezel", 5, 0, (struct sockaddr *)&to, sizeof to) != 5)
        return "send";
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (poll(&wait, 1, MULTICAST_WAIT_MS) == 0)
        errno = ETIMEDOUT;
    return wait.revents & POLLIN ? NULL : "receive";
}

static void check_multicast(struct doctor *d)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const char *failed = fd < 0 ? "make a socket" : try_multicast(fd);
    if (!failed)
        doctor_add(d, DOCTOR_OK, "tools", "multicast", NULL, "works on loopback (the video example needs it)");
    else
        doctor_add(d, DOCTOR_WARNING, "tools", "multicast",
                   "sudo ip link set lo up multicast on && sudo ip route add 239.0.0.0/8 dev lo",
                   "does not work on loopback (the video example needs it): cannot %s: %s", failed, strerror(errno));
    if (fd >= 0)
        close(fd);
}

void doctor_tools(struct doctor *d)
{
    char path[PATH_MAX];
    check_multicast(d);
    if (program_find(NULL, ".", "babeltrace2", path, sizeof path) == 0)
        doctor_add(d, DOCTOR_OK, "tools", "babeltrace2", NULL, "found: it reads the traces of runs");
    else
        doctor_add(d, DOCTOR_WARNING, "tools", "babeltrace2", "sudo apt-get install babeltrace2",
                   "not in PATH: it reads the traces of runs");
}
