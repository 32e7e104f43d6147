// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * <bezel/sensor.hpp>: spans that end with their scope, for C++11. All else of <bezel/sensor.h> is the same in C++.
 *
 *     BEZEL_SPAN(decode, (int64, bytes, "B"));
 *     ...
 *     {
 *         BEZEL_SCOPE(decode, bytes);
 *         ...
 *     }
 */
#ifndef BEZEL_SENSOR_HPP
#define BEZEL_SENSOR_HPP

#include <bezel/sensor.h>

namespace bezel
{

/** A span and what ends it: `End` is called once, with the span, when the scope is left. It must not throw. */
template <class End> class scope
{
  public:
    scope(bezel_span span, End end) noexcept : span_(span), end_(end) {}
    scope(scope &&other) noexcept : span_(other.span_), end_(other.end_) { other.span_.begun = 0; }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    scope &operator=(scope &&) = delete;
    ~scope() noexcept
    {
        if (span_.begun)
            end_(span_);
    }

  private:
    bezel_span span_;
    End end_;
};

template <class End> inline scope<End> make_scope(bezel_span span, End end) noexcept
{
    return scope<End>(span, end);
}

} /* namespace bezel */

/**
 * BEZEL_SCOPE(name, value, ...) in a block: a span of `name` from here to the block's end, however it is left, also by
 * an exception. The values are evaluated at that end, as bezel_end() would there: they may name variables that stand
 * ahead of it and change meanwhile, and must not throw. Where the span is not recorded they are not evaluated. At most
 * one in a line.
 */
#define BEZEL_SCOPE(...)                 BEZEL_SCOPE_AT_(__LINE__, __VA_ARGS__, 0)
#define BEZEL_SCOPE_AT_(line, name, ...) BEZEL_SCOPE_NAMED_(line, name, __VA_ARGS__)
#define BEZEL_SCOPE_NAMED_(line, name, ...)                                                                            \
    const auto bezel_scope_##line = ::bezel::make_scope(                                                               \
        name##_bezel_begin(), [&](bezel_span bezel_span_) { name##_bezel_end(bezel_span_, __VA_ARGS__); })

#endif
