// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A port of loopback for a server that is killed and started again: nobody listens on it, and it is outside the range
 * from which the system takes ports of clients, so none of these has it in between.
 */
#ifndef BEZEL_TESTS_LIB_FREE_PORT_H
#define BEZEL_TESTS_LIB_FREE_PORT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* The first port that the system gives to clients; at most what Linux begins with. */
static inline unsigned first_client_port(void)
{
    unsigned first = 0;
    FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (f) {
        if (fscanf(f, "%u", &first) != 1)
            first = 0;
        fclose(f);
    }
    return first > 2048 && first < 32768 ? first : 32768;
}

/* 0: none was found. */
static inline uint16_t free_port(void)
{
    for (int tries = 0; tries < 100; tries++) {
        uint16_t drawn = 0, port;
        if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
            return 0;
        port = (uint16_t)(1024 + drawn % (first_client_port() - 1024));
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int err = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&at, sizeof at);
        if (fd >= 0)
            close(fd);
        if (err == 0)
            return port;
    }
    return 0;
}

#endif
