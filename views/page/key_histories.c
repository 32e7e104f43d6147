// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/key_histories.h"

#include "views/page/run_view_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One of the two aspects in a stream of the monitor. */
struct source {
    size_t stream;
    uint32_t aspect;
    uint64_t time, at_time; /* of the last record that was taken; how many of that time were */
    uint64_t records;       /* of the stream when it was looked at last */
};

struct entry {
    size_t stream;
    uint32_t aspect;
    int64_t key;
    struct key_history history;
};

struct key_histories {
    size_t streams; /* that were looked at */
    size_t source_count, source_capacity;
    struct source *sources;
    size_t count;
    struct entry entries[KEY_HISTORIES];
};

struct key_histories *key_histories_new(void)
{
    return calloc(1, sizeof(struct key_histories));
}

void key_histories_free(struct key_histories *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->count; i++)
        key_history_fini(&k->entries[i].history);
    free(k->sources);
    free(k);
}

const struct key_history *key_histories_find(const struct key_histories *k, size_t stream, uint32_t aspect, int64_t key)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->entries[i].stream == stream && k->entries[i].aspect == aspect && k->entries[i].key == key)
            return &k->entries[i].history;
    return NULL;
}

static struct key_history *make(struct key_histories *k, const struct source *s, int64_t key)
{
    const struct key_history *there = key_histories_find(k, s->stream, s->aspect, key);
    if (there || k->count == KEY_HISTORIES)
        return (struct key_history *)(uintptr_t)there;
    struct entry *e = &k->entries[k->count++];
    *e = (struct entry){s->stream, s->aspect, key, {0}};
    return &e->history;
}

/* What takes records of a source. */
struct taking {
    struct key_histories *k;
    struct source *source;
    const struct dict_aspect *aspect;
    uint64_t skip; /* of the last time: they were taken before */
};

/* The begin of the gap that ends with observation `r`, not before what the history has; 0: there is none. */
static int64_t gap_begin(const struct dict_aspect *a, const struct packet_record *r, const struct key_history *h)
{
    int64_t gap = a->field_count > KEY_FIELD_GAP && strcmp(a->fields[KEY_FIELD_GAP].name, "gap") == 0
                      ? (int64_t)packet_value(r, KEY_FIELD_GAP)
                      : 0;
    if (gap <= 0 || gap >= (int64_t)r->timestamp || h->count == 0)
        return 0;
    int64_t begin = (int64_t)r->timestamp - gap, last = h->columns[h->count - 1].begin;
    return begin > last ? begin : last;
}

static int take(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct taking *t = context;
    (void)place;
    if (!r)
        return 0;
    if (r->timestamp == t->source->time && t->skip > 0) {
        t->skip--;
        return 0;
    }
    t->source->at_time = r->timestamp == t->source->time ? t->source->at_time + 1 : 1;
    t->source->time = r->timestamp;
    struct key_history *h = make(t->k, t->source, run_view_key(t->aspect, r));
    int64_t begin = h ? gap_begin(t->aspect, r, h) : 0;
    int err = begin ? key_history_add(h, begin, (double)NAN) : 0;
    return h && !err ? key_history_add(h, (int64_t)r->timestamp, run_view_number(t->aspect, r, KEY_FIELD_VALUE)) : err;
}

static int add_source(struct key_histories *k, size_t stream, uint32_t aspect)
{
    if (aspect == 0)
        return 0;
    if (k->source_count == k->source_capacity) {
        size_t larger = k->source_capacity ? 2 * k->source_capacity : 8;
        struct source *sources = realloc(k->sources, larger * sizeof *sources);
        if (!sources)
            return BEZEL_ENOMEM;
        k->sources = sources;
        k->source_capacity = larger;
    }
    k->sources[k->source_count++] = (struct source){.stream = stream, .aspect = aspect};
    return 0;
}

static int find_sources(struct key_histories *k, const struct levels *levels)
{
    int err = 0;
    for (; !err && k->streams < levels_stream_count(levels); k->streams++) {
        const struct model_process *p = levels_stream(levels, k->streams)->process;
        if (p->role != ROLE_DAEMON)
            continue;
        err = add_source(k, k->streams, p->builtins[BUILTIN_OBSERVATION]);
        if (!err)
            err = add_source(k, k->streams, p->builtins[BUILTIN_METRIC]);
    }
    return err;
}

/* Takes what a source has more. What was cut at the deadline goes on with the last record that was taken. */
static int follow(struct key_histories *k, struct source *s, struct levels *levels)
{
    const struct levels_stream *stream = levels_stream(levels, s->stream);
    const struct dict *d = stream->process->dict;
    if (!d || s->aspect > d->aspect_count || stream->records == s->records)
        return 0;
    struct taking t = {k, s, &d->aspects[s->aspect - 1], s->at_time};
    int err = levels_records(levels, s->stream, s->aspect, (int64_t)s->time, INT64_MAX, take, &t);
    if (!levels_was_cut(levels))
        s->records = stream->records;
    return err < 0 ? err : levels_was_cut(levels);
}

int key_histories_follow(struct key_histories *k, struct levels *levels, int64_t deadline)
{
    int more = find_sources(k, levels);
    levels_set_deadline(levels, deadline);
    for (size_t i = 0; i < k->source_count && !more; i++)
        more = follow(k, &k->sources[i], levels);
    levels_set_deadline(levels, INT64_MAX);
    return more;
}
