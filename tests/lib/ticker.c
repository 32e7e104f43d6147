// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test for the tests: ticker COUNT PAUSE_US [MANNER]. Records `tick` COUNT
 * times (0: without end), PAUSE_US apart, until SIGTERM; then says how often it did. Stubborn, it does not heed
 * SIGTERM. Alternating, its numbers are 1 and 1000 in turn, two at a time. Lingering, it lives on for a second after
 * its last record; renewed, it then executes itself, to record without end. Forking, its child does it.
 */
#include <bezel/sensor.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(tick, (int64, number, "1"));

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int64_t count = strtoll(argv[1], NULL, 10), pause_us = strtoll(argv[2], NULL, 10), n = 0;
    const char *manner = argc > 3 ? argv[3] : "";
    bool alternating = strcmp(manner, "alternating") == 0, renewed = strcmp(manner, "renewed") == 0;
    bool lingering = strcmp(manner, "lingering") == 0 || renewed;
    if (strcmp(manner, "forking") == 0 && fork() > 0)
        return wait(NULL) < 0;
    signal(SIGTERM, strcmp(manner, "stubborn") == 0 ? SIG_IGN : stop);
    struct timespec pause = {.tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000};
    for (; !stopped && (count == 0 || n < count); n++) {
        bezel_record(tick, alternating ? (n % 2 ? 1000 : 1) : n);
        if (!alternating || n % 2)
            nanosleep(&pause, NULL);
    }
    if (lingering)
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    if (renewed)
        execv(argv[0], (char *[]){argv[0], (char[]){"0"}, argv[2], NULL});
    printf("ticked %lld\n", (long long)n);
    return fflush(stdout) == EOF;
}
