// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Records how late a periodic program wakes up, without its source: a library to be preloaded into cyclictest, or into
 * any program that sleeps by clock_nanosleep() until a time. See docs/SAMPLERS.md.
 *
 *     cc -O2 -shared -fPIC -o wakeup.so wakeup.c -lbezel
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <bezel/sensor.h>

#include <dlfcn.h>
#include <string.h>
#include <time.h>

BEZEL_ASPECT(wakeup, (int64, latency, "ns"));

typedef int sleep_function(clockid_t clock, int flags, const struct timespec *until, struct timespec *left);

static sleep_function *sleep_really;

__attribute__((constructor)) static void find_function(void)
{
    void *found = dlsym(RTLD_NEXT, "clock_nanosleep");
    memcpy(&sleep_really, &found, sizeof found);
}

__attribute__((visibility("default"))) int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                                                           struct timespec *left)
{
    struct timespec now;
    int err = sleep_really(clock, flags, until, left);
    if (err == 0 && (flags & TIMER_ABSTIME) && clock_gettime(clock, &now) == 0)
        bezel_record(wakeup, (now.tv_sec - until->tv_sec) * 1000000000LL + now.tv_nsec - until->tv_nsec);
    return err;
}
