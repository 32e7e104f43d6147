// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Whether elastic holds a budget and a limit on losses where some fixed period does, and says so where none does, in
 * plants that are drawn (tests/lib/drawn_plant.h). bench-plants does the same with a thousand, nearer to the boundary.
 */
#include "base/clock.h"
#include "tests/lib/drawn_plant.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

enum { PLANTS = 32, FEW = 3 }; /* FEW: plants that elastic may take for others; one in a hundred, or less */

#define NEAR   0.3
#define STEP   1.25
#define LENGTH (18 * CLOCK_S)

TEST(what_a_fixed_period_holds_is_held_and_what_none_holds_is_told)
{
    uint64_t seed = seed_start();
    int lost = 0, alarms = 0, untold = 0, feasible = 0;
    for (int i = 0; i < PLANTS; i++) {
        uint64_t mine = seed_next(&seed);
        struct drawn_plant p = drawn_plant_any(&mine, LENGTH);
        struct drawn_oracle o = drawn_plant_oracle(&p, NEAR, STEP);
        p.dead = 0;
        struct drawn_run r = drawn_plant_elastic(&p, o.since);
        if (o.is == DRAWN_FEASIBLE) {
            feasible++;
            lost += !r.held;
            alarms += r.ever_told;
        } else if (o.is == DRAWN_INFEASIBLE) {
            untold += r.told < 0 || r.told > 10 * CLOCK_S;
        }
    }
    assert_true(feasible > PLANTS / 4);
    assert_true(lost <= FEW);
    assert_true(alarms <= FEW);
    assert_true(untold <= FEW);
}
