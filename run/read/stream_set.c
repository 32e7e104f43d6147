// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/stream_set.h"

#include "base/clock.h"
#include "base/grow.h"

#include <stdlib.h>
#include <sys/stat.h>

int stream_set_init(struct stream_set *set, const struct record_source *of)
{
    set->order = record_order_new(of);
    return set->order ? 0 : BEZEL_ENOMEM;
}

static void free_stream(struct record_stream *s)
{
    if (s)
        record_stream_fini(s);
    free(s);
}

void stream_set_free(struct stream_set *set)
{
    if (set->sendings)
        stream_set_free(set->sendings);
    free(set->sendings);
    record_order_free(set->order);
    for (size_t i = 0; i < set->count; i++)
        free_stream(set->streams[i]);
    free(set->streams);
}

static int add(struct stream_set *set, const struct stream_file *file, struct record_stream **added)
{
    if (!grow_list(&set->streams, &set->capacity, set->count, sizeof(struct record_stream *)))
        return BEZEL_ENOMEM;
    struct record_stream *s = calloc(1, sizeof *s);
    const struct record_source *of = record_order_source(set->order);
    int err = s ? record_stream_init(s, of, file->path, file->process, file->begin) : BEZEL_ENOMEM;
    if (!err) {
        s->number = file->number;
        s->file.end = s->settled = file->bytes;
        err = record_order_add(set->order, s);
    }
    if (err)
        free_stream(s);
    else
        *added = set->streams[set->count++] = s;
    return err;
}

/* ---- sendings ---------------------------------------------------------------------------------------------------- */

static bool sends(const struct model_process *p)
{
    for (uint32_t i = 0; i < p->dict->aspect_count; i++)
        if (p->dict->aspects[i].kind == DICT_SENT)
            return true;
    return false;
}

static int begin_sendings(struct stream_set *set)
{
    struct record_source of = *record_order_source(set->order);
    of.sendings = true;
    of.expired = NULL;
    of.memory /= 8;
    of.streams = 0;
    set->sendings = calloc(1, sizeof *set->sendings);
    int err = set->sendings ? stream_set_init(set->sendings, &of) : BEZEL_ENOMEM;
    return err ? err : record_order_messages(set->order, set->sendings->order);
}

static int add_sendings(struct stream_set *set, const struct stream_file *file)
{
    struct record_stream *ahead;
    int err = set->sendings ? 0 : begin_sendings(set);
    return err ? err : add(set->sendings, file, &ahead);
}

int stream_set_add(struct stream_set *set, const struct stream_file *file)
{
    struct record_stream *s;
    bool ahead = sends(file->process);
    int err = ahead ? add_sendings(set, file) : 0;
    if (!err)
        err = add(set, file, &s);
    if (!err)
        s->ahead = ahead;
    return err;
}

/* Processes of a newer model may have begun to send messages. */
static int add_more_sendings(struct stream_set *set)
{
    int err = 0;
    for (size_t i = 0; i < set->count && !err; i++) {
        struct record_stream *s = set->streams[i];
        if (s->ahead || !sends(s->process))
            continue;
        err = add_sendings(set, &(struct stream_file){s->file.path, s->process, 0, s->number, s->file.end});
        s->ahead = !err;
    }
    return err;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static bool move(struct stream_set *set, const struct model *m)
{
    if (record_order_set_model(set->order, m) != 0)
        return false;
    for (size_t i = 0; i < set->count; i++) {
        struct record_stream *s = set->streams[i];
        const struct model_node *node = model_find_node(m, s->process->node->uuid);
        const struct model_process *p = node ? model_find_process(node, s->process->instance) : NULL;
        if (!p)
            return false;
        record_stream_set_process(s, record_order_source(set->order), p);
    }
    return true;
}

bool stream_set_move(struct stream_set *set, const struct model *m)
{
    return move(set, m) && (!set->sendings || move(set->sendings, m)) && add_more_sendings(set) == 0;
}

/* Queues those that have more: also a torn end, which may be a packet of that size by now. */
int stream_set_measure(struct stream_set *set)
{
    int err = set->sendings ? stream_set_measure(set->sendings) : 0; /* first: so what is found ahead is there, too */
    for (size_t i = 0; i < set->count && !err; i++) {
        struct record_stream *s = set->streams[i];
        struct stat st;
        if (s->cut || lstat(s->file.path, &st) != 0)
            continue;
        if ((uint64_t)st.st_size != s->file.end)
            record_stream_measure(s, (uint64_t)st.st_size, set->measured ? clock_ns(st.st_mtim) : 0);
        if (!s->queued && record_stream_rest(s) > 0)
            err = record_order_add(set->order, s);
    }
    if (set->sendings)
        stream_set_settle(set->sendings);
    set->measured = true;
    return err;
}

void stream_set_settle(struct stream_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        set->streams[i]->settled = set->streams[i]->file.end;
}

void stream_set_drop_ended(struct stream_set *set)
{
    size_t left = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct record_stream *s = set->streams[i];
        bool closed = s->file.at.chain.closed && record_stream_rest(s) == 0;
        if (s->queued || s->held > 0 || !(s->cut || closed)) {
            set->streams[left++] = s;
            continue;
        }
        record_order_forget(set->order);
        free_stream(s);
    }
    set->count = left;
    if (set->sendings)
        stream_set_drop_ended(set->sendings);
}
