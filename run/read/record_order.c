// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_order.h"

#include "base/grow.h"
#include "base/log.h"
#include "base/saturate.h"
#include "run/model/message_keys.h"
#include "run/read/heap.h"
#include "run/read/record_messages.h"

#include <stdlib.h>
#include <string.h>

/*
 * Times in a stream do not decrease, so a heap of streams, ordered by the time of their next record, gives all records
 * of a node in order of its clock; a heap of these nodes gives all records in order of the run's time (MISO: each node
 * has its buffer, which is the store). What waits for a sending waits in its stream, and its node with it; or with SISO
 * in a heap of copies, for all nodes, as long as that has room.
 */

struct order_node {
    uint8_t uuid[16];
    const struct model_node *model;
    struct clock_stretch near;
    struct clock_reading at; /* of its first stream's next record or loss */
    int64_t key;             /* its place among the nodes: that time, or a later one */
    uint64_t last;           /* time of the latest one that was given, and the run's time of that */
    int64_t last_ns;
    int64_t first_ns; /* the latest run's time with which it was the first of all nodes */
    int64_t least;    /* the least key of what follows: that of a sending for which the node had to wait */
    uint64_t waits;   /* for the sending with that key; 0: for none */
    bool tachyon;     /* ... whose time is later than that of what waits */
    bool queued;
    size_t held;         /* copies of its records that wait in the heap */
    struct heap streams; /* of struct record_stream */
};

/* A record, or a loss, that waits outside of its stream. */
struct held {
    int64_t key;
    uint64_t number; /* of those that ever waited */
    struct order_node *node;
    struct record_stream *stream;
    struct record_item item; /* refers to what follows */
    struct packet_record record;
    struct packet_header packet;
    uint8_t values[8 * PACKET_FIELDS_MAX];
};

struct record_order {
    struct record_source of;
    size_t memory; /* of which the streams' buffers have of.memory */
    const volatile sig_atomic_t *stop;
    struct record_front front;
    int64_t hold, given; /* keys: from which on nothing is given; the greatest of what was */
    uint64_t cut;
    size_t node_count, node_capacity;
    struct order_node **nodes; /* all */
    struct heap queued;        /* those that have streams in it */
    int64_t widest;            /* of the bounds of all clocks */
    struct record_order *sendings;
    struct record_messages *messages;
    struct heap held;
    uint64_t held_ever;
    struct held *last; /* its record was given last */
};

void record_order_memory(struct record_order *o, size_t bytes)
{
    o->memory = bytes;
    o->of.memory = bytes / 8 * (o->of.buffers == ORDER_SISO ? 3 : 6);
}

struct record_order *record_order_new(const struct record_source *of)
{
    struct record_order *o = calloc(1, sizeof *o);
    if (o) {
        o->of = *of;
        record_order_memory(o, of->memory);
        o->hold = INT64_MAX;
        o->given = INT64_MIN;
    }
    return o;
}

void record_order_free(struct record_order *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->node_count; i++) {
        free(o->nodes[i]->streams.entries);
        free(o->nodes[i]);
    }
    for (size_t i = 0; i < o->held.count; i++)
        free(o->held.entries[i].item);
    free(o->held.entries);
    free(o->last);
    free(o->nodes);
    free(o->queued.entries);
    record_messages_free(o->messages);
    free(o);
}

const struct record_source *record_order_source(const struct record_order *o)
{
    return &o->of;
}

int record_order_messages(struct record_order *o, struct record_order *sendings)
{
    o->messages = record_messages_new(o->memory / 8);
    o->sendings = sendings;
    return o->messages ? 0 : BEZEL_ENOMEM;
}

void record_order_stop(struct record_order *o, const volatile sig_atomic_t *stop)
{
    o->stop = stop;
    if (o->sendings)
        o->sendings->stop = stop;
}

const volatile sig_atomic_t *record_order_stopped(const struct record_order *o)
{
    return o->stop;
}

void record_order_hold(struct record_order *o, int64_t ns)
{
    o->hold = ns;
}

uint64_t record_order_cut(const struct record_order *o)
{
    return o->cut;
}

void record_order_forget(struct record_order *o)
{
    o->of.streams--;
}

static bool stream_is_before(const void *a, const void *b)
{
    const struct record_stream *x = a, *y = b;
    return x->time != y->time ? x->time < y->time : x->number < y->number; /* times beyond any key are equal there */
}

static bool node_is_before(const void *a, const void *b)
{
    const struct order_node *x = a, *y = b;
    return x->model->row < y->model->row;
}

static bool held_is_before(const void *a, const void *b)
{
    const struct held *x = a, *y = b;
    return x->node == y->node ? x->number < y->number : node_is_before(x->node, y->node);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static struct order_node *find_node(struct record_order *o, const struct model_node *model)
{
    for (size_t i = 0; i < o->node_count; i++)
        if (o->nodes[i]->model == model)
            return o->nodes[i];
    if (!grow_list(&o->nodes, &o->node_capacity, o->node_count, sizeof(struct order_node *)))
        return NULL;
    struct order_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    memcpy(node->uuid, model->uuid, sizeof node->uuid);
    node->model = model;
    node->last_ns = node->first_ns = node->least = INT64_MIN;
    o->nodes[o->node_count++] = node;
    return node;
}

int record_order_set_model(struct record_order *o, const struct model *m)
{
    o->front = (struct record_front){0};
    for (size_t i = 0; i < o->node_count; i++) {
        struct order_node *node = o->nodes[i];
        node->model = model_find_node(m, node->uuid);
        node->near = (struct clock_stretch){0};
        if (!node->model)
            return BEZEL_EMALFORMED;
        if (node->last > 0) /* what it gave was made before this one, whose time is better known by now */
            (void)record_front_add(&o->front, node, run_clock_at(&node->model->run_clock, saturate_time(node->last)));
    }
    return 0;
}

/*
 * The run's time of what comes next of the node. Before a record is read, that is its earliest time. If the clock
 * jumped back between this and its real one, the node was the first one by a later time than the record has by itself,
 * and others were given by then.
 */
static struct clock_reading run_time_of(struct order_node *node, uint64_t time)
{
    const struct run_clock *clock = &node->model->run_clock;
    struct clock_reading at = run_clock_at_near(clock, &node->near, saturate_time(time));
    int64_t least = clock->jumped ? node->first_ns : node->last_ns;
    if (time >= node->last && at.ns < least) {
        at.bound = saturate_add(at.bound, saturate_sub(least, at.ns));
        at.ns = least;
    }
    return at;
}

/* Whether one more can wait outside of its stream. */
static bool has_room(const struct record_order *o)
{
    return o->of.buffers == ORDER_SISO && (o->held.count + 1) * sizeof(struct held) <= o->memory / 8 * 3;
}

/* Brings the node's place in the queue up to date: its first stream has changed, or it has to wait. */
static void place_node(struct record_order *o, struct order_node *node)
{
    size_t i = 0;
    while (node->queued && o->queued.entries[i].item != node)
        i++;
    if (node->queued && node->streams.count == 0) {
        node->queued = false;
        heap_take(&o->queued, i, node_is_before);
    }
    if (node->streams.count == 0)
        return;
    const struct record_stream *first = heap_first(&node->streams);
    node->at = run_time_of(node, first->time);
    /* With SISO what follows what waits goes there, too, at its time. */
    bool goes_on = node->held > 0 && has_room(o);
    node->key = goes_on || node->at.ns > node->least ? node->at.ns : node->least;
    o->widest = record_order_bound(node->at) > o->widest ? record_order_bound(node->at) : o->widest;
    if (!node->queued) {
        node->queued = true;
        heap_put(&o->queued, (struct heap_entry){node->key, node}, node_is_before); /* record_order_add() made room */
    } else {
        heap_set(&o->queued, i, (struct heap_entry){node->key, node}, node_is_before);
    }
}

static struct heap_entry entry_of(struct record_stream *s)
{
    return (struct heap_entry){saturate_time(s->time), s};
}

int record_order_add(struct record_order *o, struct record_stream *s)
{
    struct order_node *node = find_node(o, s->process->node);
    if (!node || !heap_reserve(&node->streams) || (!node->queued && !heap_reserve(&o->queued)))
        return BEZEL_ENOMEM;
    o->of.streams += s->file.at.chain.next_seq == 0;
    s->queued = true;
    heap_put(&node->streams, entry_of(s), stream_is_before);
    place_node(o, node);
    return 0;
}

/* ---- what is given ----------------------------------------------------------------------------------------------- */

/* Member by member: this is done for each record. */
static void fill_item(struct record_item *item, const struct record_stream *s, const struct order_node *node)
{
    bool is = s->next == RECORD_IS;
    item->process = s->process;
    item->packet = &s->file.at.last;
    item->r = is ? &s->record : NULL;
    item->aspect = is ? s->aspect : NULL;
    item->lost = is ? 0 : s->lost;
    item->missing = s->file.at.last.discarded - s->file.at.chain.reduced;
    item->stream = s->number;
    item->time = s->time;
    item->at = node->at;
    item->arrived = record_stream_arrived(s);
    item->logical = 0;
    item->proof = RECORD_UNORDERED;
    item->key_count = 0;
}

static bool is_held_up(const struct record_order *o, int64_t key)
{
    return key >= o->hold && o->hold < INT64_MAX; /* INT64_MAX: nothing is, times beyond it included */
}

/* Gives `item` of `node` its place behind what was given. `key`: where it stands, in the run's time, ns. */
static void give(struct record_order *o, struct order_node *node, int64_t key, struct record_item *item)
{
    bool late = item->time < node->last || key < o->given;
    bool is_tachyon = node->tachyon, is_contrary = false;
    node->tachyon = false;
    node->waits = 0;
    if (!late) {
        node->last = item->time;
        node->last_ns = item->at.ns;
        o->given = key;
    }
    if (!item->r)
        return;
    if (o->messages && item->aspect->kind == DICT_SENT)
        is_contrary = record_messages_sent(o->messages, item);
    item->proof = record_front_add(&o->front, node, item->at);
    item->proof = late                ? RECORD_LATE
                  : is_tachyon        ? RECORD_TACHYON
                  : is_contrary       ? RECORD_CONTRARY
                  : key > item->at.ns ? RECORD_MOVED
                                      : item->proof;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static struct order_node *node_of(const struct record_order *o, const struct record_sent *sent)
{
    for (size_t i = 0; i < o->node_count; i++)
        if (o->nodes[i]->model->row == sent->node)
            return o->nodes[i];
    return NULL;
}

/* Reads the sendings before `until`, ns of the run's time. Returns 0 or an error. */
static int look_ahead(struct record_order *o, int64_t until)
{
    struct record_item sent;
    int more;
    o->sendings->hold = until;
    while ((more = record_order_next(o->sendings, &sent)) > 0)
        if (sent.r)
            record_messages_add(o->messages, &sent);
    return more;
}

/* Whose sending the node waits for; NULL: it waits for none. */
static struct order_node *awaited_by(const struct record_order *o, const struct order_node *node)
{
    const struct record_sent *sent = node->waits ? record_messages_by_key(o->messages, node->waits) : NULL;
    return sent && !sent->given ? node_of(o, sent) : NULL;
}

/* Who has the sending that the node is to wait for before `at`; NULL: it is not to wait, or it would for ever. */
static struct order_node *sender_of(const struct record_order *o, const struct order_node *node,
                                    struct clock_reading at, const struct record_sent *sent)
{
    struct order_node *sender = sent->given ? NULL : node_of(o, sent);
    if (!sender || sender->last > sent->time || (!sender->queued && sender->held == 0))
        return NULL;
    if (sent->at.ns > saturate_add(at.ns, record_order_bound(at) + record_order_bound(sent->at)))
        return NULL;
    /* Nodes may wait in a ring that `node` is not in: an earlier sending of the same key makes them wait for another.
     */
    size_t waiting = 0;
    for (const struct order_node *n = sender; n; n = awaited_by(o, n))
        if (n == node || ++waiting > o->node_count)
            return NULL;
    return sender;
}

/* The key behind what comes next of the sender: that is the sending, or stands before it. */
static int64_t key_behind(const struct order_node *sender, const struct record_sent *sent)
{
    int64_t key = sent->at.ns > sender->least ? sent->at.ns : sender->least;
    if (sender->held == 0 && sender->key > key)
        key = sender->key;
    return saturate_add(key, 1);
}

/* Names a record of `s` by the model as it is now: whatever reads on may have taken a newer one, and freed the former.
 */
static void name_item(struct record_item *item, const struct record_stream *s)
{
    item->process = s->process;
    item->aspect = item->r ? &s->process->dict->aspects[item->r->aspect - 1] : NULL;
}

/*
 * Whether `item` of `s`, which comes next of the node at place `key`, waits for a sending that is there. Each wait
 * moves the item to a later place, so it ends; at the end of time there is none, and what stands there does not wait.
 * Returns 1, 0, or an error.
 */
static int must_wait(struct record_order *o, struct order_node *node, int64_t key, const struct record_stream *s,
                     struct record_item *item)
{
    if (!item->r || (item->aspect->kind != DICT_SENT && item->aspect->kind != DICT_RECEIVED))
        return 0;
    bool sends = item->aspect->kind == DICT_SENT;
    item->key_count = (uint32_t)message_keys(item->process, item->r, item->aspect->kind, item->keys);
    int err = look_ahead(o, saturate_add(item->at.ns, sends ? 1 : record_order_bound(item->at) + o->widest + 1));
    name_item(item, s);
    if (err || sends)
        return err;
    const struct record_sent *sent = record_messages_find(o->messages, item);
    const struct order_node *sender = sent ? sender_of(o, node, item->at, sent) : NULL;
    int64_t behind = sender ? key_behind(sender, sent) : INT64_MIN;
    if (behind > key) {
        node->waits = sent->key;
        node->tachyon = sent->at.ns > item->at.ns;
        node->least = behind;
        return 1;
    }
    node->tachyon = sent && sent->given && sent->at.ns > item->at.ns;
    if (!sent || !sent->given)
        record_messages_received(o->messages, item);
    return 0;
}

/* ---- what waits -------------------------------------------------------------------------------------------------- */

/* What comes next of the node waits: outside of its stream if there is room. Returns 0 or an error. */
static int hold_back(struct record_order *o, struct order_node *node)
{
    struct record_stream *s = heap_first(&node->streams);
    if (!has_room(o)) {
        place_node(o, node);
        return 0;
    }
    struct held *h = heap_reserve(&o->held) ? malloc(sizeof *h) : NULL;
    if (!h)
        return BEZEL_ENOMEM;
    *h = (struct held){.key = node->at.ns > node->least ? node->at.ns : node->least,
                       .number = o->held_ever++,
                       .node = node,
                       .stream = s,
                       .record = s->record,
                       .packet = s->file.at.last};
    fill_item(&h->item, s, node);
    h->item.packet = &h->packet;
    if (h->item.r) {
        memcpy(h->values, s->record.values, 8 * (size_t)s->record.value_count);
        h->record.values = h->values;
        h->item.r = &h->record;
    }
    heap_put(&o->held, (struct heap_entry){h->key, h}, held_is_before);
    s->given = true;
    s->held++;
    node->held++;
    return 0;
}

/* Whether the first of those that wait comes before the nodes, of which `node` is the first. */
static bool is_held_next(const struct record_order *o, const struct order_node *node)
{
    const struct held *first = heap_first(&o->held);
    if (!first || !node || first->key != node->key)
        return first && (!node || first->key < node->key);
    return first->node == node || node_is_before(first->node, node);
}

/* Gives the first of those that wait, if its sending is given. Returns 1; 0: it waits on; or an error. */
static int give_held(struct record_order *o, struct record_item *item)
{
    struct held *h = heap_first(&o->held);
    struct order_node *node = h->node;
    int wait = h->key < node->least;
    name_item(&h->item, h->stream);
    if (!wait)
        wait = must_wait(o, node, h->key, h->stream, &h->item);
    if (wait > 0) {
        h->key = node->least;
        heap_down(&o->held, 0, (struct heap_entry){h->key, h}, held_is_before);
        place_node(o, node);
    }
    if (wait)
        return wait > 0 ? 0 : wait;
    heap_take(&o->held, 0, held_is_before);
    h->stream->held--;
    node->held--;
    *item = h->item;
    give(o, node, h->key, item);
    place_node(o, node);
    free(o->last);
    o->last = h;
    return 1;
}

/* ---- in order ---------------------------------------------------------------------------------------------------- */

/* Where `s` is among those of the node: the first, but for streams that a newer model has added. */
static size_t place_of(const struct order_node *node, const struct record_stream *s)
{
    size_t i = 0;
    while (node->streams.entries[i].item != s)
        i++;
    return i;
}

/* Reads on in the first stream of the node. Returns 0 or an error. */
static int advance(struct record_order *o, struct order_node *node)
{
    struct record_stream *s = heap_first(&node->streams);
    int more = record_stream_advance(s, &o->of);
    s->given = false;
    if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION) {
        if (!o->of.sendings) /* whose stream is read by another order, too */
            log_warn("BEZEL-READ-DAMAGED", "%s: %s near byte %llu: read up to there", s->file.path, err_text(more),
                     (unsigned long long)record_stream_at(s));
        record_stream_cut(s);
        o->cut++;
        more = 0;
    }
    if (more < 0)
        return more;
    if (more == 0) {
        s->queued = false;
        heap_take(&node->streams, place_of(node, s), stream_is_before);
    } else {
        heap_set(&node->streams, place_of(node, s), entry_of(s), stream_is_before);
    }
    place_node(o, node);
    return 0;
}

static int give_first(struct record_order *o, struct order_node *node, struct record_item *item)
{
    struct record_stream *s = heap_first(&node->streams);
    s->given = true;
    give(o, node, node->key, item);
    return 1;
}

int record_order_next(struct record_order *o, struct record_item *item)
{
    int err = 0;
    while (!err && !(o->stop && *o->stop)) {
        struct order_node *node = heap_first(&o->queued);
        if (is_held_next(o, node)) {
            if (is_held_up(o, o->held.entries[0].key))
                return 0;
            int given = give_held(o, item);
            if (given)
                return given;
            continue;
        }
        if (!node)
            return 0;
        struct record_stream *s = heap_first(&node->streams);
        node->first_ns = node->at.ns > node->first_ns ? node->at.ns : node->first_ns;
        if (s->next == RECORD_NOTHING || s->given) {
            err = advance(o, node);
            continue;
        }
        if (s->file.at.bytes > s->settled || is_held_up(o, node->key))
            return 0;
        int wait = node->held > 0;
        fill_item(item, s, node);
        if (!wait && o->messages)
            wait = must_wait(o, node, node->key, s, item);
        if (!wait)
            return give_first(o, node, item);
        err = wait < 0 ? wait : hold_back(o, node);
    }
    return err;
}
