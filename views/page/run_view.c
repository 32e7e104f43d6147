// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/run_view_internal.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "run/rundb/rundb_live.h"

#include <stdlib.h>
#include <string.h>

enum { START_UPDATES = 8 }; /* the run's start is read again after so many updates */

static int read_start(const char *run, int64_t *started)
{
    char text[32] = "0";
    struct rundb *db;
    int err = rundb_open_read(run, &db);
    if (err)
        return err;
    err = rundb_get(db, "started", text, sizeof text);
    (void)!rundb_close(db);
    *started = saturate_ns(strtoll(text, NULL, 10));
    return err == BEZEL_ENOENT ? 0 : err;
}

int run_view_open(const char *run, struct run_view **v)
{
    struct run_view *it = calloc(1, sizeof *it);
    int err = !it                                                                  ? BEZEL_ENOMEM
              : snprintf(it->run, sizeof it->run, "%s", run) < (int)sizeof it->run ? 0
                                                                                   : BEZEL_EINVAL;
    if (!err)
        err = read_start(run, &it->started);
    if (!err)
        err = history_open(&it->history, run, HISTORY_OF_LIMITS | HISTORY_OF_METRICS, HISTORY_NEWEST);
    if (!err)
        err = levels_open(run, &it->levels);
    if (err) {
        run_view_close(it);
        return err;
    }
    *v = it;
    return 0;
}

void run_view_close(struct run_view *v)
{
    if (!v)
        return;
    levels_close(v->levels);
    history_close(&v->history);
    free(v->streams);
    free(v->chosen);
    free(v);
}

/* ---- streams of a process ---------------------------------------------------------------------------------------- */

static int by_process(const void *a, const void *b)
{
    const struct run_view_stream *x = a, *y = b;
    if (x->process != y->process)
        return (x->process > y->process) - (x->process < y->process);
    return (x->stream > y->stream) - (x->stream < y->stream);
}

/* Sorts streams by their processes. */
static int sort_streams(struct run_view *v)
{
    size_t n = levels_stream_count(v->levels);
    if (n == v->stream_count)
        return 0;
    struct run_view_stream *streams = realloc(v->streams, n * sizeof *streams);
    size_t *chosen = streams ? realloc(v->chosen, n * sizeof *chosen) : NULL;
    v->streams = streams ? streams : v->streams;
    v->chosen = chosen ? chosen : v->chosen;
    if (!streams || !chosen)
        return BEZEL_ENOMEM;
    for (size_t i = 0; i < n; i++)
        streams[i] = (struct run_view_stream){levels_stream(v->levels, i)->process->row, i};
    qsort(streams, n, sizeof *streams, by_process);
    v->stream_count = n;
    v->age++;
    return 0;
}

size_t run_view_choose(struct run_view *v, const struct page_row *row)
{
    size_t low = 0, high = v->stream_count, n = 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (v->streams[middle].process < row->process)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < v->stream_count && v->streams[low].process == row->process; low++)
        if (row->stream < 0 || (size_t)row->stream == v->streams[low].stream)
            v->chosen[n++] = v->streams[low].stream;
    return n;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

int64_t run_view_time(const struct run_view *v, const struct model_node *node, int64_t own)
{
    return saturate_ns(run_clock_at(&node->run_clock, saturate_ns(own)).ns) - v->started;
}

int64_t run_view_own(const struct run_view *v, const struct model_node *node, int64_t time)
{
    int64_t own = saturate_ns(saturate_sub(saturate_ns(time) + v->started, run_clock_line(&node->run_clock).offset));
    for (int i = 0; i < 2; i++) /* clocks run at the same speed but for parts in a million */
        own = saturate_ns(saturate_sub(own, run_view_time(v, node, own) - saturate_ns(time)));
    return own;
}

int64_t run_view_start(const struct run_view *v)
{
    return v->started;
}

const char *run_view_id(const struct run_view *v)
{
    return levels_model(v->levels, NULL)->run;
}

int64_t run_view_newest(const struct run_view *v)
{
    return v->newest;
}

/* Streams that are ahead count only where all are. */
static void find_newest(struct run_view *v)
{
    size_t n = levels_stream_count(v->levels);
    int64_t believed = 0, any = 0;
    v->ahead = 0;
    for (size_t i = 0; i < n; i++) {
        const struct levels_stream *s = levels_stream(v->levels, i);
        int64_t last = s->first <= s->last ? run_view_time(v, s->process->node, s->last) : 0;
        any = last > any ? last : any;
        believed = !s->ahead && last > believed ? last : believed;
        v->ahead += s->ahead;
    }
    v->newest = believed > 0 ? believed : any;
}

/* While a run goes on its start is known roughly; at its end it is that of its programs. */
static void renew_start(struct run_view *v)
{
    int64_t started;
    if (v->updates++ % START_UPDATES != 0 || read_start(v->run, &started) != 0 || started == v->started)
        return;
    v->started = started;
    v->age++;
}

/* ---- the course -------------------------------------------------------------------------------------------------- */

int run_view_update(struct run_view *v, int64_t budget_ns)
{
    uint64_t age;
    int more = levels_update(v->levels, budget_ns);
    if (more < 0)
        return more;
    (void)levels_model(v->levels, &age);
    v->age += age != v->model_age;
    v->model_age = age;
    int err = sort_streams(v);
    if (!err && more == 0)
        err = more = history_update(&v->history, budget_ns);
    renew_start(v);
    find_newest(v);
    return err < 0 ? err : more;
}

uint64_t run_view_age(const struct run_view *v)
{
    return v->age;
}

void run_view_totals(const struct run_view *v, uint64_t *records, uint64_t *memory)
{
    struct levels_totals totals = levels_totals(v->levels);
    *records = totals.records;
    *memory = totals.memory;
}
