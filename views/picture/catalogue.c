// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/picture/catalogue.h"

#include "base/saturate.h"

#include <stdlib.h>

int catalogue_open(struct catalogue *c, const char *run, uint32_t tables)
{
    *c = (struct catalogue){0};
    int err = levels_open(run, &c->levels);
    return err ? err : history_open(&c->history, run, tables, HISTORY_NEWEST);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void clear(struct catalogue *c)
{
    free(c->nodes);
    free(c->processes);
    free(c->stream_processes);
    free(c->streams);
    free(c->hash.slots);
    c->nodes = NULL;
    c->processes = NULL;
    c->stream_processes = NULL;
    c->streams = NULL;
    c->hash.slots = NULL;
    c->node_count = c->process_count = c->stream_count = 0;
}

void catalogue_close(struct catalogue *c)
{
    clear(c);
    history_close(&c->history);
    levels_close(c->levels);
    c->levels = NULL;
}

static int by_row(const void *a, const void *b)
{
    const struct catalogue_process *x = a, *y = b;
    return (x->process->row > y->process->row) - (x->process->row < y->process->row);
}

static int make_room(struct catalogue *c, size_t nodes, size_t processes, size_t streams)
{
    size_t slots = 64;
    while (slots < 2 * processes + 2)
        slots *= 2;
    c->nodes = calloc(nodes + 1, sizeof *c->nodes);
    c->processes = calloc(processes + 1, sizeof *c->processes);
    c->stream_processes = calloc(streams + 1, sizeof *c->stream_processes);
    c->streams = calloc(streams + 1, sizeof *c->streams);
    c->hash = (struct hash_index){calloc(slots, sizeof *c->hash.slots), (uint32_t)slots - 1};
    return c->nodes && c->processes && c->stream_processes && c->streams && c->hash.slots ? 0 : BEZEL_ENOMEM;
}

static void add_processes(struct catalogue *c, const struct model *m)
{
    for (const struct model_node *n = m->nodes; n; n = n->next) {
        for (const struct model_process *p = n->processes; p; p = p->next)
            c->processes[c->process_count++] = (struct catalogue_process){p, (uint32_t)c->node_count, 0, 0};
        c->nodes[c->node_count++] = n;
    }
    qsort(c->processes, c->process_count, sizeof *c->processes, by_row);
    for (uint32_t i = 0; i < c->process_count; i++)
        hash_index_put(&c->hash, c->processes[i].process->instance, c->processes[i].node, i);
}

static void add_streams(struct catalogue *c, size_t count)
{
    size_t first = 0;
    for (size_t i = 0; i < count; i++) {
        const struct model_process *p = levels_stream(c->levels, i)->process;
        c->stream_processes[i] = p ? catalogue_process_of_row(c, p->row) : -1;
        if (c->stream_processes[i] >= 0)
            c->processes[c->stream_processes[i]].count++;
    }
    for (size_t i = 0; i < c->process_count; i++) {
        c->processes[i].first = first;
        first += c->processes[i].count;
        c->processes[i].count = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (c->stream_processes[i] >= 0) {
            struct catalogue_process *p = &c->processes[c->stream_processes[i]];
            c->streams[p->first + p->count++] = i;
        }
    c->stream_count = count;
}

static int renew(struct catalogue *c, uint64_t age, size_t streams)
{
    const struct model *m = levels_model(c->levels, NULL);
    size_t nodes = 0, processes = 0;
    clear(c);
    for (const struct model_node *n = m ? m->nodes : NULL; n; n = n->next, nodes++)
        for (const struct model_process *p = n->processes; p; p = p->next)
            processes++;
    int err = make_room(c, nodes, processes, streams);
    c->changes++;
    if (err) {
        clear(c);
        return err;
    }
    if (m)
        add_processes(c, m);
    add_streams(c, streams);
    c->age = age;
    return 0;
}

int catalogue_update(struct catalogue *c, int64_t budget)
{
    uint64_t age;
    int more = levels_update(c->levels, budget), err = 0;
    if (more < 0)
        return more;
    (void)levels_model(c->levels, &age);
    size_t streams = levels_stream_count(c->levels);
    if (!c->nodes || age != c->age || streams != c->stream_count)
        err = renew(c, age, streams);
    int rows = err ? err : history_update(&c->history, more ? budget / 4 : budget);
    return rows < 0 ? rows : more || rows;
}

int64_t catalogue_process_of_row(const struct catalogue *c, int64_t row)
{
    size_t low = 0, high = c->process_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->processes[middle].process->row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->process_count && c->processes[low].process->row == row ? (int64_t)low : -1;
}

int64_t catalogue_process(const struct catalogue *c, uint32_t node, uint64_t instance)
{
    return hash_index_find(&c->hash, instance, node);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

struct clock_reading catalogue_time(const struct model_node *node, int64_t own)
{
    struct clock_reading r = run_clock_at(&node->run_clock, saturate_ns(own));
    r.ns = saturate_ns(r.ns);
    return r;
}

struct record_item catalogue_item(const struct model_process *process, size_t stream, const struct packet_record *r)
{
    return (struct record_item){.process = process,
                                .r = r,
                                .stream = stream,
                                .time = r->timestamp,
                                .at = catalogue_time(process->node, (int64_t)r->timestamp)};
}

/* A clock's rate differs from the run's by some hundred millionths at most, so a few steps come as near as there is. */
int64_t catalogue_own(const struct model_node *node, int64_t time)
{
    int64_t own = saturate_ns(time);
    for (int i = 0; i < 6; i++) {
        int64_t behind = saturate_ns(time) - catalogue_time(node, own).ns;
        own = saturate_ns(saturate_add(own, behind));
        if (behind == 0)
            break;
    }
    return own;
}

uint32_t catalogue_aspect(const struct model_process *p, bool (*is)(const struct dict_aspect *aspect))
{
    const struct dict *d = p->role == ROLE_DAEMON ? p->dict : NULL;
    for (uint32_t i = 0; d && i < d->aspect_count; i++)
        if (is(&d->aspects[i]))
            return d->aspects[i].id;
    return 0;
}

/* The times of the streams that are ahead, or of the others. Returns how many streams these are. */
static uint64_t find_range(const struct catalogue *c, bool ahead, int64_t *first, int64_t *last)
{
    uint64_t count = 0;
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (size_t i = 0; i < c->stream_count; i++) {
        const struct levels_stream *stream = levels_stream(c->levels, i);
        if (c->stream_processes[i] < 0 || stream->first > stream->last || stream->ahead != ahead)
            continue;
        int64_t begin = catalogue_time(stream->process->node, stream->first).ns;
        int64_t end = catalogue_time(stream->process->node, stream->last).ns;
        *first = begin < *first ? begin : *first;
        *last = end > *last ? end : *last;
        count++;
    }
    return count;
}

uint64_t catalogue_range(const struct catalogue *c, int64_t *first, int64_t *last)
{
    int64_t begin, end;
    uint64_t ahead = find_range(c, true, &begin, &end);
    if (find_range(c, false, first, last) > 0)
        return ahead;
    *first = begin;
    *last = end;
    return 0;
}
