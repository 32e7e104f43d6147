// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/external_internal.h"
#include "sensor/external/reduce.h"

/* Records that the rings of `p` can hold at most: slots. */
static uint64_t room_of(const struct external_process *p)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        slots += p->at->rings[i].reader.ring ? p->at->rings[i].reader.bytes / RING_SLOT_BYTES : 0;
    return slots;
}

/* Of the records that no snapshot has read, those that have no room in overwriting rings are known to be lost. */
static void count_overwritten(const struct external_process *p, struct external_totals *t)
{
    uint64_t room = room_of(p);
    if (t->in_rings <= room)
        return;
    t->overwritten += t->in_rings - room;
    t->in_rings = room;
}

/* Brings the totals of `p` up to date. False: its counters are impossible. */
static bool refresh(struct external *x, struct external_process *p)
{
    struct external_totals t = {0};
    uint64_t discarded;
    for (uint32_t id = 1; p->at->dict && id <= p->at->dict->aspect_count; id++) {
        struct message_books_row row = segment_tally(p->at, id);
        t.produced += row.attempts;
        t.full += row.full;
        t.off += row.off;
        t.no_ring += row.no_ring;
        t.window += row.window;
        t.spool += row.spool;
        t.reducer += p->reduce ? p->reduce->now[id].lost : 0;
    }
    t.reduced = reduce_taken(p);
    if (p->at->disbelieved)
        return false;
    uint64_t packetized = packetize_records(x, p, &discarded);
    if (p->at->when_full == SEGMENT_OVERWRITE && discarded > t.off)
        t.overwritten = discarded - t.off;
    uint64_t gone =
        t.full + t.off + t.no_ring + t.window + t.spool + t.overwritten + p->unfinished + packetized + t.reduced;
    t.in_rings = t.produced > gone ? t.produced - gone : 0; /* counters are read one by one */
    if (p->at->when_full == SEGMENT_OVERWRITE)
        count_overwritten(p, &t);
    p->totals = t;
    return true;
}

void totals_add(struct external *x, struct external_process *p, struct external_totals *sum)
{
    if (p->role != ROLE_SUT)
        return;
    if (!refresh(x, p)) /* the last possible numbers stay */
        p->totals.in_rings = 0;
    sum->produced += p->totals.produced;
    sum->full += p->totals.full;
    sum->off += p->totals.off;
    sum->no_ring += p->totals.no_ring;
    sum->window += p->totals.window;
    sum->spool += p->totals.spool;
    sum->overwritten += p->totals.overwritten;
    sum->reduced += p->totals.reduced;
    sum->reducer += p->totals.reducer;
    sum->in_rings += p->totals.in_rings;
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
