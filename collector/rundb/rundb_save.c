// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/rundb/rundb_save.h"

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
    return err ? err : rundb_commit(f);
}

/* Notes that the statistics of a process's fields are saved, or that the transaction failed that would have. */
static void note_fields(struct model_process *p, bool saved)
{
    if (!p->counts || (saved && rundb_waits_for_sync(p)))
        return;
    for (uint32_t i = 1; i <= DICT_ASPECTS_MAX; i++)
        p->counts[i].unsaved = !saved && p->counts[i].stored != 0;
}

/*
 * Processes stay dirty until the transaction is committed. A failed transaction may be rolled back with rows of earlier
 * saves in it, so after an error all are dirty.
 */
int rundb_save(struct rundb *f, struct model *m)
{
    int err = rundb_put_int(f, RUNDB_REFUSED, (int64_t)m->totals.refused);
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
                err = rundb_save_process(f, p);
    if (!err)
        err = rundb_commit(f);
    for (struct model_node *node = m->nodes; node; node = node->next) {
        node->dirty = err != 0;
        for (struct model_process *p = node->active; p; p = p->next_active) {
            if (p->dirty || err)
                note_fields(p, err == 0);
            p->dirty = err != 0 && !model_is_evicted(p); /* evicted ones are saved */
        }
    }
    return err;
}
