// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Kinds with BEZEL_OFF: everything compiles, does nothing, and needs no library, which is not linked here. */
#include "tests/lib/every_kind.h"
#include "tests/lib/test.h"

#ifndef BEZEL_OFF
#error "this is the test of the header with its sensors compiled out"
#endif

int kinds_off_cc(void); /* the same in C++ */

TEST(nothing_happens_but_arguments_are_evaluated)
{
    int64_t calls = 0;
    KINDS_RECORD();
    bezel_span s = bezel_begin(span2);
    assert_int_equal(s.begun, 0);
    bezel_end(span2, s, ++calls, kinds_string(1));
    bezel_count(counted, ++calls);
    bezel_gauge(level, (double)++calls);
    bezel_sent(sent0, kinds_string(1), ++calls);
    bezel_received(received1, kinds_string(1), ++calls, 0);
    assert_int_equal(calls, 5);
}

TEST(the_same_in_cxx)
{
    assert_int_equal(kinds_off_cc(), 1);
}
