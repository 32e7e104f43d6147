// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-floor FILE:SIDE RATE PERIOD_US OUTPUT: the least that a way to a store can cost. While it is its turn
 * (bench/turns.h), a process sends the bytes of RATE records a second, every PERIOD_US those that have come since, over
 * TCP on loopback to another one, which writes them to file OUTPUT. No records, no ring, no packets: the same number of
 * bytes, in chunks as long as the link's packets. OUTPUT begins anew with each turn. Its children are the two
 * processes.
 */
#include "base/clock.h"
#include "bench/batch.h"
#include "bench/turns.h"
#include "mdr/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 256 << 10 /* the longest packet of a node */, RECORD_BYTES = PACKET_RECORD_BYTES + 2 * 8 };

static char chunk[CHUNK];

static _Noreturn void give_up(const char *what)
{
    bench_say("%s: %s", what, strerror(errno));
    _exit(1);
}

/* Sends what has come since the last time, as the node's packets hold it: whole records, CHUNK at most. */
static void send_due(int to, uint64_t records)
{
    const uint64_t most = CHUNK / RECORD_BYTES;
    while (records > 0) {
        uint64_t now = records < most ? records : most;
        size_t bytes = now * RECORD_BYTES;
        for (size_t sent = 0; sent < bytes;) {
            ssize_t n = send(to, chunk + sent, bytes - sent, MSG_NOSIGNAL);
            if (n < 0)
                give_up("sending");
            sent += (size_t)n;
        }
        records -= now;
    }
}

static void send_turns(struct turns *t, uint32_t side, double rate, int64_t period, int to)
{
    prctl(PR_SET_TIMERSLACK, 1UL); /* as bezeld's */
    while (turns_wait(t, side)) {
        int64_t begin = clock_now();
        uint64_t done = 0;
        for (int64_t due = begin + period; turns_mine(t, side); due += period) {
            clock_sleep_until(due);
            uint64_t until = (uint64_t)(rate * (double)(due - begin) / 1e9);
            send_due(to, until - done);
            turns_add(t, side, until - done);
            done = until;
        }
    }
    close(to);
}

/* Writes a chunk once it is complete. */
static void store(int from, const char *path)
{
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n;
    if (out < 0)
        give_up(path);
    while ((n = recv(from, chunk, CHUNK, MSG_WAITALL)) > 0) {
        if (write(out, chunk, (size_t)n) != n)
            give_up(path);
    }
}

static int connect_loopback(int *receiver)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
        sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || sender < 0 || bind(listener, (struct sockaddr *)&at, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) != 0 ||
        connect(sender, (struct sockaddr *)&at, size) != 0 || (*receiver = accept(listener, NULL, NULL)) < 0)
        give_up("loopback");
    close(listener);
    return sender;
}

int main(int argc, char **argv)
{
    uint32_t side;
    double rate = argc == 5 ? atof(argv[2]) : 0;
    int64_t period = argc == 5 ? atoll(argv[3]) * CLOCK_US : 0;
    if (rate < 1 || period < 1)
        return fputs("usage: bench-floor FILE:SIDE RATE PERIOD_US OUTPUT\n", stderr), 2;
    struct turns *t = turns_read(argv[1], &side);
    if (!t)
        return 1;
    memset(chunk, 1, sizeof chunk);
    int from, to = connect_loopback(&from), status, code = 0;
    for (int child = 0; child < 2; child++) {
        pid_t pid = fork();
        if (pid < 0)
            give_up("fork");
        if (pid > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(child == 0 ? from : to);
        if (child == 0)
            send_turns(t, side, rate, period, to);
        else
            store(from, argv[4]);
        _exit(0);
    }
    close(from);
    close(to);
    while (wait(&status) > 0)
        code |= status;
    return code ? 1 : 0;
}
