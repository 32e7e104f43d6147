// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How long messages took whose both sides are in the run. Of a message that was received in the shown interval the
 * sending is looked for from a second, or an interval, before that on.
 */
#include "views/top/top_source_internal.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "run/read/record_messages.h"

#include <math.h>
#include <stdlib.h>

enum {
    PAIRS_MAX = 512,
    MEMORY = 48 << 20, /* some 130,000 messages on their way */
};

struct pair {
    uint32_t from, to;
    uint64_t count;
    double max, bound;
    struct quantile *quantile;
};

struct messages {
    struct record_messages *sent;
    size_t pair_count;
    struct pair pairs[PAIRS_MAX];
};

static int take_sent(const struct top_source_reading *r, const struct packet_record *record,
                     const struct levels_place *place)
{
    struct messages *m = r->context;
    (void)place;
    if (!record)
        return 0;
    struct record_item sent = catalogue_item(r->s->c.processes[r->process].process, r->number, record);
    record_messages_add(m->sent, &sent);
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
    *p = (struct pair){.from = from, .to = to, .max = NAN, .bound = NAN, .quantile = s->quantiles[m->pair_count++]};
    quantile_drop(p->quantile, 0);
    quantile_turn(p->quantile); /* twice: the answer is of the numbers that come now alone */
    quantile_turn(p->quantile);
    return p;
}

static int take_received(const struct top_source_reading *r, const struct packet_record *record,
                         const struct levels_place *place)
{
    struct messages *m = r->context;
    (void)place;
    if (!record)
        return 0;
    struct record_item received = catalogue_item(r->s->c.processes[r->process].process, r->number, record);
    const struct record_sent *sent = record_messages_pair(m->sent, &received);
    int64_t from = sent ? r->s->c.stream_processes[sent->stream] : -1;
    struct pair *pair = from >= 0 ? pair_of(r->s, m, (uint32_t)from, (uint32_t)r->process) : NULL;
    if (!pair)
        return 0;
    struct clock_reading is = record_message_took(sent, &received);
    double took = (double)is.ns;
    pair->count++;
    if (is.bound == INT64_MAX)
        return 0;
    pair->max = fmax(pair->max, took);
    pair->bound = fmax(pair->bound, (double)is.bound);
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
        item->values[4] = p->bound;
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
        m->sent = record_messages_new(MEMORY);
    if (m && m->sent)
        err = read_all(s, m, DICT_SENT, take_sent);
    if (!err)
        err = read_all(s, m, DICT_RECEIVED, take_received);
    if (!err) {
        add_pairs(s, m);
        s->left_out += record_messages_forgotten(m->sent);
    }
    if (m)
        record_messages_free(m->sent);
    free(m);
    return err;
}
