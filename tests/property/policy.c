// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "resmgr/agent/agent.h"
#include "tests/lib/limits_seen.h"
#include "tests/lib/one_record.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The dissertation's two policies as a table ------------------------------------------------------------------ */

enum seen { HOLDS, BREAKS, SILENT, SEEN };

/* Where a state stands: off, or on with a period for which doubling and halving stay inside the bounds or do not. */
enum stand { OFF = 1, ON = 2, ROOM_ABOVE = 4, NO_ROOM_ABOVE = 8, ROOM_BELOW = 16, NO_ROOM_BELOW = 32, AT_BOTTOM = 64 };

enum next { SAME, DOUBLE, HALF, LOWEST, HIGHEST };

static const struct row {
    enum experiment_policy policy;
    unsigned stand; /* all of these */
    enum seen seen;
    enum policy_action action;
    bool on;
    enum next next;
} table[] = {
    {POLICY_SPP, ON, HOLDS, POLICY_KEEP, true, SAME},
    {POLICY_SPP, ON, BREAKS, POLICY_OFF, false, SAME},
    {POLICY_SPP, ON, SILENT, POLICY_KEEP, true, SAME},
    {POLICY_SPP, OFF, HOLDS, POLICY_RESUME, true, SAME},
    {POLICY_SPP, OFF, BREAKS, POLICY_KEEP, false, SAME},
    {POLICY_SPP, OFF, SILENT, POLICY_KEEP, false, SAME},
    {POLICY_DPP, ON | ROOM_ABOVE, BREAKS, POLICY_LENGTHEN, true, DOUBLE},
    {POLICY_DPP, ON | NO_ROOM_ABOVE, BREAKS, POLICY_OFF, false, SAME},
    {POLICY_DPP, ON | ROOM_BELOW, HOLDS, POLICY_SHORTEN, true, HALF},
    {POLICY_DPP, ON | NO_ROOM_BELOW, HOLDS, POLICY_SHORTEN, true, LOWEST},
    {POLICY_DPP, ON | AT_BOTTOM, HOLDS, POLICY_KEEP, true, SAME},
    {POLICY_DPP, ON, SILENT, POLICY_KEEP, true, SAME},
    {POLICY_DPP, OFF, HOLDS, POLICY_RESUME, true, HIGHEST},
    {POLICY_DPP, OFF, BREAKS, POLICY_KEEP, false, SAME},
    {POLICY_DPP, OFF, SILENT, POLICY_KEEP, false, SAME},
};

/* What the two know of one member. */
struct clock_pair {
    enum experiment_policy policy;
    bool on;
    int64_t period, period_min, period_max;
};

static unsigned stand(const struct clock_pair *s)
{
    if (!s->on)
        return OFF;
    unsigned above = 2 * s->period <= s->period_max ? ROOM_ABOVE : NO_ROOM_ABOVE;
    unsigned below = s->period == s->period_min       ? AT_BOTTOM
                     : s->period >= 2 * s->period_min ? ROOM_BELOW
                                                      : NO_ROOM_BELOW;
    return ON | above | below;
}

static struct clock_pair by_table(struct clock_pair s, enum seen seen, enum policy_action *action)
{
    const struct row *found = NULL;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].policy == s.policy && table[i].seen == seen && (table[i].stand & ~stand(&s)) == 0) {
            assert_null(found);
            found = &table[i];
        }
    assert_non_null(found);
    const int64_t next[] = {s.period, s.period * 2, s.period / 2, s.period_min, s.period_max};
    s.on = found->on;
    s.period = next[found->next];
    *action = found->action;
    return s;
}

/* All the ways in which limits can make up what is seen. */
static const struct {
    struct limits_seen limits;
    enum seen seen;
} views[] = {
    {{1, 0, 0}, HOLDS},  {{3, 0, 2}, HOLDS},  {{0, 1, 0}, BREAKS}, {{2, 1, 0}, BREAKS},
    {{2, 1, 4}, BREAKS}, {{0, 0, 0}, SILENT}, {{0, 0, 3}, SILENT},
};
enum { VIEWS = sizeof views / sizeof views[0] };

static long traces;

/* How long the longest traces are, and how many there are. */
static int depth(void)
{
    return getenv("BEZEL_TEST_LIGHT") ? 5 : 6;
}

static long traces_of(int steps)
{
    return steps ? VIEWS * traces_of(steps - 1) : 1;
}

/* One at a time. */
static struct policy_state started(const struct experiment_adapt *adapt, int64_t period)
{
    static struct policy_member member;
    struct policy_state s = {.members = &member};
    policy_start(&s, adapt, period, 1);
    return s;
}

static void every_trace(struct policy_state s, int steps)
{
    if (steps == 0) {
        traces++;
        return;
    }
    for (int i = 0; i < VIEWS; i++) {
        enum policy_action should;
        const struct policy_member *m = &s.members[0];
        struct clock_pair model = by_table((struct clock_pair){s.policy, m->on, m->period, s.period_min, s.period_max},
                                           views[i].seen, &should);
        struct policy_member copy = *m;
        struct policy_state real = s;
        real.members = &copy;
        m = &copy;
        assert_int_equal(limits_step(&real, views[i].limits), should);
        assert_int_equal(m->on, model.on);
        assert_int_equal(m->period, model.period);
        assert_int_equal(real.policy, s.policy);
        assert_true(real.period_min == s.period_min && real.period_max == s.period_max);
        assert_true(m->period >= s.period_min && m->period <= s.period_max);
        every_trace(real, steps - 1);
    }
}

TEST(every_short_trace_is_as_the_table_says)
{
    const int64_t starts[] = {60, 61, 119, 120, 250, 500, 501, 999, 1000};
    for (enum experiment_policy p = POLICY_SPP; p <= POLICY_DPP; p++)
        for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
            struct experiment_adapt adapt = {.policy = p, .period_min = 60, .period_max = 1000};
            every_trace(started(&adapt, starts[i]), i == 0 ? depth() : depth() - 2);
        }
    assert_true(traces > 2 * traces_of(depth()));
}

TEST(bounds_that_are_one_point_leave_on_and_off)
{
    struct experiment_adapt adapt = {.policy = POLICY_DPP, .period_min = 100, .period_max = 100};
    traces = 0;
    every_trace(started(&adapt, 100), depth());
    assert_int_equal(traces, traces_of(depth()));
}

/* ---- In a closed loop with a toy plant --------------------------------------------------------------------------- */

/* Polling costs CPU in inverse proportion to its period; frames suffer where CPU is above a threshold. */
struct plant {
    double cost;      /* ns of CPU a poll */
    double noise;     /* relative, of the CPU */
    double threshold; /* percent of CPU from which on frames are late */
    double load;      /* percent of CPU that others take */
};

static double plant_cpu(const struct plant *p, const struct policy_setting *s, uint64_t *seed)
{
    double noise = 1 + p->noise * (2 * seed_unit(seed) - 1);
    return s->on ? fmin(100, 100 * p->cost / (double)s->period * noise) : 0;
}

static double plant_fps(const struct plant *p, double cpu)
{
    double over = cpu + p->load - p->threshold;
    return over <= 0 ? 30 : fmax(1, 30 - over);
}

enum { CPU_MAX = 10, FPS_MIN = 29, STEPS = 400 };

static struct limits_seen plant_seen(const struct plant *p, const struct policy_state *s, uint64_t *seed)
{
    struct policy_setting now = {s->members[0].on, s->members[0].period};
    double cpu = plant_cpu(p, &now, seed);
    uint32_t broken = (cpu > CPU_MAX) + (plant_fps(p, cpu) < FPS_MIN);
    return (struct limits_seen){.held = 2 - broken, .broken = broken};
}

static struct policy_state start(enum experiment_policy policy, int64_t period)
{
    struct experiment_adapt adapt = {.policy = policy, .period_min = CLOCK_US, .period_max = CLOCK_S};
    return started(&adapt, period);
}

static int64_t any_period(uint64_t *seed)
{
    return (int64_t)(1000 * exp(seed_unit(seed) * log(1e6)));
}

static struct plant any_plant(uint64_t *seed)
{
    return (struct plant){.cost = exp(seed_unit(seed) * log(1e6)),
                          .noise = seed_unit(seed) * 0.3,
                          .threshold = 5 + 80 * seed_unit(seed),
                          .load = 0};
}

TEST(a_limit_that_holds_when_off_is_never_broken_twice_in_a_row_under_spp)
{
    uint64_t seed = seed_start();
    for (int run = 0; run < 300; run++) {
        struct plant p = any_plant(&seed);
        int64_t period = any_period(&seed);
        struct policy_state s = start(POLICY_SPP, period);
        bool was_broken = false;
        for (int i = 0; i < STEPS; i++) {
            struct limits_seen seen = plant_seen(&p, &s, &seed);
            assert_false(was_broken && seen.broken);
            was_broken = seen.broken > 0;
            limits_step(&s, seen);
            assert_int_equal(s.members[0].on, !was_broken);
            assert_int_equal(s.members[0].period, period);
        }
    }
}

TEST(dpp_without_noise_settles_on_the_two_periods_beside_the_limit)
{
    uint64_t seed = seed_start();
    for (int run = 0; run < 300; run++) {
        struct plant p = any_plant(&seed);
        p.noise = 0;
        struct policy_state s = start(POLICY_DPP, any_period(&seed));
        for (int i = 0; i < 25; i++) /* log2(1 s / 1 us) is 20 */
            limits_step(&s, plant_seen(&p, &s, &seed));
        bool at_bottom = s.members[0].period == CLOCK_US && plant_seen(&p, &s, &seed).broken == 0;
        int off = 0;
        for (int i = 0; i < STEPS; i++) {
            struct limits_seen seen = plant_seen(&p, &s, &seed);
            enum policy_action action = limits_step(&s, seen);
            off += !s.members[0].on;
            assert_true(s.members[0].period >= s.period_min && s.members[0].period <= s.period_max);
            assert_int_equal(action, at_bottom ? POLICY_KEEP : seen.broken ? POLICY_LENGTHEN : POLICY_SHORTEN);
        }
        assert_int_equal(off, 0); /* at 1 s a poll of 1 ms at most always holds */
    }
}

TEST(what_cannot_hold_is_off_within_twenty_doublings_and_stays_off)
{
    uint64_t seed = seed_start();
    for (int run = 0; run < 300; run++) {
        struct plant p = any_plant(&seed);
        p.load = 100;
        struct policy_state s = start(POLICY_DPP, any_period(&seed));
        for (int i = 0; i < STEPS; i++) {
            limits_step(&s, plant_seen(&p, &s, &seed));
            assert_true(i < 20 || !s.members[0].on);
        }
    }
}

TEST(under_noise_dpp_keeps_its_bounds_and_moves_by_factors_of_two)
{
    uint64_t seed = seed_start();
    for (int run = 0; run < 300; run++) {
        struct plant p = any_plant(&seed);
        struct policy_state s = start(POLICY_DPP, any_period(&seed));
        for (int i = 0; i < STEPS; i++) {
            struct policy_member before = s.members[0];
            if (seed_next(&seed) % 50 == 0)
                p.load = 100 * seed_unit(&seed);
            struct limits_seen seen = plant_seen(&p, &s, &seed);
            if (seed_next(&seed) % 10 == 0)
                seen = (struct limits_seen){.unknown = 2};
            limits_step(&s, seen);
            assert_true(s.members[0].period >= s.period_min && s.members[0].period <= s.period_max);
            if (before.on && s.members[0].on && s.members[0].period > before.period)
                assert_int_equal(s.members[0].period, 2 * before.period);
            if (before.on && s.members[0].on && s.members[0].period < before.period)
                assert_true(s.members[0].period == before.period / 2 || s.members[0].period == s.period_min);
            if (!before.on && s.members[0].on)
                assert_int_equal(s.members[0].period, s.period_max);
            if (!before.on && !s.members[0].on)
                assert_int_equal(s.members[0].period, before.period);
        }
    }
}

/* ---- The same loop through the agent: frames, counters, late records --------------------------------------------- */

enum { WINDOW = 500000000, EVERY = 50000000 };

static struct loop {
    struct agent *agent;
    const struct agent_outcome *out;
    int slot, watch;
    uint64_t attempts;
    double next;       /* time of the next frame */
    int64_t now, poll; /* time of the next poll */
    int64_t waiting[4096];
    int count;
} loop;

/* One sampling period of the plant: frames are made, and polled where collection is on. */
static void loop_run(const struct plant *p, double cpu)
{
    loop.now += EVERY;
    for (; loop.next <= (double)loop.now; loop.next += 1e9 / plant_fps(p, cpu)) {
        loop.attempts++;
        if (loop.out->after.on)
            loop.waiting[loop.count++] = (int64_t)loop.next;
    }
    if (loop.poll <= loop.now) {
        for (int i = 0; i < loop.count; i++)
            agent_records(loop.agent, loop.watch, ONE_RECORD(loop.waiting[i], 0, NULL), loop.now);
        loop.count = 0;
        loop.poll = loop.now + loop.out->after.period;
    }
    agent_count(loop.agent, loop.watch, loop.attempts, loop.now);
    loop.out = agent_step(loop.agent, loop.now, &(struct policy_measure){.cpu = cpu, .polls = NAN, .elapsed = EVERY});
}

static void loop_start(const struct experiment *e)
{
    memset(&loop, 0, sizeof loop);
    assert_int_equal(agent_new(e, 0, &loop.agent), 0);
    loop.slot = agent_process_add(loop.agent, "client");
    loop.watch = agent_watch(loop.agent, loop.slot, &(struct dict_aspect){.name = "shown"});
    assert_true(loop.watch >= 0);
    agent_count(loop.agent, loop.watch, 0, 0);
    loop.out = agent_step(loop.agent, 0, &(struct policy_measure){.cpu = NAN});
    loop.next = 1;
}

TEST(the_agent_adapts_a_plant_is_never_blind_and_accounts_for_all_time)
{
    static char shown[] = "shown";
    struct experiment_metric metric = {.aspect = shown, .window = WINDOW, .per_process = true};
    struct experiment_limit limits[] = {
        {.kind = LIMIT_HOLD, .metric = 0, .compare = COMPARE_AT_LEAST, .bound = FPS_MIN},
        {.kind = LIMIT_HOLD, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = CPU_MAX},
    };
    uint64_t seed = seed_start();
    for (int run = 0; run < 200; run++) {
        struct plant p = any_plant(&seed);
        struct experiment e = {
            .node_count = 1, .metric_count = 1, .limit_count = 2, .metrics = &metric, .limits = limits};
        e.adapt = (struct experiment_adapt){.policy = run % 2 ? POLICY_SPP : POLICY_DPP, .every = EVERY};
        e.adapt.period_min = CLOCK_US;
        e.adapt.period_max = CLOCK_S;
        e.sensing.period = any_period(&seed);
        loop_start(&e);
        int violated = 0, steady = 0;
        for (int i = 1; i <= STEPS; i++) {
            double cpu = plant_cpu(&p, &loop.out->after, &seed), true_fps = plant_fps(&p, cpu), fps;
            loop_run(&p, cpu);
            bool known = agent_metric(loop.agent, 0, loop.slot, &fps);
            assert_int_equal(known, i > 1 + WINDOW / EVERY - 1);
            steady = true_fps == 30 ? steady + 1 : 0;
            /* A frame at 1 a second, a window, and as much for what is late. */
            if (known && steady > (CLOCK_S + 2 * WINDOW) / EVERY)
                assert_true(fabs(fps - 30) <= 1e9 / WINDOW + 1e-6);
            violated += loop.out->limits[0].state == LIMIT_VIOLATED || loop.out->limits[1].state == LIMIT_VIOLATED;
            /* Under SPP collection is on exactly where no limit was found in violation. */
            if (run % 2 && loop.out->limits[1].state != LIMIT_UNKNOWN)
                assert_int_equal(loop.out->after.on, loop.out->cause < 0);
            assert_int_equal(loop.out->cause >= 0, loop.out->action == POLICY_OFF ||
                                                       loop.out->action == POLICY_LENGTHEN ||
                                                       (!loop.out->before.on && !loop.out->after.on));
        }
        for (int i = 0; i < 2; i++) {
            const struct agent_limit *l = &loop.out->limits[i];
            assert_int_equal(l->settling + l->held + l->violated + l->unknown, loop.now);
            assert_true(l->settling >= 0 && l->held >= 0 && l->violated >= 0 && l->unknown >= 0);
        }
        assert_true(violated < STEPS);
        agent_free(loop.agent);
    }
}
