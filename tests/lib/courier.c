// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Two programs whose records belong together: `courier PORT` makes a parcel each 5 ms and sends it over UDP to
 * `courier PORT receive`, which delivers it. Under load, which SIGUSR1 to the first one turns on and off, a parcel is
 * delivered 4 ms later for each percent of the knob `quality`; `courier PORT loaded` is so from the beginning. On
 * standard output the first one says what its quality is where that changed. SIGTERM ends both.
 */
#include <bezel/sensor.h>

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

BEZEL_KNOB(quality, "%", 10, 100, 100);
BEZEL_ASPECT(parcel_made, (int64, parcel, "1"));
BEZEL_ASPECT(parcel_delivered, (int64, parcel, "1"));

enum { PARCELS = 1024 }; /* on their way at once */

struct parcel {
    int64_t number, due; /* of CLOCK_MONOTONIC, ns */
};

static volatile sig_atomic_t loaded;

static void toggle(int signal)
{
    (void)signal;
    loaded = !loaded;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void make(int fd, bool at_once)
{
    struct sigaction action = {.sa_handler = toggle, .sa_flags = SA_RESTART};
    int32_t before = 0;
    loaded = at_once;
    sigaction(SIGUSR1, &action, NULL);
    for (struct parcel p = {.number = 1};; p.number++) {
        int32_t quality = bezel_knob(quality);
        p.due = now() + (loaded ? quality * INT64_C(4000000) : 0);
        bezel_record(parcel_made, p.number);
        (void)!send(fd, &p, sizeof p, 0);
        if (quality != before) {
            printf("quality %d\n", quality);
            fflush(stdout);
        }
        before = quality;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static void deliver(int fd)
{
    static struct parcel waiting[PARCELS];
    size_t count = 0;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        struct parcel p;
        if (poll(&ready, 1, 1) > 0 && recv(fd, &p, sizeof p, 0) == (ssize_t)sizeof p && count < PARCELS)
            waiting[count++] = p;
        for (size_t i = count; i-- > 0;)
            if (waiting[i].due <= now()) {
                bezel_record(parcel_delivered, waiting[i].number);
                waiting[i] = waiting[--count];
            }
    }
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? socket(AF_INET, SOCK_DGRAM, 0) : -1;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0))};
    bool receives = argc > 2 && strcmp(argv[2], "receive") == 0;
    if (fd < 0)
        return 2;
    if ((receives ? bind(fd, (struct sockaddr *)&at, sizeof at) : connect(fd, (struct sockaddr *)&at, sizeof at)) != 0)
        return 3;
    if (receives)
        deliver(fd);
    make(fd, argc > 2);
    return 0;
}
