// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Units of time, in ns. Rooms that must not read a clock include this and not base/clock.h. */
#ifndef BEZEL_BASE_CLOCK_UNITS_H
#define BEZEL_BASE_CLOCK_UNITS_H

#include <stdint.h>

#define CLOCK_US INT64_C(1000)
#define CLOCK_MS INT64_C(1000000)
#define CLOCK_S  INT64_C(1000000000)

#endif
