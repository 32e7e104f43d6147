// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A bad cable: cable INTERFACE TAP DELAY_MS JITTER_MS LOSS SEED [RATE] takes the frames of a network interface to a tap
 * device, which it makes, and back. A frame arrives between DELAY_MS and DELAY_MS + JITTER_MS later, in order, and one
 * in LOSS is lost (0: none). With RATE, frames of one way pass one after another, RATE bytes in a millisecond. It says
 * "ready" when it carries frames.
 */
#include "base/clock.h"
#include "tests/lib/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>

/* A frame has the kernel's note before it whether it is to be cut up and where a checksum is to be put. */
enum { FRAME = 1 << 17, FRAMES = 4096 };

struct frame {
    int64_t due;
    size_t size;
    char *bytes;
};

/* One way. */
struct way {
    int from, to;
    struct frame frames[FRAMES]; /* a ring */
    size_t first, count;
    int64_t due, passed; /* of the newest frame: when it arrives, when it has passed */
};

static int64_t delay, jitter, rate;
static uint64_t loss, seed;

static int fail(const char *what)
{
    fprintf(stderr, "cable: %s: %s\n", what, strerror(errno));
    return 1;
}

static int open_interface(const char *name)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    at.sll_ifindex = (int)if_nametoindex(name);
    struct packet_mreq all = {.mr_ifindex = at.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0)
        return -1;
    return fd;
}

static int open_tap(const char *name)
{
    struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    return fd >= 0 && ioctl(fd, TUNSETIFF, &r) == 0 ? fd : -1;
}

/* Takes the frames that are there, as long as there is room; the kernel discards what does not fit into its own. */
static void take(struct way *w)
{
    static char bytes[FRAME];
    ssize_t n;
    while (w->count < FRAMES && (n = read(w->from, bytes, sizeof bytes)) > 0) {
        int64_t now = clock_now(), extra = delay + (jitter ? (int64_t)(seed_next(&seed) % (uint64_t)jitter) : 0);
        if (loss && seed_next(&seed) % loss == 0)
            continue;
        w->passed = (w->passed > now ? w->passed : now) + (rate ? n * CLOCK_MS / rate : 0);
        int64_t due = w->passed + extra;
        struct frame *f = &w->frames[(w->first + w->count++) % FRAMES];
        *f = (struct frame){.due = due > w->due ? due : w->due, .size = (size_t)n, .bytes = malloc((size_t)n)};
        if (!f->bytes)
            abort();
        memcpy(f->bytes, bytes, (size_t)n);
        w->due = f->due;
    }
}

/* Delivers what is due; what the other end has no room for is lost. */
static void deliver(struct way *w)
{
    while (w->count > 0 && w->frames[w->first].due <= clock_now()) {
        struct frame *f = &w->frames[w->first];
        if (write(w->to, f->bytes, f->size) < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EIO &&
            errno != ENETDOWN && errno != EINVAL && errno != EMSGSIZE)
            exit(fail("write"));
        free(f->bytes);
        w->first = (w->first + 1) % FRAMES;
        w->count--;
    }
}

static void carry(struct way ways[2])
{
    int64_t now = clock_now(), until = now + CLOCK_S;
    struct pollfd fds[2];
    for (int i = 0; i < 2; i++) {
        fds[i] = (struct pollfd){.fd = ways[i].from, .events = ways[i].count < FRAMES ? POLLIN : 0};
        if (ways[i].count > 0 && ways[i].frames[ways[i].first].due < until)
            until = ways[i].frames[ways[i].first].due;
    }
    int64_t left = until > now ? until - now : 0;
    struct timespec wait = {.tv_sec = left / CLOCK_S, .tv_nsec = left % CLOCK_S};
    if (ppoll(fds, 2, &wait, NULL) < 0 && errno != EINTR)
        exit(fail("ppoll"));
    for (int i = 0; i < 2; i++) {
        take(&ways[i]);
        deliver(&ways[i]);
    }
}

int main(int argc, char **argv)
{
    static struct way ways[2];
    if (argc < 7)
        return 2;
    delay = strtoll(argv[3], NULL, 10) * CLOCK_MS;
    jitter = strtoll(argv[4], NULL, 10) * CLOCK_MS;
    loss = strtoull(argv[5], NULL, 10);
    seed = strtoull(argv[6], NULL, 10);
    rate = argc > 7 ? strtoll(argv[7], NULL, 10) : 0;
    int interface = open_interface(argv[1]);
    if (interface < 0)
        return fail(argv[1]);
    int tap = open_tap(argv[2]);
    if (tap < 0)
        return fail(argv[2]);
    ways[0] = (struct way){.from = interface, .to = tap};
    ways[1] = (struct way){.from = tap, .to = interface};
    puts("ready");
    fflush(stdout);
    for (;;)
        carry(ways);
}
