// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/totals.h"

#include "sensor/external/external_internal.h"

/* What the streams of `p` have packetized, and what they have recorded as lost. */
static void add_streams(struct external *x, const struct external_process *p, uint64_t *packetized, uint64_t *discarded)
{
    for (uint32_t i = 0; i < p->at->ring_count; i++) {
        const struct attached_ring *ring = &p->at->rings[i];
        if (!ring->reader.ring) /* not taken in */
            continue;
        int n = ring->stream;
        if (n < 0) /* a predecessor's, without a packet since */
            n = window_find(x->window, p->at->instance, i);
        if (n < 0)
            continue;
        const struct window_stream *s = window_stream(x->window, (uint32_t)n);
        *packetized += s->next_ordinal - ring->base_ordinal - s->discarded;
        *discarded += s->discarded;
    }
}

/* The counters of `p`. False: they are impossible. */
static bool totals_of(struct external *x, const struct external_process *p, struct external_totals *flow)
{
    struct message_books_row all = {0};
    uint64_t packetized = 0, discarded = 0;
    for (uint32_t id = 1; p->at->dict && id <= p->at->dict->aspect_count; id++) {
        struct message_books_row row = segment_tally(p->at, id);
        all.attempts += row.attempts;
        all.full += row.full;
        all.off += row.off;
        all.no_ring += row.no_ring;
        all.window += row.window;
        all.spool += row.spool;
    }
    if (p->at->disbelieved)
        return false;
    add_streams(x, p, &packetized, &discarded);
    bool overwrites = p->at->when_full == SEGMENT_OVERWRITE;
    uint64_t overwritten = overwrites && discarded > all.off ? discarded - all.off : 0;
    uint64_t gone =
        all.full + all.off + all.no_ring + all.window + all.spool + overwritten + p->unfinished + packetized;
    *flow = (struct external_totals){
        .produced = all.attempts,
        .full = all.full,
        .off = all.off,
        .no_ring = all.no_ring,
        .window = all.window,
        .spool = all.spool,
        .overwritten = overwritten,
        .in_rings = all.attempts > gone ? all.attempts - gone : 0, /* counters are read one by one */
    };
    return true;
}

void totals_add(struct external *x, struct external_process *p, struct external_totals *sum)
{
    if (p->role != ROLE_SUT)
        return;
    if (!totals_of(x, p, &p->flow)) /* the last possible numbers stay */
        p->flow.in_rings = 0;
    sum->produced += p->flow.produced;
    sum->full += p->flow.full;
    sum->off += p->flow.off;
    sum->no_ring += p->flow.no_ring;
    sum->window += p->flow.window;
    sum->spool += p->flow.spool;
    sum->overwritten += p->flow.overwritten;
    sum->in_rings += p->flow.in_rings;
}

struct external_totals external_totals(struct external *x)
{
    struct external_totals sum = x->gone;
    for (uint32_t i = 0; i < x->process_count; i++)
        if (x->processes[i])
            totals_add(x, x->processes[i], &sum);
    sum.in_window = window_records(x->window);
    return sum;
}
