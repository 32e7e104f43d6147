// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The partials of a node for global limits, and the age of its records when they are stored. */
#include "resmgr/agent/agent.h"

#include "base/clock.h"
#include "mdr/manage.h"
#include "mdr/message.h"
#include "tests/lib/one_record.h"
#include "tests/lib/test.h"

enum { RATE, LATENCY, STORED, STORED_MOST, LOST, METRICS, CPU = METRICS, LIMITS };

#define START (100 * CLOCK_S)
#define EVERY (100 * CLOCK_MS)

static char rate[] = "ticks", tick[] = "tick", latency[] = "monitoring_latency", stored[] = "storing_latency",
            most[] = "storing_latency_max", lost[] = "lost_ratio";
static struct experiment_metric metrics[METRICS] = {
    [RATE] = {.name = rate, .aspect = tick, .kind = METRIC_RATE, .window = CLOCK_S},
    [LATENCY] = {.name = latency, .kind = METRIC_LATENCY, .window = CLOCK_S},
    [STORED] = {.name = stored, .kind = METRIC_STORING, .window = CLOCK_S},
    [STORED_MOST] = {.name = most, .kind = METRIC_STORING_MAX, .window = CLOCK_S},
    [LOST] = {.name = lost, .kind = METRIC_LOST, .window = CLOCK_S}};
static struct experiment_limit limits[LIMITS];
static struct experiment_node node;
static struct experiment e = {.node_count = 1,
                              .nodes = &node,
                              .metric_count = METRICS,
                              .metrics = metrics,
                              .limit_count = LIMITS,
                              .limits = limits,
                              .sensing = {.period = CLOCK_MS},
                              .adapt = {.every = EVERY, .period_min = CLOCK_MS, .period_max = CLOCK_S}};
static struct agent *agent;
static int64_t now;

static int start(void **state)
{
    (void)state;
    for (int i = 0; i < LIMITS; i++)
        limits[i] = (struct experiment_limit){.kind = LIMIT_EXPECT,
                                              .global = true,
                                              .metric = i == CPU ? LIMIT_ON_SENSOR_CPU : i,
                                              .compare = COMPARE_AT_MOST,
                                              .bound = 10};
    e.adapt.max_age = 0;
    now = START;
    return agent_new(&e, 0, &agent);
}

static int end(void **state)
{
    (void)state;
    agent_free(agent);
    return 0;
}

/* Each partial can be sent. */
static void assert_sent(void)
{
    static struct message m;
    static uint8_t bytes[MESSAGE_MAX_BYTES];
    m = (struct message){.type = MESSAGE_PARTIALS, .partials = {.life = 1, .at = 1}};
    for (uint32_t i = 0; i < LIMITS; i++)
        m.partials.list[m.partials.count++] = agent_partial(agent, i);
    assert_true(message_encode(&m, bytes, sizeof bytes) > 0);
}

static const struct agent_outcome *step(double cpu)
{
    now += EVERY;
    const struct agent_outcome *o = agent_step(agent, now, &(struct policy_measure){.cpu = cpu, .elapsed = EVERY});
    assert_sent();
    return o;
}

TEST_WITH(start, end, nobody_here_has_the_aspect)
{
    for (int i = 0; i < 30; i++)
        step(5);
    assert_int_equal(agent_partial(agent, RATE).state, PARTIAL_NONE);
    assert_int_equal(agent_partial(agent, RATE).limit, RATE);
    assert_int_equal(agent_partial(agent, LATENCY).state, PARTIAL_NONE);
    assert_int_equal(agent_partial(agent, LOST).state, PARTIAL_UNKNOWN); /* nobody counted */
    assert_int_equal(agent_partial(agent, CPU).state, PARTIAL_KNOWN);
    assert_true(agent_partial(agent, CPU).value == 5);
    step(400);
    assert_int_equal(agent_partial(agent, CPU).state, PARTIAL_UNKNOWN);
}

TEST_WITH(start, end, a_global_limit_is_not_judged_here)
{
    const struct agent_outcome *o = NULL;
    for (int i = 0; i < 30; i++)
        o = step(90);
    assert_int_equal(o->limits[CPU].state, LIMIT_UNKNOWN);
    assert_int_equal(o->limits[CPU].violated + o->limits[CPU].unknown, 0);
    assert_false(o->limit_changed);
    assert_int_equal(agent_seen(agent)->limit_count, 0);
}

static const struct dict_aspect ticking = {.id = 1, .name = "tick"};

static void compare(enum experiment_compare compare)
{
    limits[RATE].compare = compare;
    agent_free(agent);
    assert_int_equal(agent_new(&e, 0, &agent), 0);
}

/* A bezeld that follows a killed one: what the process made under that one is not nothing, and is not known yet. */
TEST_WITH(start, end, records_of_before_are_not_none)
{
    compare(COMPARE_AT_LEAST);
    int watch = agent_watch(agent, agent_process_add(agent, "app"), &ticking);
    for (uint64_t i = 0; i < 12; i++) {
        agent_count(agent, watch, 400 + 10 * i, now + EVERY);
        step(5);
        assert_int_equal(agent_partial(agent, RATE).state, i <= 10 ? PARTIAL_UNKNOWN : PARTIAL_KNOWN);
    }
    assert_true(agent_partial(agent, RATE).value == 100);
}

/* For an upper bound what no process here has made is 0 from a window on, and the first records are all of theirs. */
TEST_WITH(start, end, a_rate_is_known_to_be_low_before_it_is_known_how_fast_a_source_is)
{
    for (int turn = 0; turn < 4; turn++) {
        bool at_most = turn & 1, seen = turn & 2; /* seen: from its begin on */
        compare(at_most ? COMPARE_AT_MOST : COMPARE_AT_LEAST);
        int slot = agent_process_add(agent, "app");
        if (seen)
            agent_process_began(agent, slot, now);
        int watch = agent_watch(agent, slot, &ticking);
        struct message_partial part;
        assert_true(slot >= 0 && watch >= 0);
        for (int i = 0; i < 40; i++) {
            agent_count(agent, watch, i < 15 ? 0 : (uint64_t)(4 * (i - 14)), now + EVERY);
            step(5);
            part = agent_partial(agent, RATE);
            bool low = at_most && i >= 10 - seen;
            assert_int_equal(part.state, low || i >= 25                 ? PARTIAL_KNOWN
                                         : i < 15 && (!at_most || seen) ? PARTIAL_NONE
                                                                        : PARTIAL_UNKNOWN);
            assert_true(i >= 15 || (part.value == 0 && part.silent == 0));
            if (i >= 15 && i < 25) /* so many were in the window, or at least */
                assert_true(at_most ? part.value == 4 * (i - 14)
                                    : part.value <= 4 * (i - 14) && (part.value > 0 || i < 17));
        }
        assert_true(part.value == 40 && part.unsure == 1 && part.over == 0 && part.silent == 0);
    }
}

TEST_WITH(start, end, a_rate_tells_since_when_it_is_silent)
{
    int slot = agent_process_add(agent, "app"), watch = agent_watch(agent, slot, &ticking);
    uint64_t attempts = 0;
    for (int i = 0; i < 25; i++) {
        agent_count(agent, watch, attempts += 4, now + EVERY);
        step(5);
    }
    struct message_partial part = agent_partial(agent, RATE);
    for (int i = 1; i <= 3; i++) {
        agent_count(agent, watch, attempts, now + EVERY);
        step(5);
        assert_int_equal(agent_partial(agent, RATE).silent, i * EVERY);
    }
    agent_process_remove(agent, slot);
    double before = agent_partial(agent, RATE).value;
    for (int i = 0; i < 12; i++, before = part.value) { /* until none of its records is in the window */
        step(5);
        part = agent_partial(agent, RATE);
        assert_int_equal(part.state, PARTIAL_NONE);
        assert_true(i < 5 ? part.value > 0 && part.value <= before : i < 7 || part.value == 0);
    }
}

/* The agent lost its CPU between the clock and the counters: what these have more was made up to then. */
TEST_WITH(start, end, a_silence_begins_no_earlier_than_the_counters_were_read)
{
    int watch = agent_watch(agent, agent_process_add(agent, "app"), &ticking);
    for (uint64_t i = 0; i < 25; i++) {
        agent_count(agent, watch, 4 * i, now + EVERY);
        if (i == 24)
            agent_counted(agent, now + EVERY + 140 * CLOCK_MS);
        step(5);
    }
    for (int i = 0; i < 3; i++) {
        agent_count(agent, watch, 4 * 24, now + EVERY);
        step(5);
    }
    assert_int_equal(agent_partial(agent, RATE).silent, 3 * EVERY - 140 * CLOCK_MS);
}

/* A window is that of the time back to an instant, and a lower bound must be reached by its last second alone. */
TEST_WITH(start, end, a_number_for_a_lower_bound_leaves_out_what_is_older_than_the_window)
{
    struct experiment_metric was = metrics[RATE];
    metrics[RATE].kind = METRIC_COUNT;
    metrics[RATE].window = 15 * EVERY / 10;
    for (int at_most = 0; at_most <= 1; at_most++) {
        compare(at_most ? COMPARE_AT_MOST : COMPARE_AT_LEAST);
        int watch = agent_watch(agent, agent_process_add(agent, "app"), &ticking);
        for (uint64_t i = 1; i <= 10; i++) {
            for (int64_t k = 1; k <= 4; k++)
                agent_records(agent, watch, ONE_RECORD(now + 20 * CLOCK_MS + k, 0, NULL), now + EVERY);
            agent_count(agent, watch, 4 * i, now + EVERY);
            step(5);
        }
        assert_int_equal(agent_partial(agent, RATE).state, PARTIAL_KNOWN);
        assert_true(agent_partial(agent, RATE).value == (at_most ? 8 : 4));
    }
    metrics[RATE] = was;
}

/* The next process begins before the records of the one before have left the window: the node counts both. */
TEST_WITH(start, end, a_node_counts_what_is_left_of_a_process_that_ended)
{
    static const struct dict_aspect aspect = {.id = 1, .name = "tick"};
    for (int turn = 0; turn < 2; turn++) {
        int slot = agent_process_add(agent, "app");
        agent_process_began(agent, slot, now);
        int watch = agent_watch(agent, slot, &aspect);
        assert_true(slot >= 0 && watch >= 0);
        for (uint64_t i = 1; i <= 4; i++) {
            agent_count(agent, watch, 4 * i, now + EVERY);
            step(5);
        }
        assert_true(agent_partial(agent, RATE).value >= (turn ? 31 : 15));
        agent_process_remove(agent, slot);
        step(5);
    }
    int watch = agent_watch(agent, agent_process_add(agent, "app"), &aspect);
    agent_blind(agent, watch);
    step(5);
    assert_int_equal(agent_partial(agent, RATE).state, PARTIAL_OPEN);
    assert_true(agent_partial(agent, RATE).value == 0);
}

/* It makes records of another aspect, and then ends. */
TEST_WITH(start, end, a_process_that_goes_on_is_not_about_to_end)
{
    static const struct dict_aspect aspect = {.id = 1, .name = "tick"};
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        int slot = agent_process_add(agent, "app"), watch = agent_watch(agent, slot, &aspect);
        uint64_t all = 0;
        for (int i = 0; i < 45; i++) {
            agent_count(agent, watch, i < 15 ? (uint64_t)(4 * i) : 60, now + EVERY);
            agent_count_all(agent, slot, all += i < 15 || goes_on);
            step(5);
            int silent = i < 16 || (goes_on && i < 36) ? 0 : i - 15; /* a window and ten sampling periods */
            assert_int_equal(agent_partial(agent, RATE).silent,
                             i == 0 ? agent_partial(agent, RATE).silent : silent * EVERY);
        }
        agent_count_all(agent, slot, all + (uint64_t)goes_on);
        agent_process_remove(agent, slot);
        for (int i = 0; i < 2; i++) {
            step(5);
            assert_int_equal(agent_partial(agent, RATE).state, goes_on && i == 0 ? PARTIAL_WENT_ON : PARTIAL_NONE);
        }
    }
}

/* A node counts records, and whether they meet the condition is not known, as they have not come. */
TEST_WITH(start, end, a_number_of_chosen_records_that_have_not_come_is_open)
{
    static char levels[] = "level < 16";
    static const struct dict_aspect aspect = {
        .id = 1, .name = "tick", .field_count = 1, .fields = {{.type = DICT_INT64, .name = "level", .unit = "1"}}};
    struct experiment_metric was = metrics[RATE];
    agent_free(agent);
    metrics[RATE].kind = METRIC_COUNT;
    metrics[RATE].where = levels;
    assert_int_equal(agent_new(&e, 0, &agent), 0);
    int slot = agent_process_add(agent, "app"), watch = agent_watch(agent, slot, &aspect);
    for (int i = 0; i < 25; i++) {
        agent_count(agent, watch, (uint64_t)(4 * i), now + EVERY);
        step(5);
    }
    assert_int_equal(agent_partial(agent, RATE).state, PARTIAL_OPEN);
    metrics[RATE] = was;
}

/* Windows follow one another, and the process begins within one. */
TEST_WITH(start, end, a_part_of_a_window_tells_its_extreme_and_is_unknown)
{
    static char level[] = "level";
    static const struct dict_aspect aspect = {
        .id = 1, .name = "tick", .field_count = 1, .fields = {{.type = DICT_INT64, .name = "level", .unit = "1"}}};
    struct experiment_metric was = metrics[RATE];
    for (int largest = 0; largest < 2; largest++) {
        agent_free(agent);
        metrics[RATE].kind = largest ? METRIC_MAX : METRIC_MEAN;
        metrics[RATE].field = level;
        metrics[RATE].tumbles = true;
        assert_int_equal(agent_new(&e, 0, &agent), 0);
        now += 5 * EVERY - now % CLOCK_S; /* in the middle of a window */
        int watch = agent_watch(agent, agent_process_add(agent, "app"), &aspect);
        for (int i = 0; i < 25; i++) {
            const uint64_t value = 20 + (uint64_t)i;
            agent_records(agent, watch, ONE_RECORD(now + EVERY, 1, &value), now + EVERY);
            agent_count(agent, watch, (uint64_t)i, now + EVERY);
            step(5);
            struct message_partial is = agent_partial(agent, RATE);
            assert_int_equal(is.state, i < 4 ? PARTIAL_NONE : i < 14 ? PARTIAL_UNKNOWN : PARTIAL_KNOWN);
            assert_true(i < 4 || i >= 14 || is.value == (largest ? 23 : 0));
        }
    }
    metrics[RATE] = was;
}

TEST_WITH(start, end, quotients_are_told_by_numerator_and_denominator)
{
    agent_taken(agent, 4, now - 40, now - 20, now);
    agent_taken(agent, 1, now - 5, now - 5, now);
    for (int i = 0; i < 15; i++) {
        agent_totals(agent, 1000 * (uint64_t)i, 30 * (uint64_t)i, 7, now + EVERY);
        step(5);
        if (i == 0)
            assert_true(agent_partial(agent, LATENCY).value == 4 * 30 + 5 && agent_partial(agent, LATENCY).over == 5);
    }
    assert_true(agent_partial(agent, LOST).over >= 10000);
    assert_true(agent_partial(agent, LOST).value == 3 * agent_partial(agent, LOST).over);
    assert_int_equal(agent_partial(agent, LATENCY).state, PARTIAL_NONE); /* its window is empty again */
}

TEST_WITH(start, end, what_is_too_old_for_control_is_unknown)
{
    e.adapt.max_age = 3 * EVERY;
    agent_taken(agent, 4, now - 40, now - 20, now);
    for (int i = 1; i <= 6; i++) {
        step(5);
        assert_int_equal(agent_partial(agent, LATENCY).state, i <= 3 ? PARTIAL_KNOWN : PARTIAL_UNKNOWN);
    }
}

TEST_WITH(start, end, it_is_known_when_records_are_stored)
{
    double value;
    assert_true(agent_wants_stored(agent));
    step(5);
    assert_false(agent_metric(agent, STORED, -1, &value)); /* nothing flows */
    agent_taken(agent, 10, now - 50, now - 30, now);
    step(5);
    assert_false(agent_metric(agent, STORED, -1, &value)); /* taken is not stored */
    agent_stored(agent, 10, now - 400, now - 200, now);
    agent_stored(agent, 10, now - 100, now - 100, now);
    step(5);
    assert_true(agent_metric(agent, STORED, -1, &value));
    assert_true(value == 200);
    assert_true(agent_metric(agent, STORED_MOST, -1, &value));
    assert_true(value == 400);
    for (int i = 0; i < 12; i++)
        step(5);
    assert_false(agent_metric(agent, STORED, -1, &value));
    assert_false(agent_metric(agent, STORED_MOST, -1, &value));
}

TEST_WITH(start, end, what_waits_for_long_is_old_though_nothing_is_stored)
{
    double value;
    int64_t made = now;
    for (int i = 0; i < 30; i++) {
        agent_waits(agent, made, now + EVERY);
        step(5);
        assert_true(agent_metric(agent, STORED_MOST, -1, &value));
        assert_true(value == (double)(now - made));
        assert_false(agent_metric(agent, STORED, -1, &value));
    }
}
