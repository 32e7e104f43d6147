// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a program outside writes, in C and in C++ (main.cc includes this): every type of field, and none; and a span. */
#include <bezel/sensor.h>
#include <stdio.h>

BEZEL_ASPECT(nothing);
BEZEL_ASPECT(everything, (int64, number, "1"), (float64, level, "dB"), (enum, state, "1", "idle|busy"),
             (string, place, "1"));
BEZEL_SPAN(something);

int main(void)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", BEZEL_VERSION_MAJOR, BEZEL_VERSION_MINOR, BEZEL_VERSION_PATCH);
    if (strcmp(bezel_version(), version) != 0) {
        fprintf(stderr, "the header is %s, the library %s\n", version, bezel_version());
        return 1;
    }
    int err = bezel_thread_init(0);
    if (err) {
        fprintf(stderr, "bezel_thread_init: %d\n", err);
        return 1;
    }
    bezel_span span = bezel_begin(something);
    bezel_record(nothing);
    bezel_record(everything, 1, 2.5, 1, bezel_intern("here"));
    bezel_end(something, span);
    puts(version);
    return 0;
}
