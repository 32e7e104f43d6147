// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How threads spent the shown interval: running, ready or waiting, of what sampler `switches` recorded, and who had the
 * CPU meanwhile. A record tells of the time before it, so those behind the interval are read, too, as far as they are
 * stored.
 */
#include "views/top/top_source_internal.h"

#include "analysis/activity.h"
#include "base/clock.h"
#include "base/saturate.h"
#include "views/picture/strip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS_MAX = 4096,
    SCAN_MOST = 1 << 20, /* records of a plot */
    RIVALS_MOST = 8,     /* that are told apart of a thread: the first ones */
};

#define BEYOND (2 * CLOCK_S)

/* A thread by its process's name, on the node of the daemon that recorded it. */
struct thread {
    size_t process; /* of the catalogue */
    uint32_t id;
    struct strip strip;
    struct top_rival rivals[RIVALS_MOST];
};

struct threads {
    const struct top_source *s;
    int64_t from, until;
    size_t parts;
    const struct thread *wanted; /* NULL: all, which become rows */
    uint64_t scanned, left_out;
    int (*take)(const struct threads *t, struct thread *of, const struct record_item *item); /* what is read now */
    size_t count;
    struct thread *list;
    struct hash_index index; /* by process and id */
};

static bool has_thread(const struct top_source *s, const struct catalogue_process *p, uint32_t id)
{
    for (size_t i = 0; i < p->count; i++)
        if (levels_stream(s->c.levels, s->c.streams[p->first + i])->thread == id)
            return true;
    return false;
}

/* The process of thread `id` of one called `name`: that which has a ring of it, or the latest; -1: there is none. */
static int64_t process_of(const struct top_source *s, uint32_t node, const char *name, uint32_t id)
{
    int64_t found = -1;
    for (size_t i = 0; i < s->c.process_count; i++) {
        const struct catalogue_process *p = &s->c.processes[i];
        if (p->node != node || p->process->role != ROLE_SUT || strcmp(p->process->name, name) != 0)
            continue;
        found = (int64_t)i;
        if (has_thread(s, p, id))
            return found;
    }
    return found;
}

/* The thread of a record; NULL: it is of another one than is wanted, or there are too many. */
static struct thread *thread_of(struct threads *t, const struct top_source_reading *r, const struct packet_record *it)
{
    const struct dict *d = t->s->c.processes[r->process].process->dict;
    uint64_t name = packet_value(it, ACTIVITY_OF_PROCESS);
    uint32_t id = (uint32_t)packet_value(it, ACTIVITY_OF_THREAD);
    if (name == 0 || name > d->string_count)
        return NULL;
    if (t->wanted)
        return t->wanted->id == id &&
                       strcmp(t->s->c.processes[t->wanted->process].process->name, d->strings[name - 1]) == 0
                   ? t->list
                   : NULL;
    uint64_t key = (uint64_t)r->process << 32 | name;
    int known = hash_index_find(&t->index, key, id);
    if (known >= 0)
        return &t->list[known];
    int64_t process = process_of(t->s, t->s->c.processes[r->process].node, d->strings[name - 1], id);
    if (process < 0 || t->count == THREADS_MAX ||
        strip_init(&t->list[t->count].strip, t->from, t->until, t->parts) != 0) {
        t->left_out += process >= 0;
        return NULL;
    }
    t->list[t->count].process = (size_t)process;
    t->list[t->count].id = id;
    hash_index_put(&t->index, key, id, (uint32_t)t->count);
    return &t->list[t->count++];
}

static int take_record(const struct top_source_reading *r, const struct packet_record *record,
                       const struct levels_place *place)
{
    struct threads *t = r->context;
    struct thread *of;
    (void)place;
    if (!record || (t->wanted && ++t->scanned > SCAN_MOST) || !(of = thread_of(t, r, record)))
        return t->scanned > SCAN_MOST;
    struct record_item item = catalogue_item(r->s->c.processes[r->process].process, r->number, record);
    return t->take(t, of, &item);
}

static int take_interval(const struct threads *t, struct thread *of, const struct record_item *item)
{
    struct activity_interval i = activity_interval_of(item);
    strip_add(&of->strip, i);
    return t->wanted && i.begin >= t->until;
}

static int take_wait(const struct threads *t, struct thread *of, const struct record_item *item)
{
    struct activity_window time = activity_time_of(item);
    (void)t;
    strip_add_wait(&of->strip, time.from, time.until);
    return 0;
}

static struct top_rival *rival_of(struct thread *t, const struct activity_ready *r)
{
    for (struct top_rival *known = t->rivals; known < t->rivals + RIVALS_MOST; known++)
        if (!known->name || (known->pid == r->pid && strcmp(known->name, r->rival) == 0))
            return known;
    return NULL;
}

static int take_ready(const struct threads *t, struct thread *of, const struct record_item *item)
{
    struct activity_ready is = activity_ready_of(item);
    int64_t from = is.begin > t->from ? is.begin : t->from, until = is.end < t->until ? is.end : t->until;
    struct top_rival *rival = from < until ? rival_of(of, &is) : NULL;
    if (!rival)
        return 0;
    double share = (double)(until - from) / (double)(is.end - is.begin);
    *rival = (struct top_rival){is.rival, is.pid, rival->had + (int64_t)(share * (double)is.had)};
    return 0;
}

static struct top_rival longest(const struct thread *t)
{
    struct top_rival most = {0};
    for (int i = 0; i < RIVALS_MOST && t->rivals[i].name; i++)
        most = t->rivals[i].had > most.had ? t->rivals[i] : most;
    return most;
}

void top_source_make_rival(const struct top_rival *r, int64_t span, char *text, size_t size)
{
    char pid[24] = "";
    if (!r->name)
        return;
    if (r->pid > 0)
        snprintf(pid, sizeof pid, "[%" PRId64 "]", r->pid);
    snprintf(text, size, "%s%s %.2g %%", r->name, pid, 100 * (double)r->had / (double)span);
}

/* Reads what daemons of `node` (TOP_ANY: of all) recorded in the aspect that `is` such a one. */
static int read_switches(struct top_source *s, struct threads *t, uint32_t node,
                         bool (*is)(const struct dict_aspect *aspect),
                         int (*take)(const struct threads *t, struct thread *of, const struct record_item *item))
{
    int err = 0;
    t->scanned = 0;
    t->take = take;
    for (size_t i = 0; i < s->c.stream_count && !err; i++) {
        const struct catalogue_process *p =
            s->c.stream_processes[i] < 0 ? NULL : &s->c.processes[s->c.stream_processes[i]];
        uint32_t aspect = p && (node == TOP_ANY || node == p->node) ? catalogue_aspect(p->process, is) : 0;
        if (aspect)
            err = top_source_read(s, i, aspect, catalogue_own(s->c.nodes[p->node], t->from),
                                  saturate_add(catalogue_own(s->c.nodes[p->node], t->until), BEYOND), take_record, t);
    }
    return err;
}

static int read_intervals(struct top_source *s, struct threads *t, uint32_t node)
{
    int err = read_switches(s, t, node, activity_is_interval, take_interval);
    if (!err)
        err = read_switches(s, t, node, activity_is_wait, take_wait);
    return err ? err : read_switches(s, t, node, activity_is_ready, take_ready);
}

static void add_row(struct top_source *s, const struct thread *t)
{
    const struct catalogue_process *p = &s->c.processes[t->process];
    struct top_item *item = t->strip.count ? top_source_add(s) : NULL;
    if (!item)
        return;
    item->id = (struct top_id){p->node, p->process->instance, 0, t->id, -1};
    item->scope.node = p->node;
    item->scope.instance = p->process->instance;
    item->into = TOP_ASPECTS;
    item->texts[0] = p->process->name;
    item->texts[1] = thread_names_at(&p->process->thread_names, t->id, catalogue_own(s->c.nodes[p->node], s->time));
    item->texts[2] = s->c.nodes[p->node]->name;
    item->values[STRIP_STATES] = t->id;
    item->index = s->rival_count;
    s->rivals[s->rival_count++] = longest(t);
    for (int state = 0; state < STRIP_STATES; state++) {
        int64_t ns = 0;
        for (size_t i = 0; i < t->strip.count; i++)
            ns += t->strip.pieces[i].ns[state];
        item->values[state] = 100 * (double)ns / (double)s->interval;
    }
}

int top_source_threads(struct top_source *s, const struct top_state *state, struct top_id scope)
{
    struct threads t = {.s = s, .from = saturate_add(s->time, -s->interval), .until = s->time, .parts = 1};
    t.list = calloc(THREADS_MAX, sizeof *t.list);
    t.index = (struct hash_index){calloc(2 * THREADS_MAX, sizeof *t.index.slots), 2 * THREADS_MAX - 1};
    int err = t.list && t.index.slots ? read_intervals(s, &t, scope.node) : BEZEL_ENOMEM;
    free(s->rivals);
    s->rivals = calloc(t.count + 1, sizeof *s->rivals);
    err = s->rivals ? err : BEZEL_ENOMEM;
    for (size_t i = 0; i < t.count; i++) {
        if (!err && top_source_shows(s, state, scope, t.list[i].process))
            add_row(s, &t.list[i]);
        strip_fini(&t.list[i].strip);
    }
    s->left_out += t.left_out;
    free(t.index.slots);
    free(t.list);
    return err;
}

int top_source_strip(struct top_source *s, size_t process, uint32_t id, int64_t from, int64_t until, size_t parts,
                     struct strip *strip, struct top_rival *rival)
{
    struct thread wanted = {.process = process, .id = id};
    struct threads t = {.s = s, .from = from, .until = until, .parts = parts, .wanted = &wanted, .list = &wanted};
    int err = strip_init(&wanted.strip, from, until, parts);
    if (!err)
        err = read_intervals(s, &t, s->c.processes[process].node);
    *strip = wanted.strip;
    *rival = longest(&wanted);
    return err;
}
