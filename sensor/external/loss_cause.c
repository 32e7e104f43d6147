// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Why a full ring was full. A ring counts what it loses and cannot know why; the reader can: from the cut of a
 * ring that found no room in the window, to the next one of it that found enough, losses of its process are the
 * window's, or the spool's where that is full too. The sum is what the ring counted, always; the split is right to what
 * is lost within a cut. What is lost while no bezeld reads is the ring's.
 */
#include "sensor/external/external_internal.h"

enum { CAUSE_INTERVAL_NS = 100000000 }; /* after a kill, losses of at most this long are booked to the wrong cause */

void external_spool_full(struct external *x, bool full)
{
    x->spool_full = full;
}

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
