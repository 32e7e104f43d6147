// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/agent_harness.h"
#include "tests/lib/test.h"

TEST_WITH(NULL, end, names_of_aspects_become_watches_only_where_a_metric_reads_them)
{
    begin(POLICY_NONE, 0);
    int slot = agent_process_add(agent, "server");
    int first = watch(slot, "shown"), second = watch(slot, "sent");
    assert_true(first >= 0 && second >= 0 && first != second);
    assert_int_equal(watch(slot, "shown"), first);
    assert_int_equal(watch(slot, "other"), BEZEL_ENOENT);
    assert_int_equal(watch(slot + 1, "shown"), BEZEL_ENOENT);
    assert_string_equal(agent_process_name(agent, slot), "server");
    assert_int_equal(agent_period(agent), EVERY);
}

TEST_WITH(NULL, end, slots_are_used_again_and_are_bounded)
{
    begin(POLICY_NONE, 0);
    for (int i = 0; i < AGENT_PROCESSES_MAX; i++)
        assert_int_equal(agent_process_add(agent, "p"), i);
    assert_int_equal(agent_process_add(agent, "p"), BEZEL_EFULL);
    agent_process_remove(agent, 7);
    assert_null(agent_process_name(agent, 7));
    assert_int_equal(agent_process_add(agent, "q"), 7);
}

TEST_WITH(NULL, end, what_belongs_to_a_removed_process_is_ignored)
{
    begin(POLICY_NONE, 0);
    struct worker *w = enter(0, 30);
    const int watch = w->watch, slot = w->slot;
    go(2 * CLOCK_S, 0);
    double v;
    assert_true(agent_metric(agent, FPS, slot, &v));
    leave(w);
    agent_records(agent, watch, ONE_RECORD(now, 0, NULL), now);
    agent_count(agent, watch, 99, now);
    agent_process_remove(agent, slot);
    assert_false(agent_metric(agent, FPS, slot, &v));
    go(CLOCK_S, 0);
    assert_false(agent_metric(agent, ALL, -1, &v));
}

TEST_WITH(NULL, end, metrics_are_per_process_or_of_the_node)
{
    begin(POLICY_NONE, 0);
    struct worker *a = enter(0, 30), *b = enter(1, 10);
    double v;
    go(900 * CLOCK_MS, 0);
    assert_false(agent_metric(agent, FPS, a->slot, &v));
    go(2 * CLOCK_S, 0);
    assert_true(agent_metric(agent, FPS, a->slot, &v));
    assert_float_equal(v, 30, 0.01);
    assert_true(agent_metric(agent, FPS, b->slot, &v));
    assert_float_equal(v, 10, 0.01);
    assert_true(agent_metric(agent, ALL, -1, &v));
    assert_float_equal(v, 40, 1.01);
    assert_false(agent_metric(agent, SENT, a->slot, &v));
    assert_false(agent_metric(agent, 3, a->slot, &v));
    leave(b);
    go(2 * CLOCK_S, 0);
    assert_true(agent_metric(agent, ALL, -1, &v));
    assert_float_equal(v, 30, 0.01);
}

TEST_WITH(NULL, end, what_was_counted_before_a_process_was_seen_is_no_growth)
{
    begin(POLICY_NONE, 0);
    enter(0, 30);
    go(2 * CLOCK_S, 0);
    enter(1, 10)->attempts = 1000000;
    for (int i = 0; i < 30; i++) {
        double v;
        go(EVERY, 0);
        assert_true(agent_metric(agent, ALL, -1, &v));
        assert_true(v < 42);
    }
}

TEST_WITH(NULL, end, a_limit_stands_as_its_worst_process)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    limits[1] = hold(FPS, COMPARE_AT_MOST, 31);
    begin(POLICY_NONE, 2);
    enter(0, 30);
    go(500 * CLOCK_MS, 0);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    assert_false(out->limits[0].known);
    assert_int_equal(out->limits[0].slot, -1);
    go(2 * CLOCK_S, 0);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    assert_int_equal(out->cause, -1);
    struct worker *slow = enter(1, 20), *fast = enter(2, 50);
    go(2 * CLOCK_S, 0);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    assert_int_equal(out->limits[0].slot, slow->slot);
    assert_float_equal(out->limits[0].value, 20, 0.01);
    assert_int_equal(out->limits[1].state, LIMIT_VIOLATED);
    assert_int_equal(out->limits[1].slot, fast->slot);
    assert_float_equal(out->limits[1].value, 50, 0.01);
    assert_int_equal(out->cause, 0);
}

/* Samplers that limits read, and while a quality is violated those that tell why, do not follow the polling period. */
TEST_WITH(NULL, end, the_samplers_that_are_needed_are_named)
{
    enum { PAIR = 1 << EXPERIMENT_SAMPLER_INTERRUPTS | 1 << EXPERIMENT_SAMPLER_SCHEDULING };
    static char temperature[] = "node_temperature", interrupts[] = "node_interrupts";
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    limits[1] = hold(LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 10);
    limits[2] = hold(SENT, COMPARE_AT_LEAST, 0);
    limits[2].kind = LIMIT_EXPECT;
    begin(POLICY_ELASTIC, 2);
    enter(0, 30);
    go(3 * CLOCK_S, 5);
    assert_int_equal(out->kept, 0);
    workers[0].interval = CLOCK_S / 20;
    go(2 * CLOCK_S, 5);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    assert_int_equal(out->kept, PAIR);
    go(2 * CLOCK_S, 50); /* a budget has precedence, ... */
    assert_int_equal(out->limits[1].state, LIMIT_VIOLATED);
    assert_int_equal(out->kept, 0);
    go(EVERY, 1);
    assert_int_equal(out->kept, 0); /* ... until the period is what it was */
    agent_free(agent);

    metrics[SENT].aspect = temperature;
    begin(POLICY_ELASTIC, 3);
    enter(0, 30);
    go(3 * CLOCK_S, 5);
    assert_int_equal(out->kept, 1 << EXPERIMENT_SAMPLER_TEMPERATURE);
    workers[0].interval = CLOCK_S / 20;
    go(2 * CLOCK_S, 5);
    assert_int_equal(out->kept, PAIR | 1 << EXPERIMENT_SAMPLER_TEMPERATURE);
    agent_free(agent);

    metrics[SENT].aspect = interrupts; /* they tell of threads only at the same period */
    begin(POLICY_ELASTIC, 3);
    go(CLOCK_S, 5);
    assert_int_equal(out->kept, PAIR);
    metrics[SENT].aspect = sent;
}

TEST_WITH(NULL, end, hold_limits_settle_and_all_time_is_accounted_for)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    limits[1] = limits[0];
    limits[1].kind = LIMIT_EXPECT;
    begin(POLICY_NONE, 2);
    enter(0, 20);
    go(10 * CLOCK_S, 0);
    /* The first step is at 0.1 s; known from 1.1 s on; the window and ten periods more to settle. */
    assert_int_equal(out->limits[0].unknown, 900 * CLOCK_MS);
    assert_int_equal(out->limits[0].settling, 2100 * CLOCK_MS);
    assert_int_equal(out->limits[0].violated, 6900 * CLOCK_MS);
    assert_int_equal(out->limits[0].held, 0);
    assert_int_equal(out->limits[1].unknown, 900 * CLOCK_MS);
    assert_int_equal(out->limits[1].settling, 0);
    assert_int_equal(out->limits[1].violated, 9 * CLOCK_S);
    assert_float_equal(out->limits[0].worst, 20, 0.01);
    assert_int_equal(out->limits[0].last_violated, now);
    assert_int_equal(accounted(&out->limits[0]), 9900 * CLOCK_MS);
    workers[0].interval = CLOCK_S / 30;
    go(5 * CLOCK_S, 0);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    assert_true(out->limits[0].held > 3900 * CLOCK_MS);
    assert_true(out->limits[0].last_violated < now - 3900 * CLOCK_MS);
    assert_int_equal(accounted(&out->limits[0]), 14900 * CLOCK_MS);
    assert_int_equal(accounted(&out->limits[1]), 14900 * CLOCK_MS);
}

TEST_WITH(NULL, end, only_hold_limits_move_the_policy)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    limits[0].kind = LIMIT_EXPECT;
    limits[1] = hold(LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 10);
    begin(POLICY_SPP, 2);
    enter(0, 20);
    go(3 * CLOCK_S, 5);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    assert_true(out->after.on);
    assert_int_equal(out->cause, -1);
    go(EVERY, 11);
    assert_int_equal(out->action, POLICY_OFF);
    assert_int_equal(out->cause, 1);
    assert_true(out->before.on && !out->after.on);
    assert_true(out->limit_changed);
    go(EVERY, 11);
    assert_int_equal(out->action, POLICY_KEEP);
    assert_false(out->limit_changed);
    go(EVERY, 0);
    assert_int_equal(out->action, POLICY_RESUME);
    assert_int_equal(out->limits[1].state, LIMIT_HELD);
    assert_int_equal(out->limits[1].worst, 11);
}

TEST_WITH(NULL, end, unknown_sensor_cpu_keeps_everything)
{
    limits[0] = hold(LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 10);
    begin(POLICY_DPP, 1);
    go(CLOCK_S, NAN);
    assert_int_equal(out->action, POLICY_KEEP);
    assert_int_equal(out->after.period, CLOCK_MS);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    go(EVERY, 20);
    assert_int_equal(out->action, POLICY_LENGTHEN);
    go(EVERY, INFINITY);
    assert_int_equal(out->action, POLICY_KEEP);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    go(EVERY, 5);
    assert_int_equal(out->action, POLICY_SHORTEN);
}

TEST_WITH(NULL, end, a_persistence_must_pass_without_a_break)
{
    limits[0] = hold(LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 10);
    limits[0].persistence = 300 * CLOCK_MS;
    begin(POLICY_SPP, 1);
    for (int turn = 0; turn < 5; turn++) {
        go(300 * CLOCK_MS, 20);
        assert_int_equal(out->limits[0].state, LIMIT_HELD);
        go(EVERY, turn % 2 ? NAN : 10);
    }
    go(300 * CLOCK_MS, 20);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    go(EVERY, 20);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    assert_int_equal(out->action, POLICY_OFF);
}

TEST_WITH(NULL, end, processes_that_break_in_turn_add_up_to_no_persistence)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    limits[0].persistence = 60 * CLOCK_S;
    begin(POLICY_NONE, 1);
    enter(0, 20);
    go(50 * CLOCK_S, 0);
    enter(1, 20);
    workers[0].interval = CLOCK_S / 30;
    go(50 * CLOCK_S, 0);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    go(12 * CLOCK_S, 0);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
}

TEST_WITH(NULL, end, while_off_a_limit_is_broken_only_beyond_the_resolution)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    limits[1] = hold(LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 10);
    limits[2] = hold(FPS, COMPARE_AT_MOST, 27);
    begin(POLICY_SPP, 3);
    struct worker *w = enter(0, 28);
    go(3 * CLOCK_S, 50);
    assert_false(out->after.on);
    go(3 * CLOCK_S, 50);
    assert_int_equal(out->limits[2].state, LIMIT_HELD);
    assert_int_equal(out->limits[2].value, 28);
    /* 28 counted, give or take one: it may be 29. */
    assert_true(out->limits[0].known);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    w->interval = CLOCK_S / 26;
    go(3 * CLOCK_S, 50);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
}

/*
 * The only records that a process ever makes, an error that is counted, say: before a reading that found none, or
 * before the first reading of a process that is new. What an older process had made by then is no matter of this run.
 * That the process ends soon changes nothing.
 */
TEST_WITH(NULL, end, the_first_records_count_against_an_upper_bound)
{
    for (int way = 0; way < 3; way++) {
        limits[0] = (struct experiment_limit){.metric = FPS, .compare = COMPARE_AT_MOST, .bound = 0};
        limits[1] = (struct experiment_limit){.metric = ALL, .compare = COMPARE_AT_MOST, .bound = 0};
        limits[0].kind = limits[1].kind = LIMIT_EXPECT;
        begin(POLICY_NONE, 2);
        int slot = agent_process_add(agent, "client.1");
        if (way == 1)
            agent_process_began(agent, slot, now - 1000);
        struct worker *w = &workers[0];
        *w = (struct worker){.slot = slot, .watch = watch(slot, "shown"), .attempts = way == 0 ? 0 : 3};
        go(EVERY, NAN);
        assert_int_equal(out->limits[0].state, way == 1 ? LIMIT_VIOLATED : LIMIT_UNKNOWN);
        assert_int_equal(out->limits[1].state, out->limits[0].state);
        w->attempts = 3;
        go(3 * CLOCK_S, NAN);
        leave(w);
        go(CLOCK_S, NAN);
        assert_true(out->limits[0].held > 0);
        for (int i = 0; i < 2; i++)
            assert_true(way == 2 ? out->limits[i].violated == 0 : out->limits[i].violated >= 8 * EVERY);
        agent_free(agent);
        agent = NULL;
    }
}

TEST_WITH(NULL, end, a_long_polling_period_is_not_a_silent_source)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 28.5);
    begin(POLICY_NONE, 1);
    struct worker *w = enter(0, 30);
    int64_t late[300];
    int n = 0;
    for (int i = 0; i < 600; i++) {
        now += EVERY;
        for (; w->next <= now; w->next += w->interval) {
            w->attempts++;
            late[n++] = w->next;
        }
        if (i % 97 == 0)
            while (n > 0)
                agent_records(agent, w->watch, ONE_RECORD(late[--n], 0, NULL), now);
        agent_count(agent, w->watch, w->attempts, now);
        out = agent_step(agent, now, &(struct policy_measure){.polls = NAN, .elapsed = EVERY});
        assert_true(out->limits[0].state == (i < 10 ? LIMIT_UNKNOWN : LIMIT_HELD));
    }
}

TEST_WITH(NULL, end, an_aspect_that_is_switched_off_is_unknown_and_never_violates)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 20);
    limits[1] = hold(ALL, COMPARE_AT_LEAST, 40);
    begin(POLICY_NONE, 2);
    struct worker *a = enter(0, 30), *b = enter(1, 30);
    go(5 * CLOCK_S, NAN);
    double value;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(out->limits[0].state, LIMIT_HELD);
        assert_int_equal(out->limits[1].state, LIMIT_HELD);
        a->blind = b->blind = true;
        go(EVERY, NAN);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(out->limits[i].state, LIMIT_UNKNOWN);
            assert_false(agent_metric(agent, (uint32_t)i, i == FPS ? a->slot : -1, &value));
        }
        go(4 * CLOCK_S, NAN);
        assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
        assert_int_equal(out->limits[1].state, LIMIT_UNKNOWN);
        a->blind = b->blind = false;
        go(4 * CLOCK_S, NAN);
    }
    assert_true(agent_metric(agent, FPS, a->slot, &value) && fabs(value - 30) < 2);
    assert_true(agent_metric(agent, ALL, -1, &value) && fabs(value - 60) < 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(out->limits[i].violated, 0);
        assert_true(out->limits[i].unknown >= 12 * CLOCK_S);
        assert_int_equal(out->limits[i].unjudged, 3 * (4 * CLOCK_S + EVERY));
        assert_int_equal(out->limits[i].last_violated, 0);
    }
    a->interval = 0; /* silent, and that is seen */
    go(3 * CLOCK_S, NAN);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
}

/* ---- Metrics of fields, and of the monitor itself ---------------------------------------------------------------- */

static char delay[] = "delay", busy[] = "busy", lost[] = "lost_ratio", latency[] = "monitoring_latency",
            oldest[] = "monitoring_latency_max", en_route[] = "en_route_ratio";

static const struct dict_aspect shows = {.name = "shown",
                                         .field_count = 3,
                                         .fields = {{.type = DICT_INT64, .name = "frame", .unit = "1"},
                                                    {.type = DICT_FLOAT64, .name = "delay", .unit = "ms"},
                                                    {.type = DICT_STRING, .name = "busy", .unit = "1"}}};

static uint64_t bits(double value)
{
    uint64_t b;
    memcpy(&b, &value, sizeof b);
    return b;
}

static void begin_with(struct experiment_metric metric, struct experiment_limit limit, enum experiment_policy policy)
{
    static struct experiment_metric one[1];
    limits[0] = limit;
    begin(policy, 1);
    agent_free(agent);
    one[0] = metric;
    experiment.metrics = one;
    experiment.metric_count = 1;
    assert_int_equal(agent_new(&experiment, 0, &agent), 0);
}

static void step_once(double cpu)
{
    now += EVERY;
    out = agent_step(agent, now, &(struct policy_measure){.cpu = cpu, .polls = NAN, .elapsed = EVERY});
}

TEST_WITH(NULL, end, a_field_is_read_in_its_own_unit_or_in_ns)
{
    for (int in_time = 0; in_time <= 1; in_time++) {
        struct experiment_metric m = {.name = delay,
                                      .kind = METRIC_MEAN,
                                      .aspect = shown,
                                      .field = delay,
                                      .in_time = in_time,
                                      .window = CLOCK_S,
                                      .per_process = true};
        begin_with(m, hold(0, COMPARE_AT_MOST, in_time ? 20e6 : 20), POLICY_NONE);
        int slot = agent_process_add(agent, "client"), number = agent_watch(agent, slot, &shows);
        assert_true(number >= 0 && !agent_lacking(agent, &shows));
        double value = 0;
        step_once(1);
        assert_false(agent_metric(agent, 0, slot, &value)); /* no record has come */
        for (int i = 0; i < 3; i++)
            agent_records(agent, number, ONE_RECORD(now, 2, ((uint64_t[]){7, bits(i < 2 ? 10 + 30 * i : NAN)})), now);
        step_once(1);
        assert_true(agent_metric(agent, 0, slot, &value));
        assert_float_equal(value, in_time ? 25e6 : 25, 1e-6);
        assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
        for (int i = 0; i < 12; i++)
            step_once(1);
        assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN); /* nothing in the window any more */
        assert_int_equal(accounted(&out->limits[0]), INT64_C(13) * EVERY);
        if (!in_time)
            agent_free(agent);
    }
}

TEST_WITH(NULL, end, a_metric_of_a_field_that_is_no_number_is_unknown_and_that_is_told)
{
    struct experiment_metric m = {
        .name = busy, .kind = METRIC_MAX, .aspect = shown, .field = busy, .window = CLOCK_S, .per_process = true};
    begin_with(m, hold(0, COMPARE_AT_MOST, 20), POLICY_NONE);
    assert_string_equal(agent_lacking(agent, &shows), "busy");
    int slot = agent_process_add(agent, "client"), number = agent_watch(agent, slot, &shows);
    agent_records(agent, number, ONE_RECORD(now, 3, ((uint64_t[]){7, bits(10), 3})), now);
    step_once(1);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    agent_free(agent);
    m.field = delay;
    m.in_time = true;
    begin_with(m, hold(0, COMPARE_AT_MOST, 20), POLICY_NONE);
    struct dict_aspect other = shows;
    other.fields[1].unit = "B"; /* bytes are no time */
    assert_string_equal(agent_lacking(agent, &other), "busy");
}

static struct experiment_metric chosen(enum experiment_metric_kind kind, const char *where)
{
    static char condition[64];
    snprintf(condition, sizeof condition, "%s", where);
    return (struct experiment_metric){.name = busy,
                                      .kind = kind,
                                      .aspect = shown,
                                      .field = kind == METRIC_RATE ? NULL : delay,
                                      .where = condition,
                                      .window = CLOCK_S,
                                      .per_process = true};
}

/* Ten records a step, of which the last has a delay of 9 ms and the others of 1 ms; `missing` of them do not arrive. */
static void show_ten(int number, uint64_t *attempts, int missing)
{
    for (int i = 0; i < 10 - missing; i++)
        agent_records(agent, number, ONE_RECORD(now + 1 + i, 3, ((uint64_t[]){1, bits(i == 9 ? 9 : 1), 0})), now + 20);
    *attempts += 10;
    agent_count(agent, number, *attempts, now + 30);
    step_once(1);
}

TEST_WITH(NULL, end, records_that_do_not_meet_the_condition_do_not_count)
{
    for (int is_rate = 0; is_rate <= 1; is_rate++) {
        begin_with(chosen(is_rate ? METRIC_RATE : METRIC_MEAN, "delay > 5 ms"), hold(0, COMPARE_AT_MOST, 100),
                   POLICY_NONE);
        int slot = agent_process_add(agent, "client"), number = agent_watch(agent, slot, &shows);
        uint64_t attempts = 0;
        double value = 0;
        assert_null(agent_lacking(agent, &shows));
        for (int i = 0; i < 15; i++)
            show_ten(number, &attempts, 0);
        assert_true(agent_metric(agent, 0, slot, &value));
        assert_float_equal(value, is_rate ? 10 : 9, 0.2);
        if (!is_rate)
            agent_free(agent);
    }
}

/* Of ten records a step one is slow: a limit on the ratio is judged by process, and unknown while no record is there.
 */
/* Steps until `span` has passed, with a record of delay `value` at each. */
static void show_until(int number, uint64_t *attempts, int64_t span, double value)
{
    for (int64_t until = now + span; now < until;) {
        agent_records(agent, number, ONE_RECORD(now + EVERY, 3, ((uint64_t[]){1, bits(value), 0})), now + EVERY);
        agent_count(agent, number, ++*attempts, now + EVERY);
        step_once(1);
    }
}

/*
 * Windows follow one another, and a process begins within one, at a known time or not, with values beyond the bound.
 * Only a least value says of a part of the window that the whole breaks the limit. The next window is judged.
 */
TEST_WITH(NULL, end, a_window_in_which_a_process_began_is_not_judged_unless_a_record_decides)
{
    static const enum experiment_metric_kind kinds[] = {METRIC_MEAN,  METRIC_MIN,      METRIC_LAST,
                                                        METRIC_FIRST, METRIC_QUANTILE, METRIC_PERCENT};
    for (size_t way = 0; way < 4 * sizeof kinds / sizeof *kinds; way++) {
        struct experiment_metric m =
            chosen(kinds[way / 4], kinds[way / 4] == METRIC_PERCENT ? "delay > 15" : "delay < 100");
        uint64_t attempts = 0;
        m.tumbles = true;
        m.per_process = way % 2;
        m.share = 0.5;
        begin_with(m, hold(0, COMPARE_AT_LEAST, 20), POLICY_NONE);
        limits[0].kind = LIMIT_EXPECT;
        now += 6 * EVERY;
        int slot = agent_process_add(agent, "client");
        if (way % 4 >= 2)
            agent_process_began(agent, slot, now);
        int number = agent_watch(agent, slot, &shows);
        show_until(number, &attempts, 3 * EVERY, 10);
        show_until(number, &attempts, CLOCK_S, 30); /* from the end of the first window on */
        assert_int_equal(out->limits[0].violated, kinds[way / 4] == METRIC_MIN ? CLOCK_S : 0);
        assert_int_equal(out->limits[0].held, 0);
        show_until(number, &attempts, CLOCK_S, 10);
        assert_int_equal(out->limits[0].held, CLOCK_S);
        show_until(number, &attempts, CLOCK_S, 30);
        assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
        agent_process_remove(agent, slot);
        now += INT64_C(27) * EVERY;
        slot = agent_process_add(agent, "next");
        number = agent_watch(agent, slot, &shows);
        attempts = 0;
        show_until(number, &attempts, 3 * EVERY, 10);
        int64_t violated = out->limits[0].violated;
        show_until(number, &attempts, CLOCK_S, 30);
        assert_int_equal(out->limits[0].violated - violated, kinds[way / 4] == METRIC_MIN ? CLOCK_S : 0);
        agent_free(agent);
        agent = NULL;
    }
}

TEST_WITH(NULL, end, a_window_that_no_instant_was_in_is_a_gap)
{
    const struct experiment_metric was = metrics[FPS];
    metrics[FPS].window = EVERY;
    metrics[FPS].tumbles = true;
    limits[0] = hold(FPS, COMPARE_AT_MOST, 1000);
    limits[0].kind = LIMIT_EXPECT;
    begin(POLICY_NONE, 1);
    now += 90 * CLOCK_MS;
    enter(0, 100);
    go(CLOCK_S, 0);
    assert_true(out->limits[0].held > 0 && out->limits[0].unjudged == 0);
    int64_t held = out->limits[0].held;
    now += 20 * CLOCK_MS; /* late, and in the window behind the next one */
    go(EVERY, 0);
    assert_int_equal(out->limits[0].gap, EVERY + 20 * CLOCK_MS);
    assert_int_equal(out->limits[0].unjudged, EVERY + 20 * CLOCK_MS);
    assert_int_equal(out->limits[0].held, held);
    go(2 * EVERY, 0);
    assert_int_equal(out->limits[0].unjudged, EVERY + 20 * CLOCK_MS);
    assert_int_equal(out->limits[0].held, held + 2 * EVERY);
    metrics[FPS] = was;
}

TEST_WITH(NULL, end, a_ratio_of_two_metrics_is_each_process_s_own)
{
    static char slow[] = "slow", rate[] = "rate", part[] = "part";
    static char *operands[] = {slow, rate, NULL};
    struct experiment_metric m[] = {
        {.name = part, .kind = METRIC_RATIO, .operands = operands, .window = CLOCK_S, .per_process = true},
        chosen(METRIC_RATE, "delay > 5 ms"),
        chosen(METRIC_RATE, "delay > 5 ms")};
    m[1].name = slow;
    m[2].name = rate;
    m[2].where = NULL;
    double value;
    begin_with(m[0], hold(0, COMPARE_AT_MOST, 0.05), POLICY_NONE);
    agent_free(agent);
    experiment.metrics = m;
    experiment.metric_count = 3;
    assert_int_equal(agent_new(&experiment, 0, &agent), 0);
    int slot = agent_process_add(agent, "client"), number = agent_watch(agent, slot, &shows);
    uint64_t attempts = 0;
    step_once(1);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    for (int i = 0; i < 15; i++)
        show_ten(number, &attempts, 0);
    assert_true(agent_metric(agent, 0, slot, &value));
    assert_float_equal(value, 0.1, 0.005);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    assert_int_equal(out->limits[0].slot, slot);
    for (int i = 0; i < 30; i++)
        step_once(1);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN); /* 0 of 0 */
}

/* A record that was lost may have met the condition: the counters do not say so. */
TEST_WITH(NULL, end, a_rate_of_chosen_records_is_unknown_where_records_were_lost)
{
    begin_with(chosen(METRIC_RATE, "delay > 100 ms"), hold(0, COMPARE_AT_MOST, 1), POLICY_NONE);
    int slot = agent_process_add(agent, "client"), number = agent_watch(agent, slot, &shows);
    uint64_t attempts = 0;
    for (int i = 0; i < 15; i++)
        show_ten(number, &attempts, 0);
    assert_int_equal(out->limits[0].state, LIMIT_HELD); /* and so none a second */
    for (int i = 0; i < 30; i++)
        show_ten(number, &attempts, 1);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    for (int i = 0; i < 15; i++)
        show_ten(number, &attempts, 0);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
}

TEST_WITH(NULL, end, a_condition_on_what_is_not_there_makes_a_metric_unknown_and_that_is_told)
{
    static const char *const conditions[] = {"dealy > 5 ms", "frame > 5 ms", "busy > 5"};
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (i > 0)
            agent_free(agent);
        begin_with(chosen(METRIC_RATE, conditions[i]), hold(0, COMPARE_AT_MOST, 100), POLICY_NONE);
        assert_string_equal(agent_lacking(agent, &shows), "busy");
        int slot = agent_process_add(agent, "client"), number = agent_watch(agent, slot, &shows);
        uint64_t attempts = 0;
        for (int k = 0; k < 15; k++)
            show_ten(number, &attempts, 0);
        assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    }
}

TEST_WITH(NULL, end, a_span_of_unknown_duration_and_values_that_are_none_make_no_metric)
{
    static char duration[] = "duration";
    struct dict_aspect span = {.name = "shown",
                               .kind = DICT_SPAN,
                               .field_count = 1,
                               .fields = {{.type = DICT_INT64, .name = "duration", .unit = "ns"}}};
    struct experiment_metric m = {
        .name = delay, .kind = METRIC_LAST, .aspect = shown, .field = duration, .window = CLOCK_S, .per_process = true};
    begin_with(m, hold(0, COMPARE_AT_MOST, 20), POLICY_NONE);
    int slot = agent_process_add(agent, "client"), number = agent_watch(agent, slot, &span);
    agent_records(agent, number, ONE_RECORD(now, 1, ((uint64_t[]){(uint64_t)-1})), now);
    step_once(1);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    agent_records(agent, number, ONE_RECORD(now, 1, ((uint64_t[]){5})), now);
    step_once(1);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
}

TEST_WITH(NULL, end, the_monitors_own_metrics_are_the_nodes)
{
    static struct experiment_metric own[] = {{.name = latency, .kind = METRIC_LATENCY, .window = CLOCK_S},
                                             {.name = oldest, .kind = METRIC_LATENCY_MAX, .window = CLOCK_S},
                                             {.name = en_route, .kind = METRIC_EN_ROUTE, .window = CLOCK_S},
                                             {.name = lost, .kind = METRIC_LOST, .window = CLOCK_S}};
    begin(POLICY_NONE, 1);
    agent_free(agent);
    experiment.metrics = own;
    experiment.metric_count = 4;
    limits[0] = hold(3, COMPARE_AT_MOST, 10);
    assert_int_equal(agent_new(&experiment, 0, &agent), 0);
    assert_true(agent_wants_totals(agent));
    double value[4];
    agent_totals(agent, 0, 0, 0, now);
    step_once(1);
    for (uint32_t m = 0; m < 4; m++)
        assert_false(agent_metric(agent, m, -1, &value[m]));
    for (int i = 1; i <= 15; i++) {
        agent_totals(agent, (uint64_t)(100 * i), (uint64_t)(20 * i), 250, now);
        agent_taken(agent, 10, now - 30 * CLOCK_MS, now - 10 * CLOCK_MS, now);
        agent_taken(agent, 1, now + 10 * CLOCK_MS, now + 10 * CLOCK_MS, now); /* from the future: no negative age */
        step_once(1);
    }
    for (uint32_t m = 0; m < 4; m++)
        assert_true(agent_metric(agent, m, -1, &value[m]));
    assert_float_equal(value[0], 10 * 20e6 / 11, 1);
    assert_float_equal(value[1], 30e6, 1);
    assert_float_equal(value[2], 25, 0.1);
    assert_float_equal(value[3], 20, 0.1);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    assert_int_equal(out->limits[0].slot, -1);
}

/* Records came in the time since the first of them, but no poll shows what a ring gets in less than a period. */
TEST_WITH(NULL, end, how_fast_rings_fill_is_the_most_that_a_poll_shows)
{
    begin(POLICY_ELASTIC, 0);
    experiment.sensing.ring_records = 100;
    const double period = (double)agent_setting(agent).period;
    agent_taken(agent, 9, now - (int64_t)(4 * period), now, now);
    agent_taken(agent, 4, now, now, now);
    agent_taken(agent, 19, now - (int64_t)(5 * period), now, now);
    step_once(1);
    assert_float_equal(agent_seen(agent)->members[0].filling, 0.05 / period, 1e-12);
    step_once(1);
    assert_float_equal(agent_seen(agent)->members[0].filling, 0, 1e-12);
}

TEST_WITH(NULL, end, an_observation_beyond_the_max_age_is_unknown_to_the_policy_alone)
{
    struct experiment_metric m = {.name = delay,
                                  .kind = METRIC_MEAN,
                                  .aspect = shown,
                                  .field = delay,
                                  .window = 10 * CLOCK_S,
                                  .per_process = true};
    for (int with = 0; with <= 1; with++) {
        begin_with(m, hold(0, COMPARE_AT_MOST, 20), POLICY_SPP);
        experiment.adapt.max_age = with ? 250 * CLOCK_MS : 0;
        int slot = agent_process_add(agent, "client"), number = agent_watch(agent, slot, &shows);
        agent_records(agent, number, ONE_RECORD(now - 200 * CLOCK_MS, 3, ((uint64_t[]){7, bits(40), 0})), now);
        step_once(1);
        assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
        assert_true(out->after.on == (with == 1)); /* 300 ms old: the literal policy does not turn off for it */
        if (!with)
            agent_free(agent);
    }
}

TEST_WITH(NULL, end, a_sensor_that_lies_about_its_cpu_is_not_believed)
{
    static const double lies[] = {NAN, -1, 400, INFINITY, -INFINITY};
    for (int policy = POLICY_SPP; policy < EXPERIMENT_POLICY_COUNT; policy++) {
        limits[0] = hold(LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 10);
        begin((enum experiment_policy)policy, 1);
        struct policy_setting before = agent_setting(agent);
        for (int i = 0; i < 50; i++) {
            step_once(lies[i % 5]);
            assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
            assert_int_equal(out->action, POLICY_KEEP);
        }
        assert_true(agent_setting(agent).on == before.on && agent_setting(agent).period == before.period);
        assert_int_equal(out->limits[0].unknown, INT64_C(49) * EVERY);
        if (policy + 1 < EXPERIMENT_POLICY_COUNT)
            agent_free(agent);
    }
}

TEST_WITH(NULL, end, aspects_give_way_by_importance_but_not_those_that_limits_read_fields_of)
{
    struct experiment_metric m = {
        .name = delay, .kind = METRIC_MEAN, .aspect = shown, .field = delay, .window = CLOCK_S, .per_process = true};
    static char all_of[] = "*", frames[] = "frame_*", debugs[] = "debug_*";
    static struct experiment_rule rules[] = {{all_of, 5}, {frames, 10}, {debugs, 1}, {NULL, 0}};
    begin_with(m, hold(0, COMPARE_AT_MOST, 20), POLICY_ELASTIC);
    static struct experiment_limit both[2];
    both[0] = limits[0];
    both[1] = hold(LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 10);
    agent_free(agent);
    experiment.limits = both;
    experiment.limit_count = 2;
    experiment.sensing.importance = rules;
    experiment.adapt.period_max = 10 * CLOCK_MS;
    assert_int_equal(agent_new(&experiment, 0, &agent), 0);
    static const char *const names[] = {"frame_sent", "debug_x", "other", "debug_y", "shown"};
    for (size_t i = 0; i < 5; i++)
        agent_received_from(agent, names[i]);
    for (step_once(60); out->after.on && now < 1020 * CLOCK_S;
         step_once(60)) { /* it costs too much, whatever is done */
        assert_false(agent_sheds(agent, "frame_sent") || agent_sheds(agent, "shown"));
        assert_true(agent_sheds(agent, "debug_x") == (out->floor > 1));
        assert_true(agent_sheds(agent, "other") == (out->floor > 5));
        assert_true(out->floor == 0 || out->floor == 5 || out->floor == 10);
    }
    assert_false(out->after.on);
    assert_int_equal(out->floor, 10);
    assert_true(out->actions.infeasible && out->actions.needed > 50 && out->actions.budget == 10);
}

/* From the first measurement on; what was not measured does not count. */
TEST_WITH(NULL, end, a_limit_on_the_cpu_looks_back_over_its_window)
{
    limits[0] = hold(LIMIT_ON_SENSOR_CPU, COMPARE_AT_MOST, 10);
    sensor_cpu_window = CLOCK_S;
    begin(POLICY_NONE, 1);
    sensor_cpu_window = 0;
    go(EVERY, 50);
    assert_float_equal(out->limits[0].value, 50, 1e-6);
    go(EVERY, 0);
    assert_float_equal(out->limits[0].value, 25, 1e-6);
    go(3 * CLOCK_S, 5);
    go(EVERY, 40);
    assert_float_equal(out->limits[0].value, 8.5, 1e-6);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    go(EVERY, NAN);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    go(EVERY, 40);
    assert_float_equal(out->limits[0].value, 12, 1e-6);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    go(8 * EVERY, 5);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    go(EVERY, 5);
    assert_float_equal(out->limits[0].value, 8.5, 1e-6);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
}
