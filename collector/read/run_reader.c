// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/read/run_reader_internal.h"

#include "base/file.h"
#include "collector/rundb/rundb_live.h"
#include "collector/store/trace_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Exchanges of times, where a clock is another one, are read again after so many looks; the more processes there are,
 * which are read too, the later.
 */
enum { CLOCK_LOOKS = 8, CLOCK_LOOK_PROCESSES = 128 };

struct model *run_reader_load(const char *run, bool streams, int *err)
{
    struct rundb *f;
    struct model *m = model_new("");
    *err = m ? rundb_open_read(run, &f) : BEZEL_ENOMEM;
    if (!*err) {
        *err = rundb_get(f, "run", m->run, sizeof m->run);
        if (!*err || *err == BEZEL_ENOENT)
            *err = rundb_load(f, m);
        if (!*err && streams)
            *err = rundb_load_streams(f, m);
        (void)!rundb_close(f);
    }
    if (!*err) {
        m->clocks_last = true; /* as far as there are */
        return m;
    }
    model_free(m);
    return NULL;
}

bool run_reader_goes_on(const char *run)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%.*s/experiment.yaml", PATH_MAX, run);
    return file_is_locked(path) || trace_reader_is_served(run);
}

int run_reader_open(const char *run, const struct record_filter *filter, struct run_reader **r)
{
    int err;
    struct run_reader *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    it->filter = *filter;
    struct record_source of = {
        .filter = &it->filter, .memory = RUN_READER_BUFFERS, .renew = run_reader_renew, .context = it};
    it->order = record_order_new(&of);
    if (snprintf(it->run, sizeof it->run, "%s", run) >= (int)sizeof it->run)
        err = (errno = ENAMETOOLONG, BEZEL_EINVAL);
    else if (!it->order)
        err = BEZEL_ENOMEM;
    else
        it->model = run_reader_load(run, false, &err);
    if (err) {
        int sys = errno;
        run_reader_close(it);
        errno = sys;
        return err;
    }
    *r = it;
    return 0;
}

void run_reader_close(struct run_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        record_stream_fini(r->streams[i]);
        free(r->streams[i]);
    }
    free(r->streams);
    free(r->folders);
    free(r->known.slots);
    record_order_free(r->order);
    model_free(r->model);
    free(r);
}

void run_reader_stop(struct run_reader *r, const volatile sig_atomic_t *stop)
{
    record_order_stop(r->order, stop);
}

const struct model *run_reader_model(const struct run_reader *r, uint64_t *age)
{
    if (age)
        *age = r->age;
    return r->model;
}

/* Gives all that refers to the model its place in `m`. False: that lacks something. */
static bool move_to(struct run_reader *r, const struct model *m)
{
    if (record_order_set_model(r->order, m) != 0)
        return false;
    for (size_t i = 0; i < r->count; i++) {
        struct record_stream *s = r->streams[i];
        const struct model_node *node = model_find_node(m, s->process->node->uuid);
        const struct model_process *p = node ? model_find_process(node, s->process->instance) : NULL;
        if (!p)
            return false;
        record_stream_set_process(s, record_order_source(r->order), p);
    }
    return true;
}

int run_reader_renew(void *reader)
{
    struct run_reader *r = reader;
    int err;
    if (r->renewals == RUN_READER_RENEWALS)
        return 0;
    struct model *before = r->model, *m = run_reader_load(r->run, false, &err);
    if (!m)
        return err;
    r->renewals++;
    r->renewed_at = r->looks;
    if (!move_to(r, m)) { /* a database only grows: this is another one, and nothing of the old one would be right */
        bool restored = move_to(r, before);
        model_free(m);
        return restored ? BEZEL_EMALFORMED : BEZEL_ENOENT;
    }
    model_free(before);
    r->model = m;
    r->age++;
    return 0;
}

/* Whether the exchanges of times are to be read again. */
static bool is_clock_due(const struct run_reader *r)
{
    uint64_t processes = 0;
    bool others = false;
    for (const struct model_node *node = r->model->nodes; node; node = node->next) {
        others = others || node->run_clock.kind != RUN_CLOCK_SAME;
        for (const struct model_process *p = node->processes; p; p = p->next)
            processes++;
    }
    return others && r->looks - r->renewed_at >= CLOCK_LOOKS + processes / CLOCK_LOOK_PROCESSES;
}

/* Frees streams that have nothing more to give. */
static void drop_ended(struct run_reader *r)
{
    size_t left = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct record_stream *s = r->streams[i];
        bool closed = s->packets > 0 && s->packet.kind == PACKET_CLOSE && !record_stream_has_more(s);
        if (s->queued || !(s->cut || closed)) {
            r->streams[left++] = s;
            continue;
        }
        record_order_forget(r->order);
        record_stream_fini(s);
        free(s);
    }
    r->count = left;
}

int run_reader_look(struct run_reader *r, enum run_reader_look how)
{
    r->renewals = 0;
    if (r->looks > 0)
        drop_ended(r);
    for (size_t i = 0; i < r->count; i++)
        r->streams[i]->settled = r->streams[i]->bytes;
    r->looks++;
    int err = is_clock_due(r) ? run_reader_renew(r) : 0;
    if (!err)
        err = run_reader_find(r);
    for (size_t i = 0; i < r->count && how == RUN_READER_ALL; i++)
        r->streams[i]->settled = r->streams[i]->bytes;
    return err;
}

int run_reader_next(struct run_reader *r, struct record_item *item)
{
    int more;
    while ((more = record_order_next(r->order, item)) > 0) {
        if (r->skip > 0) {
            r->skip -= item->r != NULL;
            continue;
        }
        r->totals.records += item->r != NULL;
        r->totals.late += item->proof == RECORD_LATE;
        r->totals.lost += item->lost;
        return 1;
    }
    return more;
}

struct run_reader_totals run_reader_totals(const struct run_reader *r)
{
    struct run_reader_totals totals = r->totals;
    totals.cut += record_order_cut(r->order);
    for (size_t i = 0; i < r->count; i++)
        if (!r->streams[i]->queued && !r->streams[i]->cut)
            totals.rest += r->streams[i]->bytes - record_stream_at(r->streams[i]);
    return totals;
}
