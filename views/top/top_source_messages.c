// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How long messages took whose both sides are in the run. Of a message that was received in the shown interval the
 * sending is looked for from a second, or an interval, before that on. <bezel/kinds.h> says which two records belong to
 * one message: each names the other process, or both name a channel, with the same tag.
 */
#include "views/top/top_source_internal.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "run/read/record_messages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = 512 };

struct sent {
    uint64_t key; /* 0: free */
    uint32_t process;
    int64_t at, bound;
};

struct pair {
    uint32_t from, to;
    uint64_t count;
    double max, bound;
    struct quantile *quantile;
};

struct messages {
    struct sent *sent; /* a hash table of 2 * TOP_SENT_MAX */
    size_t sent_count, pair_count;
    struct pair pairs[PAIRS_MAX];
};

static struct sent *find(const struct messages *m, uint64_t key)
{
    size_t mask = 2 * (size_t)TOP_SENT_MAX - 1, at = (size_t)(key >> 20) & mask;
    while (m->sent[at].key && m->sent[at].key != key)
        at = (at + 1) & mask;
    return &m->sent[at];
}

/* The first record of a message counts. */
static void add_sent(struct top_source *s, struct messages *m, uint64_t key, size_t process, struct clock_reading at)
{
    struct sent *it = find(m, key);
    if (it->key && it->at <= at.ns)
        return;
    if (!it->key && m->sent_count == TOP_SENT_MAX) {
        s->left_out++;
        return;
    }
    m->sent_count += it->key == 0;
    *it = (struct sent){key, (uint32_t)process, at.ns, at.bound};
}

static int take_sent(const struct top_source_reading *r, const struct packet_record *record,
                     const struct levels_place *place)
{
    const struct catalogue_process *p = &r->s->c.processes[r->process];
    const char *peer = record_message_peer(p->process->dict, record, DICT_SENT);
    (void)place;
    if (!peer)
        return 0;
    struct clock_reading at = catalogue_time(r->s->c.nodes[p->node], (int64_t)record->timestamp);
    uint64_t tag = packet_value(record, 1);
    add_sent(r->s, r->context, record_message_key(p->process->name, peer, tag), r->process, at);
    add_sent(r->s, r->context, record_message_key("", peer, tag), r->process, at); /* if it is a channel */
    return 0;
}

static struct pair *pair_of(struct top_source *s, struct messages *m, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < m->pair_count; i++)
        if (m->pairs[i].from == from && m->pairs[i].to == to)
            return &m->pairs[i];
    if (m->pair_count == PAIRS_MAX ||
        (m->pair_count == s->quantiles_made && quantile_new(&s->quantiles[s->quantiles_made]) != 0)) {
        s->left_out++;
        return NULL;
    }
    s->quantiles_made += m->pair_count == s->quantiles_made;
    struct pair *p = &m->pairs[m->pair_count];
    *p = (struct pair){.from = from, .to = to, .max = -INFINITY, .quantile = s->quantiles[m->pair_count++]};
    quantile_drop(p->quantile, 0);
    quantile_turn(p->quantile); /* twice: the answer is of the numbers that come now alone */
    quantile_turn(p->quantile);
    return p;
}

static int take_received(const struct top_source_reading *r, const struct packet_record *record,
                         const struct levels_place *place)
{
    const struct catalogue_process *p = &r->s->c.processes[r->process];
    struct messages *m = r->context;
    const char *peer = record_message_peer(p->process->dict, record, DICT_RECEIVED);
    (void)place;
    if (!peer)
        return 0;
    uint64_t tag = packet_value(record, 1);
    const struct sent *from = find(m, record_message_key(peer, p->process->name, tag));
    from = from->key ? from : find(m, record_message_key("", peer, tag));
    struct pair *pair = from->key ? pair_of(r->s, m, from->process, (uint32_t)r->process) : NULL;
    if (!pair)
        return 0;
    struct clock_reading at = catalogue_time(r->s->c.nodes[p->node], (int64_t)record->timestamp);
    bool same = p->node == r->s->c.processes[from->process].node;
    double took = (double)(at.ns - from->at);
    double bound = same                                                ? 0
                   : at.bound == INT64_MAX || from->bound == INT64_MAX ? INFINITY
                                                                       : (double)at.bound + (double)from->bound;
    pair->count++;
    pair->max = fmax(pair->max, took);
    pair->bound = fmax(pair->bound, bound);
    (void)!quantile_add(pair->quantile, 0, &took, 1);
    return 0;
}

static void add_pairs(struct top_source *s, const struct messages *m)
{
    for (size_t i = 0; i < m->pair_count; i++) {
        const struct pair *p = &m->pairs[i];
        const struct catalogue_process *from = &s->c.processes[p->from], *to = &s->c.processes[p->to];
        struct top_item *item = top_source_add(s);
        if (!item)
            return;
        item->id = (struct top_id){from->node, from->process->instance, to->node, p->to, -1};
        item->texts[0] = from->process->name;
        item->texts[1] = to->process->name;
        item->values[0] = (double)p->count;
        (void)!quantile_value(p->quantile, 0.5, &item->values[1]);
        (void)!quantile_value(p->quantile, 0.99, &item->values[2]);
        item->values[3] = p->max;
        item->values[4] = isfinite(p->bound) ? p->bound : (double)NAN;
        item->into = TOP_ASPECTS;
        item->scope.node = to->node;
        item->scope.instance = to->process->instance;
    }
}

static bool has_kind(const struct top_source *s, size_t stream, enum dict_kind kind)
{
    int64_t i = s->c.stream_processes[stream];
    const struct dict *d = i < 0 ? NULL : s->c.processes[i].process->dict;
    for (uint32_t a = 0; d && a < d->aspect_count; a++)
        if (d->aspects[a].kind == kind)
            return true;
    return false;
}

static int read_all(struct top_source *s, struct messages *m, enum dict_kind kind, top_source_take_record *take)
{
    int64_t back = kind != DICT_SENT ? 0 : s->interval > CLOCK_S ? s->interval : CLOCK_S, from, until;
    int err = 0;
    for (size_t i = 0; i < s->c.stream_count && !err; i++)
        if (has_kind(s, i, kind)) {
            top_source_window(s, s->c.processes[s->c.stream_processes[i]].node, &from, &until);
            err = top_source_read(s, i, 0, saturate_add(from, -back), until, take, m);
        }
    return err;
}

int top_source_messages(struct top_source *s, const struct top_state *state)
{
    (void)state;
    struct messages *m = calloc(1, sizeof *m);
    int err = BEZEL_ENOMEM;
    if (m)
        m->sent = calloc(2 * (size_t)TOP_SENT_MAX, sizeof *m->sent);
    if (m && m->sent)
        err = read_all(s, m, DICT_SENT, take_sent);
    if (!err)
        err = read_all(s, m, DICT_RECEIVED, take_received);
    if (!err)
        add_pairs(s, m);
    if (m)
        free(m->sent);
    free(m);
    return err;
}
