// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * CLOCK_S + t.tv_nsec;
}

int64_t clock_now(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

int64_t clock_process_cpu(void)
{
    return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_realtime_offset(void)
{
    int64_t best_gap = INT64_MAX, offset = 0;
    for (int i = 0; i < 16; i++) {
        int64_t before = clock_now(), real = clock_read(CLOCK_REALTIME), after = clock_now();
        if (after - before < best_gap) {
            best_gap = after - before;
            offset = real - (before + best_gap / 2);
        }
    }
    return offset;
}

void clock_sleep_until(int64_t deadline)
{
    struct timespec t = {.tv_sec = deadline / CLOCK_S, .tv_nsec = deadline % CLOCK_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

void clock_boot_id(uint8_t id[16])
{
    memset(id, 0, 16);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f)
        return;
    for (int i = 0; i < 16; i++) {
        unsigned byte;
        int dash = fgetc(f);
        if (dash != '-')
            ungetc(dash, f);
        if (fscanf(f, "%2x", &byte) != 1)
            break;
        id[i] = (uint8_t)byte;
    }
    fclose(f);
}
