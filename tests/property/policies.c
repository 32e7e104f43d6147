// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What holds for every policy, in a virtual plant and under observations that lie: tests/property/policies. */
#include "base/clock.h"
#include "tests/lib/policy_arrays.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

enum { EVERY = 100000000, TEN_SECONDS = 100, BUDGET = 10, ROUNDS = 12, ROUNDS_LIGHT = 4 };

static uint64_t seed;
static struct policy_state state = {.members = members};

static const enum experiment_policy at_rest[] = {POLICY_DPP_BAND, POLICY_ELASTIC, POLICY_INTEGRAL, POLICY_AIMD};
enum { AT_REST = sizeof at_rest / sizeof at_rest[0] };

static int rounds(void)
{
    return getenv("BEZEL_TEST_LIGHT") ? ROUNDS_LIGHT : ROUNDS;
}

static void start(enum experiment_policy policy, int64_t period, uint32_t count)
{
    struct experiment_adapt adapt = {.policy = policy, .every = EVERY, .period_min = CLOCK_US, .period_max = CLOCK_S};
    policy_start(&state, &adapt, period, count);
}

static void step(struct plant *p)
{
    plant_step(p, &state, &seen);
    policy_step(&state, &seen, &actions);
}

/* What `steps` steps of a plant came to, of its first node. */
struct course {
    double use;   /* mean, percent */
    int changes;  /* of the setting */
    int violated; /* steps with a limit in violation */
    int on, infeasible, not_the_monitors;
    int last_over; /* step, from 1, beyond 1.1 times the budget; 0: none */
};

static struct course run(struct plant *p, int steps)
{
    struct course c = {0};
    for (int i = 0; i < steps; i++) {
        step(p);
        bool violated = false;
        for (uint32_t j = 0; j < seen.limit_count; j++)
            violated = violated || seen.limits[j].state == LIMIT_VIOLATED;
        c.violated += violated;
        c.last_over = p->nodes[0].use > 1.1 * BUDGET ? i + 1 : c.last_over;
        c.use += p->nodes[0].use / steps;
        c.changes += actions.members[0].action != POLICY_KEEP;
        c.on += state.members[0].on;
        c.infeasible += actions.infeasible;
        c.not_the_monitors += actions.members[0].not_the_monitors;
    }
    return c;
}

/* A plant whose budget can be met: polling at the longest period costs far less. */
static struct plant any_plant(void)
{
    struct plant p = {.seed = seed_next(&seed),
                      .every = EVERY,
                      .count = 1,
                      .delay = (uint32_t)(seed_next(&seed) % 4),
                      .confirms = seed_next(&seed) % 2,
                      .blind_polls = seed_next(&seed) % 4 == 0,
                      .noise = 0.1 * seed_unit(&seed),
                      .budget = BUDGET};
    p.nodes[0].cost = seed_between(&seed, 10e3, 1e6);
    p.nodes[0].base = 2 * seed_unit(&seed);
    return p;
}

static int64_t any_period(void)
{
    return (int64_t)seed_between(&seed, 1e3, 1e9);
}

/* ---- Bounds, lies, sameness -------------------------------------------------------------------------------------- */

static double any_number(double usual)
{
    const double lies[] = {NAN, INFINITY, -INFINITY, -1, 400, 1e308, -1e308, 0, 5e-324};
    uint64_t pick = seed_next(&seed) % 24;
    return pick < sizeof lies / sizeof lies[0] ? lies[pick] : usual * seed_unit(&seed);
}

static int64_t any_time(void)
{
    const int64_t lies[] = {0, -1, INT64_MIN, INT64_MAX, -EVERY, 3600 * CLOCK_S};
    uint64_t pick = seed_next(&seed) % 16;
    return pick < sizeof lies / sizeof lies[0] ? lies[pick] : EVERY;
}

static void see_anything(struct policy_observation *o)
{
    o->dead_time = any_time();
    o->limit_count = (uint32_t)(seed_next(&seed) % 8);
    for (uint32_t i = 0; i < o->limit_count; i++)
        o->limits[i] = (struct policy_limit){.state = (enum limit_state)(seed_next(&seed) % 3),
                                             .compare = (enum experiment_compare)(seed_next(&seed) % 2),
                                             .on_cpu = seed_next(&seed) % 2,
                                             .member = (int)(seed_next(&seed) % 70) - 3,
                                             .bound = any_number(20),
                                             .value = any_number(20),
                                             .window = any_time(),
                                             .priority = (uint32_t)seed_next(&seed)};
    for (uint32_t i = 0; i < PLANT_NODES_MAX; i++)
        o->members[i] = (struct policy_measure){.cpu = any_number(100),
                                                .polls = any_number(100),
                                                .records = any_number(1000),
                                                .elapsed = any_time(),
                                                .unconfirmed = seed_next(&seed) % 2};
}

TEST(whatever_is_observed_periods_stay_in_bounds_and_the_same_makes_the_same)
{
    static struct policy_member twin_members[PLANT_NODES_MAX];
    static struct policy_member_actions twin_actions[PLANT_NODES_MAX];
    static struct policy_state twin = {.members = twin_members};
    static struct policy_actions twins = {.members = twin_actions};
    for (int round = 0; round < rounds() * EXPERIMENT_POLICY_COUNT; round++) {
        enum experiment_policy policy = (enum experiment_policy)(round % EXPERIMENT_POLICY_COUNT);
        uint32_t count = 1 + (uint32_t)(seed_next(&seed) % PLANT_NODES_MAX);
        int64_t least = (int64_t)seed_between(&seed, 1e3, 1e6), most = (int64_t)seed_between(&seed, 1e6, 1e10);
        struct experiment_adapt adapt = {.policy = policy, .every = EVERY, .period_min = least, .period_max = most};
        int64_t period = (int64_t)seed_between(&seed, (double)least, (double)most);
        policy_start(&state, &adapt, period, count);
        policy_start(&twin, &adapt, period, count);
        for (int i = 0; i < 200; i++) {
            see_anything(&seen);
            policy_step(&state, &seen, &actions);
            policy_step(&twin, &seen, &twins);
            for (uint32_t k = 0; k < count; k++) {
                const struct policy_member *m = &state.members[k];
                assert_true(m->period >= least && m->period <= most);
                if (!experiment_policy_can(policy, POLICY_MOVES))
                    assert_int_equal(m->period, period);
                assert_true(m->period == twin.members[k].period && m->on == twin.members[k].on);
                assert_memory_equal(&actions.members[k], &twins.members[k], sizeof *actions.members);
            }
            assert_int_equal(actions.infeasible, twins.infeasible);
            if (actions.infeasible)
                assert_true(isfinite(actions.needed) && isfinite(actions.budget));
        }
    }
}

/* Makes all that is known of the CPU a lie. */
static void lie(struct policy_observation *o, int kind)
{
    const double lies[] = {NAN, -5, 400, INFINITY};
    for (uint32_t i = 0; i < state.count; i++)
        o->members[i].cpu = lies[kind % 4];
    for (uint32_t i = 0; i < o->limit_count; i++)
        if (o->limits[i].on_cpu) {
            o->limits[i].value = lies[kind % 4];
            o->limits[i].state = kind % 2 ? LIMIT_HELD : LIMIT_VIOLATED;
        }
}

TEST(what_cannot_be_true_moves_nothing)
{
    for (int policy = 0; policy < EXPERIMENT_POLICY_COUNT; policy++)
        for (int kind = 0; kind < 8; kind++) {
            struct plant p = any_plant();
            start((enum experiment_policy)policy, CLOCK_MS, 1);
            if (kind >= 4) /* after a time in which all was well */
                run(&p, 300);
            for (int i = 0; i < 300; i++) {
                plant_step(&p, &state, &seen);
                lie(&seen, kind);
                policy_step(&state, &seen, &actions);
                assert_int_equal(actions.members[0].action, POLICY_KEEP);
            }
        }
}

TEST(time_that_stands_still_or_runs_back_moves_nothing_that_goes_by_measurements)
{
    for (int k = 0; k < AT_REST; k++)
        for (int kind = 0; kind < 3; kind++) {
            struct plant p = any_plant();
            p.nodes[0].cost *= 3;
            start(at_rest[k], CLOCK_MS, 1);
            for (int i = 0; i < 300; i++) {
                plant_step(&p, &state, &seen);
                seen.members[0].elapsed = kind == 0 ? 0 : kind == 1 ? -EVERY : 3600 * CLOCK_S;
                policy_step(&state, &seen, &actions);
                assert_int_equal(actions.members[0].action, POLICY_KEEP);
            }
        }
}

TEST(a_lie_now_and_then_does_not_make_it_swing)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p = any_plant();
        start(at_rest[round % AT_REST], any_period(), 1);
        run(&p, 600);
        int changes = 0;
        for (int i = 0; i < 10 * TEN_SECONDS; i++) {
            plant_step(&p, &state, &seen);
            if (seed_next(&seed) % 5 == 0)
                lie(&seen, (int)(seed_next(&seed) % 4));
            if (seed_next(&seed) % 10 == 0)
                seen.members[0].elapsed = any_time();
            if (i % 50 == 7) /* a lie that could be true */
                seen.members[0].cpu = 200;
            policy_step(&state, &seen, &actions);
            changes += actions.members[0].action != POLICY_KEEP;
        }
        /* One in 10 s at rest; lies that could be true, right after a change, cost integral up to some 30. */
        assert_true(changes <= 40);
    }
}

TEST(where_nothing_is_known_nothing_changes)
{
    for (int policy = 0; policy < EXPERIMENT_POLICY_COUNT; policy++)
        for (int round = 0; round < 4; round++) {
            struct plant p = any_plant();
            p.window = round % 2 ? 10 : 0;
            p.need = 60;
            p.nodes[0].load = 60;
            start((enum experiment_policy)policy, any_period(), 1);
            run(&p, round * 100);
            for (int i = 0; i < 3000; i++) {
                plant_step(&p, &state, &seen);
                for (uint32_t j = 0; j < seen.limit_count; j++)
                    seen.limits[j].state = LIMIT_UNKNOWN;
                seen.members[0].cpu = NAN;
                policy_step(&state, &seen, &actions);
                assert_int_equal(actions.members[0].action, POLICY_KEEP);
            }
        }
}

/* ---- A budget ---------------------------------------------------------------------------------------------------- */

TEST(under_a_constant_load_all_but_the_literal_ones_come_to_rest_within_the_budget)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p = any_plant();
        start(at_rest[round % AT_REST], any_period(), 1);
        run(&p, 1500);
        struct course c = run(&p, 20 * TEN_SECONDS);
        assert_true(c.changes <= 20);
        assert_true(c.use <= BUDGET);
        assert_true(c.use >= 0.35 * BUDGET);
        assert_int_equal(c.on, 20 * TEN_SECONDS);
        assert_int_equal(c.infeasible, 0);
    }
}

TEST(the_literal_dpp_never_comes_to_rest)
{
    for (int round = 0; round < rounds(); round++) {
        struct plant p = any_plant();
        start(POLICY_DPP, any_period(), 1);
        run(&p, 100);
        assert_true(run(&p, TEN_SECONDS).changes >= TEN_SECONDS - 1);
    }
}

TEST(elastic_follows_a_cost_three_times_as_high_within_ten_sampling_periods)
{
    for (int round = 0; round < 4 * rounds(); round++) {
        struct plant p = any_plant();
        p.delay = (uint32_t)(round % 3);
        p.nodes[0].cost = seed_between(&seed, 10e3, 100e3); /* many polls a step ... */
        p.noise /= 2;                                       /* ... and little noise: so that one step tells */
        start(POLICY_ELASTIC, any_period(), 1);
        run(&p, 600);
        p.nodes[0].cost *= 3;
        struct course c = run(&p, 60);
        assert_in_range(c.last_over, 1, 10 + p.delay);
        assert_true(c.use > 0.5 * BUDGET);
    }
}

TEST(what_costs_more_is_polled_less)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant cheap = any_plant();
        struct plant dear = cheap;
        int64_t period = any_period();
        dear.nodes[0].cost *= 1 + 3 * seed_unit(&seed);
        start(at_rest[round % AT_REST], period, 1);
        run(&cheap, 1500);
        int64_t short_one = state.members[0].period;
        start(at_rest[round % AT_REST], period, 1);
        run(&dear, 1500);
        /* Within what the bands leave: of aimd 0.8 to 1 of the budget, of dpp-band 0.4 to 1. */
        double slack = state.policy == POLICY_DPP_BAND ? 2.5 : 1.4;
        assert_true((double)state.members[0].period * slack >= (double)short_one);
    }
}

TEST(when_a_cost_falls_the_period_returns)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p = any_plant();
        start(at_rest[round % AT_REST], CLOCK_MS, 1);
        run(&p, 600);
        int64_t before = state.members[0].period;
        p.nodes[0].cost *= 20;
        run(&p, 600);
        assert_true(state.members[0].period > 5 * before);
        p.nodes[0].cost /= 20;
        run(&p, 3000);
        assert_true(state.members[0].on);
        assert_true((double)state.members[0].period < 2.5 * (double)before);
    }
}

TEST(what_is_infeasible_is_said_with_the_numbers_and_nothing_else_is)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p = any_plant();
        p.noise = 0.05;
        p.delay = 0;
        bool infeasible = round / AT_REST % 2;
        double floor = (infeasible ? seed_between(&seed, 1.3, 5) : 0.3 + 0.4 * seed_unit(&seed)) * BUDGET;
        p.nodes[0].cost = (floor - p.nodes[0].base) / 100 * 1e9; /* at the longest period, 1 s */
        start(at_rest[round % AT_REST], any_period(), 1);
        struct course c = run(&p, 1200);
        assert_int_equal(c.infeasible > 0, infeasible);
        if (!infeasible)
            continue;
        c = run(&p, 40 * TEN_SECONDS);
        assert_true(c.changes <= 40);
        assert_true(c.infeasible > 20 * TEN_SECONDS);
        assert_true(c.use < BUDGET);
        while (!actions.infeasible)
            step(&p);
        assert_true(actions.needed > actions.budget && actions.needed < 2 * floor);
        assert_int_equal(actions.infeasible_member, 0);
        assert_true(actions.budget == BUDGET);
        p.nodes[0].cost = 30e3; /* and when that is over, it is on again */
        run(&p, 3200);
        c = run(&p, TEN_SECONDS);
        assert_int_equal(c.on, TEN_SECONDS);
        assert_int_equal(c.infeasible, 0);
    }
}

/* ---- As it is on a real machine ---------------------------------------------------------------------------------- */

/* Polls come late, now and then a node is starved, and it keeps its budget within a step. */
static struct plant any_machine(void)
{
    struct plant p = any_plant();
    p.delay = 0;
    p.blind_polls = false;
    p.keeps = true;
    p.starved = 0.02;
    p.nodes[0].cost = seed_between(&seed, 5e3, 50e3);
    p.nodes[0].late = seed_between(&seed, 1e3, 20e3);
    return p;
}

TEST(elastic_rests_where_polls_come_late_and_nodes_are_starved_now_and_then)
{
    for (int round = 0; round < 4 * rounds(); round++) {
        struct plant p = any_machine();
        start(POLICY_ELASTIC, any_period(), 1);
        struct course c = run(&p, 600);
        assert_int_equal(c.violated, 0);
        c = run(&p, 20 * TEN_SECONDS);
        assert_int_equal(c.violated, 0);
        assert_true(c.changes <= 20);
        assert_true(c.use >= 0.6 * BUDGET);
    }
}

TEST(a_rise_of_the_record_rate_breaks_no_budget_that_is_kept)
{
    for (int round = 0; round < 4 * rounds(); round++) {
        struct plant p = any_machine();
        p.starved = 0;
        start(POLICY_ELASTIC, CLOCK_US, 1);
        run(&p, 300);
        int64_t before = state.members[0].period;
        p.nodes[0].flow = seed_between(&seed, 1e6, 1e8);
        struct course c = run(&p, 100);
        assert_int_equal(c.violated, 0);
        assert_true(state.members[0].period > before);
        c = run(&p, 3 * TEN_SECONDS);
        assert_int_equal(c.violated, 0);
        assert_true(c.use >= 0.6 * BUDGET);
        /* Polling less helps only from where rings overflow: it goes there step by step. */
        assert_true(c.changes <= 15);
        p.nodes[0].flow = 0;
        run(&p, 300);
        assert_true((double)state.members[0].period < 2 * (double)before);
    }
}

TEST(what_looks_dear_since_a_node_is_starved_is_not_polled_less)
{
    for (int round = 0; round < rounds(); round++) {
        struct plant p = any_machine();
        p.starved = 0;
        p.nodes[0].base = 2;
        start(POLICY_ELASTIC, CLOCK_MS, 1);
        run(&p, 600);
        int64_t before = state.members[0].period;
        p.starved = 1;
        for (int i = 0; i < 20; i++) {
            step(&p);
            assert_true(state.members[0].period <= before);
        }
    }
}

/* ---- A quality --------------------------------------------------------------------------------------------------- */

static struct plant any_video(void)
{
    struct plant p = any_plant();
    p.window = 5 + (uint32_t)(seed_next(&seed) % 10);
    p.budget = seed_next(&seed) % 2 ? 30 : 0;
    p.nodes[0].cost = seed_between(&seed, 20e3, 200e3);
    p.need = 60;
    p.nodes[0].load = 20;
    return p;
}

/* A period at which the monitor uses 30 % of a CPU. */
static int64_t heavy_period(const struct plant *p)
{
    return (int64_t)(p->nodes[0].cost / 0.3);
}

TEST(a_quality_that_the_monitor_breaks_is_held)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p = any_video();
        p.nodes[0].load = 26 + 8 * seed_unit(&seed); /* it may use 8 .. 16 % */
        start(at_rest[round % AT_REST], heavy_period(&p), 1);
        run(&p, 3000);
        struct course c = run(&p, 40 * TEN_SECONDS);
        assert_true(c.violated <= 40 * TEN_SECONDS / 50);
        assert_true(c.changes <= 40);
        assert_int_equal(c.on, 40 * TEN_SECONDS);
        assert_int_equal(c.not_the_monitors, 0);
    }
}

TEST(a_quality_that_no_polling_could_save_is_not_answered_for_long)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p = any_video();
        p.nodes[0].load = 5;
        start(at_rest[round % AT_REST], heavy_period(&p), 1);
        run(&p, 600);
        int64_t before = state.members[0].period;
        /* Another bottleneck than the CPU: frames are late whatever is polled. */
        int on = 0, not_the_monitors = 0, changes = 0;
        for (int i = 0; i < 40 * TEN_SECONDS; i++) {
            plant_step(&p, &state, &seen);
            struct policy_limit *l = &seen.limits[seen.limit_count - 1];
            l->value = 20 + 0.2 * seed_unit(&seed);
            l->state = LIMIT_VIOLATED;
            policy_step(&state, &seen, &actions);
            on += state.members[0].on;
            not_the_monitors += actions.members[0].not_the_monitors;
            changes += actions.members[0].action != POLICY_KEEP;
        }
        assert_int_equal(on, 40 * TEN_SECONDS);
        assert_true(not_the_monitors > 30 * TEN_SECONDS);
        assert_true(changes <= 60);
        run(&p, 12000);
        assert_true(state.members[0].on);
        assert_true((double)state.members[0].period < 2.5 * (double)before);
        assert_int_equal(actions.members[0].not_the_monitors, 0);
    }
}

/* A program's own latency, that others break now and then, or all the time; samplers use more than polls do. */
TEST(a_quality_that_swings_by_itself_costs_the_node_little)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p = any_video();
        double often = round / AT_REST % 3 == 0 ? 1 : seed_between(&seed, 0.01, 0.3);
        p.budget = 0;
        p.nodes[0].cost = seed_between(&seed, 3e3, 15e3); /* 0.3 to 1.5 % at 1 ms */
        p.nodes[0].base = 4;
        p.nodes[0].load = 5;
        start(at_rest[round % AT_REST], CLOCK_MS, 1);
        run(&p, 50);
        int violated = 0;
        double mean = 0;
        for (int i = 0; i < 60 * TEN_SECONDS; i++) {
            bool told = actions.members[0].not_the_monitors;
            plant_step(&p, &state, &seen);
            struct policy_limit *l = &seen.limits[seen.limit_count - 1];
            if (i % 10 == 0)
                violated = seed_unit(&seed) < often;
            l->value = violated ? 29 * seed_unit(&seed) : 30;
            l->state = violated ? LIMIT_VIOLATED : LIMIT_HELD;
            policy_step(&state, &seen, &actions);
            int64_t period = state.members[0].period;
            assert_true(period <= 8 * CLOCK_MS);
            assert_true(!actions.members[0].not_the_monitors || told || state.policy == POLICY_DPP_BAND ||
                        period == CLOCK_MS);
            mean += (double)period / (60 * TEN_SECONDS);
        }
        assert_true(mean < 3 * CLOCK_MS); /* where it is seldom violated, each probe is a part of little */
        assert_true(state.members[0].on);
    }
}

TEST(after_a_burst_of_load_the_period_returns)
{
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p = any_video();
        p.nodes[0].load = 5;
        start(at_rest[round % AT_REST], heavy_period(&p), 1);
        run(&p, 600);
        int64_t before = state.members[0].period;
        p.nodes[0].load = 32;
        run(&p, 200);
        assert_true(state.members[0].period > before);
        p.nodes[0].load = 5;
        run(&p, 8000);
        assert_true(state.members[0].on);
        assert_true((double)state.members[0].period < 2.5 * (double)before);
    }
}

/* ---- Several members --------------------------------------------------------------------------------------------- */

TEST(members_that_share_no_limit_are_decided_for_as_each_alone)
{
    enum { MEMBERS = 5, STEPS = 600 };
    static struct policy_setting alone[MEMBERS][STEPS];
    for (int round = 0; round < rounds() * AT_REST; round++) {
        struct plant p[MEMBERS];
        uint64_t again[MEMBERS];
        for (int k = 0; k < MEMBERS; k++) {
            p[k] = any_video();
            p[k].delay = 1;
            again[k] = p[k].seed;
            start(at_rest[round % AT_REST], CLOCK_MS, 1);
            for (int i = 0; i < STEPS; i++) {
                step(&p[k]);
                alone[k][i] = (struct policy_setting){state.members[0].on, state.members[0].period};
            }
        }
        struct policy_state one = {0};
        static struct policy_limit whole_limits[2 * MEMBERS];
        static struct policy_measure whole_measures[MEMBERS];
        struct policy_observation whole = {.limits = whole_limits, .members = whole_measures, .dead_time = EVERY};
        start(at_rest[round % AT_REST], CLOCK_MS, MEMBERS);
        for (int k = 0; k < MEMBERS; k++) {
            p[k].seed = again[k];
            p[k].step = 0;
            p[k].nodes[0].phase = p[k].nodes[0].owed = 0;
        }
        for (int i = 0; i < STEPS; i++) {
            whole.limit_count = 0;
            for (int k = 0; k < MEMBERS; k++) {
                one.members = &state.members[k];
                plant_step(&p[k], &one, &seen);
                whole.members[k] = seen.members[0];
                for (uint32_t j = 0; j < seen.limit_count; j++) {
                    whole.limits[whole.limit_count] = seen.limits[j];
                    whole.limits[whole.limit_count++].member = k;
                }
            }
            policy_step(&state, &whole, &actions);
            for (int k = 0; k < MEMBERS; k++) {
                assert_int_equal(state.members[k].on, alone[k][i].on);
                assert_int_equal(state.members[k].period, alone[k][i].period);
            }
        }
    }
}

TEST(a_budget_for_all_is_kept_and_the_important_keep_more)
{
    for (int round = 0; round < rounds(); round++) {
        struct plant p = any_plant();
        p.budget = 0;
        p.count = 2 + (uint32_t)(seed_next(&seed) % 15);
        p.global = 3.0 * p.count;
        start(POLICY_ELASTIC, CLOCK_MS, p.count);
        for (uint32_t i = 0; i < p.count; i++) {
            p.nodes[i].cost = seed_between(&seed, 10e3, 100e3);
            p.nodes[i].base = 0.2 * seed_unit(&seed);
        }
        state.members[0].weight = 4;
        run(&p, 1000);
        double sum = 0, first = 0;
        int changes = 0;
        for (int i = 0; i < 10 * TEN_SECONDS; i++) {
            step(&p);
            for (uint32_t k = 0; k < p.count; k++) {
                sum += p.nodes[k].use / (10 * TEN_SECONDS);
                changes += actions.members[k].action != POLICY_KEEP;
            }
            first += p.nodes[0].use / (10 * TEN_SECONDS);
        }
        assert_true(first >= sum / p.count);
        assert_true(changes <= 10 * (int)p.count);
    }
}

TEST(where_not_all_fit_in_the_least_important_is_off)
{
    struct plant p = any_plant();
    p.delay = 0;
    p.noise = 0.02;
    p.budget = 0;
    p.count = 4;
    p.global = 10;
    start(POLICY_ELASTIC, CLOCK_S, p.count);
    for (uint32_t i = 0; i < p.count; i++) {
        p.nodes[i].cost = 40e6; /* 4 % at the longest period: two fit in */
        p.nodes[i].base = 0;
        state.members[i].weight = 1 + i;
    }
    run(&p, 100);
    assert_true(actions.infeasible && actions.infeasible_member == POLICY_ALL);
    assert_false(state.members[0].on || state.members[1].on);
    assert_true(state.members[2].on && state.members[3].on);
    assert_true(actions.needed > 10 && actions.budget == 10);
}

TEST(the_literal_policies_move_all_members_as_one)
{
    for (int round = 0; round < rounds(); round++) {
        struct plant p = any_plant();
        p.count = 6;
        for (uint32_t i = 0; i < p.count; i++)
            p.nodes[i].cost = seed_between(&seed, 10e3, 1e6);
        start(round % 2 ? POLICY_SPP : POLICY_DPP, any_period(), p.count);
        for (int i = 0; i < 200; i++) {
            step(&p);
            for (uint32_t k = 1; k < p.count; k++) {
                assert_int_equal(actions.members[k].action, actions.members[0].action);
                assert_int_equal(state.members[k].period, state.members[0].period);
            }
        }
    }
}

static int begin(void **unused)
{
    (void)unused;
    seed = seed_start();
    return 0;
}

int main(void)
{
    return test_run(begin, NULL);
}
