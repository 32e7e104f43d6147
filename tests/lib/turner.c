// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test with knobs: turner [EXTRA]... Once a millisecond it reads `quality`, and says on standard output
 * what it is where that changed; it waits from one change to the next. For each EXTRA, 15 at most, it has a knob of
 * that name, 0 .. 9, initially 5, too. SIGTERM ends it.
 */
#include <bezel/sensor.h>

#include <stdio.h>
#include <time.h>

BEZEL_KNOB(quality, "% of best", 10, 100, 75);
BEZEL_ASPECT(turned, (int64, quality, "%"));
BEZEL_WAIT(turn, message);

int main(int argc, char **argv)
{
    static struct bezel_knob extra[15];
    int32_t before = 0;
    for (int i = 0; i < argc - 1 && i < 15; i++) {
        extra[i] = (struct bezel_knob){&bezel_knob_unset, argv[i + 1], "1", 0, 9, 5, 0, 0};
        bezel_knob_register(&extra[i]);
    }
    bezel_span waits = bezel_begin(turn);
    for (;;) {
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
}
