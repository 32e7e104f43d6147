// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* bench-timer PERIOD_NS SECONDS: sleeps to an absolute time every period, and prints what that cost: `cpu_ns N`. */
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    int64_t period = argc == 3 ? atoll(argv[1]) : 0, seconds = argc == 3 ? atoll(argv[2]) : 0;
    if (period < 1 || seconds < 1) {
        fputs("usage: bench-timer PERIOD_NS SECONDS\n", stderr);
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1UL); /* as bezeld's */
    int64_t before = clock_process_cpu(), due = clock_now();
    for (int64_t end = due + seconds * CLOCK_S; due < end; due += period)
        clock_sleep_until(due);
    printf("cpu_ns %" PRId64 "\n", clock_process_cpu() - before);
    return 0;
}
