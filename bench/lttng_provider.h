// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* A tracepoint provider as LTTng wants it: this file is read several times over by <lttng/tracepoint-event.h>. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/lttng_provider.h"

#if !defined(BEZEL_BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BEZEL_BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(
    bench, two,
    LTTNG_UST_TP_ARGS(int64_t, number, int64_t, next),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int64_t, number, number)
        lttng_ust_field_integer(int64_t, next, next)
    )
)
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
