// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The aspect of early.cc. */
#include "tests/lib/early.h"

#include <bezel/sensor.h>

BEZEL_ASPECT(early, (int64, place, "1"));

extern "C" void early_record(int place)
{
    for (int i = 0; i < EARLY_TIMES; i++)
        bezel_record(early, place);
}
