// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A clock plug-in for LTTng (LTTNG_UST_CLOCK_PLUGIN): stamps events with the counter that Bezel reads, so that both can
 * be compared on the same clock too. LTTng's own clock is CLOCK_MONOTONIC; nobody is given this one by a package.
 */
#include "bench/batch.h"

#include <lttng/ust-clock.h>
#include <time.h>

void lttng_ust_clock_plugin_init(void);

static uint64_t read_counter(void)
{
    return bench_counter();
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* For the trace's metadata: measured over 10 ms at the first call. */
static uint64_t frequency(void)
{
    static uint64_t hz;
    if (hz == 0) {
        uint64_t began = now_ns(), before = bench_counter();
        while (now_ns() - began < 10000000)
            ;
        hz = (bench_counter() - before) * 100;
    }
    return hz;
}

static const char *name(void)
{
    return "counter";
}

static const char *description(void)
{
    return "the processor's counter";
}

static int no_uuid(char *uuid)
{
    (void)uuid;
    return -1;
}

__attribute__((visibility("default"))) void lttng_ust_clock_plugin_init(void)
{
    if (lttng_ust_trace_clock_set_read64_cb(read_counter) == 0 && lttng_ust_trace_clock_set_freq_cb(frequency) == 0 &&
        lttng_ust_trace_clock_set_name_cb(name) == 0 && lttng_ust_trace_clock_set_uuid_cb(no_uuid) == 0 &&
        lttng_ust_trace_clock_set_description_cb(description) == 0)
        lttng_ust_enable_trace_clock_override();
}
