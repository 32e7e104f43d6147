// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/run_view_messages.h"

#include <stdlib.h>
#include <string.h>

enum {
    SENDINGS_MOST = 20000, /* of a picture */
    MEMORY = 4 << 20,      /* of their table: 2 entries each */
};

/* A record of a sending. */
struct sending {
    const struct model_process *process;
    size_t stream;
    uint32_t aspect;
    uint64_t time;
    struct clock_reading at;
    uint8_t values[2 * sizeof(uint64_t)]; /* who it goes to, and its tag */
};

struct run_view_messages {
    struct record_messages *table;
    size_t count;
    struct sending list[SENDINGS_MOST];
};

/* A row whose sendings are read. */
struct reading {
    struct run_view_messages *m;
    const struct model_process *process;
    size_t stream, first; /* the number of its first sending */
    uint32_t most;
};

static int take(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct reading *of = context;
    (void)place;
    if (!r || r->value_count < 2)
        return 0;
    if (of->m->count == SENDINGS_MOST || of->m->count - of->first == of->most) {
        of->m->count = of->first; /* the picture has none of its records */
        return 1;
    }
    struct sending *s = &of->m->list[of->m->count++];
    *s = (struct sending){.process = of->process, .stream = of->stream, .aspect = r->aspect, .time = r->timestamp};
    s->at = run_clock_at(&of->process->node->run_clock, (int64_t)r->timestamp);
    memcpy(s->values, r->values, sizeof s->values);
    return 0;
}

/* The kind of a row's records, if there is one that has records beside its columns; DICT_EVENT: other rows. */
static enum dict_kind kind_of(struct run_view *v, const struct page_row *row)
{
    size_t n = row->records > 0 && row->aspect > 0 && row->key < 0 ? run_view_choose(v, row) : 0;
    const struct dict *d = n ? levels_stream(v->c.levels, v->chosen[0])->process->dict : NULL;
    return d && row->aspect <= d->aspect_count ? d->aspects[row->aspect - 1].kind : DICT_EVENT;
}

static void read_row(struct run_view_messages *m, struct run_view *v, const struct page_row *row, int64_t from,
                     int64_t until)
{
    size_t n = run_view_choose(v, row);
    struct reading of = {.m = m, .first = m->count, .most = row->records};
    int err = 0;
    for (size_t i = 0; i < n && err == 0; i++) {
        of.stream = v->chosen[i];
        of.process = levels_stream(v->c.levels, of.stream)->process;
        int64_t begin = run_view_own(v, of.process->node, from), end = run_view_own(v, of.process->node, until);
        err = levels_records(v->c.levels, of.stream, row->aspect, begin > 0 ? begin : 0, end, take, &of);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct sending *x = a, *y = b;
    return (x->at.ns > y->at.ns) - (x->at.ns < y->at.ns);
}

/* Of several sendings of one message the first one counts, so they are added in the order of time. */
static void add_all(struct run_view_messages *m)
{
    qsort(m->list, m->count, sizeof *m->list, by_time);
    for (size_t i = 0; i < m->count; i++) {
        const struct sending *s = &m->list[i];
        struct packet_record r = {.aspect = s->aspect, .timestamp = s->time, .value_count = 2, .values = s->values};
        record_messages_add(
            m->table,
            &(struct record_item){.process = s->process, .r = &r, .stream = s->stream, .time = s->time, .at = s->at});
    }
}

struct run_view_messages *run_view_messages_read(struct run_view *v, const struct page_request *q, int64_t from,
                                                 int64_t until)
{
    bool sends = false, receives = false;
    for (size_t i = 0; i < q->row_count; i++) {
        enum dict_kind kind = kind_of(v, &q->rows[i]);
        sends = sends || kind == DICT_SENT;
        receives = receives || kind == DICT_RECEIVED;
    }
    struct run_view_messages *m = sends && receives ? malloc(sizeof *m) : NULL;
    if (!m)
        return NULL;
    m->count = 0;
    m->table = record_messages_new(MEMORY);
    if (!m->table) {
        free(m);
        return NULL;
    }
    for (size_t i = 0; i < q->row_count; i++)
        if (kind_of(v, &q->rows[i]) == DICT_SENT)
            read_row(m, v, &q->rows[i], from, until);
    add_all(m);
    return m;
}

void run_view_messages_free(struct run_view_messages *m)
{
    if (m)
        record_messages_free(m->table);
    free(m);
}

const struct record_sent *run_view_messages_find(const struct run_view_messages *m, const struct model_process *process,
                                                 const struct packet_record *received)
{
    if (!m)
        return NULL;
    return record_messages_find(m->table, &(struct record_item){.process = process, .r = received});
}
