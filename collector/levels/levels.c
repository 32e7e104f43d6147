// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/levels/levels_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static int add_stream(void *levels, const char *path, const struct model_process *p, const struct packet_header *first)
{
    struct levels *l = levels;
    if (l->count == l->capacity) {
        size_t larger = l->capacity ? 2 * l->capacity : 32;
        struct levels_ring **list = realloc(l->rings, larger * sizeof(struct levels_ring *));
        if (!list)
            return BEZEL_ENOMEM;
        l->rings = list;
        l->capacity = larger;
    }
    struct levels_ring *ring = calloc(1, sizeof *ring);
    char *copy = strdup(path);
    if (!ring || !copy) {
        free(ring);
        free(copy);
        return BEZEL_ENOMEM;
    }
    ring->is = (struct levels_stream){
        .process = p, .path = copy, .ring = first->ring, .thread = first->thread, .first = 0, .last = -1};
    l->rings[l->count++] = ring;
    return 0;
}

/* Gives all that refers to the model its place in `m`. False: that lacks something. */
static bool move_to(void *levels, const struct model *m)
{
    struct levels *l = levels;
    for (size_t i = 0; i < l->count; i++) {
        struct levels_stream *s = &l->rings[i]->is;
        const struct model_node *node = model_find_node(m, s->process->node->uuid);
        const struct model_process *p = node ? model_find_process(node, s->process->instance) : NULL;
        if (!p)
            return false;
        s->process = p;
    }
    return true;
}

int levels_open(const char *run, struct levels **l)
{
    struct levels *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    it->part.fd = -1;
    it->part.bytes = malloc(LEVELS_PART_BYTES);
    struct run_streams_owner owner = {.add = add_stream, .move = move_to, .context = it};
    int err = it->part.bytes ? run_streams_init(&it->found, run, &owner) : BEZEL_ENOMEM;
    if (err) {
        int sys = errno;
        levels_close(it);
        errno = sys;
        return err;
    }
    *l = it;
    return 0;
}

void levels_close(struct levels *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++) {
        free((char *)(uintptr_t)l->rings[i]->is.path);
        free(l->rings[i]);
    }
    free(l->rings);
    levels_part_close(&l->part);
    free(l->part.bytes);
    run_streams_fini(&l->found);
    free(l);
}

const struct model *levels_model(const struct levels *l, uint64_t *age)
{
    if (age)
        *age = l->found.age;
    return l->found.model;
}

size_t levels_stream_count(const struct levels *l)
{
    return l->count;
}

const struct levels_stream *levels_stream(const struct levels *l, size_t i)
{
    return &l->rings[i]->is;
}

struct levels_totals levels_totals(const struct levels *l)
{
    struct levels_totals t = {.cpu_ns = l->cpu_ns};
    t.memory = sizeof *l + LEVELS_PART_BYTES + l->capacity * sizeof *l->rings;
    for (size_t i = 0; i < l->count; i++) {
        t.records += l->rings[i]->is.records;
        t.bytes += l->rings[i]->is.bytes;
        t.memory += sizeof *l->rings[i] + strlen(l->rings[i]->is.path) + 1;
    }
    return t;
}

/* ---- taking in --------------------------------------------------------------------------------------------------- */

/* Whether packet `h` is the next one of the file. */
static bool follows(const struct levels_ring *ring, const struct packet_header *h)
{
    const struct packet_header *before = &ring->last;
    if (h->instance != ring->is.process->instance || h->ring != ring->is.ring || h->seq != ring->packets ||
        h->timestamp_end > INT64_MAX)
        return false;
    if (ring->packets == 0)
        return h->discarded == 0;
    return memcmp(h->uuid, before->uuid, sizeof h->uuid) == 0 && h->stream_id == before->stream_id &&
           h->timestamp_begin >= before->timestamp_end && h->discarded >= before->discarded &&
           (h->kind != PACKET_DATA || h->discarded == before->discarded);
}

/* Whether the process has the dictionary of the packet, if need be a newer one. Returns 0 or an error. */
static int know_dictionary(struct levels *l, const struct levels_ring *ring, const struct packet_header *h)
{
    if (dict_includes(ring->is.process->dict, h->dictionary))
        return 0;
    int err = run_streams_renew(&l->found);
    return err ? err : dict_includes(ring->is.process->dict, h->dictionary) ? 0 : BEZEL_EMALFORMED;
}

/* Takes in a complete packet. Returns 0 or an error. */
static int take_packet(struct levels *l, struct levels_ring *ring, const struct packet_header *h, const uint8_t *packet)
{
    int err = follows(ring, h) ? know_dictionary(l, ring, h) : BEZEL_EMALFORMED;
    const struct dict *d = ring->is.process->dict;
    if (!err)
        err = packet_check(packet, h, d->field_counts, d->aspect_count, NULL);
    if (err)
        return err;
    if (ring->packets++ == 0)
        ring->is.first = (int64_t)h->timestamp_begin;
    ring->is.last = (int64_t)h->timestamp_end;
    ring->is.thread = h->thread;
    ring->is.records += h->records;
    ring->is.lost += h->discarded - ring->last.discarded;
    ring->is.bytes += h->size_bytes;
    ring->is.closed = h->kind == PACKET_CLOSE;
    ring->last = *h;
    return 0;
}

/* Takes in what a read gives. Returns 1: there may be more; 0: no further packet is complete; or an error. */
static int take_some(struct levels *l, struct levels_ring *ring)
{
    const uint8_t *bytes;
    size_t taken = 0;
    int err;
    levels_part_close(&l->part); /* what follows the last complete packet may have been rewritten */
    ssize_t n = levels_part_get(&l->part, ring, ring->is.bytes, 1, LEVELS_PART_BYTES, &bytes);
    if (n < 0)
        return (int)n;
    do {
        struct packet_header h;
        err = packet_get_header(bytes + taken, (size_t)n - taken, &h);
        if (!err)
            err = take_packet(l, ring, &h, bytes + taken);
        if (!err)
            taken += h.size_bytes;
    } while (!err && taken < (size_t)n);
    if (err && err != BEZEL_EAGAIN)
        return err;
    return taken > 0 && ring->is.bytes < ring->size;
}

static void cut(struct levels_ring *ring, int err)
{
    ring->is.cut = true;
    log_warn("BEZEL-LEVELS-DAMAGED", "%s: %s at byte %llu: it is read up to there", ring->is.path, err_text(err),
             (unsigned long long)ring->is.bytes);
}

/* The file is shorter than what was taken in: it is another one, and read anew. */
static void start_anew(struct levels_ring *ring)
{
    struct levels_stream *s = &ring->is;
    s->records = s->lost = s->bytes = ring->packets = 0;
    s->first = 0;
    s->last = -1;
    s->closed = s->cut = false;
    memset(&ring->last, 0, sizeof ring->last);
}

static void measure(struct levels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct levels_ring *ring = l->rings[i];
        struct stat st;
        if (lstat(ring->is.path, &st) != 0)
            continue;
        ring->size = (uint64_t)st.st_size;
        if (ring->size < ring->is.bytes)
            start_anew(ring);
    }
}

/* Looks for what is new, if a round is to begin. */
static int begin_round(struct levels *l)
{
    if (l->in_round)
        return 0;
    int err = run_streams_look(&l->found);
    if (err)
        return err;
    measure(l);
    l->in_round = true;
    l->next = 0;
    return 0;
}

static int64_t thread_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * CLOCK_S + t.tv_nsec;
}

/* Goes through the streams that are left of this round. Returns 1 where the time is over, 0, or an error. */
static int go_on(struct levels *l, int64_t until)
{
    while (l->next < l->count) {
        struct levels_ring *ring = l->rings[l->next];
        int more = ring->is.cut || ring->is.bytes >= ring->size ? 0 : take_some(l, ring);
        if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION)
            cut(ring, more), more = 0;
        if (more < 0)
            return more;
        l->next += more == 0;
        if (clock_now() >= until)
            return 1;
    }
    l->in_round = false;
    return 0;
}

/* A round that began in an earlier call does not know of what was stored since: another one follows. */
static int update(struct levels *l, int64_t until)
{
    bool again = l->in_round;
    int more = begin_round(l);
    if (!more)
        more = go_on(l, until);
    if (!more && again)
        more = begin_round(l);
    return !more && again ? go_on(l, until) : more;
}

int levels_update(struct levels *l, int64_t budget_ns)
{
    int64_t began = thread_cpu();
    int more = update(l, clock_now() + budget_ns);
    levels_part_close(&l->part);
    l->cpu_ns += thread_cpu() - began;
    return more;
}
