// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/run_view_messages.h"

enum { MEMORY = 4 << 20 /* some 20,000 sendings of a picture */ };

/* A row whose sendings are read. They are counted first: a row with too many sendings has none in the picture. */
struct reading {
    struct record_messages *m; /* NULL: they are counted */
    const struct model_process *process;
    size_t stream;
    uint32_t count, most;
};

static int take(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct reading *of = context;
    (void)place;
    if (!r || r->value_count < 2)
        return 0;
    struct record_item sent = catalogue_item(of->process, of->stream, r);
    if (of->m)
        record_messages_add(of->m, &sent);
    return ++of->count > of->most;
}

/* The kind of a row's records, if there is one that has records beside its columns; DICT_EVENT: other rows. */
static enum dict_kind kind_of(struct run_view *v, const struct page_row *row)
{
    size_t n = row->records > 0 && row->aspect > 0 && row->key < 0 ? run_view_choose(v, row) : 0;
    const struct dict *d = n ? levels_stream(v->c.levels, v->chosen[0])->process->dict : NULL;
    return d && row->aspect <= d->aspect_count ? d->aspects[row->aspect - 1].kind : DICT_EVENT;
}

/* Returns 0; 1: the row has more sendings than it may have; or an error. */
static int read_row(struct record_messages *m, struct run_view *v, const struct page_row *row, int64_t from,
                    int64_t until)
{
    size_t n = run_view_choose(v, row);
    struct reading of = {.m = m, .most = row->records};
    int err = 0;
    for (size_t i = 0; i < n && err == 0; i++) {
        of.stream = v->chosen[i];
        of.process = levels_stream(v->c.levels, of.stream)->process;
        int64_t begin = run_view_own(v, of.process->node, from), end = run_view_own(v, of.process->node, until);
        err = levels_records(v->c.levels, of.stream, row->aspect, begin > 0 ? begin : 0, end, take, &of);
    }
    return err;
}

struct record_messages *run_view_messages(struct run_view *v, const struct page_request *q, int64_t from, int64_t until)
{
    bool sends = false, receives = false;
    for (size_t i = 0; i < q->row_count; i++) {
        enum dict_kind kind = kind_of(v, &q->rows[i]);
        sends = sends || kind == DICT_SENT;
        receives = receives || kind == DICT_RECEIVED;
    }
    struct record_messages *m = sends && receives ? record_messages_new(MEMORY) : NULL;
    for (size_t i = 0; m && i < q->row_count; i++)
        if (kind_of(v, &q->rows[i]) == DICT_SENT && read_row(NULL, v, &q->rows[i], from, until) == 0)
            (void)read_row(m, v, &q->rows[i], from, until); /* its blocks are in memory by now */
    return m;
}
