// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/every_aspect.h"

#include <bezel/sensor.h>

extern "C" void api_cc(void);

namespace inner
{
BEZEL_ASPECT(namespaced, (int64, a, "1"));
}

namespace
{
/* Recorded by a constructor, before main() and in an order that nobody knows. */
BEZEL_ASPECT(constructed);

struct early {
    early() { bezel_record(constructed); }
    ~early() { bezel_record(constructed); }
};
} /* namespace */

void api_cc(void)
{
    thread_local early on_this_thread; /* its destructor records at the end of the thread */
    (void)on_this_thread;
    EVERY_RECORD();
    bezel_record(inner::namespaced, static_cast<int64_t>(bezel_value_int64(100)));
}
