// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What server and client share: time, options, the end by signal, and the figures printed at the end. */
#ifndef VIDEOCONF_COMMON_H
#define VIDEOCONF_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

/** Now on CLOCK_MONOTONIC, in nanoseconds: one clock for all processes of a machine. */
static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

enum { SIZE_MIN = 16, WIDTH_MAX = 1920, HEIGHT_MAX = 1088, FPS_MAX = 240 };

struct options {
    const char *program;
    int width, height; /* px, even: of what the server sends, of what the client shows */
    int fps;           /* 1 .. FPS_MAX; server only */
    const char *codec; /* FFmpeg's name: of an encoder for the server, of the stream for the client */
    const char *group; /* IPv4 multicast group */
    int port;
    const char *interface; /* of the network, by name */
    int ttl;               /* routers that datagrams may pass, plus one; 0: they stay on this machine; server only */
    const char *input;     /* video file; NULL: the test pattern; server only */
    const char *dump;      /* PPM file for the last frame shown, or NULL */
    int64_t frames;        /* end after so many; 0: no such end */
    int64_t seconds;       /* likewise */
    bool verbose;
};

enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/** Reads the command line of the server or the client. Prints the help or the error unless it returns OPTIONS_RUN. */
enum options_result options_read(struct options *o, bool server, int argc, char **argv);

/** SIGTERM and SIGINT make stopping() true from now on, and interrupt a sleep or a recv(). */
void stop_on_signals(void);
bool stopping(void);

/** Sleeps until `deadline` on now_ns()'s scale, or until a signal arrives. */
void sleep_until(int64_t deadline);

/** Frames shown, when, and how late: no allocation after start. */
enum { LATENCY_BUCKET_NS = 20000, LATENCY_BUCKETS = 50000 };

struct figures {
    uint64_t shown;
    int64_t first, last;               /* instants at which a frame was shown */
    uint32_t latency[LATENCY_BUCKETS]; /* histogram, 0 to 1 s; the last bucket takes all above */
};

void figures_add(struct figures *f, int64_t shown, int64_t latency_ns);

/** From the first to the last frame shown, in seconds; 0 with fewer than two. */
double figures_seconds(const struct figures *f);

/** (n - 1) / (t_last - t_first), in frames per second; 0 with fewer than two. */
double figures_rate(const struct figures *f);

/** Median latency in milliseconds, exact to a bucket; 0 with none. */
double figures_median_ms(const struct figures *f);

/** Prints the one line: what it is of, frames, seconds, rate, two counters, median latency. */
void figures_print(const struct figures *f, const char *program, const char *what1, uint64_t count1, const char *what2,
                   uint64_t count2);

#endif
