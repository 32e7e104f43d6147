// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/lttng_provider.h"

#include "base/clock.h"
#include "bench/batch.h"
#include "bench/lttng.h"

#include <stdio.h>
#include <stdlib.h>

#define TRACE lttng_ust_tracepoint(bench, two, i, i + 1)
BENCH_LOOP(lttng_loop, TRACE);
BENCH_EIGHTS(lttng_eights, TRACE);
BENCH_SINGLES(lttng_singles, TRACE);
#undef TRACE

bool lttng_here(void)
{
    static bool said;
    const char *why = getenv("BENCH_LTTNG_WHY"); /* bench/with_lttng sets it where it could not; empty: it could */
    if (why && !*why)
        return true;
    if (!said)
        bench_say("no figures of LTTng: %s", why ? why : "not started by bench/with_lttng");
    said = true;
    return false;
}

static bool command(const char *line)
{
    int status = system(line); /* NOLINT: lines of this file */
    if (status != 0)
        bench_say("`%s` failed", line);
    return status == 0;
}

bool lttng_start(void)
{
    if (!lttng_here() || !command("lttng --no-sessiond --quiet start bench"))
        return false;
    int64_t deadline = clock_now() + 5 * CLOCK_S;
    while (!lttng_ust_tracepoint_enabled(bench, two) && clock_now() < deadline)
        clock_sleep_until(clock_now() + CLOCK_MS);
    if (!lttng_ust_tracepoint_enabled(bench, two))
        return bench_say("no figures of LTTng: its tracepoint is not enabled"), false;
    return true;
}

/* Events that the session discarded, or -1. */
static long discarded(void)
{
    char line[256];
    long sum = -1, n;
    FILE *list = popen("lttng --no-sessiond list bench", "r"); /* NOLINT: likewise */
    while (list && fgets(line, sizeof line, list))
        if (sscanf(line, " Discarded events: %ld", &n) == 1)
            sum = (sum < 0 ? 0 : sum) + n;
    if (list)
        pclose(list);
    return sum;
}

bool lttng_stop(void)
{
    if (!command("lttng --no-sessiond --quiet stop bench"))
        return false;
    long n = discarded();
    if (n != 0)
        bench_say("figures of LTTng do not count: %ld events discarded", n);
    return n == 0;
}
