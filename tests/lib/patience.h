// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** How long a test waits for what must happen, ns. Long: others may use the machine; only who fails waits so long. */
#ifndef BEZEL_TESTS_LIB_PATIENCE_H
#define BEZEL_TESTS_LIB_PATIENCE_H

#include "base/clock.h"

#define PATIENCE (60 * CLOCK_S)

#endif
