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
    off::bezel_record_none(0);
    using off::bezel_record_all;
    bezel_record(all, ++calls, 0.5, 1, bezel_intern("text"));
    using off::bezel_knob_read_delay;
    return bezel_thread_init(0) == 0 && bezel_knob(delay) == 2 ? calls + 1 : -1;
}
