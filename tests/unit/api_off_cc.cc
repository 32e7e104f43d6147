// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include <bezel/sensor.h>

extern "C" int api_off_cc(void);

namespace off
{
BEZEL_ASPECT(none);
BEZEL_ASPECT(all, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", "idle|busy"), (string, d, "1"));
BEZEL_KNOB(delay, "ms", 0, 9, 2);
} /* namespace off */

int api_off_cc(void)
{
    int calls = 0;
    bezel_record(off::none);
    bezel_again(::off::none);
    bezel_record(off::all, ++calls, 0.5, 1, bezel_intern("text"));
    return bezel_thread_init(0) == 0 && bezel_knob(off::delay) == 2 ? calls + 1 : -1;
}
