// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

// The same in C++.
#include <bezel/sensor.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <thread>

namespace
{
BEZEL_ASPECT(tick, (int64, count, "1"));
BEZEL_ASPECT(temperature, (float64, value, "degC"));
} // namespace

int main()
{
    for (int i = 0; i < 300; i++) {
        bezel_record(tick, i);
        bezel_record(temperature, 20 + 5 * std::sin(i / 50.0));
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::cout << "hello: recorded 300 ticks and 300 temperatures\n";
}
