// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/receive/evict.h"

#include "run/store/metadata.h"

/* Whether nothing of `s` can still arrive: its closing packet is stored, and its position is acknowledged. */
static bool is_settled(const struct model_stream *s)
{
    return s->closed && !s->touched && !s->behind && !s->unsynced;
}

/* Whether by its final books no record is missing, apart from those that it had begun and never finished. */
static bool is_balanced(const struct model_process *p)
{
    uint64_t attempts = 0, found = p->unfinished;
    for (uint32_t i = 0; i <= p->dict->aspect_count; i++) {
        const struct model_count *c = &p->counts[i];
        attempts += c->attempts;
        found += c->stored + c->full + c->off + c->no_ring + c->window + c->spool;
    }
    for (uint32_t ring = 0; ring < p->ring_count; ring++)
        found += p->streams[ring] ? p->streams[ring]->reduced : 0;
    return p->overwrites || attempts <= found;
}

/* Daemons stay: their records are rows of the run database, too, and writing these anew needs the dictionary. */
static bool is_ready(const struct model_process *p)
{
    if (p->state != PROCESS_ENDED || p->role == ROLE_DAEMON || p->books_answer || p->dirty)
        return false;
    if (model_is_evicted(p))
        return true;
    if (!is_balanced(p))
        return false;
    for (uint32_t ring = 0; ring < p->ring_count; ring++)
        if (p->streams[ring] && !is_settled(p->streams[ring]))
            return false;
    return true;
}

static void evict_of(struct model_node *node, struct keep *k)
{
    for (struct model_process **at = &node->active; *at;) {
        struct model_process *p = *at;
        if (is_ready(p) && (p->metadata || metadata_write_process(p, &p->metadata, &p->metadata_bytes) == 0) &&
            keep_note_process(k, p) == 0) {
            model_strip_process(p);
            keep_note_ended(k, p);
            p->active = false;
            *at = p->next_active;
        } else {
            at = &p->next_active;
        }
    }
}

void evict_ended(struct model *m, struct keep *k)
{
    for (struct model_node *node = m->nodes; node; node = node->next)
        evict_of(node, k);
}
