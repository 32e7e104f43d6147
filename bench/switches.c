// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A program that switches: bench-switches SECONDS PER_SECOND. Two threads on one CPU pass a byte back and forth, so
 * that each passing is a switch, in bursts of a millisecond. Prints how often its threads left their CPU.
 */
#include <bezel/sensor.h>

#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

BEZEL_ASPECT(burst, (int64, rounds, "1"));

static int there[2], back[2];

static void pin(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static void *answer(void *unused)
{
    char c;
    (void)unused;
    pin();
    bezel_record(burst, 0);
    while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
        ;
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3 || pipe(there) != 0 || pipe(back) != 0)
        return 2;
    int64_t due = clock_now(), end = due + (int64_t)(atof(argv[1]) * CLOCK_S);
    int rounds = atoi(argv[2]) / 2000;
    pthread_t thread;
    char c = 0;
    pin();
    if (pthread_create(&thread, NULL, answer, NULL) != 0)
        return 1;
    for (; due < end; due += CLOCK_MS) {
        clock_sleep_until(due);
        for (int i = 0; i < rounds; i++)
            if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
                return 1;
        bezel_record(burst, rounds);
    }
    close(there[1]);
    pthread_join(thread, NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
    return 0;
}
