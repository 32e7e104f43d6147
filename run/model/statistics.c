// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/statistics.h"

#include "base/checksum.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define LATENCY_BOUND_MAX CLOCK_S /* with a wider bound of its error a latency says nothing */

/* Times within a packet do not fall: packet_check() has checked that. */
static void count_run(struct model_process *process, const struct packet_run *run)
{
    struct model_count *c = &process->counts[run->aspect];
    int64_t first = (int64_t)packet_run_time(run, 0), last = (int64_t)packet_run_time(run, run->count - 1);
    if (c->stored == 0 || first < c->first_ns)
        c->first_ns = first;
    if (c->stored == 0 || last > c->last_ns)
        c->last_ns = last;
    c->stored += run->count;
    c->unsaved = true;
}

bool statistics_evaluates(const struct model_process *process, uint32_t aspect)
{
    for (int i = 0; process->role == ROLE_DAEMON && i < BUILTIN_COUNT; i++)
        if (process->builtins[i] == aspect)
            return false;
    return true;
}

static void count_values(struct model_process *process, const struct packet_run *run)
{
    struct model *m = process->node->model;
    const struct dict_aspect *a = &process->dict->aspects[run->aspect - 1];
    struct aspect_statistics **v = &process->values[run->aspect];
    if (m->hurried)
        return;
    if (!*v && statistics_evaluates(process, run->aspect))
        *v = aspect_statistics_new(a, &m->values_memory);
    if (*v)
        aspect_statistics_add(*v, a, run, &m->values_memory);
}

/* The index of the first record of the run from `i` on whose time is above `time`, or its count. */
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

/* Times rise and latencies fall, so the records of a bucket are neighbours: a binary search finds their end. */
static void count_latency(struct latency *l, const struct packet_run *run, int64_t received)
{
    for (uint32_t i = 0, next; i < run->count; i = next) {
        int64_t latency = received - (int64_t)packet_run_time(run, i), least = latency_bucket_start(latency);
        uint64_t until = least == INT64_MIN ? UINT64_MAX : (uint64_t)(received - least);
        next = first_after(run, i, until);
        latency_add(l, latency, next - i);
    }
}

/* Exchanges of times with the run's clock relate the node's clock to it. */
static void count_exchanges(struct model_node *node, const struct packet_run *run)
{
    const struct model *m = node->model;
    for (uint32_t i = 0; i < run->count; i++) {
        struct packet_record r = packet_run_record(run, i);
        int64_t v[9];
        for (uint32_t k = 0; k < sizeof v / sizeof *v; k++)
            v[k] = (int64_t)packet_value(&r, k);
        struct clock_exchange x = {.sent = v[1],
                                   .arrived = v[2],
                                   .answered = v[3],
                                   .received = v[4],
                                   .own = {v[5], v[6]},
                                   .peer = {v[7], v[8]}};
        if (v[0] == clock_identity_short(m->run_clock))
            run_clock_add(&node->run_clock, &x, m->ahead);
    }
}

static void count_all(struct model_process *process, const struct packet_run *run, int64_t received)
{
    count_run(process, run);
    count_values(process, run);
    if (received && process->latency)
        count_latency(process->latency, run, received);
    if (run->aspect == process->builtins[BUILTIN_EXCHANGE])
        count_exchanges(process->node, run);
}

/*
 * When the packet arrived, on the node's clock, so that it compares with the times of its records; 0: unknown. The
 * bound of its error goes to the process.
 */
static int64_t arrived(struct model_process *process, const struct packet_header *h, int64_t received)
{
    const struct model_node *node = process->node;
    const struct model *m = node->model;
    if (node->local || received == 0)
        return received;
    if (node->run_clock.kind != RUN_CLOCK_EXCHANGES || memcmp(m->clock, m->run_clock, sizeof m->clock) != 0)
        return 0;
    int64_t own = (int64_t)h->timestamp_end;
    struct clock_reading here = clock_relation_at(&node->run_clock.relation, own);
    if (own < 0 || here.bound > LATENCY_BOUND_MAX)
        return 0;
    process->latency_bound = here.bound > process->latency_bound ? here.bound : process->latency_bound;
    return received - (here.ns - own);
}

void statistics_count(struct model_stream *stream, const struct packet_header *h, const uint8_t *p,
                      const struct packet_run *all, int64_t received)
{
    struct model_process *process = stream->process;
    struct packet_run run = *all;
    size_t offset = PACKET_HEADER_BYTES;
    bool polled = process->role == ROLE_SUT && !process->overwrites; /* the age of a snapshot's records is no latency */
    int64_t at = polled ? arrived(process, h, received) : 0;
    if (at && !process->latency)
        process->latency = calloc(1, sizeof *process->latency); /* without memory there is no latency */
    if (run.count)
        count_all(process, &run, at);
    else
        while (packet_next_run(p, h, process->dict->field_counts, process->dict->aspect_count, &offset, &run) > 0)
            count_all(process, &run, at);
    process->dirty = true;
    stream->sum = checksum_add(stream->sum, p, h->size_bytes);
}
