// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-writer RATE SECONDS THREADS [BURSTS]: records two values at RATE records a second in all, in BURSTS bursts a
 * second of each thread (default 5000).
 */
#include <bezel/sensor.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

BEZEL_ASPECT(paced, (int64, number, "1"), (float64, half, "1"));

static double rate_of_each;
static int64_t seconds, burst_ns;

static void *write_paced(void *unused)
{
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    int64_t bursts = seconds * 1000000000 / burst_ns, done = 0;
    bezel_thread_init(0);
    for (int64_t b = 1; b <= bursts; b++) {
        int64_t until = (int64_t)(rate_of_each * (double)(b * burst_ns) / 1e9);
        for (; done < until; done++)
            bezel_record(paced, done, (double)done / 2);
        due.tv_nsec += burst_ns;
        while (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    return unused;
}

int main(int argc, char **argv)
{
    enum { THREADS_MAX = 64 };
    pthread_t threads[THREADS_MAX];
    int count = argc >= 4 ? atoi(argv[3]) : 0, bursts = argc == 5 ? atoi(argv[4]) : 5000;
    if (argc > 5 || count < 1 || count > THREADS_MAX || bursts < 1) {
        fputs("usage: bench-writer RATE SECONDS THREADS [BURSTS]\n", stderr);
        return 2;
    }
    rate_of_each = atof(argv[1]) / count;
    seconds = atoll(argv[2]);
    burst_ns = 1000000000 / bursts;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, write_paced, NULL) != 0)
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
