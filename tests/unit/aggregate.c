// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Global limits: joining partials, what is known while some are missing, and which node is the reporter. */
#include "resmgr/manager/aggregate.h"

#include "base/clock.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>

enum { NODES = 3, STALE = 500000000 };

#define START (100 * CLOCK_S)
#define EVERY (100 * CLOCK_MS)

static struct experiment_metric metrics[METRIC_KINDS];
static struct experiment_limit limits[] = {
    {.kind = LIMIT_EXPECT, .global = true, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 20}};
static struct experiment e = {.node_count = NODES,
                              .metric_count = METRIC_KINDS,
                              .metrics = metrics,
                              .limit_count = 1,
                              .limits = limits,
                              .adapt = {.every = EVERY}};
static struct aggregate *w;
static int64_t now;
static uint64_t instant;

static int start(void **state)
{
    (void)state;
    for (int kind = 0; kind < METRIC_KINDS; kind++)
        metrics[kind] = (struct experiment_metric){.kind = (enum experiment_metric_kind)kind, .window = CLOCK_S};
    limits[0].metric = LIMIT_ON_SENSOR_CPU;
    limits[0].compare = COMPARE_AT_MOST;
    limits[0].bound = 20;
    now = START;
    w = calloc(1, sizeof *w);
    assert_non_null(w);
    aggregate_start(w, &e, STALE);
    return 0;
}

/* Of a count, of which a gap is longer than half a second; nodes are missing after more than that. */
static int start_counted(void **state)
{
    (void)start(state);
    limits[0].metric = METRIC_COUNT;
    aggregate_start(w, &e, 8 * EVERY);
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(w);
    return 0;
}

static bool hear(uint32_t node, struct message_partial part)
{
    struct message_partials parts = {.life = 1, .at = (uint64_t)now, .step = ++instant, .count = 1, .list = {part}};
    return aggregate_receive(w, node, &parts, now);
}

static struct message_partial known(double value, double over)
{
    return (struct message_partial){.state = PARTIAL_KNOWN, .value = value, .over = over};
}

static struct message_partial at_least(double value)
{
    return (struct message_partial){.state = PARTIAL_UNKNOWN, .value = value};
}

static const struct message_partial nothing = {.state = PARTIAL_NONE}, unknown = {.state = PARTIAL_UNKNOWN};

/* The value of three parts of a metric; NaN: unknown. */
static double joined(int metric, struct message_partial a, struct message_partial b, struct message_partial c)
{
    limits[0].metric = metric;
    now++;
    assert_true(hear(0, a));
    assert_true(hear(1, b));
    assert_true(hear(2, c));
    struct aggregate_value v = aggregate_join(w, 0, (struct bitset){{7}});
    return v.known ? v.value : (double)NAN;
}

TEST_WITH(start, end, parts_are_joined_as_their_metric_is_made)
{
    assert_true(joined(LIMIT_ON_SENSOR_CPU, known(1, 0), known(2, 0), known(4, 0)) == 7);
    assert_true(joined(METRIC_RATE, known(10, 0), nothing, known(20.5, 0)) == 30.5);
    assert_true(joined(METRIC_MIN, known(10, 0), known(-3, 0), nothing) == -3);
    assert_true(joined(METRIC_MAX, known(10, 0), known(-3, 0), nothing) == 10);
    assert_true(joined(METRIC_MEAN, known(100, 10), known(60, 2), nothing) == 160.0 / 12); /* not the mean of means */
    assert_true(joined(METRIC_LATENCY, known(-6, 2), known(6, 1), nothing) == 0);
    assert_true(joined(METRIC_LOST, known(100, 1000), known(0, 1), known(0, 0)) == 100.0 / 1001);
    assert_true(joined(METRIC_STORING_MAX, known(5, 0), known(9, 0), known(7, 0)) == 9);
}

/* Of the rate of three nodes, by the second life of node 1 (and 2), `after` its first message. */
static struct aggregate_value rate_by_second_life(int64_t after, struct message_partial part)
{
    static const uint32_t nodes[] = {1, 2};
    now += after;
    (void)hear(0, known(10, 0));
    for (int i = 0; i < 2; i++) {
        struct message_partials parts = {
            .life = 2, .at = (uint64_t)now, .step = ++instant, .count = 1, .list = {nodes[i] == 1 ? part : nothing}};
        assert_true(aggregate_receive(w, nodes[i], &parts, now));
    }
    return aggregate_join(w, 0, (struct bitset){{7}});
}

TEST_WITH(start, end, what_a_bezeld_adds_that_was_started_again_is_open_for_a_window)
{
    metrics[METRIC_RATE].aspect = (char *)"tick";
    limits[0].compare = COMPARE_AT_LEAST;
    assert_true(joined(METRIC_RATE, known(10, 0), known(20, 0), nothing) == 30);
    struct aggregate_value v = rate_by_second_life(CLOCK_S, nothing); /* it has not found its processes */
    assert_true(!v.known && v.open);
    v = rate_by_second_life(CLOCK_S / 2, known(5, 0));
    assert_true(!v.known && v.open);
    v = rate_by_second_life(CLOCK_S / 4, known(11, 0)); /* with that alone the bound is reached */
    assert_true(v.known && v.value == 21);
    v = rate_by_second_life(CLOCK_S, nothing);
    assert_true(v.known && v.value == 10);
}

TEST_WITH(start, end, shares_of_nothing_are_what_they_can_be)
{
    assert_true(isnan(joined(METRIC_LOST, known(0, 0), known(0, 0), known(0, 0))));
    assert_true(joined(METRIC_EN_ROUTE, known(0, 0), known(0, 0), known(0, 0)) == 0);
    assert_true(joined(METRIC_EN_ROUTE, known(700, 0), known(0, 0), nothing) == 100);
    assert_true(joined(METRIC_EN_ROUTE, known(700, 1), known(0, 2), nothing) == 100); /* 233 */
    assert_true(isnan(joined(METRIC_MEAN, nothing, nothing, nothing)));
}

TEST_WITH(start, end, what_is_missing_leaves_the_value_unknown)
{
    assert_true(isnan(joined(METRIC_RATE, known(1, 0), unknown, known(2, 0))));
    assert_int_equal(aggregate_join(w, 0, (struct bitset){{7}}).missing.word[0], 2);
    assert_true(isnan(joined(METRIC_MEAN, known(1, 1), known(2, 1), unknown)));
    assert_true(isnan(joined(METRIC_COUNT, known(15, 0), unknown, at_least(5)))); /* 20 at least, and 20 are allowed */
    assert_true(joined(METRIC_COUNT, known(15, 0), unknown, at_least(6)) == 21);
    assert_true(joined(METRIC_COUNT, at_least(21), nothing, nothing) == 21);
    assert_true(isnan(joined(METRIC_MEAN, at_least(21), nothing, nothing)));
    assert_true(isnan(joined(METRIC_MAX, at_least(20), known(15, 0), nothing)));
    assert_true(joined(METRIC_MAX, at_least(21), known(15, 0), nothing) == 21); /* of a part of its window */
    assert_int_equal(aggregate_join(w, 0, (struct bitset){{7}}).missing.word[0], 1);
    assert_true(joined(METRIC_RATE, known(1, 0), known(1, 0), known(1, 0)) == 3);
    assert_false(aggregate_join(w, 0, (struct bitset){{6}}).known); /* node 0 is not heard */
    assert_int_equal(aggregate_join(w, 0, (struct bitset){{6}}).missing.word[0], 1);
}

TEST_WITH(start, end, what_is_known_decides_where_it_can)
{
    static const struct {
        int metric;
        enum experiment_compare compare;
        double value;
        bool known;
    } cases[] = {
        {METRIC_RATE, COMPARE_AT_MOST, 20, false},    {METRIC_RATE, COMPARE_AT_MOST, 21, true},
        {METRIC_RATE, COMPARE_AT_LEAST, 19, false},   {METRIC_RATE, COMPARE_AT_LEAST, 20, true},
        {METRIC_MAX, COMPARE_AT_MOST, 20, false},     {METRIC_MAX, COMPARE_AT_MOST, 20.5, true},
        {METRIC_MIN, COMPARE_AT_MOST, 20, true},      {METRIC_MIN, COMPARE_AT_MOST, 20.5, false},
        {METRIC_MIN, COMPARE_AT_LEAST, 20, false},    {METRIC_MIN, COMPARE_AT_LEAST, 19, true},
        {METRIC_MEAN, COMPARE_AT_MOST, 1000, false},  {METRIC_LOST, COMPARE_AT_MOST, 90, false},
        {METRIC_LATENCY, COMPARE_AT_MOST, 99, false}, {LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 21, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        limits[0].compare = cases[i].compare;
        double value = joined(cases[i].metric, known(cases[i].value, 1), nothing, unknown);
        assert_int_equal(isnan(value), !cases[i].known);
    }
    struct message_partial vague = {.state = PARTIAL_KNOWN, .value = 22, .unsure = 3};
    limits[0].compare = COMPARE_AT_MOST;
    assert_true(isnan(joined(METRIC_RATE, vague, nothing, unknown)));
}

/* What a process left on a node where nobody is left counts where others go on: 4 + 4 + 13 are above 20. */
TEST_WITH(start, end, what_ended_processes_left_counts_while_others_go_on)
{
    static const struct message_partial left = {.state = PARTIAL_NONE, .value = 4},
                                        share = {.state = PARTIAL_NONE, .value = 300, .over = 3};
    limits[0].compare = COMPARE_AT_MOST;
    assert_true(joined(METRIC_COUNT, left, left, known(13, 0)) == 21);
    assert_true(joined(METRIC_COUNT, known(17, 0), left, unknown) == 21); /* whatever the third has */
    assert_true(isnan(joined(METRIC_COUNT, known(16, 0), left, unknown)));
    assert_true(isnan(joined(METRIC_COUNT, left, left, nothing)));
    assert_true(aggregate_join(w, 0, (struct bitset){{7}}).ended);
    assert_true(joined(METRIC_PERCENT, share, known(100, 7), nothing) == 40);
    assert_true(joined(METRIC_MAX, known(3, 0), left, nothing) == 3); /* it was judged while it was there */
}

TEST_WITH(start, end, a_node_that_lies_is_missing)
{
    static const struct message_partial lies[] = {{.state = PARTIAL_KNOWN, .value = NAN},
                                                  {.state = PARTIAL_KNOWN, .value = INFINITY},
                                                  {.state = PARTIAL_KNOWN, .value = -1},
                                                  {.state = PARTIAL_KNOWN, .value = 1, .over = -1},
                                                  {.state = PARTIAL_KNOWN, .value = 1, .unsure = NAN},
                                                  {.state = PARTIAL_KNOWN, .value = 1, .silent = -1}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        assert_true(isnan(joined(METRIC_RATE, known(1, 0), lies[i], known(1, 0))));
        assert_int_equal(aggregate_join(w, 0, (struct bitset){{7}}).missing.word[0], 2);
    }
}

TEST_WITH(start, end, a_histogram_that_is_none_is_missing)
{
    struct message_partials parts = {.life = 1, .step = ++instant, .count = 1, .histogram_bytes = MESSAGE_BUCKET_BYTES};
    parts.list[0] = (struct message_partial){.state = PARTIAL_KNOWN, .value = 1, .buckets = 1};
    limits[0].metric = METRIC_QUANTILE;
    metrics[METRIC_QUANTILE].share = 0.5;
    for (int broken = 0; broken < 2; broken++) {
        parts.at = (uint64_t)++now;
        parts.histograms[0] = broken ? 0xff : 0;
        parts.histograms[11] = 3; /* three numbers */
        assert_true(aggregate_receive(w, 0, &parts, now));
        struct aggregate_value v = aggregate_join(w, 0, (struct bitset){{1}});
        assert_int_equal(v.missing.word[0] & 1, broken);
    }
    assert_true(isnan(joined(METRIC_QUANTILE, known(1, 0), nothing, nothing))); /* without its histogram */
}

TEST_WITH(start, end, what_comes_late_or_twice_is_not_heard)
{
    assert_true(hear(0, known(1, 0)));
    assert_false(hear(0, known(2, 0)));
    now -= CLOCK_MS;
    assert_false(hear(0, known(3, 0)));
    struct message_partials former = {.life = 0, .at = (uint64_t)now + CLOCK_S};
    assert_false(aggregate_receive(w, 0, &former, now));
    assert_true(w->partials[0].list[0].value == 1);
}

static void step(double a, double b, double c)
{
    now += EVERY;
    assert_true(hear(0, known(a, 0)) && hear(1, known(b, 0)) && hear(2, known(c, 0)));
    aggregate_step(w, now);
}

/* Where an operator turned an aspect off on one node, nobody knows the sum: that time is not judged. */
TEST_WITH(start, end, what_nobody_counts_is_open)
{
    static const struct message_partial open = {.state = PARTIAL_OPEN};
    struct message_judgement j;
    uint32_t node;
    step(6, 6, 6);
    for (int i = 0; i < 4; i++) {
        now += EVERY;
        assert_true(hear(0, known(6, 0)) && hear(1, i < 2 ? open : unknown) && hear(2, known(i == 1 ? 21 : 6, 0)));
        aggregate_step(w, now);
        assert_true(aggregate_send(w, now, &node, &j));
        assert_int_equal(j.list[0].state, i == 0   ? MESSAGE_LIMIT_OPEN
                                          : i == 1 ? MESSAGE_LIMIT_VIOLATED
                                                   : MESSAGE_LIMIT_UNKNOWN);
    }
}

TEST_WITH(start, end, no_node_breaks_it_and_all_together_do)
{
    const struct agent_limit *l = aggregate_limit(w, 0);
    step(6, 6, 6);
    assert_true(l->state == LIMIT_HELD && l->value == 18);
    step(7, 7, 7);
    assert_true(l->state == LIMIT_VIOLATED && l->value == 21);
    step(6, 6, 6);
    step(6, 6, 6);
    assert_int_equal(l->violated, EVERY);
    assert_int_equal(l->held, 2 * EVERY);
    assert_true(l->worst == 21);
}

/* A part of the nodes, or of a window, may have enough for the limit. Its sum is not the worst value of all. */
TEST_WITH(start_counted, end, a_part_that_is_enough_is_no_worst_value)
{
    const struct agent_limit *l = aggregate_limit(w, 0);
    limits[0].compare = COMPARE_AT_LEAST;
    for (int i = 0; i < 4; i++) {
        now += EVERY;
        assert_true(hear(0, i == 0 ? at_least(21) : known(i == 2 ? 35 : 40, 0)) && hear(1, known(0, 0)) &&
                    hear(2, known(0, 0)));
        aggregate_step(w, now);
        assert_true(l->state == LIMIT_HELD && l->known);
        assert_true(i == 0 ? isnan(l->worst) : l->worst == (i == 1 ? 40 : 35));
    }
}

/* Broken at one instant, whole at those around it: for up to two sampling periods, whatever lies between. */
TEST_WITH(start, end, what_may_have_been_broken_for_longer_than_for_is_not_held)
{
    const struct agent_limit *l = aggregate_limit(w, 0);
    for (int halves = 2; halves <= 5; halves++) {
        int64_t before = l->unjudged, held = l->held;
        limits[0].persistence = halves * EVERY / 2;
        step(6, 6, 6);
        step(7, 7, 7);
        step(6, 6, 6);
        assert_int_equal(l->violated, 0);
        assert_int_equal(l->unjudged - before, halves < 4 ? 2 * EVERY - limits[0].persistence : 0);
        assert_int_equal(l->held - held + l->unjudged - before, halves > 2 ? 3 * EVERY : 2 * EVERY);
    }
    limits[0].persistence = 0;
}

TEST_WITH(start, end, who_is_not_heard_for_long_is_missing_until_it_is_back)
{
    struct message_judgement j;
    uint32_t node;
    step(6, 6, 6);
    for (int i = 0; i < 6; i++) {
        now += EVERY;
        assert_true(hear(0, known(6, 0)) && hear(1, known(6, 0)));
        aggregate_step(w, now);
        assert_int_equal(aggregate_limit(w, 0)->state, i < 5 ? LIMIT_HELD : LIMIT_UNKNOWN);
        assert_true(aggregate_send(w, now, &node, &j));
        assert_int_equal(j.missing[0], i < 2 ? 0 : 4); /* late, and then missing */
    }
    now += EVERY;
    assert_true(hear(0, known(16, 0)) && hear(1, known(6, 0)));
    aggregate_step(w, now);
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_VIOLATED); /* the third can only add to it */
    step(6, 6, 6);
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_HELD);
}

/* `count` instants without the third node. */
static void step_without_the_third(int count)
{
    for (int i = 0; i < count; i++) {
        now += EVERY;
        assert_true(hear(0, known(6, 0)) && hear(1, known(6, 0)));
        aggregate_step(w, now);
    }
}

/* What a count of the third node was in the meantime, nobody knows: it may have left its bound and come back. */
TEST_WITH(start_counted, end, the_time_for_which_a_node_stood_still_was_not_judged)
{
    struct message_judgement j;
    uint32_t node;
    const struct agent_limit *l = aggregate_limit(w, 0);
    step(6, 6, 6);
    step(6, 6, 6);
    step_without_the_third(5);
    step(6, 6, 6);
    assert_int_equal(l->state, LIMIT_HELD);
    assert_int_equal(l->held, EVERY);
    assert_int_equal(l->unjudged, 6 * EVERY);
    assert_int_equal(l->unknown, 6 * EVERY);
    step(6, 6, 6);
    assert_int_equal(l->held, 2 * EVERY);
    step_without_the_third(5);
    now += EVERY;
    assert_true(hear(0, known(6, 0)) && hear(1, known(6, 0)) && hear(2, unknown));
    aggregate_step(w, now);
    assert_true(aggregate_send(w, now, &node, &j));
    assert_int_equal(j.list[0].state, MESSAGE_LIMIT_OPEN); /* not judged, though nothing is known now, either */
    assert_int_equal(l->unjudged, 12 * EVERY);
}

TEST_WITH(start_counted, end, a_node_that_is_late_leaves_time_that_its_next_values_judge)
{
    const struct agent_limit *l = aggregate_limit(w, 0);
    step(6, 6, 6);
    step_without_the_third(4);
    assert_int_equal(l->held + l->violated + l->unknown, 0); /* it may be the one or the other */
    step(6, 6, 9);
    assert_int_equal(l->violated, 5 * EVERY);
    assert_int_equal(l->unjudged, 0);
}

/* A manager that was busy reads late what the node said before it stood still, and soon afterwards what it says then.
 */
TEST_WITH(start_counted, end, a_node_that_stood_still_hides_behind_no_busy_manager)
{
    const struct agent_limit *l = aggregate_limit(w, 0);
    step(6, 6, 6);
    struct message_partials late = {
        .life = 1, .at = (uint64_t)now + 1, .step = ++instant, .count = 1, .list = {known(6, 0)}};
    for (int i = 0; i < 3; i++) {
        now += EVERY;
        assert_true(hear(0, known(6, 0)) && hear(1, known(6, 0)));
        if (i == 2)
            assert_true(aggregate_receive(w, 2, &late, now));
        aggregate_step(w, now);
    }
    assert_int_equal(l->held, 3 * EVERY);
    step_without_the_third(3);
    step(6, 6, 6);
    assert_int_equal(l->state, LIMIT_HELD);
    assert_int_equal(l->held, 3 * EVERY);
    assert_int_equal(l->unjudged, 4 * EVERY);
}

/* Its last sampling instant, sent again, says nothing new. */
TEST_WITH(start_counted, end, a_node_that_only_answers_stands_still)
{
    const struct agent_limit *l = aggregate_limit(w, 0);
    step(6, 6, 6);
    for (int i = 0; i < 6; i++) {
        now += EVERY;
        struct message_partials again = w->partials[2];
        again.at = (uint64_t)now;
        assert_true(aggregate_receive(w, 2, &again, now));
        assert_true(hear(0, known(6, 0)) && hear(1, known(6, 0)));
        aggregate_step(w, now);
    }
    step(6, 6, 6);
    assert_int_equal(l->unjudged, 7 * EVERY);
    assert_int_equal(l->held, 0);
}

TEST(while_a_node_is_silent_nothing_is_judged_unless_it_had_nothing_to_add)
{
    static const struct message_partial parts[] = {{.state = PARTIAL_KNOWN, .value = 1}, {.state = PARTIAL_NONE}};
    for (size_t i = 0; i < 2; i++) {
        struct message_judgement j;
        uint32_t node;
        start_counted(test_state);
        const struct agent_limit *l = aggregate_limit(w, 0);
        step(6, 6, 6);
        now += EVERY;
        assert_true(hear(0, known(6, 0)) && hear(1, known(6, 0)) && hear(2, parts[i]));
        aggregate_step(w, now);
        step_without_the_third(20);
        assert_true(aggregate_send(w, now, &node, &j));
        assert_int_equal(l->held, EVERY);
        assert_int_equal(l->unknown, 20 * EVERY);
        assert_int_equal(l->unjudged, i == 0 ? 20 * EVERY : 9 * EVERY); /* till it was missing */
        assert_int_equal(j.list[0].state, i == 0 ? MESSAGE_LIMIT_OPEN : MESSAGE_LIMIT_UNKNOWN);
        assert_int_equal(j.missing[0], 4);
        end(test_state);
    }
}

/* What nodes sent meanwhile comes a moment later: they are there, and the same one is told. */
TEST_WITH(start_counted, end, the_time_for_which_the_manager_stood_still_was_not_judged)
{
    struct message_judgement j;
    uint32_t node;
    const struct agent_limit *l = aggregate_limit(w, 0);
    for (int i = 0; i < 2; i++) {
        step(6, 6, 6);
        assert_true(aggregate_send(w, now, &node, &j));
    }
    now += CLOCK_S;
    assert_true(hear(1, known(6, 0)) && hear(2, known(6, 0)));
    aggregate_step(w, now);
    assert_true(aggregate_send(w, now, &node, &j));
    assert_int_equal(node, 0);
    assert_int_equal(j.missing[0], 0);
    assert_int_equal(l->held + l->violated + l->unknown, EVERY);
    step(6, 6, 6);
    assert_int_equal(l->state, LIMIT_HELD);
    assert_int_equal(l->held, EVERY);
    assert_int_equal(l->unjudged, CLOCK_S + EVERY);
}

/* What breaks the largest of all is in the window still, when the node goes on. */
TEST_WITH(start, end, the_largest_of_all_is_judged_as_far_as_its_window_goes_back)
{
    const struct agent_limit *l = aggregate_limit(w, 0);
    limits[0].metric = METRIC_MAX;
    aggregate_start(w, &e, 20 * EVERY);
    step(6, 6, 6);
    step_without_the_third(8);
    step(6, 6, 21);
    assert_int_equal(l->violated, 9 * EVERY);
    step_without_the_third(10);
    step(6, 6, 6);
    assert_int_equal(l->unjudged, 11 * EVERY);
}

TEST_WITH(start, end, one_node_is_told_until_it_is_gone)
{
    struct message_judgement j;
    uint32_t node;
    aggregate_step(w, now);
    assert_false(aggregate_send(w, now, &node, &j)); /* nobody is there */
    assert_true(hear(1, known(1, 0)));
    assert_false(aggregate_send(w, now, &node, &j)); /* the first one of the file may come */
    now += 2 * CLOCK_S;
    assert_true(hear(1, known(1, 0)));
    assert_true(aggregate_send(w, now, &node, &j));
    assert_int_equal(node, 1);
    assert_false(aggregate_send(w, now, &node, &j));
    for (uint64_t i = 0; i < 8; i++) { /* the first step is behind a long time without one */
        now += EVERY;
        assert_true(hear(2, known(1, 0)));
        assert_true(hear(0, known(1, 0)));
        aggregate_step(w, now);
        assert_true(aggregate_send(w, now, &node, &j));
        assert_int_equal(node, i < 6 ? 1 : 0);
        assert_int_equal(j.sequence, 2 + i);
        assert_int_equal(j.count, 1);
    }
}

TEST_WITH(start, end, the_first_node_of_the_file_is_told_where_it_comes_later)
{
    struct message_judgement j;
    uint32_t node;
    assert_true(hear(2, known(1, 0)));
    aggregate_step(w, now);
    assert_false(aggregate_send(w, now, &node, &j));
    now += EVERY;
    assert_true(hear(2, known(1, 0)) && hear(0, known(1, 0)));
    aggregate_step(w, now);
    assert_true(aggregate_send(w, now, &node, &j));
    assert_int_equal(node, 0);
}

/* All nodes have the aspect's processes no more; node 0: its last one ended `as`. */
static void ended(enum message_partial_state as)
{
    now += EVERY;
    assert_true(hear(0, (struct message_partial){.state = as}) && hear(1, nothing) && hear(2, nothing));
    aggregate_step(w, now);
}

static void fall_silent(int instants)
{
    limits[0].metric = METRIC_RATE;
    limits[0].compare = COMPARE_AT_LEAST;
    step(10, 10, 10);
    for (int i = 1; i <= instants; i++) {
        struct message_partial p = {.state = PARTIAL_KNOWN, .value = 1, .silent = i * EVERY};
        now += EVERY;
        assert_true(hear(0, p) && hear(1, p) && hear(2, p));
        aggregate_step(w, now);
    }
}

/* A process went on with another aspect: behind the last instant, and before that. */
TEST_WITH(start, end, what_was_broken_before_the_last_record_of_a_process_stays)
{
    fall_silent(3);
    ended(PARTIAL_WENT_ON);
    assert_int_equal(aggregate_limit(w, 0)->violated, 3 * EVERY);
    assert_int_equal(aggregate_limit(w, 0)->last_violated, now - EVERY);
    ended(PARTIAL_NONE);
    assert_int_equal(aggregate_limit(w, 0)->violated, 3 * EVERY);
}

TEST_WITH(start, end, what_a_process_broke_before_others_go_on_stays)
{
    fall_silent(3);
    struct message_partial p = {.state = PARTIAL_KNOWN, .value = 1, .silent = 4 * EVERY},
                           gone = {.state = PARTIAL_WENT_ON};
    now += EVERY;
    assert_true(hear(0, gone) && hear(1, p) && hear(2, p));
    aggregate_step(w, now);
    ended(PARTIAL_NONE);
    assert_int_equal(aggregate_limit(w, 0)->violated, 3 * EVERY); /* the fourth was the end of the others */
}

TEST_WITH(start, end, the_end_of_processes_is_no_violation)
{
    struct message_judgement j;
    uint32_t node;
    fall_silent(3);
    assert_int_equal(aggregate_limit(w, 0)->violated, 3 * EVERY);
    assert_true(aggregate_send(w, now, &node, &j));
    assert_int_equal(j.list[0].doubtful, 3 * EVERY); /* were it the end of the run */
    assert_int_equal(j.list[0].trusted_ago, -1);
    assert_int_equal(j.list[0].ago, 0);
    ended(PARTIAL_NONE);
    assert_int_equal(aggregate_limit(w, 0)->violated, 0);
    assert_int_equal(aggregate_limit(w, 0)->unknown, 4 * EVERY);
}

/* ---- Metrics that the collector evaluates ------------------------------------------------------------------------ */

static struct message_value value(double low, double high)
{
    return (struct message_value){.state = PARTIAL_KNOWN,
                                  .lack = LACK_CLOCKS,
                                  .value = high,
                                  .low = low,
                                  .high = high,
                                  .age = 5 * CLOCK_MS,
                                  .collected = CLOCK_MS};
}

/* The collector sends `v` with a way of 2 ms at most, and nodes send nothing; then it is judged. */
static const struct aggregate_value *judge(struct message_value v)
{
    struct message_values values = {.life = 7, .at = (uint64_t)now, .count = 1, .list = {v}};
    assert_true(aggregate_receive_values(w, &values, 2 * CLOCK_MS, now));
    now += EVERY;
    aggregate_step(w, now);
    return aggregate_value(w, 0);
}

static int start_collected(void **state)
{
    (void)start(state);
    limits[0].metric = METRIC_INTERVAL;
    return 0;
}

static int end_collected(void **state)
{
    e.adapt.max_age = 0;
    return end(state);
}

TEST_WITH(start_collected, end_collected, only_the_collector_s_value_counts_and_no_node_is_missing)
{
    const struct aggregate_value *v = judge(value(18, 19));
    assert_true(v->known && v->value == 19);
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_HELD);
    assert_int_equal(v->age, 7 * CLOCK_MS + EVERY); /* never less than it may be */
    assert_int_equal(v->collected, CLOCK_MS);
    assert_int_equal(w->missing.word[0], 0);
    assert_int_equal(v->lack, LACK_NOTHING);
}

TEST_WITH(start_collected, end_collected, what_the_bounds_leave_open_is_neither_held_nor_violated)
{
    assert_int_equal(judge(value(19, 20.5))->lack, LACK_CLOCKS);
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_UNKNOWN);
    (void)judge(value(20, 20));
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_HELD);
    (void)judge(value(20.5, INFINITY));
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_UNKNOWN); /* what is infinite is no value */
    (void)judge((struct message_value){.state = PARTIAL_KNOWN, .value = 30, .low = 20.5, .high = INFINITY});
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_VIOLATED);
    (void)judge((struct message_value){.state = PARTIAL_KNOWN, .value = 3, .low = -INFINITY, .high = 4});
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_HELD);
    assert_true(isfinite(aggregate_limit(w, 0)->worst));
    limits[0].compare = COMPARE_AT_LEAST;
    assert_int_equal(judge(value(19, 20))->lack, LACK_CLOCKS);
    (void)judge(value(20, 25));
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_HELD);
    (void)judge(value(10, 19));
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_VIOLATED);
}

TEST_WITH(start_collected, end_collected, a_value_that_is_old_or_does_not_come_is_unknown_with_the_reason)
{
    aggregate_step(w, now++);
    assert_int_equal(aggregate_value(w, 0)->lack, LACK_VALUES);
    (void)judge(value(1, 2));
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_HELD);
    for (int i = 0; i < 6; i++, now++)
        aggregate_step(w, now += EVERY);
    assert_int_equal(aggregate_value(w, 0)->lack, LACK_VALUES);
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_UNKNOWN);
    e.adapt.max_age = 7 * CLOCK_MS + EVERY;
    (void)judge(value(1, 2));
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_HELD);
    e.adapt.max_age--;
    assert_int_equal(judge(value(1, 2))->lack, LACK_RECENT);
    assert_int_equal(aggregate_limit(w, 0)->state, LIMIT_UNKNOWN);
    assert_int_equal(judge((struct message_value){.lack = LACK_BEGIN})->lack, LACK_BEGIN);
    struct message_value wrong = value(3, 2);
    assert_int_equal(judge(wrong)->lack, LACK_VALUES);
    wrong = value(1, 2);
    wrong.collected = wrong.age + 1;
    assert_int_equal(judge(wrong)->lack, LACK_VALUES);
}

TEST_WITH(start_collected, end_collected, the_time_for_which_the_collector_or_a_node_stood_still_was_not_judged)
{
    const struct agent_limit *l = aggregate_limit(w, 0);
    aggregate_start(w, &e, 20 * EVERY);
    (void)judge(value(1, 2));
    (void)judge(value(1, 2));
    for (int i = 0; i < 5; i++) {
        now += EVERY;
        aggregate_step(w, now);
    }
    (void)judge(value(1, 2));
    assert_int_equal(l->held, EVERY);
    assert_int_equal(l->unjudged, 6 * EVERY);
    for (int i = 0; i < 8; i++) {
        if (i == 0 || i == 7)
            assert_true(hear(2, nothing));
        (void)judge(value(1, 2));
    }
    assert_int_equal(l->held, 2 * EVERY);
    assert_int_equal(l->unjudged, 13 * EVERY);
    for (int i = 0; i < 21; i++)
        (void)judge(value(1, 2));
    assert_int_equal(l->state, LIMIT_UNKNOWN); /* its records are in no value */
    assert_int_equal(l->held, 2 * EVERY);
    assert_int_equal(l->unjudged, 34 * EVERY);
    assert_int_equal(w->missing.word[0], 4);
}

/* The manager stood still from its begin on, and programs have recorded meanwhile. */
TEST_WITH(start_counted, end, a_late_first_judgement_leaves_a_gap)
{
    static char tick[] = "tick";
    metrics[METRIC_COUNT].aspect = tick;
    w->began = now - 9 * EVERY;
    assert_true(hear(0, known(1, 1)) && hear(1, known(0, 1)) && hear(2, nothing));
    aggregate_step(w, now);
    assert_int_equal(aggregate_limit(w, 0)->unjudged, 9 * EVERY);
    assert_int_equal(aggregate_limit(w, 0)->unknown, 9 * EVERY);
}

TEST_WITH(start_counted, end, a_late_first_judgement_of_nothing_leaves_none)
{
    static char tick[] = "tick";
    metrics[METRIC_COUNT].aspect = tick;
    w->began = now - 9 * EVERY;
    assert_true(hear(0, nothing) && hear(1, nothing) && hear(2, nothing));
    aggregate_step(w, now);
    assert_int_equal(aggregate_limit(w, 0)->unjudged, 0);
}

TEST_WITH(start_collected, end_collected, the_first_value_of_the_collector_stands_for_the_time_since_the_begin)
{
    w->began = now - EVERY;
    (void)judge(value(21, 22));
    assert_int_equal(aggregate_limit(w, 0)->violated, 2 * EVERY);
    aggregate_start(w, &e, STALE);
    w->began = now - 9 * EVERY;
    (void)judge(value(1, 2));
    assert_int_equal(aggregate_limit(w, 0)->unjudged, 10 * EVERY);
}

TEST_WITH(start_collected, end_collected, values_of_a_former_life_of_the_collector_are_not_taken)
{
    struct message_values values = {.life = 6, .at = (uint64_t)now + 1, .count = 1, .list = {value(1, 2)}};
    (void)judge(value(30, 31));
    assert_false(aggregate_receive_values(w, &values, 0, now));
    values.life = 7;
    values.at = (uint64_t)(now - EVERY);
    assert_false(aggregate_receive_values(w, &values, 0, now));
    values.life = 8;
    values.at = 1; /* its clock is its own */
    assert_true(aggregate_receive_values(w, &values, 0, now));
}
