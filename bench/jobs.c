// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Programs that work together over datagram sockets in FOLDER, which they wait for: each is one process.
 *
 * bench-jobs FOLDER wire US                     passes messages on, each when it has been under way for US more
 * bench-jobs FOLDER master NAME WORKERS ROUNDS  in each round (span job) prepares a part for each of worker.1,
 * worker.2,
 *                                               ..., sends it, and waits until all are done
 * bench-jobs FOLDER worker NAME US              works on each part for US (span work)
 * bench-jobs FOLDER server NAME US              answers each question; works for US on it first (span query)
 * bench-jobs FOLDER client NAME US ROUNDS       asks server in each round (span job), works for US on the answer (span
 * query), and then on something else
 *
 * Between rounds there is a pause.
 */
#include <bezel/sensor.h>

#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

BEZEL_SENT(part);
BEZEL_RECEIVED(parted);
BEZEL_SPAN(job);
BEZEL_SPAN(prepare);
BEZEL_SPAN(work);
BEZEL_SPAN(query);

enum { PREPARES_US = 500, OWN_US = 1000, PAUSE_US = 15000, ADDRESS = 32 };

struct message {
    char to[ADDRESS], from[ADDRESS];
    int64_t tag, sent;
};

static const char *folder, *self;
static int64_t tags;

/* CPU time, so that it does not matter what else has the CPU. */
static void compute(int64_t us)
{
    struct timespec t;
    int64_t until = 0;
    for (int64_t now = -1; now < until;) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        int64_t at = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
        until = now < 0 ? at + us * 1000 : until;
        now = at;
    }
}

static struct sockaddr_un address_of(const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%.70s/%.30s", folder, name);
    return a;
}

static void set_patience(int s, time_t seconds)
{
    const struct timeval t = {.tv_sec = seconds};
    (void)setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
}

static int open_socket(const char *name)
{
    struct sockaddr_un a = address_of(name);
    int s = socket(AF_UNIX, SOCK_DGRAM, 0);
    (void)unlink(a.sun_path);
    if (s < 0 || bind(s, (const struct sockaddr *)&a, sizeof a) != 0)
        exit(1);
    set_patience(s, 10);
    return s;
}

/* Until the receiver is there. */
static void pass(int s, const char *to, const struct message *m)
{
    struct sockaddr_un a = address_of(to);
    for (int tries = 0; sendto(s, m, sizeof *m, 0, (const struct sockaddr *)&a, sizeof a) != sizeof *m; tries++) {
        if (tries == 5000)
            exit(0); /* it is done */
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
}

static void send_message(int s, const char *to, int64_t tag)
{
    struct message m = {.tag = tag, .sent = clock_now()};
    snprintf(m.to, sizeof m.to, "%s", to);
    snprintf(m.from, sizeof m.from, "%s", self);
    bezel_sent(part, bezel_intern(to), tag);
    pass(s, "wire", &m);
}

/* The next message. If none comes, the others are done. */
static bool wait_for_message(int s, struct message *m)
{
    ssize_t n;
    while ((n = recv(s, m, sizeof *m, 0)) < 0 && errno == EINTR)
        ;
    set_patience(s, 1);
    return n == sizeof *m;
}

static bool receive_message(int s, struct message *m)
{
    if (!wait_for_message(s, m))
        return false;
    bezel_received(parted, bezel_intern(m->from), m->tag);
    return true;
}

static void be_wire(int s, int64_t us)
{
    for (struct message m; wait_for_message(s, &m); pass(s, m.to, &m))
        if (us > 0)
            clock_sleep_until(m.sent + us * 1000);
}

static void be_master(int s, int workers, int rounds)
{
    char name[ADDRESS];
    struct message m;
    for (int i = 0; i < rounds; i++) {
        bezel_span all = bezel_begin(job);
        for (int w = 1; w <= workers; w++) {
            bezel_span own = bezel_begin(prepare);
            compute(PREPARES_US);
            bezel_end(prepare, own);
            snprintf(name, sizeof name, "worker.%d", w);
            send_message(s, name, ++tags);
        }
        for (int w = 0; w < workers; w++)
            (void)receive_message(s, &m);
        bezel_end(job, all);
        clock_sleep_until(clock_now() + PAUSE_US * INT64_C(1000));
    }
}

static void answer_all(int s, int64_t us, bool asked)
{
    for (struct message m; receive_message(s, &m);) {
        bezel_span own = asked ? bezel_begin(query) : bezel_begin(work);
        compute(us);
        if (asked)
            bezel_end(query, own);
        else
            bezel_end(work, own);
        send_message(s, m.from, -m.tag);
    }
}

static void be_client(int s, int64_t us, int rounds)
{
    struct message m;
    tags = self[strlen(self) - 1] * INT64_C(1000000);
    for (int i = 0; i < rounds; i++) {
        bezel_span all = bezel_begin(job);
        send_message(s, "server", ++tags);
        (void)receive_message(s, &m);
        if (us > 0) {
            bezel_span own = bezel_begin(query);
            compute(us);
            bezel_end(query, own);
        }
        compute(OWN_US);
        bezel_end(job, all);
        clock_sleep_until(clock_now() + PAUSE_US * INT64_C(1000));
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    folder = argv[1];
    self = argc > 3 && strcmp(argv[2], "wire") != 0 ? argv[3] : "wire";
    int s = open_socket(self);
    long us = strtol(argv[argc > 4 ? 4 : 3], NULL, 10), rounds = argc > 5 ? strtol(argv[5], NULL, 10) : 0;
    if (strcmp(argv[2], "wire") == 0)
        be_wire(s, us);
    else if (strcmp(argv[2], "master") == 0)
        be_master(s, (int)us, (int)rounds);
    else if (strcmp(argv[2], "client") == 0)
        be_client(s, us, (int)rounds);
    else
        answer_all(s, us, strcmp(argv[2], "server") == 0);
    return 0;
}
