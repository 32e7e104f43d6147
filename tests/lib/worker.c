// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test whose frame rate depends on its knob: worker. A frame takes 5 ms; under load, which SIGUSR1 turns
 * on and off, 0.2 ms for each percent of `quality`, if that is more. It sleeps for it, so that its rate is the same on
 * any machine. It says on standard output what its quality is where that changed. SIGTERM ends it.
 */
#include <bezel/sensor.h>

#include <signal.h>
#include <stdio.h>
#include <time.h>

BEZEL_KNOB(quality, "%", 10, 100, 100);
BEZEL_ASPECT(frame, (int64, quality, "%"));

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
        int64_t ns = loaded && now > 25 ? now * 200000L : 5000000;
        bezel_record(frame, now);
        if (now != before) {
            printf("quality %d\n", now);
            fflush(stdout);
        }
        before = now;
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    }
}
