// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A program of eight threads: bench-threads SECONDS. In each span `work` a thread computes, holds a lock that
 * all want, computes again and sleeps; each of these waits is one.
 */
#include <bezel/sensor.h>

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8 };

#define COMPUTES (200 * INT64_C(1000))
#define HOLDS    (50 * INT64_C(1000))
#define SLEEPS   CLOCK_MS

BEZEL_SPAN(work);
BEZEL_WAIT(board, lock);
BEZEL_WAIT(pause_, timer);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t end;

static void compute(int64_t ns)
{
    int64_t until = clock_now() + ns;
    while (clock_now() < until)
        ;
}

static void *run(void *unused)
{
    while (clock_now() < end) {
        bezel_span all = bezel_begin(work);
        compute(COMPUTES);
        bezel_span wait = bezel_begin(board);
        pthread_mutex_lock(&lock);
        bezel_end(board, wait);
        compute(HOLDS);
        pthread_mutex_unlock(&lock);
        wait = bezel_begin(pause_);
        clock_sleep_until(clock_now() + SLEEPS);
        bezel_end(pause_, wait);
        bezel_end(work, all);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc != 2)
        return 2;
    end = clock_now() + (int64_t)(atof(argv[1]) * CLOCK_S);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
