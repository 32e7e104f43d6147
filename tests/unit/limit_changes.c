// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Changes of limits: recorded when they happen and once a second; sent at once if a limit breaks that asks for it. */
#include "bezeld/node/limit_changes.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

static void what_stays_is_recorded_once_a_second(void **state)
{
    (void)state;
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

static void totals_are_recorded_once_a_second_and_with_a_change(void **state)
{
    (void)state;
    assert_true(limit_changes_records_all(&changes, false, T0));
    assert_false(limit_changes_records_all(&changes, false, T0 + CLOCK_S - 1));
    assert_true(limit_changes_records_all(&changes, true, T0 + CLOCK_S - 1));
    assert_false(limit_changes_records_all(&changes, false, T0 + CLOCK_S));
}

static void a_limit_breaks_once_until_it_holds_again(void **state)
{
    (void)state;
    limit_changes_update(&changes, 0, &broken, false, T0); /* asks for nothing */
    assert_false(limit_changes_report_due(&changes, true, T0));
    limit_changes_update(&changes, 1, &broken, true, T0);
    limit_changes_update(&changes, 1, &broken, true, T0 + 1);
    assert_true(changes.broken.count == 1 && changes.broken.limit == 1 && changes.broken.at == T0 &&
                changes.broken.value == 9);
    limit_changes_update(&changes, 1, &met, true, T0 + 2);
    limit_changes_update(&changes, 1, &broken, true, T0 + 3);
    assert_true(changes.broken.count == 2 && changes.broken.at == T0 + 3);
}

static void it_is_told_once_and_not_often(void **state)
{
    (void)state;
    limit_changes_update(&changes, 1, &broken, true, T0);
    assert_true(limit_changes_report_due(&changes, true, T0));
    assert_false(limit_changes_report_due(&changes, true, T0 + CLOCK_S));
    limit_changes_update(&changes, 2, &broken, true, T0 + CLOCK_S);
    limit_changes_update(&changes, 3, &broken, true, T0 + CLOCK_S);
    assert_true(limit_changes_report_due(&changes, true, T0 + CLOCK_S));
    limit_changes_update(&changes, 4, &broken, true, T0 + CLOCK_S + 1);
    assert_false(limit_changes_report_due(&changes, true, T0 + CLOCK_S + 1)); /* too soon: the next answer has it */
    assert_false(limit_changes_report_due(&changes, true, T0 + 2 * CLOCK_S));
    assert_true(changes.broken.count == 4);
}

static void nobody_is_told_who_does_not_listen(void **state)
{
    (void)state;
    limit_changes_update(&changes, 1, &broken, true, T0);
    assert_false(limit_changes_report_due(&changes, false, T0));
    assert_false(limit_changes_report_due(&changes, true, T0 + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_stays_is_recorded_once_a_second, setup),
        cmocka_unit_test_setup(totals_are_recorded_once_a_second_and_with_a_change, setup),
        cmocka_unit_test_setup(a_limit_breaks_once_until_it_holds_again, setup),
        cmocka_unit_test_setup(it_is_told_once_and_not_often, setup),
        cmocka_unit_test_setup(nobody_is_told_who_does_not_listen, setup),
    };
    return cmocka_run_group_tests_name("limit_changes", tests, NULL, NULL);
}
