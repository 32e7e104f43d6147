// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Kinds of aspects. Include <bezel/sensor.h>, which includes this.
 */
#ifndef BEZEL_KINDS_H
#define BEZEL_KINDS_H

#include <bezel/sensor.h>

/** What an aspect's records are, beyond their fields. The numbers never change. */
enum bezel_kind { BEZEL_KIND_event = 0 };

#endif
