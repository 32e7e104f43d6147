// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The wall clock of this machine, where PTP or chrony keeps it: by how much CLOCK_REALTIME is ahead of CLOCK_MONOTONIC
 * now, and how wrong that may be. Linux slews both clocks together, so this changes only where CLOCK_REALTIME is set.
 */
#ifndef BEZEL_BASE_CLOCK_WALL_H
#define BEZEL_BASE_CLOCK_WALL_H

#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_WALL_BOUND_MAX INT64_C(1000000000) /* ns; a clock that is kept no better says nothing */

enum clock_keeper { CLOCK_KEPT_BY_NOBODY, CLOCK_KEPT_BY_PTP, CLOCK_KEPT_BY_CHRONY };

/** What keeps CLOCK_REALTIME, as the operator declares it. */
struct clock_keeping {
    enum clock_keeper by;
    int64_t bound; /* of PTP: of the error of CLOCK_REALTIME, ns, 1 to CLOCK_WALL_BOUND_MAX */
};

/** CLOCK_REALTIME - CLOCK_MONOTONIC, and the bound of its error, ns. `error` 0 or less: nothing keeps CLOCK_REALTIME.
 */
struct clock_wall {
    int64_t ahead, error;
};

/**
 * Reads the clocks. The error is PTP's bound, or what chrony has given the kernel (adjtimex(2)), and how exactly both
 * clocks could be read. It is -1 where nobody keeps them, or the kernel says that CLOCK_REALTIME is not synchronised.
 * Thread-safe, does not block.
 */
struct clock_wall clock_wall_read(const struct clock_keeping *keeping);

/** A declaration as a text, "ptp:BOUND", "chrony" or "", and back. Reading returns false for any other text. */
struct units_text clock_keeping_print(const struct clock_keeping *keeping);
bool clock_keeping_read(const char *text, struct clock_keeping *keeping);

#endif
