// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock_wall.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

/* The bound of the error of CLOCK_REALTIME, ns; -1: it is not known. The kernel lets maxerror grow from one correction
 * by chrony to the next, and says in time that there is none any more. */
static int64_t bound_of(const struct clock_keeping *keeping)
{
    struct timex t = {.modes = 0};
    if (keeping->by == CLOCK_KEPT_BY_PTP)
        return keeping->bound;
    if (keeping->by != CLOCK_KEPT_BY_CHRONY || adjtimex(&t) < 0 || (t.status & STA_UNSYNC) || t.maxerror < 0)
        return -1;
    return t.maxerror * CLOCK_US;
}

struct clock_wall clock_wall_read(const struct clock_keeping *keeping)
{
    int64_t width, bound = bound_of(keeping);
    if (bound < 0 || bound > CLOCK_WALL_BOUND_MAX)
        return (struct clock_wall){.ahead = 0, .error = -1};
    int64_t ahead = clock_realtime_read(&width);
    return (struct clock_wall){.ahead = ahead, .error = bound + width / 2 + 1};
}

struct units_text clock_keeping_print(const struct clock_keeping *keeping)
{
    struct units_text text = {""};
    if (keeping->by == CLOCK_KEPT_BY_PTP)
        snprintf(text.s, sizeof text.s, "ptp:%.32s", units_exact_duration(keeping->bound).s);
    else if (keeping->by == CLOCK_KEPT_BY_CHRONY)
        snprintf(text.s, sizeof text.s, "chrony");
    return text;
}

bool clock_keeping_read(const char *text, struct clock_keeping *keeping)
{
    static const char ptp[] = "ptp:";
    struct clock_keeping k = {CLOCK_KEPT_BY_NOBODY, 0};
    const char *why;
    if (strcmp(text, "chrony") == 0)
        k.by = CLOCK_KEPT_BY_CHRONY;
    else if (strncmp(text, ptp, sizeof ptp - 1) == 0)
        k.by = CLOCK_KEPT_BY_PTP;
    else if (*text)
        return false;
    if (k.by == CLOCK_KEPT_BY_PTP && (units_read_duration(text + sizeof ptp - 1, &k.bound, &why) != 0 || k.bound < 1 ||
                                      k.bound > CLOCK_WALL_BOUND_MAX))
        return false;
    *keeping = k;
    return true;
}
