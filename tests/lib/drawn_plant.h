// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A node drawn at random, poll by poll on a virtual clock: rings that fill and overflow, what a turn costs, another
 * CPU's speed, bursts, loads that change, turns that come late, and the dead time of a loop over collector and manager.
 * The agent that judges and decides, and the CPU budget within the interval, are the product's. What the fixed periods
 * come to, all of a grid in the same plant, is the oracle: it says whether the limits could be held.
 *
 * The limits are `hold: sensor_cpu <= N %` and `hold: lost_ratio <= N %`, with windows of 1 s and a tolerance of 1 %.
 */
#ifndef BEZEL_TESTS_LIB_DRAWN_PLANT_H
#define BEZEL_TESTS_LIB_DRAWN_PLANT_H

#include <stdbool.h>
#include <stdint.h>

enum { DRAWN_PHASES_MAX = 3 };

/** What the programs do in a phase. */
struct drawn_load {
    int64_t until;     /* ns since the start */
    double rings;      /* that a poll looks at */
    double busy;       /* of them: each gets `rate` records a second; the others are silent */
    double rate;       /* besides bursts */
    double burst;      /* further records a second of a busy ring, while a burst lasts; 0: there are none */
    double burst_long; /* ns */
    double burst_each; /* ns from the begin of one to that of the next */
    double burst_from; /* ns since the begin of one when the phase begins */
    double speed;      /* cost of everything, in proportion: others slow the CPU down */
};

struct drawn_plant {
    uint64_t seed;             /* of noise and lateness */
    int64_t every;             /* the sampling period */
    int64_t start;             /* the period at the start */
    int64_t dead;              /* ns from a decision until the node polls by it; 0: at once, as where nodes decide */
    double budget, lost;       /* the limits, percent */
    double base;               /* percent of a CPU besides polls */
    double turn, ring, record; /* ns of CPU: a poll, each ring in it, each record in it */
    double first;              /* ns of CPU that the first poll costs more: it attaches to processes */
    double capacity;           /* records of a ring */
    double noise, wander;      /* of a poll's cost: uniform, for each; and slow, standard deviation */
    double late;               /* mean lateness of a turn, ns, exponential */
    int phases;
    struct drawn_load load[DRAWN_PHASES_MAX];
};

/** A plant that follows from *seed, which moves on: a run of `length` ns. */
struct drawn_plant drawn_plant_any(uint64_t *seed, int64_t length);

/** What a run with policy `elastic` came to. */
struct drawn_run {
    bool held;        /* both limits, by the agent's judgement */
    double cpu, lost; /* of the judged time, the share in violation of each */
    int64_t told;     /* ns after `since` at which a limit was first said to be infeasible from then on; -1: never */
    bool ever_told;   /* that was said at some time */
    double polls;
};

struct drawn_run drawn_plant_elastic(const struct drawn_plant *p, int64_t since);

enum drawn_case {
    DRAWN_FEASIBLE,   /* a fixed period holds both limits, also where they are stricter by `near` (0.1: a tenth) */
    DRAWN_INFEASIBLE, /* in a phase none does, not even where they are laxer by that */
    DRAWN_NEAR        /* so near to the boundary: not counted */
};

struct drawn_oracle {
    enum drawn_case is;
    int64_t period; /* of the stricter limits, the longest that holds; 0: none */
    int64_t since;  /* of DRAWN_INFEASIBLE: ns since the start from which on no period works */
};

/** What fixed periods come to: those of a grid whose steps are `step` (1.05: 5 %) apart. */
struct drawn_oracle drawn_plant_oracle(const struct drawn_plant *p, double near, double step);

#endif
