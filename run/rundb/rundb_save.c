// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_save.h"

#include "base/clock.h"

void rundb_add_packet(struct rundb *f, const struct model_process *process, const struct packet_header *h,
                      const uint8_t *p, uint64_t lost)
{
    struct packet_record r;
    size_t offset = PACKET_HEADER_BYTES;
    if (lost)
        (void)!rundb_add_loss(f, process, h, lost);
    if (process->role != ROLE_DAEMON)
        return;
    while (packet_next_record(p, h, process->dict->field_counts, process->dict->aspect_count, &offset, &r) > 0)
        (void)!rundb_add_builtin(f, process, &r);
}

/* Whether anything of a process is not saved or not synced; sets *stored where it has packets. */
static bool lacks_anything(const struct model_process *p, bool *stored)
{
    bool unsynced = false;
    for (uint32_t ring = 0; ring < p->ring_count; ring++) {
        *stored = *stored || (p->streams[ring] && p->streams[ring]->packets);
        unsynced = unsynced || (p->streams[ring] && p->streams[ring]->unsynced);
    }
    return unsynced || p->dirty;
}

int rundb_finish(struct rundb *f, const struct model *m)
{
    for (const struct model_node *node = m->nodes; node; node = node->next) {
        bool stored = false, stale = node->metadata_late;
        for (const struct model_process *p = node->processes; p; p = p->next) {
            if (lacks_anything(p, &stored))
                return 0;
            stale = stale || p->metadata_stale;
        }
        if (stored && stale)
            return 0;
    }
    int err = rundb_lacks(f) ? 0 : rundb_put_int(f, RUNDB_FINISHED, clock_now() + clock_realtime_offset());
    if (!err && !rundb_lacks(f))
        err = rundb_seal(f);
    return err ? err : rundb_commit(f);
}

/*
 * Writing a field takes some 10 us, and packets wait meanwhile. So of more than these, a save writes a share, as large
 * as that; the shares take turns.
 */
enum { FIELDS_MOST = 2000 };

static uint64_t unsaved_fields(const struct model *m)
{
    uint64_t n = 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->active; p; p = p->next_active)
            for (uint32_t i = 1; p->dirty && p->counts && i <= p->dict->aspect_count; i++)
                n += p->counts[i].unsaved ? p->dict->aspects[i - 1].field_count : 0;
    return n;
}

/*
 * Notes that the share of a process's statistics was saved, or that the transaction failed in which they would have
 * been. Returns whether some are not saved.
 */
static bool note_fields(struct model_process *p, struct rundb_share share, bool saved)
{
    bool waits = rundb_waits_for_sync(p), left = false;
    for (uint32_t i = 1; p->counts && i <= p->dict->aspect_count; i++) {
        struct model_count *c = &p->counts[i];
        if (!saved)
            c->unsaved = c->stored != 0;
        else if (!waits && rundb_shares(share, p, i))
            c->unsaved = false;
        left = left || c->unsaved;
    }
    return left && !waits; /* after the sync it is dirty in any case */
}

/*
 * Processes stay dirty until the transaction is committed. A failed transaction may be rolled back with rows of earlier
 * saves in it, so after an error all are dirty.
 */
int rundb_save(struct rundb *f, struct model *m)
{
    struct rundb_share share = {.every = 1 + unsaved_fields(m) / FIELDS_MOST, .turn = m->saves++};
    int err = rundb_put_int(f, RUNDB_REFUSED, (int64_t)m->totals.refused);
    m->unsaved = false;
    if (!err && m->totals.untaken)
        err = rundb_put_int(f, RUNDB_UNTAKEN, (int64_t)m->totals.untaken);
    if (!err && m->totals.untaken)
        err = rundb_put_int(f, RUNDB_UNTAKEN_RECORDS, (int64_t)m->totals.untaken_records);
    for (struct model_node *node = m->nodes; node && !err; node = node->next)
        if (node->dirty)
            err = rundb_save_node(f, node);
    for (struct model_node *node = m->nodes; node && !err; node = node->next)
        for (struct model_process *p = node->active; p && !err; p = p->next_active)
            if (p->dirty)
                err = rundb_save_process(f, p, share);
    if (!err)
        err = rundb_commit(f);
    for (struct model_node *node = m->nodes; node; node = node->next) {
        node->dirty = err != 0;
        for (struct model_process *p = node->active; p; p = p->next_active) {
            bool is_evicted = model_is_evicted(p); /* then it is saved */
            bool left = !is_evicted && (p->dirty || err) && note_fields(p, share, err == 0);
            p->dirty = !is_evicted && (err || left);
            m->unsaved = m->unsaved || left;
        }
    }
    return err;
}
