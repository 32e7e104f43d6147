// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Why a ring was full. A ring counts its losses, but only the reader can see their cause. From the moment a ring's
 * packet finds no room in the window until one does, losses of its process are booked to the window, or to the spool
 * if that is full too. The sum is always the ring's count; the split is exact to the losses within one packet. Losses
 * while no bezeld reads are booked to the ring.
 */
#include "sensor/external/external_internal.h"

enum { CAUSE_INTERVAL_NS = 100000000 }; /* after a kill, losses of at most this long are booked to the wrong cause */

void loss_cause_assign(const struct external *x, struct external_process *p, struct attached_ring *ring, bool stuck,
                       int64_t now)
{
    p->stuck_rings += stuck;
    p->stuck_rings -= ring->stuck;
    ring->stuck = stuck;
    enum segment_cause cause = p->stuck_rings == 0 ? SEGMENT_CAUSE_RING
                               : x->spool_full     ? SEGMENT_CAUSE_SPOOL
                                                   : SEGMENT_CAUSE_WINDOW;
    if (cause == p->cause && now - p->cause_at < CAUSE_INTERVAL_NS)
        return;
    segment_loss_cause(p->at, p->cause);
    p->cause = cause;
    p->cause_at = now;
}
