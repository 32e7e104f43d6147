// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Two programs that talk over UDP, and record it. `pinger HOST PORT COUNT PAUSE_US` sends COUNT numbers, each when the
 * one before has come back; without COUNT it sends back what comes. Each record has the wall clock of just before it.
 */
#include <bezel/sensor.h>

#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(hit, (int64, number, ""), (int64, wall, "ns"));
BEZEL_ASPECT(caught, (int64, number, ""), (int64, wall, "ns"));

static void leave(int signal)
{
    (void)signal;
    _exit(0);
}

static int64_t wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int open_socket(const char *host, const char *port, int bound)
{
    const struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM, .ai_flags = bound ? AI_PASSIVE : 0};
    struct addrinfo *a;
    if (getaddrinfo(bound ? NULL : host, port, &want, &a) != 0)
        return -1;
    int fd = socket(a->ai_family, a->ai_socktype, 0);
    int err = bound ? bind(fd, a->ai_addr, a->ai_addrlen) : connect(fd, a->ai_addr, a->ai_addrlen);
    freeaddrinfo(a);
    return err == 0 ? fd : -1;
}

static void send_back(int fd)
{
    int64_t number;
    struct sockaddr_storage from;
    for (;;) {
        socklen_t n = sizeof from;
        if (recvfrom(fd, &number, sizeof number, 0, (struct sockaddr *)&from, &n) != (ssize_t)sizeof number)
            continue;
        bezel_record(caught, number, wall());
        bezel_record(hit, number, wall());
        (void)!sendto(fd, &number, sizeof number, 0, (struct sockaddr *)&from, n);
    }
}

/* What gets lost, as long as nobody listens there, is sent again: with a number of its own. */
static void send_all(int fd, long count, long pause_us)
{
    const struct timeval patience = {.tv_usec = 200000};
    const struct timespec pause = {.tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (int64_t number = 1; count > 0; number++, nanosleep(&pause, NULL)) {
        int64_t back = 0;
        bezel_record(hit, number, wall());
        (void)!send(fd, &number, sizeof number, 0);
        while (recv(fd, &back, sizeof back, 0) == (ssize_t)sizeof back && back != number)
            ;
        if (back != number)
            continue;
        bezel_record(caught, number, wall());
        count--;
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int fd = open_socket(argv[1], argv[2], argc < 5);
    if (fd < 0)
        return 3;
    signal(SIGTERM, leave);
    if (argc < 5)
        send_back(fd);
    send_all(fd, strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10));
    return 0;
}
