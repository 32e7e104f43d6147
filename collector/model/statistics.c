// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/account.h"

#include "base/clock.h"
#include "base/sum.h"
#include "collector/retire.h"

#include <stdlib.h>

/* Times within a packet do not fall: packet_check() saw to that. */
static void count_run(struct model_process *process, const struct packet_run *run)
{
    struct model_count *c = &process->counts[run->aspect];
    int64_t first = (int64_t)packet_run_time(run, 0), last = (int64_t)packet_run_time(run, run->count - 1);
    if (c->stored == 0 || first < c->first_ns)
        c->first_ns = first;
    if (c->stored == 0 || last > c->last_ns)
        c->last_ns = last;
    c->stored += run->count;
}

static void count_values(struct model_process *process, const struct packet_run *run)
{
    enum dict_kind kind = process->dict->aspects[run->aspect - 1].kind;
    struct values **v = &process->values[run->aspect];
    if (kind != DICT_EVENT && !*v)
        *v = values_new(kind); /* where memory is short there are none */
    for (uint32_t i = 0; *v && i < run->count; i++) {
        struct packet_record r = packet_run_record(run, i);
        values_add(*v, kind, &r);
    }
}

/* The first record of the run behind `i` whose time is above `time`, or its end. */
static uint32_t first_after(const struct packet_run *run, uint32_t i, uint64_t time)
{
    uint32_t end = run->count;
    while (i < end) {
        uint32_t middle = i + (end - i) / 2;
        if (packet_run_time(run, middle) > time)
            end = middle;
        else
            i = middle + 1;
    }
    return i;
}

/* Times rise and latencies fall, so the records of a bucket lie beside each other: found by halving, not one by one. */
static void count_latency(struct histogram *h, const struct packet_run *run, int64_t received)
{
    for (uint32_t i = 0, next; i < run->count; i = next) {
        int64_t latency = received - (int64_t)packet_run_time(run, i), least = histogram_bucket_start(latency);
        uint64_t until = least == INT64_MIN ? UINT64_MAX : (uint64_t)(received - least);
        next = first_after(run, i, until);
        histogram_add_many(h, latency, next - i);
    }
}

static void count_all(struct model_process *process, const struct packet_run *run, int64_t received)
{
    count_run(process, run);
    count_values(process, run);
    if (received && process->latency)
        count_latency(process->latency, run, received);
}

void account_count(struct model_process *process, const struct packet_header *h, const uint8_t *p,
                   const struct packet_run *all, int64_t received)
{
    struct packet_run run = *all;
    size_t offset = PACKET_HEADER_BYTES;
    bool polled = process->role == ROLE_SUT && !process->overwrites; /* a snapshot's records are as old as they are */
    bool timed = received != 0 && process->node->local && polled;
    if (timed && !process->latency)
        process->latency = calloc(1, sizeof *process->latency); /* where memory is short there is no latency */
    if (run.count)
        count_all(process, &run, timed ? received : 0);
    else
        while (packet_next_run(p, h, process->dict->field_counts, process->dict->aspect_count, &offset, &run) > 0)
            count_all(process, &run, timed ? received : 0);
    process->dirty = true;
}

void account_sum(struct model_stream *stream, const struct packet_header *h, const uint8_t *p)
{
    stream->sum = sum_add(stream->sum, p, h->size_bytes);
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

/* Whether anything that is stored is not yet explained by metadata, or not yet in stable storage. */
static bool lacks_anything(const struct model_process *p, bool *stored)
{
    bool unsynced = false;
    for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++) {
        *stored = *stored || (p->streams[ring] && p->streams[ring]->packets);
        unsynced = unsynced || (p->streams[ring] && p->streams[ring]->unsynced);
    }
    return unsynced || p->dirty;
}

int account_finish(struct facts *f, const struct model *m)
{
    for (const struct model_node *node = m->nodes; node; node = node->next) {
        bool stored = false, stale = false;
        for (const struct model_process *p = node->processes; p; p = p->next) {
            if (lacks_anything(p, &stored))
                return 0;
            stale = stale || p->metadata_stale;
        }
        if (stored && stale)
            return 0;
    }
    int err = facts_lacks(f) ? 0 : facts_put_int(f, FACTS_FINISHED, clock_now() + clock_realtime_offset());
    return err ? err : facts_commit(f);
}

/*
 * Which processes were saved is known for certain only when the transaction is: until then they stay dirty. One that
 * failed may have been rolled back with rows of earlier saves in it, so then all are dirty.
 */
int account_save(struct facts *f, struct model *m)
{
    int err = facts_put_int(f, FACTS_REFUSED, (int64_t)m->totals.refused);
    if (!err && m->totals.untaken)
        err = facts_put_int(f, FACTS_UNTAKEN, (int64_t)m->totals.untaken);
    if (!err && m->totals.untaken)
        err = facts_put_int(f, FACTS_UNTAKEN_RECORDS, (int64_t)m->totals.untaken_records);
    for (struct model_node *node = m->nodes; node && !err; node = node->next)
        if (node->dirty)
            err = facts_save_node(f, node);
    for (struct model_node *node = m->nodes; node && !err; node = node->next)
        for (struct model_process *p = node->active; p && !err; p = p->next_active)
            if (p->dirty)
                err = facts_save_process(f, p);
    if (!err)
        err = facts_commit(f);
    for (struct model_node *node = m->nodes; node; node = node->next) {
        node->dirty = err != 0;
        for (struct model_process *p = node->active; p; p = p->next_active)
            p->dirty = err != 0 && !retire_is(p); /* who is retired is saved */
    }
    return err;
}
