// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The smallest program with internal sensors: for three seconds it counts, and records a float, 100 times a second. */
#include <bezel/sensor.h>

#include <math.h>
#include <stdio.h>
#include <time.h>

BEZEL_ASPECT(tick, (int64, count, "1"));
BEZEL_ASPECT(temperature, (float64, value, "degC"));

int main(void)
{
    const struct timespec pause = {.tv_nsec = 10000000}; /* 10 ms */
    for (int i = 0; i < 300; i++) {
        bezel_record(tick, i);
        bezel_record(temperature, 20 + 5 * sin(i / 50.0));
        nanosleep(&pause, NULL);
    }
    puts("hello: recorded 300 ticks and 300 temperatures");
    return 0;
}
