// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The public header with BEZEL_OFF: everything compiles, does nothing, and needs no library, which is not linked here.
 */
#include "tests/lib/test.h"

#include <bezel/sensor.h>

#ifndef BEZEL_OFF
#error "this is the test of the header with its sensors compiled out"
#endif

int api_off_cc(void); /* the same in C++ */

BEZEL_ASPECT(none);
BEZEL_ASPECT(all, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", "idle|busy"), (string, d, "1"));
BEZEL_ASPECT(twelve, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"),
             (int64, f, "1"), (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (int64, k, "1"),
             (int64, l, "1"));

BEZEL_KNOB(quality, "%", 10, 100, 75);

TEST(a_record_does_nothing_but_evaluate_its_arguments)
{
    int64_t calls = 0;
    bezel_record(none);
    bezel_record(all, ++calls, 0.5, 1, bezel_intern("text"));
    bezel_record(twelve, ++calls, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    assert_int_equal(calls, 2);
}

TEST(the_calls_stand_in_for_the_library)
{
    assert_int_equal(bezel_thread_init(0), 0);
    assert_int_equal(bezel_intern("text").id, 0);
}

TEST(a_knob_is_its_initial_value)
{
    assert_int_equal(bezel_knob(quality), 75);
}

TEST(the_same_in_cxx)
{
    assert_int_equal(api_off_cc(), 2);
}
