// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test that records when it is told: recorder FIFO. Reads lines `tick N` and `debug N` from the named
 * pipe, records that aspect N times, with numbers that go on from line to line, and says `done L` behind the Lth line.
 * It has a knob, which it does not obey. `end` ends it.
 */
#include <bezel/sensor.h>

#include <stdio.h>
#include <string.h>

BEZEL_ASPECT(tick, (int64, number, "1"));
BEZEL_ASPECT(debug, (int64, number, "1"));
BEZEL_KNOB(level, "1", -100, 100, 7);

int main(int argc, char **argv)
{
    int64_t ticks = 0, debugs = 0;
    int lines = 0;
    char word[16];
    long long n;
    FILE *in = argc == 2 ? fopen(argv[1], "r+") : NULL; /* our own writing end: it does not end with each writer */
    if (!in)
        return 2;
    while (fscanf(in, "%15s", word) == 1 && strcmp(word, "end") != 0 && fscanf(in, "%lld", &n) == 1) {
        for (; n > 0; n--) {
            if (strcmp(word, "tick") == 0)
                bezel_record(tick, ticks++);
            else
                bezel_record(debug, debugs++);
        }
        printf("done %d\n", ++lines);
        fflush(stdout);
    }
    return 0;
}
