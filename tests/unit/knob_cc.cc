// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include <bezel/sensor.hpp>

extern "C" int32_t knob_cc(void);

namespace inner
{
BEZEL_KNOB(namespaced, "1", INT32_MIN, INT32_MAX, -7);
}

int32_t knob_cc(void)
{
    return bezel_knob(inner::namespaced);
}
