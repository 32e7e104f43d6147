// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/account.h"

#include <stdlib.h>

static void count_record(struct model_process *process, const struct packet_record *r)
{
    struct model_count *c = &process->counts[r->aspect];
    int64_t at = (int64_t)r->timestamp;
    if (c->stored == 0 || at < c->first_ns)
        c->first_ns = at;
    if (c->stored == 0 || at > c->last_ns)
        c->last_ns = at;
    c->stored++;
    enum dict_kind kind = process->dict->aspects[r->aspect - 1].kind;
    struct values **v = &process->values[r->aspect];
    if (kind != DICT_EVENT && !*v)
        *v = values_new(kind); /* where memory is short there are none */
    if (*v)
        values_add(*v, kind, r);
}

void account_count(struct model_process *process, const struct packet_header *h, const uint8_t *p, int64_t received)
{
    struct packet_record r;
    size_t offset = PACKET_HEADER_BYTES;
    bool polled = process->role == ROLE_SUT && !process->overwrites; /* a snapshot's records are as old as they are */
    bool timed = received != 0 && process->node->local && polled;
    if (timed && !process->latency)
        process->latency = calloc(1, sizeof *process->latency); /* where memory is short there is no latency */
    timed = timed && process->latency;
    while (packet_next_record(p, h, process->dict->field_counts, process->dict->aspect_count, &offset, &r) > 0) {
        count_record(process, &r);
        if (timed)
            histogram_add(process->latency, received - (int64_t)r.timestamp);
    }
    process->dirty = true;
}

void account_rows(struct facts *f, const struct model_process *process, const struct packet_header *h, const uint8_t *p,
                  uint64_t lost)
{
    struct packet_record r;
    size_t offset = PACKET_HEADER_BYTES;
    if (lost)
        (void)!facts_add_loss(f, process, h, lost);
    if (process->role != ROLE_DAEMON)
        return;
    while (packet_next_record(p, h, process->dict->field_counts, process->dict->aspect_count, &offset, &r) > 0)
        (void)!facts_add_builtin(f, process, &r);
}

/*
 * Which processes were saved is known for certain only when the transaction is: until then they stay dirty. One that
 * failed may have been rolled back with rows of earlier saves in it, so then all are dirty.
 */
int account_save(struct facts *f, struct model *m)
{
    int err = facts_put_int(f, FACTS_REFUSED, (int64_t)m->totals.refused);
    for (struct model_node *node = m->nodes; node && !err; node = node->next)
        for (struct model_process *p = node->processes; p && !err; p = p->next)
            if (p->dirty)
                err = facts_save_process(f, p);
    if (!err)
        err = facts_commit(f);
    for (struct model_node *node = m->nodes; node; node = node->next)
        for (struct model_process *p = node->processes; p; p = p->next)
            p->dirty = err != 0;
    return err;
}
