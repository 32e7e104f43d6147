// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/every_kind.h"

#include <bezel/sensor.hpp>

extern "C" int kinds_off_cc(void);

namespace off
{
BEZEL_SPAN(scoped, (int64, a, "1"));
BEZEL_SENT(sent, (int64, a, "1"));
} /* namespace off */

int kinds_off_cc(void)
{
    int calls = 0;
    KINDS_RECORD();
    {
        BEZEL_SCOPE(off::scoped, ++calls); /* never ends as a span: its values are checked, and not evaluated */
    }
    bezel_sent(off::sent, kinds_string(1), ++calls, 0);
    return calls;
}
