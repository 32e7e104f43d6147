// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test of many threads: threads COUNT RECORDS PAUSE_US. COUNT threads each record `work` RECORDS times,
 * PAUSE_US apart, and end together, so that each needs a ring of its own.
 */
#include <bezel/sensor.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

BEZEL_ASPECT(work, (int64, number, "1"), (int64, thread, "1"));

enum { THREADS_MAX = 10000, STACK_BYTES = 256 << 10 };

static long records, pause_us;
static pthread_barrier_t all;

static void *work_on(void *number)
{
    struct timespec pause = {.tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000};
    for (long n = 0; n < records; n++) {
        bezel_record(work, n, *(int *)number);
        nanosleep(&pause, NULL);
    }
    pthread_barrier_wait(&all);
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS_MAX];
    static int numbers[THREADS_MAX];
    pthread_attr_t attributes;
    int count = argc == 4 ? atoi(argv[1]) : 0;
    if (count < 1 || count > THREADS_MAX)
        return 2;
    records = atol(argv[2]);
    pause_us = atol(argv[3]);
    pthread_barrier_init(&all, NULL, (unsigned)count);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], &attributes, work_on, &numbers[i]) != 0)
            return 1;
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
