// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Which firings of triggers start a snapshot of the run, and when a node saves. */
#include "ecs/course/snapshot_trigger.h"
#include "bezeld/node/snapshot.h"
#include "tests/lib/test.h"

#define START (1000 * CLOCK_S)

static struct experiment_action actions[] = {
    {.act = ACT_SNAPSHOT, .snapshot = 10 * CLOCK_S}, {.act = ACT_STOP}, {.act = ACT_SNAPSHOT, .snapshot = CLOCK_S}};
static struct experiment_trigger triggers[] = {{.action_count = 1, .actions = &actions[0]},
                                               {.action_count = 1, .actions = &actions[1]},
                                               {.action_count = 1, .actions = &actions[2]}};
static const struct experiment experiment = {.trigger_count = 3, .triggers = triggers};

static bool fired(struct snapshot_trigger *t, int64_t trigger, uint64_t times, int64_t now)
{
    return snapshot_trigger_take(t, &experiment, trigger, times, now, now);
}

TEST(a_trigger_that_fires_starts_a_snapshot)
{
    struct snapshot_trigger t = {0};
    assert_int_equal(snapshot_trigger_left(&t, START), 0);
    assert_true(fired(&t, 0, 1, START));
    assert_int_equal(t.number, 1);
    assert_int_equal(snapshot_trigger_left(&t, START), 10 * CLOCK_S);
    assert_int_equal(snapshot_trigger_left(&t, START + 4 * CLOCK_S), 6 * CLOCK_S);
    assert_int_equal(snapshot_trigger_left(&t, START + 10 * CLOCK_S), 0);
    assert_int_equal(t.refused, 0);
}

TEST(there_is_one_at_a_time)
{
    struct snapshot_trigger t = {0};
    assert_true(fired(&t, 2, 1, START));
    assert_false(fired(&t, 0, 1, START));
    assert_false(fired(&t, 2, 3, START + CLOCK_S - 1));
    assert_int_equal(t.refused, 4);
    assert_int_equal(snapshot_trigger_left(&t, START), CLOCK_S); /* none of them made it longer */
    assert_true(fired(&t, 0, 1, START + CLOCK_S));
    assert_int_equal(t.number, 2);
    assert_int_equal(t.refused, 4);
}

TEST(what_fired_unseen_before_is_counted)
{
    struct snapshot_trigger t = {0};
    assert_true(fired(&t, 0, 5, START));
    assert_int_equal(t.refused, 4);
}

TEST(what_fired_during_one_starts_none_however_late_it_is_reported)
{
    struct snapshot_trigger t = {0};
    assert_true(
        snapshot_trigger_take(&t, &experiment, 2, 1, START - CLOCK_S, START)); /* the first of all, however late */
    int64_t over = START + CLOCK_S;
    assert_false(snapshot_trigger_take(&t, &experiment, 2, 1, over - 1, over + 500 * CLOCK_MS));
    assert_int_equal(t.refused, 1);
    assert_true(snapshot_trigger_take(&t, &experiment, 2, 1, over, over + 500 * CLOCK_MS));
    assert_int_equal(snapshot_trigger_left(&t, over + 500 * CLOCK_MS), CLOCK_S);
}

TEST(a_storm_starts_no_more_than_one_in_its_duration)
{
    struct snapshot_trigger t = {0};
    uint64_t begun = 0;
    for (int64_t now = START; now < START + 100 * CLOCK_S; now += CLOCK_MS)
        begun += fired(&t, 0, 1, now);
    assert_int_equal(begun, 10);
    assert_int_equal(begun + t.refused, 100000);
}

TEST(what_no_trigger_can_have_asked_for_is_ignored)
{
    struct snapshot_trigger t = {0};
    assert_false(fired(&t, 1, 1, START)); /* it asks for none */
    assert_false(fired(&t, 3, 1, START));
    assert_false(fired(&t, -1, 1, START));
    assert_false(fired(&t, INT64_MAX, 1, START));
    assert_false(fired(&t, 0, 0, START));
    assert_int_equal(t.number, 0);
    assert_int_equal(t.refused, 0);
}

static const struct message_save cause = {.number = 1, .node = "desk1", .left = 2000000000};

/* Does what is due from *now on until the end, each copy taking `took`; returns how many there were. */
static int play(struct snapshot *s, int64_t *now, int64_t took, int64_t period)
{
    int copies = 0;
    while (snapshot_due(s) != INT64_MAX) {
        assert_true(snapshot_due(s) >= *now);
        *now = snapshot_due(s);
        enum snapshot_step step = snapshot_step(s, *now);
        assert_true(step == SNAPSHOT_COPY || step == SNAPSHOT_LAST_COPY);
        copies++;
        if (step == SNAPSHOT_COPY)
            assert_true(*now < s->until);
        assert_int_equal(snapshot_done(s, step, *now, took, period, false), step == SNAPSHOT_LAST_COPY);
    }
    return copies;
}

TEST(a_node_saves_at_once_and_to_the_end)
{
    struct snapshot s = {0};
    int64_t now = START;
    assert_int_equal(snapshot_step(&s, now), SNAPSHOT_NOTHING);
    assert_int_equal(snapshot_due(&s), INT64_MAX);
    assert_true(snapshot_begin(&s, &cause, now));
    assert_int_equal(snapshot_due(&s), START);
    assert_int_equal(play(&s, &now, CLOCK_US, CLOCK_S), 2 * 10 + 1); /* a long polling period counts for 100 ms */
    assert_int_equal(now, START + 2 * CLOCK_S);
}

TEST(snapshots_cost_no_more_than_their_share)
{
    struct snapshot s = {0};
    int64_t now = START;
    assert_true(snapshot_begin(&s, &cause, now));
    assert_int_equal(play(&s, &now, CLOCK_MS, CLOCK_MS), 2000 / SNAPSHOT_COST + 1);
    assert_true(snapshot_begin(&s, &cause, now = START));
    assert_int_equal(play(&s, &now, 3 * CLOCK_S, CLOCK_MS), 2); /* at the begin and at the end, whatever it takes */
    assert_int_equal(now, START + 2 * CLOCK_S);
}

TEST(what_finds_no_room_follows_without_another_copy)
{
    struct snapshot s = {0};
    int64_t end = START + 2 * CLOCK_S;
    assert_true(snapshot_begin(&s, &cause, START));
    assert_int_equal(snapshot_step(&s, end), SNAPSHOT_LAST_COPY);
    assert_false(snapshot_done(&s, SNAPSHOT_LAST_COPY, end, 0, CLOCK_MS, true));
    assert_int_equal(snapshot_step(&s, end), SNAPSHOT_NOTHING);
    for (int i = 0; i < 3; i++) {
        end = snapshot_due(&s);
        assert_int_equal(snapshot_step(&s, end), SNAPSHOT_REST);
        assert_int_equal(snapshot_done(&s, SNAPSHOT_REST, end, 0, CLOCK_MS, i < 2), i == 2);
    }
    assert_int_equal(snapshot_due(&s), INT64_MAX);
}

TEST(commanded_twice_it_goes_on_to_the_same_end)
{
    struct snapshot s = {0};
    struct message_save next = cause;
    assert_true(snapshot_begin(&s, &cause, START));
    assert_false(snapshot_begin(&s, &cause, START + CLOCK_S));
    assert_int_equal(s.until, START + 2 * CLOCK_S);
    next.number = 2;
    assert_true(snapshot_begin(&s, &next, START + CLOCK_S));
    assert_int_equal(s.until, START + 3 * CLOCK_S);
}

TEST(the_end_of_one_that_comes_late_is_at_once)
{
    struct snapshot s = {0};
    struct message_save none = cause;
    int64_t now = START;
    none.left = 0;
    assert_true(snapshot_begin(&s, &none, now));
    assert_int_equal(play(&s, &now, CLOCK_MS, CLOCK_MS), 1);
    assert_int_equal(now, START);
}
