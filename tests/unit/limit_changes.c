// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Changes of limits: recorded when they happen and once a second; sent at once if a limit breaks that asks for it. */
#include "bezeld/node/limit_changes.h"

#include "base/clock.h"
#include "tests/lib/test.h"

#define T0 (1000 * CLOCK_S)

static struct limit_changes changes;

static int setup(void **state)
{
    (void)state;
    changes = (struct limit_changes){.all_recorded = 0};
    return 0;
}

static const struct agent_limit met = {.state = LIMIT_HELD, .known = true, .value = 1},
                                broken = {.state = LIMIT_VIOLATED, .known = true, .value = 9};

TEST_WITH(setup, NULL, what_stays_is_recorded_once_a_second)
{
    struct agent_limit other = met;
    other.value = 2;
    assert_true(limit_changes_records(&changes, 3, &met, T0));
    assert_false(limit_changes_records(&changes, 3, &met, T0 + CLOCK_S - 1));
    assert_true(limit_changes_records(&changes, 3, &met, T0 + CLOCK_S));
    assert_true(limit_changes_records(&changes, 3, &other, T0 + CLOCK_S + 1));
    assert_true(limit_changes_records(&changes, 3, &broken, T0 + CLOCK_S + 2));
    assert_true(limit_changes_records(&changes, 4, &met, T0 + CLOCK_S + 2));
    struct agent_limit behind_a_gap = met;
    behind_a_gap.gap = 300 * CLOCK_MS;
    assert_true(limit_changes_records(&changes, 4, &behind_a_gap, T0 + CLOCK_S + 3));
    assert_false(limit_changes_records(&changes, 4, &met, T0 + CLOCK_S + 4));
}

TEST_WITH(setup, NULL, totals_are_recorded_once_a_second_and_with_a_change)
{
    assert_true(limit_changes_records_all(&changes, false, T0));
    assert_false(limit_changes_records_all(&changes, false, T0 + CLOCK_S - 1));
    assert_true(limit_changes_records_all(&changes, true, T0 + CLOCK_S - 1));
    assert_false(limit_changes_records_all(&changes, false, T0 + CLOCK_S));
}
