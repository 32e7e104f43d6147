// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test whose frames take as long as its knob says: worker. One takes 1 ms; under load, which SIGUSR1
 * turns on and off, 0.2 ms for each percent of `quality`. It only says so: what it says is the same on any machine,
 * however busy that is. On standard output it says what its quality is where that changed. SIGTERM ends it.
 */
#include <bezel/sensor.h>

#include <signal.h>
#include <stdio.h>
#include <time.h>

BEZEL_KNOB(quality, "%", 10, 100, 100);
BEZEL_ASPECT(frame, (int64, quality, "%"), (float64, busy, "ms"));

static volatile sig_atomic_t loaded;

static void toggle(int signal)
{
    (void)signal;
    loaded = !loaded;
}

int main(void)
{
    struct sigaction action = {.sa_handler = toggle, .sa_flags = SA_RESTART};
    int32_t before = 0;
    sigaction(SIGUSR1, &action, NULL);
    for (;;) {
        int32_t now = bezel_knob(quality);
        bezel_record(frame, now, loaded ? now * 0.2 : 1);
        if (now != before) {
            printf("quality %d\n", now);
            fflush(stdout);
        }
        before = now;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}
