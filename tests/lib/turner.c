// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test with knobs: turner [EXTRA]... Once a millisecond it reads `quality`, and says on standard output
 * what it is where that changed; it waits from one change to the next. For each EXTRA, 15 at most, it has a knob of
 * that name, 0 .. 9, initially 5, too. SIGTERM ends it; with ORDERLY in its environment after the end of its wait. With
 * PAIR a second thread says the quality a hundred times a second.
 */
#include <bezel/sensor.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

BEZEL_KNOB(quality, "% of best", 10, 100, 75);
BEZEL_ASPECT(turned, (int64, quality, "%"));
BEZEL_WAIT(turn, message);

static volatile sig_atomic_t stop;

static void stop_on(int signal)
{
    stop = signal;
}

static void *say(void *nothing)
{
    for (;;) {
        bezel_record(turned, bezel_knob(quality));
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t second;
    static struct bezel_knob extra[15];
    int32_t before = 0;
    for (int i = 0; i < argc - 1 && i < 15; i++) {
        extra[i] = (struct bezel_knob){&bezel_knob_unset, argv[i + 1], "1", 0, 9, 5, 0, 0};
        bezel_knob_register(&extra[i]);
    }
    if (getenv("ORDERLY"))
        (void)signal(SIGTERM, stop_on);
    if (getenv("PAIR") && pthread_create(&second, NULL, say, NULL) != 0)
        return 1;
    bezel_span waits = bezel_begin(turn);
    while (!stop) {
        int32_t now = bezel_knob(quality);
        if (now != before) {
            bezel_end(turn, waits);
            bezel_record(turned, now);
            printf("quality %d\n", now);
            fflush(stdout);
            waits = bezel_begin(turn);
        }
        before = now;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    bezel_end(turn, waits);
}
