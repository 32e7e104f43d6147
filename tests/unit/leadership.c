// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Which settings of resource managers a node applies. */
#include "resmgr/agent/leadership.h"
#include "mdr/manage.h"
#include "tests/lib/test.h"

#define START   (1000 * CLOCK_S)
#define LIFE    UINT64_C(999)
#define DESIRED CLOCK_MS

static struct experiment_metric fps = {.name = (char *)"fps", .window = CLOCK_S};
static struct experiment_limit hold = {.kind = LIMIT_HOLD, .metric = 0, .bound = 29};
static struct experiment e = {
    .metric_count = 1,
    .metrics = &fps,
    .limit_count = 1,
    .limits = &hold,
    .adapt = {.policy = POLICY_ELASTIC, .every = 100 * CLOCK_MS, .period_min = 100 * CLOCK_US, .period_max = CLOCK_S}};
static struct leadership l;
static struct leadership_command command;

static int start(void **state)
{
    (void)state;
    e.adapt.policy = POLICY_ELASTIC;
    leadership_start(&l, &e, LIFE, (struct message_leadership){0});
    return 0;
}

/* A setting of `epoch` that answers what was observed at `at`. */
static struct message_setpoint setting(uint64_t epoch, uint64_t sequence, int64_t at)
{
    return (struct message_setpoint){.leadership = {.epoch = epoch, .holder = 10 * epoch},
                                     .sequence = sequence,
                                     .life = LIFE,
                                     .answers = (uint64_t)at,
                                     .expiry = 500 * CLOCK_MS,
                                     .lasts = 2 * CLOCK_S,
                                     .on = true,
                                     .period_ns = 4 * CLOCK_MS};
}

static enum leadership_answer receive(struct message_setpoint s, int64_t now)
{
    return leadership_receive(&l, &s, DESIRED, now, &command);
}

TEST_WITH(start, NULL, a_fresh_setting_is_applied_once)
{
    assert_int_equal(receive(setting(1, 1, START), START + CLOCK_MS), LEADERSHIP_APPLIED);
    assert_true(command.setting.on && command.taken);
    assert_int_equal(command.setting.period, 4 * CLOCK_MS);
    assert_int_equal(receive(setting(1, 1, START), START + 2 * CLOCK_MS), LEADERSHIP_REPEATED);
    assert_int_equal(receive(setting(1, 3, START), START + 3 * CLOCK_MS), LEADERSHIP_APPLIED);
    assert_false(command.taken);
    assert_int_equal(receive(setting(1, 2, START), START + 4 * CLOCK_MS),
                     LEADERSHIP_REPEATED); /* overtaken on the way */
    assert_int_equal(l.answered[LEADERSHIP_APPLIED], 2);
    assert_int_equal(l.answered[LEADERSHIP_REPEATED], 2);
}

TEST_WITH(start, NULL, an_answer_to_an_old_observation_is_expired)
{
    assert_int_equal(receive(setting(1, 1, START), START + 500 * CLOCK_MS + 1), LEADERSHIP_EXPIRED);
    assert_int_equal(receive(setting(1, 2, START), START + CLOCK_S), LEADERSHIP_EXPIRED);
    struct message_setpoint s = setting(1, 3, START);
    s.expiry = UINT64_MAX; /* a second late is late whatever the sender says */
    assert_int_equal(receive(s, START + CLOCK_S), LEADERSHIP_EXPIRED);
    s.expiry = INT64_MAX;
    assert_int_equal(receive(s, START + CLOCK_S), LEADERSHIP_EXPIRED);
    assert_int_equal(receive(setting(1, 4, START + CLOCK_S), START), LEADERSHIP_EXPIRED); /* not observed yet */
    s.answers = UINT64_MAX;
    assert_int_equal(receive(s, START), LEADERSHIP_EXPIRED);
    assert_false(l.held);
    assert_int_equal(l.holder.epoch, 0); /* a setting that is not applied takes no leadership */
    assert_int_equal(receive(setting(1, 5, START), START + 500 * CLOCK_MS), LEADERSHIP_APPLIED);
}

TEST_WITH(start, NULL, an_answer_to_another_life_is_expired)
{
    struct message_setpoint s = setting(1, 1, START);
    s.life = LIFE - 1;
    assert_int_equal(receive(s, START), LEADERSHIP_EXPIRED);
    s.life = LIFE + 1;
    assert_int_equal(receive(s, START), LEADERSHIP_EXPIRED);
}

TEST_WITH(start, NULL, an_operator_overrides_earlier_decisions)
{
    leadership_override(&l, START + 10 * CLOCK_MS);
    assert_int_equal(receive(setting(1, 1, START), START + 20 * CLOCK_MS), LEADERSHIP_EXPIRED);
    assert_int_equal(receive(setting(1, 2, START + 10 * CLOCK_MS), START + 20 * CLOCK_MS), LEADERSHIP_APPLIED);
}

TEST_WITH(start, NULL, the_newest_leadership_is_followed_and_the_one_before_never_again)
{
    assert_int_equal(receive(setting(2, 1, START), START), LEADERSHIP_APPLIED);
    assert_int_equal(receive(setting(1, 9, START), START), LEADERSHIP_OUTDATED);
    assert_int_equal(receive(setting(3, 1, START), START), LEADERSHIP_APPLIED);
    assert_true(command.taken);
    assert_int_equal(receive(setting(2, 2, START), START), LEADERSHIP_OUTDATED);
    assert_true(leadership_lost(&l, START + 2 * CLOCK_S));
    assert_int_equal(receive(setting(2, 3, START + 3 * CLOCK_S), START + 3 * CLOCK_S),
                     LEADERSHIP_OUTDATED); /* nor when lost */
    assert_int_equal(receive(setting(3, 2, START + 3 * CLOCK_S), START + 3 * CLOCK_S), LEADERSHIP_APPLIED);
    assert_true(command.taken);
    assert_int_equal(l.answered[LEADERSHIP_OUTDATED], 3);
}

TEST_WITH(start, NULL, of_two_holders_of_an_epoch_the_first_one_stays)
{
    assert_int_equal(receive(setting(2, 1, START), START), LEADERSHIP_APPLIED);
    struct message_setpoint s = setting(2, 2, START);
    s.leadership.holder++;
    assert_int_equal(receive(s, START), LEADERSHIP_OUTDATED);
    s.leadership.epoch++;
    assert_int_equal(receive(s, START), LEADERSHIP_APPLIED);
}

TEST_WITH(start, NULL, nobody_has_no_leadership)
{
    assert_int_equal(receive(setting(0, 1, START), START), LEADERSHIP_OUTDATED);
    assert_int_equal(receive(setting(1, 0, START), START), LEADERSHIP_EXPIRED); /* numbers count from 1 */
}

TEST_WITH(start, NULL, the_newest_leadership_outlives_the_daemon)
{
    assert_int_equal(receive(setting(2, 7, START), START), LEADERSHIP_APPLIED);
    struct message_leadership kept = l.holder;
    leadership_start(&l, &e, LIFE + 5, kept);
    struct message_setpoint s = setting(1, 8, START);
    s.life = LIFE + 5;
    assert_int_equal(receive(s, START), LEADERSHIP_OUTDATED);
    s = setting(2, 8, START); /* was on its way when the daemon was killed */
    assert_int_equal(receive(s, START), LEADERSHIP_EXPIRED);
    s.life = LIFE + 5;
    assert_int_equal(receive(s, START), LEADERSHIP_APPLIED);
    assert_true(command.taken);
}

TEST_WITH(start, NULL, a_period_is_clamped_to_the_bounds_and_counted)
{
    static const uint64_t asked[] = {0, 1, 99999, 2000000000, UINT64_MAX};
    for (uint64_t i = 0; i < 5; i++) {
        struct message_setpoint s = setting(1, i + 1, START);
        s.period_ns = asked[i];
        assert_int_equal(receive(s, START), LEADERSHIP_APPLIED);
        assert_int_equal(command.setting.period, i < 3 ? 100 * CLOCK_US : CLOCK_S);
        assert_int_equal(l.clamped, i + 1);
    }
}

TEST_WITH(start, NULL, a_policy_that_moves_no_period_gets_the_one_that_was_set)
{
    e.adapt.policy = POLICY_SPP;
    leadership_start(&l, &e, LIFE, (struct message_leadership){0});
    struct message_setpoint s = setting(1, 1, START);
    s.on = false;
    assert_int_equal(receive(s, START), LEADERSHIP_APPLIED);
    assert_int_equal(command.setting.period, DESIRED);
    assert_false(command.setting.on);
    assert_int_equal(l.clamped, 1);
}

TEST_WITH(start, NULL, a_leadership_that_is_not_renewed_is_lost_once)
{
    assert_false(leadership_lost(&l, START + 100 * CLOCK_S)); /* no setting arrived yet */
    assert_int_equal(receive(setting(1, 1, START), START + 100 * CLOCK_MS), LEADERSHIP_APPLIED);
    assert_false(leadership_lost(&l, START + 2 * CLOCK_S - 1));
    assert_int_equal(receive(setting(1, 2, START + CLOCK_S), START + CLOCK_S), LEADERSHIP_APPLIED);
    assert_false(leadership_lost(&l, START + 3 * CLOCK_S - 1));
    assert_true(
        leadership_lost(&l, START + 3 * CLOCK_S)); /* from what was answered on, not from when the answer came */
    assert_false(leadership_lost(&l, START + 4 * CLOCK_S));
    assert_int_equal(l.lost, 1);
    struct message_setpoint s = setting(1, 3, START + 5 * CLOCK_S);
    s.lasts = UINT64_MAX;
    assert_int_equal(receive(s, START + 5 * CLOCK_S), LEADERSHIP_APPLIED);
    assert_false(leadership_lost(&l, START + 5 * CLOCK_S + LEADERSHIP_LASTS_MAX - 1));
    assert_true(leadership_lost(&l, START + 5 * CLOCK_S + LEADERSHIP_LASTS_MAX));
}

static void judge(enum limit_state worst, int64_t period, int64_t from, int64_t to)
{
    for (int64_t now = from; now <= to; now += e.adapt.every)
        leadership_judge(&l, worst, (struct policy_setting){true, period}, now);
}

TEST_WITH(start, NULL, a_node_whose_manager_is_lost_goes_back_to_what_was_safe)
{
    struct policy_setting safe;
    assert_int_equal(receive(setting(1, 1, START), START), LEADERSHIP_APPLIED);
    judge(LIMIT_HELD, 8 * CLOCK_MS, START, START + 2 * CLOCK_S);
    judge(LIMIT_HELD, CLOCK_MS, START + 2 * CLOCK_S, START + 2 * CLOCK_S + 900 * CLOCK_MS); /* does not show yet */
    judge(LIMIT_VIOLATED, CLOCK_MS, START + 3 * CLOCK_S, START + 4 * CLOCK_S);
    assert_false(leadership_retreats(&l, LIMIT_VIOLATED, &safe)); /* the manager's business */
    assert_true(leadership_lost(&l, START + 4 * CLOCK_S));
    assert_false(leadership_retreats(&l, LIMIT_UNKNOWN, &safe));
    assert_false(leadership_retreats(&l, LIMIT_HELD, &safe));
    assert_true(leadership_retreats(&l, LIMIT_VIOLATED, &safe));
    assert_true(safe.on);
    assert_int_equal(safe.period, 8 * CLOCK_MS);
    assert_false(leadership_retreats(&l, LIMIT_VIOLATED, &safe));
}

TEST_WITH(start, NULL, a_node_goes_back_to_nothing_that_polls_more)
{
    struct policy_setting safe;
    assert_int_equal(receive(setting(1, 1, START), START), LEADERSHIP_APPLIED);
    judge(LIMIT_HELD, CLOCK_MS, START, START + 2 * CLOCK_S);
    judge(LIMIT_VIOLATED, 8 * CLOCK_MS, START + 2 * CLOCK_S, START + 4 * CLOCK_S);
    assert_true(leadership_lost(&l, START + 4 * CLOCK_S));
    assert_false(leadership_retreats(&l, LIMIT_VIOLATED, &safe));
}

/* The manager is lost at START + 4 s, while a limit is violated at a period of `now`: whether the node goes back. */
static bool goes_back(int64_t period, bool on, struct policy_setting *safe)
{
    struct policy_setting now = {on, period};
    leadership_judge(&l, LIMIT_VIOLATED, now, START + 3 * CLOCK_S + 900 * CLOCK_MS);
    assert_true(leadership_lost(&l, START + 4 * CLOCK_S));
    return leadership_retreats(&l, LIMIT_VIOLATED, safe);
}

TEST_WITH(start, NULL, a_safe_setting_must_show_in_all_hold_limits)
{
    static const struct {
        int64_t persistence, shows;
    } cases[] = {{0, 1200 * CLOCK_MS}, {CLOCK_S, 2200 * CLOCK_MS}}; /* window, persistence and two instants */
    struct policy_setting safe;
    for (size_t i = 0; i < 2; i++)
        for (int early = 0; early < 2; early++) {
            hold.persistence = cases[i].persistence;
            start(test_state);
            assert_int_equal(receive(setting(1, 1, START), START), LEADERSHIP_APPLIED);
            leadership_judge(&l, LIMIT_HELD, (struct policy_setting){true, 8 * CLOCK_MS}, START);
            leadership_judge(&l, LIMIT_HELD, (struct policy_setting){true, 8 * CLOCK_MS},
                             START + cases[i].shows - early);
            assert_int_equal(goes_back(CLOCK_MS, true, &safe), !early);
        }
    hold.persistence = 0;
}

TEST_WITH(start, NULL, limits_that_are_only_judged_delay_nothing)
{
    static struct experiment_limit two[2];
    static struct experiment_metric metrics[2];
    struct policy_setting safe;
    metrics[0] = metrics[1] = fps;
    metrics[1].window = 100 * CLOCK_S;
    two[0] = two[1] = hold;
    two[1].kind = LIMIT_EXPECT;
    two[1].metric = 1;
    e.limits = two;
    e.metrics = metrics;
    e.limit_count = e.metric_count = 2;
    start(test_state);
    e.limits = &hold;
    e.metrics = &fps;
    e.limit_count = e.metric_count = 1;
    assert_int_equal(receive(setting(1, 1, START), START), LEADERSHIP_APPLIED);
    judge(LIMIT_HELD, 8 * CLOCK_MS, START, START + 2 * CLOCK_S);
    assert_true(goes_back(CLOCK_MS, true, &safe));
}

TEST_WITH(start, NULL, an_override_drops_the_safe_setting)
{
    struct policy_setting safe;
    assert_int_equal(receive(setting(1, 1, START), START), LEADERSHIP_APPLIED);
    judge(LIMIT_HELD, 8 * CLOCK_MS, START, START + 2 * CLOCK_S);
    leadership_override(&l, START + 2 * CLOCK_S);
    assert_false(goes_back(CLOCK_MS, true, &safe));
}

TEST_WITH(start, NULL, off_polls_less_than_any_period_and_nothing_less_than_off)
{
    struct policy_setting safe, off = {false, CLOCK_MS};
    assert_int_equal(receive(setting(1, 1, START), START), LEADERSHIP_APPLIED);
    for (int64_t now = START; now < START + 2 * CLOCK_S; now += e.adapt.every)
        leadership_judge(&l, LIMIT_HELD, off, now);
    assert_true(goes_back(CLOCK_S, true, &safe));
    assert_false(safe.on);
    start(test_state);
    assert_int_equal(receive(setting(1, 1, START), START), LEADERSHIP_APPLIED);
    judge(LIMIT_HELD, 8 * CLOCK_MS, START, START + 2 * CLOCK_S);
    assert_false(goes_back(CLOCK_MS, false, &safe));
    start(test_state); /* off for a moment only: that it held shows what was before */
    assert_int_equal(receive(setting(1, 1, START), START), LEADERSHIP_APPLIED);
    judge(LIMIT_VIOLATED, 8 * CLOCK_MS, START, START + 2 * CLOCK_S);
    leadership_judge(&l, LIMIT_HELD, (struct policy_setting){false, 8 * CLOCK_MS}, START + 2 * CLOCK_S);
    assert_false(goes_back(CLOCK_MS, true, &safe));
}

TEST_WITH(start, NULL, it_goes_back_once_for_each_loss)
{
    struct policy_setting safe;
    judge(LIMIT_HELD, 8 * CLOCK_MS, START - 3 * CLOCK_S, START - CLOCK_S);
    leadership_judge(&l, LIMIT_VIOLATED, (struct policy_setting){true, CLOCK_MS}, START);
    assert_false(leadership_retreats(&l, LIMIT_VIOLATED, &safe)); /* no manager was lost yet */
    for (uint64_t i = 0; i < 3; i++) {
        int64_t at = START + (int64_t)i * 10 * CLOCK_S;
        assert_int_equal(receive(setting(1, i + 1, at), at), LEADERSHIP_APPLIED);
        assert_true(leadership_lost(&l, at + 2 * CLOCK_S));
        assert_true(leadership_retreats(&l, LIMIT_VIOLATED, &safe));
        assert_false(leadership_retreats(&l, LIMIT_VIOLATED, &safe));
    }
}
