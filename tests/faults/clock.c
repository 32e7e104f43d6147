// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Clocks that can be stepped and drift without the right to, and without disturbing the machine: preloaded, it adds
 * what stands in the file FAULTS_WALL, nanoseconds, to CLOCK_REALTIME, and what stands in FAULTS_MONOTONIC to
 * CLOCK_MONOTONIC, as where a machine slept. A file may go on with a drift in parts per million, which changes its sign
 * each time that as many nanoseconds have passed as stand behind it. Numbers are int64_t. The kernel's answer is asked
 * for by a system call, so that it matters not whose clock_gettime() comes behind this one.
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

/* A file may end behind the first number: the others are 0 then, as the rest of a page is. */
struct shift {
    _Atomic int64_t step, drift_ppm, turn_ns;
};
static const struct shift *wall, *monotonic;

static const struct shift *map(const char *variable)
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

static const struct shift *shift_of(clockid_t clock)
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

/* What the clock is ahead at `ns`. */
static int64_t ahead(const struct shift *s, int64_t ns)
{
    int64_t turn = atomic_load(&s->turn_ns), drifting = turn > 0 ? ns % (2 * turn) : 0;
    int64_t forth = drifting > turn ? 2 * turn - drifting : drifting;
    return atomic_load(&s->step) + forth / 1000000 * atomic_load(&s->drift_ppm) +
           forth % 1000000 * atomic_load(&s->drift_ppm) / 1000000;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
    int err = (int)syscall(SYS_clock_gettime, clock, t);
    const struct shift *shift = shift_of(clock);
    if (err || !shift)
        return err;
    int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
    ns += ahead(shift, ns);
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
