// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a node tells of the firings of its triggers, and when. */
#include "bezeld/node/firings.h"

#include "base/clock.h"
#include "tests/lib/test.h"

#define T0 (1000 * CLOCK_S)

static struct firings firings;

static int setup(void **state)
{
    (void)state;
    firings = (struct firings){.count = 0};
    return 0;
}

static void fire(uint32_t trigger, int64_t at)
{
    firings_add(&firings, &(struct message_firing){.trigger = trigger, .at = at, .value = 9});
}

TEST_WITH(setup, NULL, the_latest_of_each_trigger_is_kept)
{
    fire(3, T0);
    fire(1, T0 + 1);
    fire(3, T0 + 2);
    assert_true(firings.count == 2 && firings_find(&firings, 3)->count == 2 && firings_find(&firings, 3)->at == T0 + 2);
    assert_int_equal(firings_find(&firings, 1)->count, 1);
    assert_null(firings_find(&firings, 0));
    struct message_firing list[MESSAGE_FIRINGS_MAX];
    assert_int_equal(firings_write(&firings, 7, T0 + 5, list), 2);
    assert_true(list[0].trigger == 3 && list[0].at == T0 + 9 && list[0].age == 3);
}

TEST_WITH(setup, NULL, there_is_room_for_so_many_triggers)
{
    for (uint32_t i = 0; i <= MESSAGE_FIRINGS_MAX; i++)
        fire(i, T0);
    assert_int_equal(firings.count, MESSAGE_FIRINGS_MAX);
    assert_null(firings_find(&firings, MESSAGE_FIRINGS_MAX));
}

TEST_WITH(setup, NULL, it_is_told_once_and_not_often)
{
    fire(1, T0);
    assert_true(firings_report_due(&firings, true, T0));
    assert_false(firings_report_due(&firings, true, T0 + CLOCK_S));
    fire(2, T0 + CLOCK_S);
    fire(3, T0 + CLOCK_S);
    assert_true(firings_report_due(&firings, true, T0 + CLOCK_S));
    fire(4, T0 + CLOCK_S + 1);
    assert_false(firings_report_due(&firings, true, T0 + CLOCK_S + 1)); /* too soon: the next answer has it */
    assert_false(firings_report_due(&firings, true, T0 + 2 * CLOCK_S));
    assert_int_equal(firings.count, 4);
}

TEST_WITH(setup, NULL, nobody_is_told_who_does_not_listen)
{
    fire(1, T0);
    assert_false(firings_report_due(&firings, false, T0));
    assert_false(firings_report_due(&firings, true, T0 + 1));
}
