// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/virtual_hosts.h"

#include "base/clock.h"
#include "tests/lib/seed.h"

#include <math.h>

static double any(uint64_t *seed, double least, double most)
{
    return least + (most - least) * seed_unit(seed);
}

static void add_bend(struct virtual_clock *c, int64_t at, double rate)
{
    if (c->count < VIRTUAL_BENDS)
        c->bends[c->count] = (struct virtual_bend){at, virtual_clock_at(c, at), rate}, c->count++;
}

/*
 * An oscillator that wanders, and NTP: slews of up to 500 ppm that begin suddenly, or in steps of one direction, last
 * five seconds and more, and come 10 s and more apart.
 */
static void draw_clock(struct virtual_clock *c, uint64_t *seed, int64_t length, bool slewed)
{
    double oscillator = 1 + any(seed, -500e-6, 500e-6), slew = 0, goal = 0;
    int64_t next = slewed ? (int64_t)any(seed, 0, 60e9) : INT64_MAX;
    c->count = 1;
    c->bends[0] = (struct virtual_bend){0, (int64_t)seed_between(seed, 1e9, 1e17), oscillator};
    for (int64_t at = CLOCK_S; at < length; at += CLOCK_S) {
        oscillator += any(seed, -1e-8, 1e-8);
        if (at >= next) {
            goal = goal != 0 ? 0 : any(seed, -500e-6, 500e-6);
            next = at + (int64_t)any(seed, goal != 0 ? 5e9 : 10e9, 60e9);
            int steps = seed_next(seed) % 4 ? 1 : 10;
            int64_t first = at + (int64_t)any(seed, 0, 0.1e9);
            for (int i = 1; i <= steps; i++)
                add_bend(c, first + (i - 1) * 80 * CLOCK_MS, oscillator + slew + (goal - slew) * i / steps);
            slew = goal;
        } else
            add_bend(c, at, oscillator + slew);
    }
}

void virtual_hosts_draw(struct virtual_hosts *h, uint64_t *seed, bool quiet)
{
    *h = (struct virtual_hosts){.length = (int64_t)any(seed, 20e9, 400e9), .seed = seed};
    const double forths[] = {0.5, 0.5, 0, 1, any(seed, 0, 1)};
    h->round_trip = (int64_t)seed_between(seed, 50e3, 200e6);
    h->forth = forths[seed_next(seed) % 5];
    draw_clock(&h->own, seed, h->length, !quiet);
    draw_clock(&h->peer, seed, h->length, !quiet && seed_next(seed) % 2);
    if (quiet)
        return;
    h->jitter = seed_next(seed) % 3 ? any(seed, 0, 0.9) : 0;
    h->tail = seed_between(seed, 0.01, 10);
    h->loss = seed_next(seed) % 2 ? any(seed, 0, 0.3) : 0;
    if (seed_next(seed) % 4 == 0)
        h->silent_from = (int64_t)any(seed, 5e9, (double)h->length), h->silent = 60 * CLOCK_S;
}

static const struct virtual_bend *bend_at(const struct virtual_clock *c, int64_t at)
{
    size_t low = 0, high = c->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (c->bends[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return &c->bends[low];
}

int64_t virtual_clock_at(const struct virtual_clock *c, int64_t at)
{
    const struct virtual_bend *b = bend_at(c, at);
    return b->ns + (int64_t)((double)(at - b->at) * b->rate);
}

void virtual_clock_step(struct virtual_clock *c, int64_t at, int64_t by)
{
    size_t i = (size_t)(bend_at(c, at) - c->bends) + 1;
    struct virtual_bend here = {at, virtual_clock_at(c, at), bend_at(c, at)->rate};
    if (c->count == VIRTUAL_BENDS)
        return;
    for (size_t k = c->count++; k > i; k--)
        c->bends[k] = c->bends[k - 1];
    c->bends[i] = here;
    for (size_t k = i; k < c->count; k++)
        c->bends[k].ns += by;
}

static int64_t way(struct virtual_hosts *h, double share)
{
    double ns = share * (double)h->round_trip;
    if (seed_unit(h->seed) < h->jitter)
        ns += h->tail * (double)h->round_trip * (pow(1 - seed_unit(h->seed), -1 / 1.5) - 1);
    return ns < 10e9 ? (int64_t)ns : 10 * CLOCK_S;
}

bool virtual_hosts_exchange(struct virtual_hosts *h, int64_t at, struct clock_exchange *x, int64_t *end)
{
    int64_t arrived = at + way(h, h->forth), answered = arrived + (int64_t)seed_between(h->seed, 1e3, 1e5);
    *end = answered + way(h, 1 - h->forth);
    *x = (struct clock_exchange){.sent = virtual_clock_at(&h->own, at),
                                 .arrived = virtual_clock_at(&h->peer, arrived),
                                 .answered = virtual_clock_at(&h->peer, answered),
                                 .received = virtual_clock_at(&h->own, *end)};
    bool silent = h->silent && *end >= h->silent_from && at < h->silent_from + h->silent;
    return !silent && seed_unit(h->seed) >= h->loss && seed_unit(h->seed) >= h->loss;
}
