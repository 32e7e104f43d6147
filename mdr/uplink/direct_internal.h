// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the two sides of direct.h share. */
#ifndef BEZEL_MDR_UPLINK_DIRECT_INTERNAL_H
#define BEZEL_MDR_UPLINK_DIRECT_INTERNAL_H

#include "base/checksum.h"
#include "mdr/uplink/direct.h"

enum { DIRECT_TAGS = 16 }; /* of words; 0: none */
_Static_assert(DIRECT_TAGS <= 16, "positions are multiples of 16");

#define DIRECT_MAGIC UINT64_C(0x42455a454c445232) /* "BEZELDR2" */

/**
 * The word that acknowledges packets of a stream before `next_seq`: with a check, so that hardly anything else that
 * another process writes there is one.
 */
static inline uint64_t direct_ack(uint64_t proof, uint32_t stream, uint64_t next_seq)
{
    uint64_t check = checksum_step(checksum_step(proof, stream), next_seq);
    return next_seq << 24 | check >> 40;
}

#endif
