// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Two processes play ping-pong: pingpong pinger|ponger CHANNEL [BALLS]. An example of all kinds of aspects: messages
 * that are sent and received, which order the records of the two processes; a span; waits for a message and for a
 * lock; a counter, a gauge; and of the thread's CPU time.
 */
#include <bezel/sensor.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

BEZEL_SENT(hit, (int64, bytes, "B"));
BEZEL_RECEIVED(caught, (int64, bytes, "B"), (int64, waited, "ns"));
BEZEL_SPAN(round_trip, (int64, ball, "1"), (cpu, cpu, "ns"));
BEZEL_WAIT(ball_awaited, message);
BEZEL_WAIT(board_free, lock);
BEZEL_COUNTER(traffic, "B");
BEZEL_GAUGE(progress, "%");

/* A ball's number is its tag: it comes once in each direction. The one below 0 ends the game. */
struct ball {
    int64_t number;
    char weight[56];
};

static struct player {
    int fd;
    bezel_string peer; /* the other process, as the experiment names it */
} self;

static int fail(const char *what)
{
    perror(what);
    return 1;
}

/* The address of a player on a channel: a name in the abstract namespace, which leaves no file. */
static socklen_t address(struct sockaddr_un *a, const char *channel, const char *player)
{
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "%s-%s", channel, player);
    return (socklen_t)(sizeof a->sun_family + 1 + (size_t)n);
}

static int enter(const char *channel, const char *name, const char *peer)
{
    struct sockaddr_un here, there;
    const struct timespec pause = {.tv_nsec = 1000000}; /* 1 ms */
    const struct timeval patience = {.tv_sec = 10};
    socklen_t n = address(&here, channel, name);
    self.peer = bezel_intern(peer);
    self.fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (self.fd < 0 || bind(self.fd, (struct sockaddr *)&here, n) != 0)
        return -1;
    n = address(&there, channel, peer);
    for (int tries = 0; connect(self.fd, (struct sockaddr *)&there, n) != 0; tries++) {
        if (tries == 10000)
            return -1;
        nanosleep(&pause, NULL);
    }
    return setsockopt(self.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

static int hit_ball(int64_t number)
{
    struct ball ball = {.number = number};
    bezel_sent(hit, self.peer, number, sizeof ball);
    bezel_count(traffic, sizeof ball);
    return send(self.fd, &ball, sizeof ball, 0) == sizeof ball ? 0 : -1;
}

static int catch_ball(int64_t *number)
{
    struct ball ball;
    bezel_span wait = bezel_begin(ball_awaited), asked = bezel_receiving(caught);
    ssize_t n = recv(self.fd, &ball, sizeof ball, 0);
    bezel_end(ball_awaited, wait);
    if (n != sizeof ball)
        return -1;
    bezel_received(caught, self.peer, ball.number, sizeof ball, bezel_waited(asked));
    *number = ball.number;
    return 0;
}

/* The score board. Whoever reads it to the crowd holds its lock for a while, and the pinger waits. */
static struct {
    pthread_mutex_t lock;
    int64_t balls;
} board = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *read_out(void *unused)
{
    const struct timespec reading = {.tv_nsec = 1000000}, pause = {.tv_nsec = 9000000}; /* 1 ms, 9 ms */
    for (;;) {
        pthread_mutex_lock(&board.lock);
        nanosleep(&reading, NULL);
        pthread_mutex_unlock(&board.lock);
        nanosleep(&pause, NULL);
    }
    return unused;
}

static void write_score(int64_t balls)
{
    bezel_span wait = bezel_begin(board_free);
    pthread_mutex_lock(&board.lock);
    bezel_end(board_free, wait);
    board.balls = balls;
    pthread_mutex_unlock(&board.lock);
}

static int ping(int64_t balls)
{
    pthread_t reader;
    if (pthread_create(&reader, NULL, read_out, NULL) != 0)
        return fail("pinger");

    const struct timespec pause = {.tv_nsec = 2000000}; /* 2 ms */
    for (int64_t sent = 0, back; sent < balls; sent++) {
        bezel_span trip = bezel_begin(round_trip);
        if (hit_ball(sent) != 0 || catch_ball(&back) != 0)
            return fail("pinger");
        bezel_end(round_trip, trip, back, BEZEL_CPU);
        write_score(sent + 1);
        bezel_gauge(progress, 100.0 * (double)(sent + 1) / (double)balls);
        nanosleep(&pause, NULL);
    }
    return hit_ball(-1) == 0 ? 0 : fail("pinger");
}

static int pong(void)
{
    for (int64_t ball;;) {
        if (catch_ball(&ball) != 0)
            return fail("ponger");
        if (ball < 0)
            return 0;
        if (hit_ball(ball) != 0)
            return fail("ponger");
    }
}

int main(int argc, char **argv)
{
    int pinger = argc > 2 && strcmp(argv[1], "pinger") == 0;
    if (argc < 3 || (!pinger && strcmp(argv[1], "ponger") != 0)) {
        fprintf(stderr, "usage: pingpong pinger|ponger CHANNEL [BALLS]\n");
        return 2;
    }
    if (enter(argv[2], argv[1], pinger ? "ponger" : "pinger") != 0)
        return fail(argv[2]);
    return pinger ? ping(argc > 3 ? atoll(argv[3]) : 500) : pong();
}
