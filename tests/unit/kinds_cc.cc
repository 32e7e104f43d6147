// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/every_kind.h"

#include <bezel/sensor.hpp>

#include <stdexcept>

extern "C" void kinds_cc(void);
extern "C" void kinds_scopes_cc(void);

namespace inner
{
BEZEL_SPAN(scoped, (int64, how, "1"));
BEZEL_COUNTER(namespaced_counter, "1");
BEZEL_GAUGE(namespaced_gauge, "1");
BEZEL_SENT(namespaced_sent);
BEZEL_RECEIVED(namespaced_received, (float64, a, "ms"));

static int64_t returns(int64_t how)
{
    BEZEL_SCOPE(scoped, how);
    how = 3; /* what counts is the value at the end */
    return how;
}

static void throws()
{
    int64_t how = 0;
    BEZEL_SCOPE(scoped, how);
    how = 4;
    throw std::runtime_error("as it should");
}
} /* namespace inner */

void kinds_cc(void)
{
    KINDS_RECORD();
}

void kinds_scopes_cc(void)
{
    {
        BEZEL_SCOPE(inner::scoped, 1);
        BEZEL_SCOPE(::inner::scoped, 2); /* ends first */
    }
    inner::returns(0);
    try {
        inner::throws();
    } catch (const std::runtime_error &) {
        bezel_count(inner::namespaced_counter, 1);
    }
    auto first =
        bezel::make_scope(bezel_begin(inner::scoped), [](bezel_span span) { bezel_end(inner::scoped, span, 5); });
    auto second = static_cast<decltype(first) &&>(first); /* one span, whoever holds it */
    (void)second;
    bezel_gauge(inner::namespaced_gauge, 0.5);
    bezel_sent(inner::namespaced_sent, kinds_string(1), 2);
    bezel_received(inner::namespaced_received, kinds_string(1), 2, 0.5);
}
