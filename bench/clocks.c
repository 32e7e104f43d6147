// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How exact the relation of two clocks is, and how far its bound holds, over drawn clocks and networks
 * (tests/lib/virtual_hosts.h), against the truth. One figure a line: `name value unit`. bench-clocks [SEED]
 */
#include "base/clock_relation.h"
#include "tests/lib/seed.h"
#include "tests/lib/virtual_hosts.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 400, QUIET = 100, SAMPLES = 250, MOST = (DRAWS + QUIET) * SAMPLES, PIECES = 1 << 13 };

static struct hosts_run {
    struct virtual_hosts hosts;
    struct clock_piece pieces[PIECES];
    size_t count;
    double least_half; /* of the exchanges, ns */
    uint64_t exchanges;
} run;

static double held, seen;
static double errors_us[MOST], ratios[MOST];
static size_t error_count, ratio_count;

static void take_pieces(struct clock_relation *r)
{
    while (run.count < PIECES && clock_relation_next(r, &run.pieces[run.count]))
        run.count++;
}

/* Makes the exchanges of a run, as often as the relation asks for them. */
static void make_run(uint64_t *seed, bool quiet)
{
    struct clock_relation r;
    enum clock_news news = CLOCK_NONSENSE;
    clock_relation_init(&r);
    virtual_hosts_draw(&run.hosts, seed, quiet);
    run.count = 0;
    run.least_half = INFINITY;
    for (int64_t at = 0; at < run.hosts.length; run.exchanges++) {
        struct clock_exchange x;
        int64_t end;
        if (!virtual_hosts_exchange(&run.hosts, at, &x, &end) || end - at > CLOCK_ROUND_TRIP_NS) {
            at += CLOCK_ROUND_TRIP_NS / 4;
            continue;
        }
        news = clock_relation_add(&r, &x);
        run.least_half = fmin(run.least_half, (double)(x.received - x.sent - (x.answered - x.arrived)) / 2);
        take_pieces(&r);
        at = end + clock_relation_wait(&r, news);
    }
    clock_relation_finish(&r);
    take_pieces(&r);
}

/* Reads the peer's time at random moments between the first and the last exchange. */
static void read_run(uint64_t *seed, bool quiet)
{
    for (int i = 0; i < SAMPLES && run.count; i++) {
        int64_t at = (int64_t)(seed_unit(seed) * (double)run.hosts.length);
        int64_t own = virtual_clock_at(&run.hosts.own, at);
        size_t k = 0;
        while (k < run.count && own >= run.pieces[k].until)
            k++;
        if (k == run.count || own < run.pieces[k].from)
            continue;
        struct clock_reading reading = clock_piece_at(&run.pieces[k], own);
        double error = fabs((double)(reading.ns - virtual_clock_at(&run.hosts.peer, at)));
        seen++;
        held += error <= (double)reading.bound;
        if (quiet)
            ratios[ratio_count++] = (double)reading.bound / run.least_half;
        errors_us[error_count++] = error / 1e3;
    }
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261125;
    for (int i = 0; i < DRAWS + QUIET; i++) {
        make_run(&seed, i < QUIET);
        read_run(&seed, i < QUIET);
    }
    if (!ratio_count)
        return 1;
    qsort(ratios, ratio_count, sizeof ratios[0], by_size);
    qsort(errors_us, error_count, sizeof errors_us[0], by_size);
    printf("clock_bound_held_share %.6f ratio\n", held / seen);
    printf("clock_samples %.0f 1\n", seen);
    printf("clock_bound_over_half_rtt %.3f ratio\n", ratios[ratio_count / 2]);
    printf("clock_error_us %.1f us\n", errors_us[error_count / 2]);
    printf("clock_error_worst_us %.0f us\n", errors_us[error_count - 1]);
    return 0;
}
