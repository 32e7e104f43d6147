// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A library that a program loads at run time, with a sensor in it. */
#include <bezel/sensor.h>

__attribute__((visibility("default"))) void plugin_record(int64_t number);

BEZEL_ASPECT(plugged, (int64, number, "1"));

void plugin_record(int64_t number)
{
    bezel_record(plugged, number);
}
