// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-plants [SEED [PLANTS]]: whether elastic holds a budget and a limit on losses wherever some fixed period does,
 * in plants that are drawn (tests/lib/drawn_plant.h), 1,000 by default. What each plant came to that counts against it
 * is a line on stderr. Deterministic for a seed.
 *
 *   feasible_plants_held_share             of those where a fixed period holds both limits with a tenth to spare
 *   feasible_plants_told_infeasible_share  of those, where elastic said at any time that they are infeasible
 *   feasible_plants_dead_time_held_share   of these with the dead time of a loop over other machines, 1 to 300 ms
 *   infeasible_plants_told_share           of those where none does even with limits a tenth laxer: said within 10 s
 */
#include "base/clock.h"
#include "tests/lib/drawn_plant.h"
#include "tests/lib/seed.h"

enum { PLANTS = 1000, WITHIN = 10 };

#define LENGTH (45 * CLOCK_S)
#define NEAR   0.1
#define STEP   1.05 /* of the oracle's grid */

static void show(const char *what, uint64_t seed, const struct drawn_plant *p, struct drawn_oracle o,
                 struct drawn_run r)
{
    fprintf(stderr,
            "bench-plants: %s: plant %llu, %s: decisions each %lld ms, dead time %lld ms, sensor_cpu <= %.2f %%, "
            "lost_ratio <= %.2f %%; "
            "fixed %lld us; sensor_cpu was violated for %.4f, lost_ratio for %.4f of the time\n",
            what, (unsigned long long)seed, p->load[0].burst > 0 ? "bursts" : "even", (long long)(p->every / CLOCK_MS),
            (long long)(p->dead / CLOCK_MS), p->budget, p->lost, (long long)(o.period / CLOCK_US), r.cpu, r.lost);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    int plants = argc > 2 ? atoi(argv[2]) : PLANTS;
    double count[DRAWN_NEAR + 1] = {0}, held = 0, dead = 0, dead_held = 0, false_alarms = 0, told = 0;
    for (int i = 0; i < plants; i++) {
        uint64_t seed = first * 1000003 + (uint64_t)i, mine = seed;
        struct drawn_plant p = drawn_plant_any(&seed, LENGTH);
        struct drawn_oracle o = drawn_plant_oracle(&p, NEAR, STEP);
        struct drawn_plant at_once = p;
        at_once.dead = 0;
        struct drawn_run r = drawn_plant_elastic(&at_once, o.since);
        count[o.is]++;
        if (o.is == DRAWN_FEASIBLE && p.dead > 0) {
            struct drawn_run late = drawn_plant_elastic(&p, o.since);
            dead++;
            dead_held += late.held;
            if (!late.held)
                show("not held with a dead time", mine, &p, o, late);
        }
        bool in_time = r.told >= 0 && r.told <= WITHIN * CLOCK_S;
        if (o.is == DRAWN_FEASIBLE) {
            held += r.held;
            false_alarms += r.ever_told;
            if (!r.held || r.ever_told)
                show(r.held ? "false alarm" : "not held", mine, &at_once, o, r);
        } else if (o.is == DRAWN_INFEASIBLE) {
            told += in_time;
            if (!in_time)
                show("not told", mine, &at_once, o, r);
        }
    }
    printf("feasible_plants_held_share %.4f ratio\n", held / count[DRAWN_FEASIBLE]);
    if (dead > 0)
        printf("feasible_plants_dead_time_held_share %.4f ratio\n", dead_held / dead);
    printf("infeasible_plants_told_share %.4f ratio\n", told / count[DRAWN_INFEASIBLE]);
    printf("feasible_plants_told_infeasible_share %.4f ratio\n", false_alarms / count[DRAWN_FEASIBLE]);
    printf("plants_feasible %.0f 1\nplants_infeasible %.0f 1\nplants_not_counted %.0f 1\n", count[DRAWN_FEASIBLE],
           count[DRAWN_INFEASIBLE], count[DRAWN_NEAR]);
    return 0;
}
