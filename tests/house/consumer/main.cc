// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include <bezel/sensor.hpp>

#include "main.c"
