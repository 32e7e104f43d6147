// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Why a full ring was full. A ring counts what it loses and cannot know why; the reader can: from the cut of a
 * ring that found no room in the window, to the next one of it that found enough, losses of its process are the
 * window's, or the spool's where that is full too. The sum is what the ring counted, always; the split is right to what
 * is lost within a cut. What is lost while no bezeld reads is the ring's.
 */
#include "sensor/external_impl.h"

enum { BLAME_NS = 100000000 }; /* how much a kill may put down to the ring that was not its */

void external_spool_full(struct external *x, bool full)
{
    x->spool_full = full;
}

void blame_losses(const struct external *x, struct external_process *p, struct attached_ring *ring, bool stuck,
                  int64_t now)
{
    p->stuck_rings += stuck;
    p->stuck_rings -= ring->stuck;
    ring->stuck = stuck;
    enum segment_cause cause = p->stuck_rings == 0 ? SEGMENT_CAUSE_RING
                               : x->spool_full     ? SEGMENT_CAUSE_SPOOL
                                                   : SEGMENT_CAUSE_WINDOW;
    if (cause == p->cause && now - p->blamed_at < BLAME_NS)
        return;
    segment_blame(p->at, p->cause);
    p->cause = cause;
    p->blamed_at = now;
}
