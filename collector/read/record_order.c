// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/read/record_order.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/*
 * Times in a stream do not decrease, so a heap of streams, ordered by the time of their next record, gives all records
 * of a node in order of its clock; a heap of these nodes gives all records in order of the run's time.
 */

struct order_node {
    uint8_t uuid[16];
    const struct model_node *model;
    struct clock_reading at; /* of its first stream's next record or loss */
    uint64_t last;           /* time of the latest one that was given, and the run's time of that */
    int64_t last_ns;
    bool left_out;
    int64_t first_ns; /* the latest run's time with which it was the first of all nodes */
    bool queued;
    size_t count, capacity;
    void **streams; /* heap of struct record_stream * */
};

struct record_order {
    struct record_source of;
    const volatile sig_atomic_t *stop;
    struct record_front front;
    int64_t hold, given_ns; /* run's time: from which on nothing is given; of the latest one that was */
    uint64_t cut;
    size_t node_count, node_capacity, queued_count;
    void **nodes;  /* all struct order_node * */
    void **queued; /* heap of those that have streams in it */
};

struct record_order *record_order_new(const struct record_source *of)
{
    struct record_order *o = calloc(1, sizeof *o);
    if (o) {
        o->of = *of;
        o->hold = INT64_MAX;
        o->given_ns = INT64_MIN;
    }
    return o;
}

void record_order_free(struct record_order *o)
{
    for (size_t i = 0; o && i < o->node_count; i++) {
        struct order_node *node = o->nodes[i];
        free(node->streams);
        free(node);
    }
    if (o) {
        free(o->nodes);
        free(o->queued);
    }
    free(o);
}

const struct record_source *record_order_source(const struct record_order *o)
{
    return &o->of;
}

void record_order_stop(struct record_order *o, const volatile sig_atomic_t *stop)
{
    o->stop = stop;
}

const volatile sig_atomic_t *record_order_stopped(const struct record_order *o)
{
    return o->stop;
}

void record_order_hold(struct record_order *o, int64_t ns)
{
    o->hold = ns;
}

void record_order_memory(struct record_order *o, size_t bytes)
{
    o->of.memory = bytes;
}

uint64_t record_order_cut(const struct record_order *o)
{
    return o->cut;
}

void record_order_forget(struct record_order *o)
{
    o->of.streams--;
}

/* ---- heaps ------------------------------------------------------------------------------------------------------- */

static bool stream_is_before(const void *a, const void *b)
{
    const struct record_stream *x = a, *y = b;
    return x->time != y->time ? x->time < y->time : x->number < y->number;
}

static bool node_is_before(const void *a, const void *b)
{
    const struct order_node *x = a, *y = b;
    return x->at.ns != y->at.ns ? x->at.ns < y->at.ns : x->model->row < y->model->row;
}

typedef bool is_before(const void *a, const void *b);

static void sift_down(void **heap, size_t count, size_t i, is_before *before)
{
    void *it = heap[i];
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && before(heap[child + 1], heap[child]))
            child++;
        if (!before(heap[child], it))
            break;
        heap[i] = heap[child];
    }
    heap[i] = it;
}

static void sift_up(void **heap, size_t i, is_before *before)
{
    void *it = heap[i];
    for (; i > 0 && before(it, heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = it;
}

/* Room for one more pointer in an array of `count`. */
static bool make_room(void ***array, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity ? 2 * *capacity : 8;
    void **list = realloc(*array, larger * sizeof *list);
    if (!list)
        return false;
    *array = list;
    *capacity = larger;
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static struct order_node *find_node(struct record_order *o, const struct model_node *model)
{
    for (size_t i = 0; i < o->node_count; i++) {
        struct order_node *node = o->nodes[i];
        if (node->model == model)
            return node;
    }
    size_t capacity = o->node_capacity;
    if (!make_room(&o->nodes, o->node_count, &capacity))
        return NULL;
    void **queued = realloc(o->queued, capacity * sizeof *queued);
    struct order_node *node = calloc(1, sizeof *node);
    o->queued = queued ? queued : o->queued;
    if (!queued || !node) {
        free(node);
        return NULL;
    }
    o->node_capacity = capacity;
    memcpy(node->uuid, model->uuid, sizeof node->uuid);
    node->model = model;
    node->last_ns = node->first_ns = INT64_MIN;
    o->nodes[o->node_count++] = node;
    return node;
}

void record_order_left_out(struct record_order *o, const struct model_node *model)
{
    struct order_node *node = find_node(o, model);
    if (node) /* without memory it is not marked, but given */
        node->left_out = true;
}

int record_order_set_model(struct record_order *o, const struct model *m)
{
    for (size_t i = 0; i < o->node_count; i++) {
        struct order_node *node = o->nodes[i];
        node->model = model_find_node(m, node->uuid);
        if (!node->model)
            return BEZEL_EMALFORMED;
    }
    return 0;
}

/*
 * The run's time of what comes next of the node. Before a record is read, that is its earliest time. If the clock
 * jumped back between this and its real one, the node was the first one by a later time than the record has by itself,
 * and others were given by then.
 */
static struct clock_reading run_time_of(const struct order_node *node, uint64_t time)
{
    const struct run_clock *clock = &node->model->run_clock;
    struct clock_reading at = run_clock_at(clock, time < INT64_MAX ? (int64_t)time : INT64_MAX);
    int64_t least = clock->jumped ? node->first_ns : node->last_ns;
    if (time >= node->last && at.ns < least)
        at.ns = least;
    return at;
}

/* Brings the node's place in the queue up to date: its first stream has changed. */
static void place_node(struct record_order *o, struct order_node *node)
{
    size_t i = 0;
    while (node->queued && o->queued[i] != node)
        i++;
    if (node->count > 0) {
        const struct record_stream *first = node->streams[0];
        node->at = run_time_of(node, first->time);
        if (!node->queued)
            o->queued[i = o->queued_count++] = node;
    } else if (node->queued) {
        o->queued[i] = o->queued[--o->queued_count];
    }
    node->queued = node->count > 0;
    if (i < o->queued_count) {
        sift_up(o->queued, i, node_is_before);
        sift_down(o->queued, o->queued_count, i, node_is_before);
    }
}

int record_order_add(struct record_order *o, struct record_stream *s)
{
    struct order_node *node = find_node(o, s->process->node);
    if (!node || !make_room(&node->streams, node->count, &node->capacity))
        return BEZEL_ENOMEM;
    o->of.streams += s->packets == 0;
    s->queued = true;
    node->streams[node->count++] = s;
    sift_up(node->streams, node->count - 1, stream_is_before);
    place_node(o, node);
    return 0;
}

/* ---- in order ---------------------------------------------------------------------------------------------------- */

static void take_out_first(struct order_node *node)
{
    struct record_stream *s = node->streams[0];
    s->queued = false;
    node->streams[0] = node->streams[--node->count];
}

/* Reads on in the first stream of the node. Returns 0 or an error. */
static int advance(struct record_order *o, struct order_node *node)
{
    struct record_stream *s = node->streams[0];
    int more = record_stream_advance(s, &o->of);
    s->given = false;
    if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION) {
        log_warn("BEZEL-READ-DAMAGED", "%s: %s near byte %llu: read up to there", s->path, err_text(more),
                 (unsigned long long)record_stream_at(s));
        s->cut = true;
        o->cut++;
        free(s->buffer);
        s->buffer = NULL;
        more = 0;
    }
    if (more < 0)
        return more;
    if (more == 0)
        take_out_first(node);
    if (node->count > 0)
        sift_down(node->streams, node->count, 0, stream_is_before);
    place_node(o, node);
    return 0;
}

static void give(struct record_order *o, struct order_node *node, struct record_stream *s, struct record_item *item)
{
    bool late = s->time < node->last || (node->left_out && node->at.ns < o->given_ns);
    *item = (struct record_item){.process = s->process,
                                 .packet = &s->packet,
                                 .lost = s->lost,
                                 .stream = s->number,
                                 .time = s->time,
                                 .at = node->at};
    s->given = true;
    if (!late) {
        node->last = s->time;
        node->last_ns = node->at.ns;
        o->given_ns = node->at.ns > o->given_ns ? node->at.ns : o->given_ns;
    }
    if (s->next == RECORD_LOSS)
        return;
    item->r = &s->record;
    item->aspect = &s->process->dict->aspects[s->record.aspect - 1];
    item->lost = 0;
    item->proof = record_front_add(&o->front, node, node->at);
    item->proof = late ? RECORD_LATE : item->proof;
}

int record_order_next(struct record_order *o, struct record_item *item)
{
    while (o->queued_count > 0 && !(o->stop && *o->stop)) {
        struct order_node *node = o->queued[0];
        struct record_stream *s = node->streams[0];
        node->first_ns = node->at.ns > node->first_ns ? node->at.ns : node->first_ns;
        if (s->next != RECORD_NOTHING && !s->given) {
            if (s->packet_end > s->settled || node->at.ns >= o->hold)
                return 0;
            give(o, node, s, item);
            return 1;
        }
        int err = advance(o, node);
        if (err)
            return err;
    }
    return 0;
}
