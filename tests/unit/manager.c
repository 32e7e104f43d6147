// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The resource manager: its decisions, and when it sends them. */
#include "resmgr/manager/manager.h"

#include "mdr/manage.h"
#include "tests/lib/managed.h"
#include "tests/lib/test.h"

#include <math.h>

#define START (1000 * CLOCK_S)

static struct experiment_node names[NODES];
static struct experiment_limit limits[] = {
    {.kind = LIMIT_EXPECT, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 1},
    {.kind = LIMIT_HOLD, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 10}};
static struct experiment e = {.node_count = NODES,
                              .nodes = names,
                              .limit_count = 2,
                              .limits = limits,
                              .sensing = {.period = CLOCK_MS},
                              .adapt = {.by = ADAPT_BY_MANAGER,
                                        .policy = POLICY_DPP,
                                        .every = EVERY,
                                        .period_min = 100 * CLOCK_US,
                                        .period_max = CLOCK_S}};
static struct message_leadership own = {.epoch = 2, .holder = 77};

static int start(void **state)
{
    (void)state;
    e.adapt.policy = POLICY_DPP;
    now = START;
    for (uint32_t i = 0; i < NODES; i++)
        how[i] = (struct message_observation){.life = 5,
                                              .on = true,
                                              .period_ns = 4 * CLOCK_MS,
                                              .desired_ns = CLOCK_MS,
                                              .settled = true,
                                              .cpu = 5,
                                              .polls = 25,
                                              .records = 100,
                                              .elapsed = EVERY,
                                              .limit_count = 1,
                                              .limits = {{.limit = 1, .state = MESSAGE_LIMIT_HELD, .value = 5}}};
    return manager_new(&e, own, now, &m);
}

static int end(void **state)
{
    (void)state;
    manager_free(m);
    return 0;
}

TEST_WITH(start, end, it_asks_silent_nodes)
{
    for (uint32_t i = 0; i < NODES; i++) {
        assert_true(manager_asks(m, i, now));
        assert_false(manager_asks(m, i, now));
        assert_false(manager_send(m, i, now, &setpoint));
    }
    observe(0);
    now += MANAGER_ASK;
    assert_true(manager_asks(m, 1, now));
    assert_true(manager_asks(m, 0, now));
    observe(0);
    now += MANAGER_ASK - 1;
    assert_false(manager_asks(m, 0, now));
}

TEST_WITH(start, end, it_goes_on_from_what_nodes_do)
{
    how[1].on = false;
    how[1].period_ns = CLOCK_S;
    for (uint32_t i = 0; i < NODES; i++) {
        observe(i);
        assert_true(manager_send(m, i, now, &setpoint)); /* to take the leadership */
        assert_int_equal(setpoint.on, i != 1);
        assert_int_equal(setpoint.period_ns, i == 1 ? CLOCK_S : 4 * CLOCK_MS);
        assert_int_equal(setpoint.answers, now);
        assert_int_equal(setpoint.life, 5);
        assert_int_equal(setpoint.leadership.epoch, 2);
        assert_int_equal(setpoint.sequence, 1);
        assert_false(manager_send(m, i, now, &setpoint));
    }
}

TEST_WITH(start, end, one_violation_is_answered_by_all_at_once)
{
    round_of_all();
    how[2].limits[0].state = MESSAGE_LIMIT_VIOLATED;
    for (uint32_t i = 0; i < NODES; i++)
        how[i].period_ns = 4 * CLOCK_MS;
    manager_free(m);
    assert_int_equal(manager_new(&e, own, now, &m), 0);
    round_of_all();
    for (uint32_t i = 0; i < NODES; i++)
        assert_int_equal(how[i].period_ns, 8 * CLOCK_MS);
    assert_int_equal(setpoint.cause, 1);
    now += EVERY;
    for (uint32_t i = 0; i < NODES; i++)
        observe(i);
    assert_true(manager_step(m, now));
    assert_true(manager_send(m, 0, now, &setpoint));
    assert_int_equal(setpoint.cause, 1); /* of another node */
}

TEST_WITH(start, end, it_decides_when_all_have_reported_or_when_it_is_late)
{
    round_of_all();
    now += EVERY;
    observe(0);
    observe(1);
    assert_false(manager_step(m, now));
    observe(2);
    assert_true(manager_step(m, now));
    assert_false(manager_step(m, now));
    now += EVERY + EVERY / 2 - 1;
    observe(0);
    assert_false(manager_step(m, now));
    assert_int_equal(manager_due(m, now) <= now + 1, true);
    now++;
    assert_true(manager_step(m, now));
    assert_int_equal(manager_counts(m)->steps, 3);
}

TEST_WITH(start, end, a_node_that_is_gone_is_unknown_and_holds_up_nothing)
{
    how[2].limits[0].state = MESSAGE_LIMIT_VIOLATED;
    round_of_all();
    for (int i = 0; i < 40; i++) { /* node 2 is not before any more */
        now += EVERY;
        observe(0);
        observe(1);
        (void)manager_step(m, now);
        deliver(0);
        deliver(1);
    }
    uint64_t steps = manager_counts(m)->steps;
    assert_int_equal(how[0].period_ns, 100 * CLOCK_US); /* the violation is not known to last */
    assert_false(manager_send(m, 2, now, &setpoint));
    now += EVERY;
    observe(0);
    observe(1);
    assert_true(manager_step(m, now)); /* without waiting */
    assert_int_equal(manager_counts(m)->steps, steps + 1);
}

TEST_WITH(start, end, a_node_that_came_back_is_sent_its_setting_of_before)
{
    for (int i = 0; i < 10; i++)
        round_of_all();
    assert_int_equal(how[1].period_ns, 100 * CLOCK_US);
    how[1].life++; /* its daemon was restarted */
    how[1].period_ns = CLOCK_MS;
    how[1].leadership.epoch = 0;
    how[1].step = 0;
    now++;
    observe(1);
    assert_true(manager_send(m, 1, now, &setpoint));
    assert_int_equal(setpoint.period_ns, 100 * CLOCK_US);
    assert_int_equal(setpoint.life, 6);
    how[1].life++;
    how[1].overrides = 1; /* and once more, and an operator was faster than we */
    how[1].period_ns = how[1].desired_ns = 32 * CLOCK_MS;
    now++;
    observe(1);
    assert_true(manager_send(m, 1, now, &setpoint));
    assert_int_equal(setpoint.period_ns, 32 * CLOCK_MS);
    round_of_all(); /* its instants count from 1 again, and hold up nothing */
}

TEST_WITH(start, end, late_observations_and_those_of_a_former_life_are_discarded)
{
    round_of_all();
    struct message_observation before = how[0];
    round_of_all();
    before.limits[0].state = MESSAGE_LIMIT_VIOLATED;
    manager_receive(m, 0, &before, now);
    before = how[0];
    before.life--;
    before.at += EVERY;
    manager_receive(m, 0, &before, now);
    before = how[0];
    before.at += EVERY;
    before.period_ns = 0;
    manager_receive(m, 0, &before, now);
    before.period_ns = UINT64_MAX;
    manager_receive(m, 0, &before, now);
    assert_int_equal(manager_counts(m)->late, 4);
    assert_int_equal(manager_counts(m)->observations, 2 * NODES + 4);
}

TEST_WITH(start, end, a_setting_is_repeated_until_it_is_done)
{
    round_of_all();
    uint64_t period = how[0].period_ns;
    how[0].period_ns = 2 * period; /* the setpoint was lost */
    int times = 0;
    for (int i = 0; i < 10; i++) {
        now += 20 * CLOCK_MS;
        observe(0);
        times += manager_send(m, 0, now, &setpoint);
        assert_int_equal(setpoint.period_ns, period);
    }
    assert_in_range(times, 2, 4); /* every 50 ms */
    how[0].period_ns = period;
    observe(0);
    now += MANAGER_RENEW - 1;
    observe(0);
    times = manager_send(m, 0, now, &setpoint);
    now += MANAGER_RENEW;
    observe(0);
    assert_true(manager_send(m, 0, now, &setpoint)); /* renews the leadership */
}

TEST_WITH(start, end, an_old_observation_is_not_answered)
{
    observe(0);
    now += MANAGER_EXPIRY / 2;
    assert_false(manager_send(m, 0, now, &setpoint));
    observe(0);
    assert_true(manager_send(m, 0, now, &setpoint));
}

TEST_WITH(start, end, an_operator_s_period_is_where_it_goes_on_from)
{
    round_of_all();
    how[0].overrides++;
    how[0].desired_ns = how[0].period_ns = 64 * CLOCK_MS;
    round_of_all();
    assert_int_equal(how[0].period_ns, 32 * CLOCK_MS);
}

/* The daemon of the node is killed before it sent an observation with the override. */
TEST_WITH(start, end, an_operator_s_period_outlives_the_daemon)
{
    round_of_all();
    how[0].life++;
    how[0].desired_ns = how[0].period_ns = 64 * CLOCK_MS; /* kept in a file */
    now++;
    observe(0);
    assert_true(manager_send(m, 0, now, &setpoint));
    assert_int_equal(setpoint.period_ns, 64 * CLOCK_MS);
}

TEST_WITH(start, end, a_superseded_manager_sends_nothing)
{
    round_of_all();
    assert_null(manager_superseded(m));
    how[0].leadership = (struct message_leadership){.epoch = 1, .holder = 1}; /* one before */
    observe(0);
    assert_null(manager_superseded(m));
    how[0].leadership =
        (struct message_leadership){.epoch = 2, .holder = 78}; /* another of the same epoch, which came first */
    now++;
    observe(0);
    assert_non_null(manager_superseded(m));
    how[0].leadership = (struct message_leadership){.epoch = 3, .holder = 1};
    now++;
    observe(0);
    assert_int_equal(manager_superseded(m)->epoch, 3);
    now += CLOCK_S;
    observe(0);
    assert_false(manager_send(m, 0, now, &setpoint));
    assert_false(manager_asks(m, 1, now));
}

TEST_WITH(start, end, limits_that_make_no_sense_are_not_seen)
{
    how[0].limit_count = 3;
    how[0].limits[0] = (struct message_observed){.limit = 0, .state = MESSAGE_LIMIT_VIOLATED}; /* not to be held */
    how[0].limits[1] = (struct message_observed){.limit = 9, .state = MESSAGE_LIMIT_VIOLATED}; /* there is none */
    how[0].limits[2] = (struct message_observed){.limit = 1, .state = MESSAGE_LIMIT_VIOLATED, .value = (double)NAN};
    round_of_all();
    assert_int_equal(how[0].period_ns, 2 * CLOCK_MS);
}

TEST_WITH(start, end, an_infeasible_limit_is_reported_with_its_numbers)
{
    manager_free(m);
    e.adapt.policy = POLICY_ELASTIC;
    assert_int_equal(manager_new(&e, own, now, &m), 0);
    how[0].cpu = 30; /* whatever it does */
    how[0].limits[0] = (struct message_observed){.limit = 1, .state = MESSAGE_LIMIT_VIOLATED, .value = 30};
    for (int i = 0; i < 100 && how[0].on; i++) {
        how[0].polls = (double)EVERY / (double)how[0].period_ns;
        round_of_all();
    }
    assert_false(how[0].on);
    now += EVERY;
    for (uint32_t i = 0; i < NODES; i++)
        observe(i);
    assert_true(manager_step(m, now));
    now += MANAGER_RENEW;
    observe(0);
    observe(1);
    assert_true(manager_send(m, 0, now, &setpoint));
    assert_int_equal(setpoint.infeasible, MESSAGE_INFEASIBLE);
    assert_true(setpoint.needed > setpoint.budget && setpoint.budget == 10);
    assert_true(manager_send(m, 1, now, &setpoint));
    assert_int_equal(setpoint.infeasible, MESSAGE_FEASIBLE);
    assert_true(setpoint.needed == 0 && setpoint.budget == 0);
}

TEST_WITH(start, end, aspects_give_way_before_all_collection_does)
{
    manager_free(m);
    e.adapt.policy = POLICY_ELASTIC;
    assert_int_equal(manager_new(&e, own, now, &m), 0);
    how[0].levels = 2;
    how[0].limits[0] = (struct message_observed){.limit = 1, .state = MESSAGE_LIMIT_VIOLATED, .value = 30};
    uint32_t most = 0;
    for (int i = 0; i < 300 && how[0].on; i++) {
        how[0].cpu = 30 - 5 * how[0].shed;
        how[0].polls = (double)EVERY / (double)how[0].period_ns;
        round_of_all();
        most = how[0].shed > most ? how[0].shed : most;
    }
    assert_false(how[0].on);
    assert_int_equal(most, 2);
    assert_int_equal(how[1].shed, 0);
}

/* All nodes poll every millisecond, which takes twice the budget of elastic; `setpoint` is that of node 0. */
static void start_over_budget(void)
{
    manager_free(m);
    e.adapt.policy = POLICY_ELASTIC;
    assert_int_equal(manager_new(&e, own, now, &m), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        how[i].period_ns = CLOCK_MS;
        how[i].cpu = 20;
        how[i].polls = (double)NAN; /* so that it is worked out from the period */
    }
    for (int i = 0; i < 10 && how[0].period_ns == CLOCK_MS; i++)
        round_of_all();
    assert_in_range(how[0].period_ns, 2 * CLOCK_MS, 3 * CLOCK_MS);
}

TEST_WITH(start, end, what_was_measured_under_another_setting_teaches_nothing)
{
    start_over_budget();
    uint64_t period = how[0].period_ns;
    for (int i = 0; i < 20; i++) { /* the setpoints are lost */
        now += EVERY;
        for (uint32_t k = 0; k < NODES; k++) {
            how[k].period_ns = CLOCK_MS;
            observe(k);
        }
        assert_true(manager_step(m, now));
        assert_true(manager_send(m, 0, now, &setpoint));
        assert_int_equal(setpoint.period_ns, period);
    }
}

TEST_WITH(start, end, what_was_measured_while_the_setting_changed_teaches_nothing)
{
    start_over_budget();
    uint64_t period = how[0].period_ns;
    for (uint32_t k = 0; k < NODES; k++)
        how[k].settled = false;
    for (int i = 0; i < 20; i++) {
        round_of_all();
        assert_int_equal(how[0].period_ns, period);
    }
    for (uint32_t k = 0; k < NODES; k++)
        how[k].settled = true; /* it does cost as much */
    for (int i = 0; i < 10; i++)
        round_of_all();
    assert_true(how[0].period_ns > period);
}

/* Two impossible values of CPU use whose mean is possible. */
TEST_WITH(start, end, an_impossible_value_is_unknown_whatever_its_mean_with_others)
{
    start_over_budget();
    uint64_t period = how[0].period_ns;
    for (int i = 0; i < 20; i++) {
        now += EVERY / 2;
        how[0].cpu = i % 2 ? -300 : (double)NAN;
        observe(0);
        now += EVERY / 2;
        how[0].cpu = 400;
        for (uint32_t k = 0; k < NODES; k++)
            observe(k);
        assert_true(manager_step(m, now));
        for (uint32_t k = 0; k < NODES; k++)
            deliver(k);
        assert_int_equal(how[0].period_ns, period);
    }
}

/* Between two instants a node repeats its observation, so that settings have something to answer. */
TEST_WITH(start, end, a_repeated_observation_was_measured_once)
{
    e.adapt.policy = POLICY_ELASTIC;
    manager_free(m);
    assert_int_equal(manager_new(&e, own, now, &m), 0);
    for (int i = 0; i < 10; i++)
        round_of_all();
    uint64_t before = manager_counts(m)->observations;
    for (int i = 0; i < 30; i++) {
        now += EVERY / 2;
        how[0].at = (uint64_t)now;
        manager_receive(m, 0, &how[0], now); /* 5 % of a CPU for another EVERY, were it measured twice: 10 % */
        now += EVERY / 2;
        for (uint32_t k = 0; k < NODES; k++)
            observe(k);
        assert_true(manager_step(m, now));
        for (uint32_t k = 0; k < NODES; k++)
            deliver(k);
        assert_int_equal(how[0].period_ns, how[1].period_ns); /* which did not repeat it */
    }
    assert_int_equal(manager_counts(m)->observations - before, 30 * (NODES + 1));
    assert_int_equal(manager_counts(m)->late, 0);
}

/* ---- Global limits ----------------------------------------------------------------------------------------------- */

static void observe_partials(uint32_t node, double value)
{
    struct message_partials parts = {.life = 5, .at = (uint64_t)now, .step = how[node].step + 1, .count = 1};
    parts.list[0] = (struct message_partial){.limit = 1, .state = PARTIAL_KNOWN, .value = value};
    manager_receive_partials(m, node, &parts, now);
}

static void round_of_partials(double value)
{
    now += EVERY;
    for (uint32_t i = 0; i < NODES; i++) {
        how[i].limit_count = 0;
        observe_partials(i, value);
        observe(i);
    }
    assert_true(manager_step(m, now));
}

static int start_global(void **state)
{
    limits[1].global = true;
    return start(state);
}

static int end_global(void **state)
{
    limits[1].global = false;
    e.adapt.by = ADAPT_BY_MANAGER;
    return end(state);
}

TEST_WITH(start_global, end_global, a_violation_of_all_together_is_answered_by_all)
{
    struct message_judgement j;
    uint32_t reporter;
    round_of_partials(3); /* 9 % of 10 */
    for (uint32_t i = 0; i < NODES; i++)
        deliver(i);
    assert_true(manager_judges(m, now, &reporter, &j));
    assert_int_equal(j.leadership.epoch, 2);
    assert_int_equal(j.list[0].state, MESSAGE_LIMIT_HELD);
    uint64_t before = how[0].period_ns;
    round_of_partials(4);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_true(manager_send(m, i, now, &setpoint));
        assert_int_equal(setpoint.cause, 1);
        assert_true(setpoint.period_ns > before); /* DPP's answer */
    }
    assert_true(manager_judges(m, now, &reporter, &j));
    assert_int_equal(j.list[0].state, MESSAGE_LIMIT_VIOLATED);
    assert_true(j.list[0].value == 12);
}

TEST_WITH(start_global, end_global, partials_of_a_former_instant_are_counted_late)
{
    uint64_t before = manager_counts(m)->observations;
    now += EVERY;
    observe_partials(0, 3);
    assert_int_equal(manager_counts(m)->late, 0);
    now -= EVERY / 2;
    observe_partials(0, 4);
    assert_int_equal(manager_counts(m)->late, 1);
    assert_int_equal(manager_counts(m)->observations, before + 2);
}

TEST_WITH(start_global, end_global, a_manager_that_only_judges_asks_and_sends_no_setpoints)
{
    struct message_judgement j;
    uint32_t reporter;
    e.adapt.by = ADAPT_BY_NODE;
    manager_free(m);
    assert_int_equal(manager_new(&e, own, now, &m), 0);
    for (int k = 0; k < 5; k++) {
        assert_true(manager_due(m, now) <= now + EVERY);
        round_of_partials(4);
        for (uint32_t i = 0; i < NODES; i++) {
            assert_true(manager_asks(m, i, now));
            assert_false(manager_asks(m, i, now));
            assert_false(manager_send(m, i, now, &setpoint));
        }
        assert_true(manager_judges(m, now, &reporter, &j));
        assert_int_equal(j.list[0].state, MESSAGE_LIMIT_VIOLATED);
    }
    assert_int_equal(manager_counts(m)->changes, 0);
    how[1].leadership = (struct message_leadership){.epoch = 3, .holder = 5};
    now++;
    observe(1);
    assert_non_null(manager_superseded(m));
    now += EVERY;
    assert_false(manager_asks(m, 0, now));
    assert_false(manager_judges(m, now, &reporter, &j));
}

/* ---- Metrics that the collector evaluates ------------------------------------------------------------------------ */

static struct experiment_metric interval = {.kind = METRIC_INTERVAL, .window = CLOCK_S};

static int start_collected(void **state)
{
    e.metrics = &interval;
    e.metric_count = 1;
    limits[1] = (struct experiment_limit){
        .kind = LIMIT_HOLD, .global = true, .metric = 0, .compare = COMPARE_AT_MOST, .bound = 10};
    return start(state);
}

static int end_collected(void **state)
{
    limits[1] = (struct experiment_limit){
        .kind = LIMIT_HOLD, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 10};
    e.metrics = NULL;
    e.metric_count = 0;
    return end(state);
}

static void receive_value(double value)
{
    struct message_values values = {.life = 3, .at = (uint64_t)now, .count = 1};
    values.list[0] = (struct message_value){.limit = 1,
                                            .state = PARTIAL_KNOWN,
                                            .value = value,
                                            .low = value,
                                            .high = value,
                                            .age = 4 * CLOCK_MS,
                                            .collected = 3 * CLOCK_MS};
    manager_receive_values(m, &values, now);
}

TEST_WITH(start_collected, end_collected, the_collector_is_asked_twice_a_period_and_less_while_it_is_silent)
{
    assert_true(manager_wants_values(m));
    assert_true(manager_asks_collector(m, now));
    assert_false(manager_asks_collector(m, now));
    receive_value(5);
    now += EVERY / 2 - 1;
    assert_false(manager_asks_collector(m, now));
    assert_true(manager_due(m, now) <= now + 1);
    now++;
    assert_true(manager_asks_collector(m, now));
    now += MANAGER_ASK - 1;
    assert_false(manager_asks_collector(m, now));
    now++;
    assert_true(manager_asks_collector(m, now));
}

TEST_WITH(start, end, a_manager_without_such_limits_asks_no_collector)
{
    assert_false(manager_wants_values(m));
    assert_false(manager_asks_collector(m, now + CLOCK_S));
}

/* The value was asked for 6 ms before it came, and a period passes until the decision. */
TEST_WITH(start_collected, end_collected, setpoints_go_with_the_age_of_the_value_that_was_decided_by)
{
    struct message_loop loop;
    assert_true(manager_asks_collector(m, now));
    now += 6 * CLOCK_MS;
    receive_value(20);
    for (uint32_t i = 0; i < NODES; i++)
        how[i].limit_count = 0;
    decide();
    now += CLOCK_MS;
    assert_true(manager_send(m, 1, now, &setpoint));
    assert_true(manager_loop(m, 1, &setpoint, now, &loop));
    assert_int_equal(loop.sequence, setpoint.sequence);
    assert_int_equal(loop.limit, 1);
    assert_int_equal(loop.collected, 3 * CLOCK_MS);
    assert_int_equal(loop.decided, (4 + 6) * CLOCK_MS + EVERY);
    assert_int_equal(loop.sent, (4 + 6 + 1) * CLOCK_MS + EVERY);
    assert_int_equal(loop.held, CLOCK_MS);
    assert_true(manager_loop(m, 1, NULL, now, &loop));
    assert_int_equal(loop.sequence, 0);
    assert_int_equal(loop.limit, 1);
    assert_int_equal(loop.sent, (4 + 6 + 1) * CLOCK_MS + EVERY);
    assert_int_equal(loop.count, 1);
    assert_int_equal(loop.lacking[0].lack, LACK_NOTHING);
    for (int k = 0; k < 20; k++)
        decide(); /* the collector is silent */
    assert_true(manager_send(m, 1, now, &setpoint));
    assert_false(manager_loop(m, 1, &setpoint, now, &loop));
    assert_true(manager_loop(m, 1, NULL, now, &loop));
    assert_true(loop.limit == -1 && loop.sent == 0);
    assert_int_equal(loop.lacking[0].limit, 1);
    assert_int_equal(loop.lacking[0].lack, LACK_VALUES);
}
