// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What a search records of drawn runs that go on: in the end the aspects that explain something and fit into the limit,
 * and no others; what the monitor takes is at no time above the limit. The runs are simulated, second by second.
 */
#include "analysis/deepen.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

enum { RUNS = 2000, ASPECTS = 12, SECONDS = 200 };

#define SECOND INT64_C(1000000000)

static uint64_t seed;

/* A run: of each aspect what share of the time it explains, and what recording it takes of a CPU. */
struct plant {
    size_t count;
    double explains[ASPECTS], takes[ASPECTS];
    double base; /* what the monitor takes without any of them */
    bool on[ASPECTS];
    struct deepen_aspect aspects[ASPECTS];
    struct deepen deepen;
};

static double unit(void)
{
    return seed_unit(&seed);
}

/* The monitor does with a record what it does at most, or less. */
static void draw_plant(struct plant *p)
{
    *p = (struct plant){.count = 1 + seed_next(&seed) % ASPECTS, .deepen.limit = 0.02 + 0.1 * unit()};
    double left = 0.95;
    p->base = p->deepen.limit * 0.9 * unit();
    for (size_t i = 0; i < p->count; i++) {
        bool much = seed_next(&seed) % 4 == 0 && left > 0.1;
        p->explains[i] = much ? 0.06 + (left - 0.06) * unit() : 0.002 * unit();
        left -= p->explains[i];
        p->aspects[i].cost = seed_between(&seed, 2e-5, 2);
        p->takes[i] = p->aspects[i].cost * (0.2 + 0.8 * unit());
    }
}

static double used_by(const struct plant *p)
{
    double used = p->base;
    for (size_t i = 0; i < p->count; i++)
        used += p->on[i] ? p->takes[i] : 0;
    return used;
}

/* What is not explained may be what each aspect that is off is about. */
static void look(struct plant *p)
{
    double open = 0;
    for (size_t i = 0; i < p->count; i++)
        open += p->on[i] ? 0 : p->explains[i];
    for (size_t i = 0; i < p->count; i++) {
        p->aspects[i].may = open;
        p->aspects[i].says = p->on[i] ? p->explains[i] : 0;
    }
}

/* A second: what is used was measured in the one before. */
static void go_on(struct plant *p, int64_t second)
{
    look(p);
    deepen_decide(&p->deepen, p->aspects, p->count, second * SECOND);
    p->deepen.used = used_by(p);
    for (size_t i = 0; i < p->count; i++)
        if (p->aspects[i].turn != DEEPEN_STAY)
            p->on[i] = p->aspects[i].turn == DEEPEN_ON;
}

TEST(test_what_explains_is_recorded_within_the_limit)
{
    size_t found = 0;
    for (int run = 0; run < RUNS; run++) {
        struct plant p;
        draw_plant(&p);
        p.deepen.used = p.base;
        for (int64_t second = 0; second < SECONDS; second++) {
            go_on(&p, second);
            assert_true(used_by(&p) <= p.deepen.limit + 1e-12);
        }
        look(&p);
        double room = p.deepen.limit - used_by(&p);
        assert_true(deepen_is_done(&p.deepen, p.aspects, p.count, SECONDS * SECOND));
        for (size_t i = 0; i < p.count; i++) {
            bool explains = p.explains[i] >= DEEPEN_SHARE, fits = p.aspects[i].cost <= room;
            assert_false(p.on[i] && !explains);
            assert_true(p.on[i] || !explains || !fits);
            found += p.on[i];
        }
    }
    assert_true(found > RUNS / 4);
}

TEST(test_nothing_more_where_it_is_the_monitor)
{
    struct plant p = {.count = 2, .explains = {0.5, 0.3}, .deepen.limit = 1};
    p.aspects[0].cost = p.aspects[1].cost = 0.001;
    go_on(&p, 0);
    assert_true(p.on[0] && p.on[1]);
    p.deepen.monitor = true;
    go_on(&p, 1);
    assert_false(p.on[0] || p.on[1]);
    assert_true(deepen_is_done(&p.deepen, p.aspects, p.count, SECONDS * SECOND));
    p.deepen.monitor = false; /* they were the cause: not again */
    go_on(&p, 2);
    assert_false(p.on[0] || p.on[1]);
}

TEST(test_what_it_would_cost_must_be_known)
{
    struct plant p = {.count = 1, .explains = {0.5}, .deepen.limit = 1};
    p.aspects[0].cost = (double)NAN;
    go_on(&p, 0);
    assert_false(p.on[0]);
    assert_true(deepen_is_done(&p.deepen, p.aspects, p.count, SECONDS * SECOND));
}

/* Others came to record more: what is worth least goes first, and no more than must. */
TEST(test_a_limit_that_is_reached_later)
{
    struct plant p = {.count = 2, .explains = {0.5, 0.3}, .deepen.limit = 0.1};
    for (int i = 0; i < 2; i++)
        p.aspects[i].cost = p.takes[i] = 0.01;
    for (int64_t second = 0; second < 10; second++)
        go_on(&p, second);
    assert_true(p.on[0] && p.on[1]);
    p.base = 0.085;
    go_on(&p, 10);
    go_on(&p, 11);
    assert_true(p.on[0] && !p.on[1]);
    for (int64_t second = 12; second < 30; second++)
        go_on(&p, second);
    assert_true(p.on[0] && !p.on[1]);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
