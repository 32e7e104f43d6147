// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The collector as a reducer (sensing.keep): what is stored of a packet whose records metrics of several nodes have,
 * and how many records ended so. A stream from which records were taken counts them in events_discarded from then on,
 * so each later packet of it is stored with that sum.
 */
#include "collector/evaluate/evaluate_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a node whose clock is not related to the run's yet no time between nodes is known: its records are kept. */
static bool is_timed(const struct model_node *node, const struct packet_header *h)
{
    return run_clock_at(&node->run_clock, (int64_t)h->timestamp_end).bound < INT64_MAX;
}

/* Copies the run to `to`, unless its records end here. Returns where the next one goes. */
static uint8_t *keep_run(const struct evaluate_watch *w, const struct packet_run *run, uint8_t *to,
                         struct evaluate_thinned *t)
{
    size_t bytes = (size_t)run->count * run->stride;
    if (w && bitset_has(&w->reduces, run->aspect)) {
        t->reduced += run->count;
        return to;
    }
    memcpy(to, run->first, bytes);
    return to + bytes;
}

static void thin(const struct evaluate_watch *w, const struct model_process *p, const struct packet_header *h,
                 const uint8_t *packet, const struct packet_run *all, struct evaluate_thinned *t)
{
    uint8_t *to = t->bytes + PACKET_HEADER_BYTES;
    struct packet_run run = *all;
    size_t offset = PACKET_HEADER_BYTES;
    if (run.count)
        to = keep_run(w, &run, to, t);
    else
        while (packet_next_run(packet, h, p->dict->field_counts, p->dict->aspect_count, &offset, &run) > 0)
            to = keep_run(w, &run, to, t);
    t->header = *h;
    t->header.size_bytes = (size_t)(to - t->bytes);
    t->header.records -= t->reduced;
    t->header.kind = t->reduced > 0 ? PACKET_THINNED : h->kind;
}

int evaluate_thin(struct evaluate *e, const struct model_stream *s, const struct packet_header *h,
                  const uint8_t *packet, const struct packet_run *all, struct evaluate_thinned *t)
{
    struct model_process *p = s->process;
    const struct evaluate_watch *w = e && h->kind == PACKET_DATA ? evaluate_watch_of(e, p) : NULL;
    *t = (struct evaluate_thinned){.bytes = NULL};
    if (w && !(w->reduces_any && is_timed(p->node, h)))
        w = NULL;
    if (!w && s->thinned == 0)
        return 0;
    if (!(t->bytes = malloc(h->size_bytes)))
        return BEZEL_ENOMEM;
    thin(w, p, h, packet, all, t);
    t->header.discarded += s->thinned + t->reduced;
    packet_put_header(t->bytes, &t->header);
    if (s->thinned == 0 && t->reduced == 0) {
        free(t->bytes);
        t->bytes = NULL;
    }
    return 0;
}

/* ---- Counts ------------------------------------------------------------------------------------------------------ */

static void name_count(char key[EVALUATE_KEY_MAX], const struct model_process *p, uint32_t aspect)
{
    snprintf(key, EVALUATE_KEY_MAX, RUNDB_REDUCED "%" PRId64 ".%" PRIu32, p->row, aspect);
}

/* The counts of a process, from where an earlier life of the collector left them. NULL: no memory. */
static uint64_t *counts_of(struct evaluate *e, struct model_process *p)
{
    char key[EVALUATE_KEY_MAX], text[24];
    if (p->thinned)
        return p->thinned;
    p->thinned = calloc(DICT_ASPECTS_MAX + 1, sizeof *p->thinned);
    for (uint32_t id = 1; p->thinned && e->rundb && id <= p->dict->aspect_count; id++) {
        name_count(key, p, id);
        if (rundb_get(e->rundb, key, text, sizeof text) == 0)
            p->thinned[id] = strtoull(text, NULL, 10);
    }
    return p->thinned;
}

/* Without memory they count as lost. */
static void count_run(struct evaluate *e, const struct evaluate_watch *w, struct model_process *p,
                      const struct packet_run *run)
{
    uint64_t *counts = bitset_has(&w->reduces, run->aspect) ? counts_of(e, p) : NULL;
    if (!counts)
        return;
    counts[run->aspect] += run->count;
    counts[0] = 1;
}

void evaluate_took(struct evaluate *e, const struct model_stream *s, const struct packet_header *h,
                   const uint8_t *packet, const struct packet_run *all)
{
    struct model_process *p = s->process;
    const struct evaluate_watch *w = evaluate_watch_of(e, p);
    struct packet_run run = *all;
    size_t offset = PACKET_HEADER_BYTES;
    if (w && run.count)
        count_run(e, w, p, &run);
    else
        while (w && packet_next_run(packet, h, p->dict->field_counts, p->dict->aspect_count, &offset, &run) > 0)
            count_run(e, w, p, &run);
}

/* ---- The run database -------------------------------------------------------------------------------------------- */

static int save_counts(struct evaluate *e, const struct model_process *p)
{
    char key[EVALUATE_KEY_MAX];
    name_count(key, p, 0); /* that there are any: what is not saved, the ordinals count */
    int err = rundb_put_int(e->rundb, key, 0);
    for (uint32_t id = 1; id <= p->dict->aspect_count && !err; id++) {
        name_count(key, p, id);
        err = p->thinned[id] ? rundb_put_int(e->rundb, key, (int64_t)p->thinned[id]) : 0;
    }
    return err;
}

static bool waits(const struct model_process *p)
{
    return p->thinned && p->thinned[0] && p->dict;
}

static int save_row(struct evaluate *e, const struct interval_times_row *row, size_t number)
{
    char key[EVALUATE_KEY_MAX], *text = interval_times_text(row);
    snprintf(key, sizeof key, RUNDB_INTERVAL "%zu", number);
    int err = text ? rundb_put(e->rundb, key, text) : BEZEL_ENOMEM;
    free(text);
    return err;
}

/* What metric number `i` has not matched, in all lives of the collector. */
static int save_unmatched(struct evaluate *e, uint32_t i)
{
    char key[EVALUATE_KEY_MAX], text[EVALUATE_COUNTS_MAX];
    struct interval_counts c = interval_counts(e->metrics[i].interval);
    c.unkept = e->times.unkept[i];
    if (e->metrics[i].before)
        interval_counts_add(&c, interval_counts_read(e->metrics[i].before));
    interval_counts_text(&c, text, sizeof text);
    snprintf(key, sizeof key, RUNDB_INTERVAL_COUNTS "%" PRIu32, i);
    return rundb_put(e->rundb, key, text);
}

int evaluate_save(struct evaluate *e)
{
    int err = 0;
    if (!e || !e->rundb)
        return 0;
    for (size_t i = 0; i < e->times.count && !err; i++)
        err = e->times.rows[i].changed ? save_row(e, &e->times.rows[i], i) : 0;
    for (uint32_t i = 0; e->experiment && i < e->experiment->metric_count && !err; i++)
        err = e->metrics[i].interval && experiment_interval_is_reduced(e->experiment, i) ? save_unmatched(e, i) : 0;
    for (const struct model_node *n = e->model->nodes; n && !err; n = n->next)
        for (const struct model_process *p = n->active; p && !err; p = p->next_active)
            err = waits(p) ? save_counts(e, p) : 0;
    return err;
}

void evaluate_saved(struct evaluate *e)
{
    for (size_t i = 0; e && i < e->times.count; i++)
        e->times.rows[i].changed = false;
    for (const struct model_node *n = e ? e->model->nodes : NULL; n; n = n->next)
        for (const struct model_process *p = n->active; p; p = p->next_active)
            if (p->thinned)
                p->thinned[0] = 0;
}

/* A collector that was killed may have thinned packets of a process, and saved nothing of it. */
static int load_counts(struct evaluate *e)
{
    for (struct model_node *n = e->model->nodes; n; n = n->next)
        for (struct model_process *p = n->processes; p; p = p->next)
            for (uint32_t ring = 0; ring < p->ring_count && p->dict; ring++) {
                if (!p->streams[ring] || p->streams[ring]->thinned == 0)
                    continue;
                if (!counts_of(e, p))
                    return BEZEL_ENOMEM;
                p->thinned[0] = 1;
                model_activate(p);
            }
    return 0;
}

static int load_rows(struct evaluate *e)
{
    char key[EVALUATE_KEY_MAX], *text = malloc(EVALUATE_TEXT_MAX);
    int err = text ? 0 : BEZEL_ENOMEM;
    while (!err) {
        snprintf(key, sizeof key, RUNDB_INTERVAL "%zu", e->times.count);
        err = rundb_get(e->rundb, key, text, EVALUATE_TEXT_MAX);
        err = err ? err : interval_times_read(&e->times, text);
    }
    free(text);
    return err == BEZEL_ENOENT ? 0 : err;
}

int evaluate_load(struct evaluate *e)
{
    int err = e->rundb ? load_rows(e) : 0;
    err = err || !e->rundb ? err : load_counts(e);
    for (uint32_t i = 0; i < e->experiment->metric_count && e->rundb && !err; i++) {
        char key[EVALUATE_KEY_MAX], text[EVALUATE_COUNTS_MAX];
        snprintf(key, sizeof key, RUNDB_INTERVAL_COUNTS "%" PRIu32, i);
        if (rundb_get(e->rundb, key, text, sizeof text) == 0)
            err = (e->metrics[i].before = strdup(text)) ? 0 : BEZEL_ENOMEM;
    }
    return err;
}
