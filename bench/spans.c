// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* A program that records COUNT pairs of spans, one within the other, and pauses behind every hundred: bench-spans
 * COUNT. */
#include <bezel/sensor.h>

#include <stdlib.h>
#include <time.h>

BEZEL_SPAN(step, (int64, number, "1"));
BEZEL_SPAN(part, (int64, number, "1"));

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 500000};
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (long i = 0; i < count; i++) {
        bezel_span outer = bezel_begin(step), inner = bezel_begin(part);
        bezel_end(part, inner, i);
        bezel_end(step, outer, i);
        if (i % 100 == 99)
            nanosleep(&pause, NULL);
    }
    return 0;
}
