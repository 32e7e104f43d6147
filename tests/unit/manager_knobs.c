// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Knobs that a manager steers: one value for all nodes. What is decided of a knob is unit/knob_controller's and
 * property/knob_search's. */
#include "resmgr/manager/manager.h"

#include "mdr/manage.h"
#include "tests/lib/managed.h"
#include "tests/lib/test.h"

#include <math.h>

static struct experiment_metric frames = {.kind = METRIC_MEAN, .window = EVERY};
static struct experiment_limit limits[] = {
    {.kind = LIMIT_EXPECT, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 1},
    {.kind = LIMIT_HOLD, .compare = COMPARE_AT_LEAST, .bound = 29}};
static struct experiment_knob knobs[2], *const scale = &knobs[0];
static struct experiment e = {.node_count = NODES,
                              .metric_count = 1,
                              .metrics = &frames,
                              .limit_count = 2,
                              .limits = limits,
                              .sensing = {.period = CLOCK_MS},
                              .adapt = {.by = ADAPT_BY_MANAGER,
                                        .every = EVERY,
                                        .period_min = 100 * CLOCK_US,
                                        .period_max = CLOCK_S,
                                        .knob_count = 2, /* the second one serves nothing */
                                        .knobs = knobs}};

static void start_anew(enum experiment_policy policy)
{
    manager_free(m);
    e.adapt.policy = policy;
    assert_int_equal(manager_new(&e, (struct message_leadership){.epoch = 2, .holder = 77}, now, &m), 0);
}

/* All nodes show 30 frames of 29, nobody decides how they poll; the less of the knob the better. */
static int start(void **state)
{
    (void)state;
    now = 1000 * CLOCK_S;
    *scale = (struct experiment_knob){
        .process = -1, .serves = 2, .helps = HELPS_LESS, .min = INT32_MIN, .max = INT32_MAX, .settle = 5 * EVERY};
    knobs[1] = *scale;
    knobs[1].serves = 0;
    for (uint32_t i = 0; i < NODES; i++)
        how[i] = (struct message_observation){.life = 5,
                                              .on = true,
                                              .period_ns = 4 * CLOCK_MS,
                                              .desired_ns = CLOCK_MS,
                                              .settled = true,
                                              .elapsed = EVERY,
                                              .limit_count = 1,
                                              .limits = {{.limit = 1, .state = MESSAGE_LIMIT_HELD, .value = 30}}};
    start_anew(POLICY_NONE);
    return 0;
}

static int end(void **state)
{
    (void)state;
    manager_free(m);
    m = NULL;
    return 0;
}

/* A program of the node has the knob, at `value`; it was at its largest at first. */
static void has_knob(uint32_t node, int32_t value, int32_t min, int32_t max)
{
    how[node].knob_count = 1;
    how[node].knobs[0] = (struct message_steered){.value = value, .min = min, .max = max, .baseline = max};
}

static void shows(uint32_t node, double fps)
{
    how[node].limits[0].value = fps;
    how[node].limits[0].state = fps < 29 ? MESSAGE_LIMIT_VIOLATED : MESSAGE_LIMIT_HELD;
}

/* An instant at which each node gets a setpoint, with the same value of the knob. */
static struct message_steer setpoint_of_all(void)
{
    decide();
    for (uint32_t i = 0; i < NODES; i++) {
        struct message_steer before = setpoint.knobs[0];
        uint64_t sequence = how[i].sequence;
        assert_true(deliver(i));
        assert_int_equal(setpoint.leadership.epoch, 2);
        assert_int_equal(setpoint.sequence, sequence + 1);
        assert_int_equal(setpoint.knob_count, 1);
        assert_int_equal(setpoint.knobs[0].knob, 0);
        if (i > 0)
            assert_true(setpoint.knobs[0].given == before.given && setpoint.knobs[0].value == before.value &&
                        setpoint.knobs[0].cause == before.cause && setpoint.knobs[0].saturated == before.saturated);
    }
    return setpoint.knobs[0];
}

static void rounds_that_turn_nothing(int count)
{
    uint64_t turns = manager_counts(m)->moves;
    while (count-- > 0)
        round_of_all();
    assert_int_equal(manager_counts(m)->moves, turns);
}

TEST_WITH(start, end, one_value_is_decided_for_all_by_what_the_worst_node_lacks)
{
    has_knob(0, 100, 0, 100);
    has_knob(1, 0, 0, 0);
    how[1].knobs[0].knob = 1; /* another knob, and one that does not exist */
    how[1].knobs[1] = (struct message_steered){.knob = UINT32_MAX};
    how[1].knob_count = 2;
    has_knob(2, 100, 0, 100);
    rounds_that_turn_nothing(1);
    assert_int_equal(setpoint.knob_count, 0);
    shows(0, 25);
    shows(1, 20);
    struct message_steer s = setpoint_of_all();
    assert_true(s.given && s.value == 50 && s.cause == 1 && s.metric == 20 && !s.saturated);
    assert_int_equal(manager_counts(m)->moves, 1);
    rounds_that_turn_nothing(4); /* what comes of it is waited for */
    assert_int_equal(setpoint.knobs[0].value, 50);
    shows(0, 27);
    shows(1, 24);
    assert_true(setpoint_of_all().value < 50);
    assert_int_equal(manager_counts(m)->moves, 2);
    assert_int_equal(manager_counts(m)->changes, 0); /* of how they poll */
}

TEST_WITH(start, end, a_knob_that_is_not_enough_is_reported_saturated_when_that_shows)
{
    has_knob(0, 100, 0, 100);
    for (int i = 0; i < 100 && how[0].knobs[0].value > 0; i++) {
        shows(0, 20 + (100 - how[0].knobs[0].value) / 20.0);
        round_of_all();
    }
    assert_int_equal(how[0].knobs[0].value, 0);
    shows(0, 25);
    rounds_that_turn_nothing(4);
    assert_false(setpoint.knobs[0].saturated);
    struct message_steer s = setpoint_of_all();
    assert_true(s.saturated && s.given && s.value == 0 && s.cause == 1 && s.metric == 25);
}

TEST_WITH(start, end, a_knob_that_was_at_its_end_is_left_alone_and_reported_saturated)
{
    has_knob(0, 0, 0, 100);
    how[0].knobs[0].baseline = 0;
    shows(0, 20);
    struct message_steer s = setpoint_of_all();
    assert_true(s.saturated && !s.given && s.cause == 1 && s.metric == 20);
    assert_int_equal(manager_counts(m)->moves, 0);
}

TEST_WITH(start, end, a_new_manager_goes_on_from_the_value_that_is_found)
{
    has_knob(1, 50, 0, 100);
    has_knob(2, 100, 0, 100); /* came back just now, and has no setpoint of the manager before */
    struct message_steer s = setpoint_of_all();
    assert_true(s.given && s.value == 50 && s.cause == -1 && isnan(s.metric));
    rounds_that_turn_nothing(8);
    round_of_all(); /* twice the settling time: there is room */
    assert_int_equal(manager_counts(m)->moves, 1);
    assert_in_range(how[2].knobs[0].value, 51, 60);
    assert_int_equal(how[1].knobs[0].value, how[2].knobs[0].value);
}

TEST_WITH(start, end, the_value_suits_all_that_have_the_knob)
{
    has_knob(0, 100, 40, 100);
    has_knob(1, 80, 0, 80);
    struct message_steer s = setpoint_of_all();
    assert_true(s.given && s.value == 80 && s.cause == -1 && isnan(s.metric)); /* at once, whatever the frames are */
    assert_int_equal(manager_counts(m)->moves, 1);
    for (int i = 0; i < 100; i++) {
        shows(0, 20 + (100 - how[0].knobs[0].value) / 20.0);
        round_of_all();
        assert_in_range(how[0].knobs[0].value, 40, 80);
    }
    assert_int_equal(how[0].knobs[0].value, 40);
    assert_int_equal(how[1].knobs[0].value, 40);
}

TEST_WITH(start, end, where_ranges_have_nothing_in_common_none_is_touched)
{
    has_knob(0, 40, 0, 40);
    has_knob(1, 100, 60, 100);
    shows(0, 20);
    rounds_that_turn_nothing(20);
    assert_int_equal(setpoint.knob_count, 0);
    how[1].knob_count = 0; /* that program ended */
    assert_int_equal(setpoint_of_all().value, 20);
}

TEST_WITH(start, end, nor_where_it_is_programs_of_one_node_that_have_nothing_in_common)
{
    has_knob(0, 100, 0, 100);
    has_knob(1, 40, 60, 40); /* of 0 .. 40, and of 60 .. 100 */
    shows(0, 20);
    rounds_that_turn_nothing(20);
    assert_int_equal(setpoint.knob_count, 0);
}

TEST_WITH(start, end, a_silent_node_counts_as_last_observed)
{
    has_knob(0, 100, 0, 100);
    has_knob(1, 100, 70, 100);
    round_of_all();
    shows(0, 20);
    for (int i = 0; i < 100; i++) {
        now += 2 * EVERY; /* so that node 1 is waited for in vain */
        observe(0);
        observe(2);
        assert_true(manager_step(m, now));
        deliver(0);
        assert_in_range(how[0].knobs[0].value, 70, 100);
    }
    assert_true(manager_counts(m)->moves > 0);
}

TEST_WITH(start, end, what_an_operator_set_is_where_the_search_begins_anew)
{
    has_knob(0, 100, 0, 100);
    shows(0, 20);
    assert_int_equal(setpoint_of_all().value, 50);
    how[0].knobs[0].value = how[0].knobs[0].baseline = 30;
    how[0].knobs[0].overrides++;
    rounds_that_turn_nothing(4); /* what is seen now may be of what was before */
    assert_int_equal(setpoint.knob_count, 0);
    assert_int_equal(setpoint_of_all().value, 15);
}

TEST_WITH(start, end, nor_does_it_matter_on_which_node_it_was)
{
    has_knob(0, 100, 0, 100);
    has_knob(1, 100, 0, 100);
    shows(0, 20);
    assert_int_equal(setpoint_of_all().value, 50);
    how[1].knobs[0].value = how[1].knobs[0].baseline = 30;
    how[1].knobs[0].overrides = 1;
    rounds_that_turn_nothing(4);
    assert_int_equal(setpoint_of_all().value, 15);
    how[1].life++; /* its daemon was started again, and has no override */
    how[1].at = how[1].step = 0;
    how[1].knobs[0] = how[0].knobs[0];
    shows(0, 30);
    for (int i = 0; i < 200; i++)
        round_of_all();
    assert_int_equal(how[0].knobs[0].value, 30);
}

TEST_WITH(start, end, while_a_knob_that_comes_first_has_room_polling_stays)
{
    scale->order = ORDER_KNOB_FIRST;
    for (uint32_t i = 0; i < NODES; i++)
        shows(i, 20);
    start_anew(POLICY_DPP);
    round_of_all();
    assert_int_equal(how[0].period_ns, 8 * CLOCK_MS); /* nobody has it */
    has_knob(1, 100, 0, 100);
    round_of_all();
    assert_int_equal(how[0].period_ns, 8 * CLOCK_MS);
    assert_int_equal(manager_counts(m)->moves, 1);
}
