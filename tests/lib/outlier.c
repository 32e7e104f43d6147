// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test of which one value stands out: outlier. It records 10,000 cycles of 100 us, 2 ms apart, and in
 * their middle one of 45 ms. It only says so: what it says is the same on any machine, however busy that is.
 */
#include <bezel/sensor.h>

#include <time.h>

enum { CYCLES = 10001, SMALL_NS = 100000, LARGE_NS = 45000000, PAUSE_NS = 2000000 };

BEZEL_ASPECT(cycle, (int64, latency, "ns"));

int main(void)
{
    for (int i = 0; i < CYCLES; i++) {
        bezel_record(cycle, i == CYCLES / 2 ? LARGE_NS : SMALL_NS);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return 0;
}
