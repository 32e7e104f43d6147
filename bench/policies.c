// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-policies [SEED]: how each policy follows a step of the cost of polling, in the virtual plant, for several dead
 * times. One node; the budget is 10 % of a CPU; the cost of a poll has 10 % of noise and
 * triples at the step; 100 plants for each row. Deterministic for a seed.
 *
 *   over      share of the steps beyond 1.1 times the budget, from 30 steps after the step of the cost on
 *   changes   of the period, by more than 5 %, in 100 steps (10 s) of that time, of a node
 *   use       its mean share of the budget then
 *   settling  steps from the step of the cost to the last one beyond 1.1 times the budget within 30; n/a: it never
 * settles on        share of the steps in which polling was on
 */
#include "base/clock.h"
#include "tests/lib/plant.h"
#include "tests/lib/seed.h"

#include <math.h>

enum { PLANTS = 100, BEFORE = 300, AFTER = 30, STEADY = 600, BUDGET = 10 };

struct figures {
    double over, changes, use, settling, on, steps;
};

static void run(enum experiment_policy policy, uint32_t delay, uint64_t *seed, struct figures *f)
{
    struct experiment_adapt adapt = {
        .policy = policy, .every = 100 * CLOCK_MS, .period_min = CLOCK_US, .period_max = CLOCK_S};
    struct plant p = {.seed = seed_next(seed),
                      .every = adapt.every,
                      .count = 1,
                      .delay = delay,
                      .confirms = true,
                      .noise = 0.1,
                      .budget = BUDGET};
    p.nodes[0].cost = 20e3 + 20e3 * seed_unit(seed);
    p.nodes[0].base = 0.5 * seed_unit(seed);
    struct policy_member member;
    struct policy_limit limit;
    struct policy_measure measure;
    struct policy_member_actions own;
    struct policy_state s = {.members = &member};
    struct policy_observation seen = {.limits = &limit, .members = &measure};
    struct policy_actions actions = {.members = &own};
    policy_start(&s, &adapt, CLOCK_MS, 1);
    for (int i = 0, last = 0; i < BEFORE + AFTER + STEADY; i++) {
        if (i == BEFORE)
            p.nodes[0].cost *= 3;
        int64_t before = s.members[0].on ? s.members[0].period : INT64_MAX;
        plant_step(&p, &s, &seen);
        policy_step(&s, &seen, &actions);
        int64_t after = s.members[0].on ? s.members[0].period : INT64_MAX;
        bool over = p.nodes[0].use > 1.1 * BUDGET;
        if (i >= BEFORE && i < BEFORE + AFTER && over)
            last = i - BEFORE + 1;
        if (i == BEFORE + AFTER)
            f->settling = fmax(f->settling, last);
        if (i < BEFORE + AFTER)
            continue;
        f->over += over;
        f->changes += fabs(log((double)after / (double)before)) > 0.05;
        f->use += p.nodes[0].use / BUDGET;
        f->on += p.nodes[0].on;
        f->steps++;
    }
}

int main(int argc, char **argv)
{
    uint64_t start = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    printf("| policy | dead time | over | changes in 10 s | use of the budget | settling | on "
           "|\n|---|---|---|---|---|---|---|\n");
    for (int policy = POLICY_SPP; policy < EXPERIMENT_POLICY_COUNT; policy++)
        for (uint32_t delay = 0; delay <= 4; delay += 2) {
            struct figures f = {0};
            uint64_t seed = start;
            for (int i = 0; i < PLANTS; i++)
                run((enum experiment_policy)policy, delay, &seed, &f);
            printf("| `%s` | %u | %.2f | %.2f | %.2f | ", experiment_policy_word(policy), delay + 1, f.over / f.steps,
                   100 * f.changes / f.steps, f.use / f.steps);
            printf(f.over / f.steps > 0.01 ? "n/a" : "%.0f", f.settling);
            printf(" | %.2f |\n", f.on / f.steps);
        }
    return 0;
}
