// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Clocks that can be stepped without the right to, and without disturbing the machine: preloaded, it adds what stands
 * in the file FAULTS_WALL, nanoseconds, to CLOCK_REALTIME, and what stands in FAULTS_MONOTONIC to CLOCK_MONOTONIC, as
 * where a machine slept. The kernel's answer is asked for by a system call, so that it matters not whose
 * clock_gettime() comes behind this one.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static _Atomic int64_t *wall, *monotonic;

static _Atomic int64_t *map(const char *variable)
{
    const char *path = getenv(variable);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *wall, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? NULL : at;
}

__attribute__((constructor)) static void start(void)
{
    wall = map("FAULTS_WALL");
    monotonic = map("FAULTS_MONOTONIC");
}

static const _Atomic int64_t *step_of(clockid_t clock)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        return wall;
    case CLOCK_MONOTONIC:
        return monotonic;
    default:
        return NULL;
    }
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
    int err = (int)syscall(SYS_clock_gettime, clock, t);
    const _Atomic int64_t *step = step_of(clock);
    if (err || !step)
        return err;
    int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec + atomic_load(step);
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}
