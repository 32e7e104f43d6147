// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* How far the wall clock is ahead, and how wrong that may be: by PTP's bound, or by what chrony told the kernel. */
#include "base/clock_wall.h"

#include "base/clock.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <sys/timex.h>

static struct timex kernel; /* what it says */
static int result, calls;

int __wrap_adjtimex(struct timex *t);

int __wrap_adjtimex(struct timex *t)
{
    assert_int_equal(t->modes, 0); /* changes nothing */
    calls++;
    *t = kernel;
    return result;
}

static struct clock_wall by_chrony(int state, int status, long maxerror_us)
{
    const struct clock_keeping chrony = {CLOCK_KEPT_BY_CHRONY, 0};
    result = state;
    kernel = (struct timex){.status = status, .maxerror = maxerror_us};
    return clock_wall_read(&chrony);
}

/* The clocks are this machine's: both are read, one after the other. */
static void assert_ahead(struct clock_wall wall, int64_t bound)
{
    int64_t before = clock_realtime_offset();
    assert_in_range(wall.error, bound + 1, bound + CLOCK_S);
    assert_in_range(llabs(wall.ahead - before), 0, CLOCK_S);
}

TEST(ptp_has_the_bound_of_the_file)
{
    const struct clock_keeping ptp = {CLOCK_KEPT_BY_PTP, 5000};
    calls = 0;
    assert_ahead(clock_wall_read(&ptp), 5000);
    assert_int_equal(calls, 0);
}

TEST(chrony_has_the_bound_of_the_kernel)
{
    assert_ahead(by_chrony(TIME_OK, 0, 1500), 1500 * CLOCK_US);
    assert_ahead(by_chrony(TIME_OK, STA_PLL | STA_NANO, 0), 0);
}

TEST(a_clock_that_nobody_keeps_is_not_known)
{
    const struct clock_keeping nobody = {CLOCK_KEPT_BY_NOBODY, 5000};
    assert_int_equal(clock_wall_read(&nobody).error, -1);
    assert_int_equal(by_chrony(TIME_ERROR, STA_UNSYNC, 16000000).error, -1);
    assert_int_equal(by_chrony(TIME_OK, STA_UNSYNC, 10).error, -1);
    assert_int_equal(by_chrony(-1, 0, 10).error, -1);
    assert_int_equal(by_chrony(TIME_OK, 0, -1).error, -1);
    assert_int_equal(by_chrony(TIME_OK, 0, 1000001).error, -1); /* tells nothing */
    assert_true(by_chrony(TIME_OK, 0, 1000000).error > 0);
}

TEST(declarations_are_written_and_read)
{
    static const struct {
        struct clock_keeping keeping;
        const char *text;
    } right[] = {{{CLOCK_KEPT_BY_NOBODY, 0}, ""},
                 {{CLOCK_KEPT_BY_CHRONY, 0}, "chrony"},
                 {{CLOCK_KEPT_BY_PTP, 1}, "ptp:1 ns"},
                 {{CLOCK_KEPT_BY_PTP, 1500}, "ptp:1500 ns"},
                 {{CLOCK_KEPT_BY_PTP, CLOCK_S}, "ptp:1 s"}};
    static const char *const wrong[] = {"ptp",    "ptp:",    "ptp:0 s",     "ptp:1",   "ptp:1001 ms", "ptp:-1 us",
                                        "ptp: x", "chrony:", "chrony 1 us", "chronyd", "ntp",         " "};
    struct clock_keeping k = {CLOCK_KEPT_BY_CHRONY, 7};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(clock_keeping_read(wrong[i], &k));
        assert_true(k.by == CLOCK_KEPT_BY_CHRONY && k.bound == 7);
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_string_equal(clock_keeping_print(&right[i].keeping).s, right[i].text);
        assert_true(clock_keeping_read(right[i].text, &k));
        assert_true(k.by == right[i].keeping.by && k.bound == right[i].keeping.bound);
    }
}
