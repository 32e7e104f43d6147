// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "run/levels/levels_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { READ_BYTES = 256 << 10 };

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static int add_stream(void *levels, const char *path, const struct model_process *p, const struct packet_header *first)
{
    struct levels *l = levels;
    if (!grow_list(&l->rings, &l->capacity, l->count, sizeof(struct levels_ring *)))
        return BEZEL_ENOMEM;
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
    it->part.fd = it->store.fd = it->store.folder = -1;
    it->deadline = INT64_MAX;
    clock_identity(it->clock);
    it->tail = LEVELS_TAIL_BYTES;
    it->trees_bytes = LEVELS_TREES_BYTES;
    it->blocks_bytes = LEVELS_BLOCKS_BYTES;
    it->part.bytes = malloc(LEVELS_PART_BYTES);
    struct run_streams_owner owner = {.add = add_stream, .move = move_to, .context = it};
    int err = it->part.bytes ? run_streams_init(&it->found, run, &owner) : BEZEL_ENOMEM;
    if (!err)
        err = levels_store_open(&it->store, run, it->found.model->run);
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
    levels_trees_save(l, true);
    for (size_t i = 0; i < l->count; i++) {
        levels_tree_drop(l, l->rings[i]);
        free((char *)(uintptr_t)l->rings[i]->is.path);
        free(l->rings[i]);
    }
    free(l->rings);
    levels_store_close(&l->store);
    trace_part_close(&l->part);
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

void levels_set_deadline(struct levels *l, int64_t deadline)
{
    l->deadline = deadline;
    l->was_cut = false;
}

bool levels_was_cut(const struct levels *l)
{
    return l->was_cut;
}

struct levels_totals levels_totals(const struct levels *l)
{
    struct levels_totals t = {.cpu_ns = l->cpu_ns, .kept = l->store.kept};
    t.memory = sizeof *l + LEVELS_PART_BYTES + (LEVELS_CACHED + 1) * LEVELS_BLOCK_BYTES + l->store.in_memory;
    for (size_t i = 0; i < l->count; i++) {
        const struct levels_ring *ring = l->rings[i];
        t.records += ring->is.records;
        t.bytes += ring->is.bytes;
        t.memory += sizeof ring + sizeof *ring + strlen(ring->is.path) + 1 + (ring->tree ? ring->tree->memory : 0);
    }
    return t;
}

/* ---- taking in --------------------------------------------------------------------------------------------------- */

/* Has the dictionary of the packet at hand: loads the model anew if the process has only an older one. Returns 0 or an
 * error. */
static int know_dictionary(struct levels *l, const struct levels_ring *ring, const struct packet_header *h)
{
    if (dict_includes(ring->is.process->dict, h->dictionary))
        return 0;
    int err = run_streams_renew(&l->found);
    return err ? err : dict_includes(ring->is.process->dict, h->dictionary) ? 0 : BEZEL_EMALFORMED;
}

static int check_packet(const struct levels_ring *ring, const struct packet_header *h, const uint8_t *bytes)
{
    const struct dict *d = ring->is.process->dict;
    return packet_check(bytes, h, d->field_counts, d->aspect_count, NULL);
}

/* Takes in the packet at `bytes`, behind which the reader stands: into tree `t`, if it is not NULL. Returns 0 or an
 * error. */
static int take_packet(struct levels *l, struct levels_ring *ring, struct levels_tree *t, const struct trace_reader *r,
                       const uint8_t *bytes)
{
    const struct packet_header *h = &r->at.last;
    int err =
        h->ring == ring->is.ring && h->timestamp_end <= INT64_MAX ? know_dictionary(l, ring, h) : BEZEL_EMALFORMED;
    if (err)
        return err;
    if (!t) {
        err = check_packet(ring, h, bytes);
        if (!err)
            ring->at = r->at;
        return err;
    }
    err = levels_build_packet(t, ring->is.process->dict, &r->at, bytes);
    if (!err)
        return 0;
    if (err == BEZEL_EMALFORMED && check_packet(ring, h, bytes) == 0) { /* then the tree was none of ours */
        levels_tree_remove(l, ring);
        return BEZEL_EAGAIN;
    }
    if (t->at.bytes > ring->at.bytes)
        ring->at = t->at;
    levels_tree_drop(l, ring); /* it has a part of the packet */
    return err;
}

static void note_built(struct levels_ring *ring, const struct levels_tree *t)
{
    ring->built = t->at.bytes;
    /* At the same place, too: the ring's own position may come from a wrong state. */
    if (t->at.bytes >= ring->at.bytes)
        ring->at = t->at;
}

/* Whether the stream has so many bytes without levels that levels are made of them. */
static bool is_to_build(const struct levels *l, const struct levels_ring *ring)
{
    return !ring->raw && ring->size - ring->built >= l->tail && ring->size > ring->built;
}

/* Goes on behind what expired before it was taken in; levels of what was taken in stay, and only that is counted. */
static void pass_expired(struct levels_ring *ring, struct levels_tree *t, struct trace_reader *r)
{
    struct trace_position *at = t ? &t->at : &ring->at;
    r->at.records = at->records;
    *at = r->at;
    if (!t)
        return;
    t->time = at->last.timestamp_end;
    t->changed = true;
    note_built(ring, t);
}

/*
 * Takes in the next packets: the rest, or as many as stay in the processor's cache. Returns 1: there may be more; 0; or
 * an error, BEZEL_EAGAIN where the tree has gone.
 */
static int take_packets(struct levels *l, struct levels_ring *ring, struct levels_tree *t)
{
    struct trace_reader r = {
        .path = ring->is.path, .part = &l->part, .most = READ_BYTES, .end = ring->size, .at = t ? t->at : ring->at};
    uint64_t until = r.at.bytes + READ_BYTES;
    struct packet_header h;
    const uint8_t *bytes;
    int more = 1;
    while (more > 0 && r.at.bytes < until) {
        uint64_t at = r.at.bytes;
        r.process = ring->is.process; /* of a newer model, maybe */
        more = trace_reader_look(&r, &h, &bytes);
        if (r.at.bytes > at)
            pass_expired(ring, t, &r);
        if (more <= 0)
            break;
        trace_reader_take(&r, &h);
        int err = take_packet(l, ring, t, &r, bytes);
        more = err ? err : 1;
    }
    if (t && ring->tree == t)
        note_built(ring, t);
    return more;
}

/* Takes in what a read gives. Returns 1: there may be more; 0: no further packet is complete; or an error. */
static int take_some(struct levels *l, struct levels_ring *ring)
{
    struct levels_tree *t = NULL;
    int more = is_to_build(l, ring) ? levels_tree_get(l, ring, true, &t) : 0;
    if (more)
        return more;
    if (!is_to_build(l, ring)) /* it was loaded, and has enough */
        t = NULL;
    size_t memory = t ? t->memory : 0;
    more = take_packets(l, ring, t);
    if (ring->tree && t) {
        l->memory += ring->tree->memory - memory;
        levels_trees_fit(l, ring);
    }
    levels_ring_publish(ring);
    return more == BEZEL_EAGAIN ? 1 : more;
}

/* Reads a damaged stream no further. Returns whether levels of what stands before that are to be made again. */
static bool cut(struct levels_ring *ring, int err)
{
    ring->raw = ring->is.cut; /* what was right is wrong by now */
    ring->is.cut = true;
    ring->size = ring->at.bytes;
    log_warn("BEZEL-LEVELS-DAMAGED", "%s: %s at byte %llu: it is read up to there", ring->is.path, err_text(err),
             (unsigned long long)ring->at.bytes);
    return !ring->raw;
}

/* The file is shorter than what was taken in: it is another one, and read anew. */
static void start_anew(struct levels *l, struct levels_ring *ring)
{
    levels_tree_remove(l, ring);
    memset(&ring->at, 0, sizeof ring->at);
    levels_ring_publish(ring);
}

/* Notes how long the file is, once in a round: what is stored later is of the next one. */
static void measure(struct levels *l, struct levels_ring *ring)
{
    struct stat st;
    if (l->measured > l->next)
        return;
    l->measured = l->next + 1;
    if (ring->is.cut || lstat(ring->is.path, &st) != 0)
        return;
    ring->size = (uint64_t)st.st_size;
    if (ring->size < ring->at.bytes)
        start_anew(l, ring);
}

/* Looks for what is new, if a round is to begin. */
static int begin_round(struct levels *l, int64_t until)
{
    if (l->in_round)
        return 0;
    l->found.until = until;
    int more = run_streams_look(&l->found);
    if (more < 0)
        return more;
    l->looks_on = more > 0;
    l->in_round = true;
    l->next = l->measured = 0;
    return 0;
}

/* Goes through the streams that are left of this round. Returns 1 where the time is over, 0, or an error. */
static int go_on(struct levels *l, int64_t until)
{
    while (l->next < l->count) {
        struct levels_ring *ring = l->rings[l->next];
        measure(l, ring);
        int more = ring->at.bytes < ring->size || is_to_build(l, ring) ? take_some(l, ring) : 0;
        if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION)
            more = cut(ring, more);
        if (more < 0)
            return more;
        l->next += more == 0;
        if (clock_now() >= until)
            return 1;
    }
    l->in_round = false;
    levels_trees_save(l, false);
    return 0;
}

static int update(struct levels *l, int64_t until)
{
    int more = begin_round(l, until);
    if (!more)
        more = go_on(l, until);
    return more ? more : l->looks_on;
}

/* Marks the streams whose end lies in a time that is still to come. */
static void mark_ahead(struct levels *l)
{
    int64_t now = clock_now(), latest = model_latest(l->found.model, l->clock, now, now + clock_realtime_offset());
    for (size_t i = 0; i < l->count; i++) {
        struct levels_stream *s = &l->rings[i]->is;
        s->ahead = s->last >= s->first && model_is_ahead(s->process->node, (uint64_t)s->last, latest);
    }
}

int levels_update(struct levels *l, int64_t budget_ns)
{
    int64_t began = clock_thread_cpu();
    int more = update(l, clock_now() + budget_ns);
    mark_ahead(l);
    trace_part_close(&l->part);
    levels_store_rest(&l->store);
    l->cpu_ns += clock_thread_cpu() - began;
    return more;
}
