// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/*
 * Holds the burst of the largest frame. The kernel grants what net.core.rmem_max allows: Debian's 208 KiB, counted with
 * its own overhead, still hold some 180 datagrams or 240 KiB of frames.
 */
enum { RECEIVE_BUFFER_BYTES = 2 * FRAME_BYTES_MAX };

static struct sockaddr_in address_of(const char *group, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, group, &a.sin_addr); /* checked with the options */
    return a;
}

static int close_failed(int fd)
{
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* The group, at an interface; without the group, the interface alone. */
static struct ip_mreqn at_interface(struct in_addr group, const char *interface)
{
    return (struct ip_mreqn){.imr_multiaddr = group, .imr_ifindex = (int)if_nametoindex(interface)};
}

int net_sender(const char *group, int port, const char *interface, int ttl)
{
    struct sockaddr_in to = address_of(group, port);
    struct ip_mreqn through = at_interface((struct in_addr){0}, interface);
    unsigned char hops = (unsigned char)ttl, loop = 1;
    if (through.imr_ifindex == 0)
        return -1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    bool ok = setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &through, sizeof through) == 0 &&
              setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops) == 0 &&
              setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof loop) == 0 &&
              connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    return ok ? fd : close_failed(fd);
}

int net_receiver(const char *group, int port, const char *interface)
{
    struct sockaddr_in at = address_of(group, port);
    struct ip_mreqn join = at_interface(at.sin_addr, interface);
    struct timeval patience = {.tv_usec = 100000};
    int yes = 1, room = RECEIVE_BUFFER_BYTES;
    if (join.imr_ifindex == 0)
        return -1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room); /* less room is no failure: losses are counted */
    bool ok = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
              setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
              bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
              setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join) == 0;
    return ok ? fd : close_failed(fd);
}

uint32_t net_multicast(int fd, const struct frame *f)
{
    uint8_t datagram[FRAGMENT_BYTES];
    uint32_t sent = 0, count = fragment_count(f->bytes);
    for (uint32_t i = 0; i < count; i++) {
        size_t n = fragment_put(f, i, datagram);
        ssize_t done;
        do {
            done = send(fd, datagram, n, 0);
        } while (done < 0 && errno == EINTR);
        sent += done == (ssize_t)n;
    }
    return sent;
}
