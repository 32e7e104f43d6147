// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "common.h"

#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t stop_flag;

static void on_signal(int number)
{
    (void)number;
    stop_flag = 1;
}

void stop_on_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: the signal must end a recv() */
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

bool stopping(void)
{
    return stop_flag != 0;
}

void sleep_until(int64_t deadline)
{
    struct timespec t = {.tv_sec = deadline / NS_PER_S, .tv_nsec = deadline % NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

void figures_add(struct figures *f, int64_t shown, int64_t latency_ns)
{
    if (f->shown++ == 0)
        f->first = shown;
    f->last = shown;
    int64_t bucket = latency_ns < 0 ? 0 : latency_ns / LATENCY_BUCKET_NS;
    f->latency[bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1]++;
}

double figures_seconds(const struct figures *f)
{
    return (double)(f->last - f->first) / (double)NS_PER_S;
}

double figures_rate(const struct figures *f)
{
    return f->last > f->first ? (double)(f->shown - 1) / figures_seconds(f) : 0;
}

double figures_median_ms(const struct figures *f)
{
    uint64_t seen = 0;
    for (int i = 0; i < LATENCY_BUCKETS && f->shown > 0; i++) {
        seen += f->latency[i];
        if (2 * seen >= f->shown)
            return (i + 0.5) * LATENCY_BUCKET_NS / (double)NS_PER_MS;
    }
    return 0;
}

void figures_print(const struct figures *f, const char *program, const char *what1, uint64_t count1, const char *what2,
                   uint64_t count2)
{
    printf("%s: %llu frames shown in %.3f s: %.2f frames/s, %llu %s, %llu %s, median latency %.1f ms\n", program,
           (unsigned long long)f->shown, figures_seconds(f), figures_rate(f), (unsigned long long)count1, what1,
           (unsigned long long)count2, what2, figures_median_ms(f));
}
