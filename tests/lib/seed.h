// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Random numbers that can be had again: SplitMix64 from a printed seed. */
#ifndef BEZEL_TESTS_LIB_SEED_H
#define BEZEL_TESTS_LIB_SEED_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/** The seed in BEZEL_SEED, else a new one; prints it, so that a failure can be repeated. */
static inline uint64_t seed_start(void)
{
    const char *set = getenv("BEZEL_SEED");
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t seed = set ? strtoull(set, NULL, 0) : (uint64_t)t.tv_sec * 1000000007u + (uint64_t)t.tv_nsec;
    printf("BEZEL_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

static inline uint64_t seed_next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** Uniform in [0, 1). */
static inline double seed_unit(uint64_t *seed)
{
    return (double)(seed_next(seed) >> 11) * 0x1p-53;
}

/** Log-uniform in [least, most], both above 0. Who uses it needs libm. */
static inline double seed_between(uint64_t *seed, double least, double most)
{
    return least * exp(seed_unit(seed) * log(most / least));
}

#endif
