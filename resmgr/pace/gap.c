// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/pace/gap.h"

enum {
    GAP_FIRST_NS = 250,  /* after the shortest time of 0 */
    GAP_SPIN_NS = 10000, /* short against what a packet takes to the collector */
    GAP_SPIN_PART = 16,  /* of the latency that is asked for */
};

int64_t gap_next(int64_t gap, uint32_t fill, int64_t shortest, int64_t longest)
{
    int64_t next = fill >= GAP_PRESSING ? shortest : fill >= GAP_MUCH ? gap / 2 : 2 * gap;
    if (fill < GAP_MUCH && next < GAP_FIRST_NS)
        next = GAP_FIRST_NS;
    if (fill >= GAP_MUCH && next < GAP_FIRST_NS)
        next = 0;
    next = next > longest ? longest : next;
    return next < shortest ? shortest : next;
}

int64_t gap_spin_longest(int64_t latency)
{
    int64_t part = latency / GAP_SPIN_PART;
    return latency > 0 && part < GAP_SPIN_NS ? part : GAP_SPIN_NS;
}
