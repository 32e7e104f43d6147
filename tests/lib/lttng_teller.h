// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Tracepoints for tests of imports: this file is read several times over by <lttng/tracepoint-event.h>. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER teller

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/lib/lttng_teller.h"

#if !defined(BEZEL_TESTS_LIB_LTTNG_TELLER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BEZEL_TESTS_LIB_LTTNG_TELLER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_ENUM(
    teller, color,
    LTTNG_UST_TP_ENUM_VALUES(
        lttng_ust_field_enum_value("red", 0)
        lttng_ust_field_enum_value("green", 1)
        lttng_ust_field_enum_value("blue", 2)
    )
)
LTTNG_UST_TRACEPOINT_ENUM(
    teller, grade,
    LTTNG_UST_TP_ENUM_VALUES(
        lttng_ust_field_enum_value("low", -3)
        lttng_ust_field_enum_range("middle", 10, 19)
        lttng_ust_field_enum_value("high", 100)
    )
)
LTTNG_UST_TRACEPOINT_EVENT(
    teller, told,
    LTTNG_UST_TP_ARGS(int, number, double, real, const char *, text, const int32_t *, all),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, number, number)
        lttng_ust_field_integer(int8_t, small, -number)
        lttng_ust_field_integer_hex(uint64_t, large, UINT64_C(0x123456789) * (uint64_t)number)
        lttng_ust_field_float(double, real, real)
        lttng_ust_field_float(float, single, (float)real)
        lttng_ust_field_string(text, text)
        lttng_ust_field_enum(teller, color, uint8_t, color, number % 3)
        lttng_ust_field_enum(teller, grade, int32_t, grade, number % 2 ? -3 : 10 + number % 12)
        lttng_ust_field_array(int32_t, all, all, 4)
        lttng_ust_field_sequence(int32_t, some, all, uint8_t, 2)
        lttng_ust_field_sequence_text(char, letters, text, uint8_t, 3)
    )
)
LTTNG_UST_TRACEPOINT_EVENT(teller, plain, LTTNG_UST_TP_ARGS(void), LTTNG_UST_TP_FIELDS())
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
