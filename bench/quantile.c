// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bench/batch.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_ticks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int rank(int n, double q)
{
    int at = (int)ceil(q * n) - 1;
    return at < 0 ? 0 : at;
}

double bench_quantile(double *values, int n, double q)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return values[rank(n, q)];
}

uint32_t bench_quantile_ticks(uint32_t *values, int n, double q)
{
    qsort(values, (size_t)n, sizeof *values, compare_ticks);
    return values[rank(n, q)];
}
