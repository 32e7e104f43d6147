// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test for the tests of clocks: teller COUNT PAUSE_US [own]. Records COUNT times, PAUSE_US apart, what
 * CLOCK_MONOTONIC said just before the record. With `own` its records are stamped with a clock of its own, of 3 MHz and
 * about to wrap into negative numbers.
 */
#include <bezel/sensor.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

BEZEL_ASPECT(told, (int64, now, "ns"));

static int64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t began;

static uint64_t own_clock(void)
{
    return (uint64_t)(monotonic() - began) * 3 / 1000 + ((uint64_t)1 << 63) - 1000000;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    long count = strtol(argv[1], NULL, 10), pause_us = strtol(argv[2], NULL, 10);
    began = monotonic();
    if (argc > 3 && bezel_clock(own_clock, 3000000) != 0)
        return 3;
    struct timespec pause = {.tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000};
    for (long i = 0; i < count; i++) {
        bezel_record(told, monotonic());
        nanosleep(&pause, NULL);
    }
    printf("told %ld\n", count);
    return fflush(stdout) == EOF;
}
