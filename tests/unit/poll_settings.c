// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/poll_settings.h"

#include "base/clock.h"
#include "base/file.h"
#include "bezeld/node/poll_stats.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint8_t run[16] = "this run", other_run[16] = "another run";
static struct experiment experiment;
static char dir[64], why[POLL_SETTINGS_WHY_SIZE];
static struct poll_settings p;

static int make_dir(void **unused)
{
    (void)unused;
    snprintf(dir, sizeof dir, "/tmp/bezel-polling-XXXXXX");
    experiment = (struct experiment){
        .sensing = {.period = CLOCK_MS, .batch = 12},
        .adapt = {.policy = POLICY_NONE, .period_min = 100 * CLOCK_US, .period_max = 10 * CLOCK_MS}};
    return mkdtemp(dir) ? 0 : 1;
}

static int remove_dir(void **unused)
{
    (void)unused;
    state_file_remove(&p.file);
    return rmdir(dir);
}

static void set_period(int64_t period)
{
    struct message_poll order = {.given = POLL_GIVES_PERIOD, .period_ns = (uint64_t)period};
    assert_true(poll_settings_change(&p, &order, why));
}

static void refuses(struct message_poll order, const char *reason)
{
    struct message_poll before = p.now;
    assert_false(poll_settings_change(&p, &order, why));
    assert_non_null(strstr(why, reason));
    assert_memory_equal(&before, &p.now, sizeof before);
}

TEST_WITH(make_dir, remove_dir, it_begins_as_the_file_says)
{
    poll_settings_open(&p, &experiment, dir, run);
    assert_int_equal(p.now.given, 0);
    assert_int_equal(p.now.period_ns, CLOCK_MS);
    assert_int_equal(p.now.mode, POLL_MODE_POLLING);
    assert_int_equal(p.now.forward, POLL_FORWARD_BATCH);
    assert_int_equal(p.now.batch, 12);
}

TEST_WITH(make_dir, remove_dir, what_is_not_given_stays)
{
    poll_settings_open(&p, &experiment, dir, run);
    set_period(CLOCK_US);
    set_period(10 * CLOCK_S);
    assert_int_equal(p.now.period_ns, 10 * CLOCK_S);
    assert_int_equal(p.now.batch, 12);
    assert_true(
        poll_settings_change(&p, &(struct message_poll){.given = POLL_GIVES_BATCH | POLL_GIVES_MODE, .mode = 1}, why));
    assert_int_equal(p.now.period_ns, 10 * CLOCK_S);
    assert_int_equal(p.now.batch, 0);
    assert_int_equal(p.now.mode, POLL_MODE_BUSY_WAIT);
    assert_int_equal(p.now.given, POLL_GIVES_PERIOD | POLL_GIVES_BATCH | POLL_GIVES_MODE);
}

TEST_WITH(make_dir, remove_dir, what_is_out_of_bounds_is_refused_whole)
{
    poll_settings_open(&p, &experiment, dir, run);
    refuses((struct message_poll){.given = POLL_GIVES_PERIOD, .period_ns = CLOCK_US - 1}, "allowed: 1 us .. 10 s");
    refuses((struct message_poll){.given = POLL_GIVES_PERIOD, .period_ns = UINT64_MAX}, "allowed: 1 us .. 10 s");
    refuses((struct message_poll){.given = POLL_GIVES_PERIOD | POLL_GIVES_BATCH,
                                  .period_ns = CLOCK_US,
                                  .batch = EXPERIMENT_BATCH_MAX + 1},
            "allowed: 0 .. 1000000");
    experiment.sensing.accumulate = 2;
    refuses((struct message_poll){.given = POLL_GIVES_FORWARD, .forward = POLL_FORWARD_COLLECT}, "2 accumulate");
    experiment.sensing.accumulate = 1;
    experiment.adapt.policy = POLICY_ELASTIC;
    refuses((struct message_poll){.given = POLL_GIVES_PERIOD, .period_ns = 50 * CLOCK_US}, "100 us .. 10 ms");
    refuses((struct message_poll){.given = POLL_GIVES_PERIOD, .period_ns = 20 * CLOCK_MS}, "100 us .. 10 ms");
    refuses((struct message_poll){.given = POLL_GIVES_MODE, .mode = POLL_MODE_BUSY_WAIT}, "busy-wait has none");
    set_period(10 * CLOCK_MS);
    set_period(100 * CLOCK_US);
    assert_int_not_equal(access(p.file.path, F_OK), -1);
}

TEST_WITH(make_dir, remove_dir, the_next_life_goes_on_with_what_was_said)
{
    struct message_poll order = {
        .given = POLL_GIVES_FORWARD | POLL_GIVES_PERIOD, .period_ns = 250 * CLOCK_US, .forward = POLL_FORWARD_COLLECT};
    poll_settings_open(&p, &experiment, dir, run);
    assert_true(poll_settings_change(&p, &order, why));
    experiment.sensing.batch = 99; /* was not said: the file counts */
    poll_settings_open(&p, &experiment, dir, run);
    assert_int_equal(p.now.given, order.given);
    assert_int_equal(p.now.period_ns, 250 * CLOCK_US);
    assert_int_equal(p.now.forward, POLL_FORWARD_COLLECT);
    assert_int_equal(p.now.batch, 99);
    poll_settings_open(&p, &experiment, dir, other_run);
    assert_int_equal(p.now.given, 0);
    assert_int_equal(p.now.period_ns, CLOCK_MS);
    poll_settings_open(&p, &experiment, dir, run);
    state_file_remove(&p.file);
    poll_settings_open(&p, &experiment, dir, run);
    assert_int_equal(p.now.given, 0);
}

TEST_WITH(make_dir, remove_dir, what_makes_no_sense_is_not_taken_up)
{
    static const char *const texts[] = {"",
                                        "1 999 0 0 0\n", /* too short a period */
                                        "16 1000000 0 0 0\n",
                                        "2 1000000 2 0 0\n",
                                        "4 1000000 0 7 0\n",
                                        "8 1000000 0 0 2000000\n",
                                        "15 1000000 0 0\n",
                                        "x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[128];
        memcpy(text, run, sizeof run);
        size_t n = sizeof run + (size_t)snprintf(text + sizeof run, sizeof text - sizeof run, "%s", texts[i]);
        poll_settings_open(&p, &experiment, dir, run);
        assert_int_equal(file_replace(p.file.path, text, n), 0);
        poll_settings_open(&p, &experiment, dir, run);
        assert_int_equal(p.now.given, 0);
        assert_int_equal(p.now.period_ns, CLOCK_MS);
    }
}

TEST(the_pace_is_that_of_the_gaps_that_ended)
{
    struct poll_stats poll_stats = {0};
    poll_stats_take(&poll_stats, 50);
    assert_int_equal(poll_stats.mean, 0);
    poll_stats_poll(&poll_stats, 100);
    poll_stats_poll(&poll_stats, 110);
    poll_stats_poll(&poll_stats, 140);
    poll_stats_take(&poll_stats, 150);
    assert_int_equal(poll_stats.mean, 20);
    assert_int_equal(poll_stats.worst, 30);
    poll_stats_poll(&poll_stats, 145); /* the gap before the interval's end belongs to it as a whole */
    poll_stats_take(&poll_stats, 160);
    assert_int_equal(poll_stats.mean, 5);
    assert_int_equal(poll_stats.worst, 5);
}

TEST(a_gap_that_goes_on_shows)
{
    struct poll_stats poll_stats = {0};
    poll_stats_poll(&poll_stats, 100);
    poll_stats_poll(&poll_stats, 150);
    poll_stats_take(&poll_stats, 160);
    poll_stats_take(&poll_stats, 180); /* 30 so far: no longer than is known */
    assert_int_equal(poll_stats.mean, 50);
    poll_stats_take(&poll_stats, 350);
    assert_int_equal(poll_stats.mean, 200);
    assert_int_equal(poll_stats.worst, 200);
    poll_stats_restart(&poll_stats);
    poll_stats_take(&poll_stats, 400);
    assert_int_equal(poll_stats.mean, 0);
    poll_stats_poll(&poll_stats, 500); /* the time it was off is no gap */
    poll_stats_poll(&poll_stats, 510);
    poll_stats_take(&poll_stats, 510);
    assert_int_equal(poll_stats.worst, 10);
}
