// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return clock_ns(t);
}

int64_t clock_now(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

int64_t clock_process_cpu(void)
{
    return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_thread_cpu(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_realtime_read(int64_t *width)
{
    int64_t offset = 0;
    *width = INT64_MAX;
    for (int i = 0; i < 16; i++) {
        int64_t before = clock_now(), real = clock_read(CLOCK_REALTIME), after = clock_now();
        if (after - before < *width) {
            *width = after - before;
            offset = real - (before + *width / 2);
        }
    }
    return offset;
}

int64_t clock_realtime_offset(void)
{
    int64_t width;
    return clock_realtime_read(&width);
}

void clock_sleep_until(int64_t deadline)
{
    struct timespec t = {.tv_sec = deadline / CLOCK_S, .tv_nsec = deadline % CLOCK_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#elif defined(__arm__)
    __asm__ volatile("yield");
#endif
}

void clock_spin_until(int64_t deadline)
{
    while (clock_now() < deadline)
        relax();
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

int64_t clock_namespace_shift(void)
{
    char name[16];
    int64_t seconds = 0, ns = 0, s, n;
    FILE *f = fopen("/proc/self/timens_offsets", "re");
    if (!f)
        return 0;
    while (fscanf(f, "%15s %" SCNd64 " %" SCNd64, name, &s, &n) == 3)
        if (strcmp(name, "monotonic") == 0)
            seconds = s, ns = n;
    fclose(f);
    return seconds * CLOCK_S + ns;
}

void clock_identity(uint8_t id[16])
{
    clock_boot_id(id);
    bytes_put_u64(id + 8, bytes_get_u64(id + 8) ^ (uint64_t)clock_namespace_shift());
}

int64_t clock_identity_short(const uint8_t id[16])
{
    return (int64_t)(bytes_get_u64(id) ^ bytes_get_u64(id + 8));
}
