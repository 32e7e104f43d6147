// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A library with a global object that records at its beginning and its end, and is made before the aspect is declared.
 */
#include <bezel/sensor.h>

namespace
{
void record(int64_t n);

struct recorder {
    recorder() { record(1); }
    ~recorder() { record(2); }
} global;
} // namespace

BEZEL_ASPECT(plugged_early, (int64, number, "1"));

namespace
{
void record(int64_t n)
{
    bezel_record(plugged_early, n);
}
} // namespace
