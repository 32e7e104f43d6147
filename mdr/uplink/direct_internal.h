// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the two sides of direct.h share. */
#ifndef BEZEL_MDR_UPLINK_DIRECT_INTERNAL_H
#define BEZEL_MDR_UPLINK_DIRECT_INTERNAL_H

#include "mdr/uplink/direct.h"

enum { DIRECT_TAGS = 16 }; /* of words; 0: none */
_Static_assert(DIRECT_TAGS <= 16, "positions are multiples of 16");

#define DIRECT_MAGIC UINT64_C(0x42455a454c445231) /* "BEZELDR1" */

#endif
