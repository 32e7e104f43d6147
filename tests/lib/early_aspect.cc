// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The aspects of early.cc. */
#include "tests/lib/early.h"

#include <bezel/sensor.h>

BEZEL_ASPECT(early, (int64, place, "1"));
BEZEL_SPAN(early_span, (int64, place, "1"));
BEZEL_WAIT(early_wait, other, (int64, place, "1"));

extern "C" void early_record(int place)
{
    for (int i = 0; i < EARLY_TIMES; i++)
        if (i % 3 == 0)
            bezel_end(early_span, bezel_begin(early_span), place);
        else if (i % 3 == 1)
            bezel_end(early_wait, bezel_begin(early_wait), place);
        else
            bezel_record(early, place);
}
