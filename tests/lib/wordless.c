// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test whose last words find no room: wordless. For a second it records requests with status "ok", and
 * pairs of `begun` and `done`. Then its texts are full: the last pair, 300 ms apart, and the last request, which
 * failed, have none.
 */
#include <bezel/sensor.h>

#include <stdio.h>
#include <time.h>

enum { REQUESTS = 500, TEXTS = 5000 };

BEZEL_ASPECT(request, (string, status, "1"), (int64, took, "1"));
BEZEL_ASPECT(begun, (string, name, "1"));
BEZEL_ASPECT(done, (string, name, "1"));

static void pass(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

int main(void)
{
    char text[32];
    for (int i = 0; i < REQUESTS; i++) {
        bezel_record(begun, bezel_intern("pair"));
        bezel_record(request, bezel_intern("ok"), 3);
        pass(2);
        bezel_record(done, bezel_intern("pair"));
    }
    for (int i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof text, "text %d", i);
        bezel_intern(text);
    }
    bezel_record(begun, bezel_intern("last"));
    pass(300);
    bezel_record(done, bezel_intern("last"));
    bezel_record(request, bezel_intern("failed"), 900);
    return 0;
}
