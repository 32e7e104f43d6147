// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/picl.h"

#include "base/clock_units.h"
#include "base/grow.h"
#include "base/saturate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Types of records, and of events that every trace may have. */
enum { PICL_MARK = -2, PICL_ENTRY = -3, PICL_EXIT = -4, PICL_LABEL = -5 };
enum { PICL_SEND = -21, PICL_RECEIVE = -52, PICL_TRACING = -901, PICL_FULL = -913, PICL_ALL = -1 };
enum { TYPE_INT = 2 }; /* of all data of a line */

/* A stream: where it stands in the trace, and until when it has lines. */
struct stream {
    bool begun;
    int node;
    int64_t last;
};

struct picl {
    FILE *out;
    int64_t start;
    char **events; /* names of aspects, by number */
    size_t event_count, event_room;
    struct stream *streams;
    size_t stream_count, stream_room;
    uint64_t left_out;
};

struct picl *picl_new(FILE *out, int64_t start)
{
    struct picl *x = calloc(1, sizeof *x);
    if (x) {
        x->out = out;
        x->start = start;
    }
    return x;
}

void picl_free(struct picl *x)
{
    for (size_t i = 0; x && i < x->event_count; i++)
        free(x->events[i]);
    if (x) {
        free(x->events);
        free(x->streams);
    }
    free(x);
}

uint64_t picl_left_out(const struct picl *x)
{
    return x->left_out;
}

/* The beginning of a line, up to its processor and process. What was before the run began is at its beginning. */
static void put_head(const struct picl *x, int record, int64_t event, int64_t at, int node, int64_t process)
{
    int64_t since = saturate_sub(at, x->start);
    since = since > 0 ? since : 0;
    fprintf(x->out, "%d %" PRId64 " %" PRId64 ".%09" PRId64 " %d %" PRId64, record, event, since / CLOCK_S,
            since % CLOCK_S, node, process);
}

static void put_plain(const struct picl *x, int record, int64_t event, int64_t at, int node, int64_t process)
{
    put_head(x, record, event, at, node, process);
    fputs(" 0\n", x->out);
}

/* The number of an aspect's event, with a line for its name the first time; -1: no memory. */
static int64_t event_of(struct picl *x, const char *name)
{
    for (size_t i = 0; i < x->event_count; i++)
        if (strcmp(x->events[i], name) == 0)
            return (int64_t)i;
    char *kept = grow_list(&x->events, &x->event_room, x->event_count, sizeof *x->events) ? strdup(name) : NULL;
    if (!kept)
        return -1;
    x->events[x->event_count] = kept;
    put_head(x, PICL_LABEL, (int64_t)x->event_count, x->start, PICL_ALL, PICL_ALL); /* before all that it names */
    fprintf(x->out, " 1 1 %s\n", name);
    return (int64_t)x->event_count++;
}

static int number_of(const struct model_node *node)
{
    int n = 0;
    for (const struct model_node *other = node->model->nodes; other && other != node; other = other->next)
        n++;
    return n;
}

/* NULL: no memory. */
static struct stream *stream_of(struct picl *x, const struct record_item *item)
{
    while (x->stream_count <= item->stream) {
        if (!grow_list(&x->streams, &x->stream_room, x->stream_count, sizeof *x->streams))
            return NULL;
        x->streams[x->stream_count++] = (struct stream){.begun = false};
    }
    return &x->streams[item->stream];
}

/* The node of the process that a message names; PICL_ALL: it is none of the run's. */
static int node_of_peer(const struct record_item *item)
{
    struct record_value peer = record_item_value(item->process->dict, item->r, 0);
    for (const struct model_node *node = item->process->node->model->nodes; node && peer.as == RECORD_TEXT;
         node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            if (strlen(p->name) == peer.length && memcmp(p->name, peer.text, peer.length) == 0)
                return number_of(node);
    return PICL_ALL;
}

/* The length of a message: its first further field in bytes; 0: it has none. */
static int64_t bytes_of(const struct record_item *item)
{
    for (uint32_t i = 2; i < item->aspect->field_count; i++)
        if (item->aspect->fields[i].type == DICT_INT64 && strcmp(item->aspect->fields[i].unit, "B") == 0)
            return (int64_t)packet_value(item->r, i);
    return 0;
}

/* Sends have their data at the entry, receives at the exit, and what they wait for at the entry. */
static void put_message(struct picl *x, const struct record_item *item, int node, int64_t stream)
{
    bool sent = item->aspect->kind == DICT_SENT;
    int event = sent ? PICL_SEND : PICL_RECEIVE, peer = node_of_peer(item);
    int64_t tag = (int64_t)packet_value(item->r, 1), bytes = bytes_of(item), at = item->at.ns;
    put_head(x, PICL_ENTRY, event, at, node, stream);
    if (sent)
        fprintf(x->out, " 3 %d %" PRId64 " %" PRId64 " %d\n", TYPE_INT, bytes, tag, peer);
    else
        fprintf(x->out, " 2 %d %" PRId64 " %d\n", TYPE_INT, tag, peer);
    put_head(x, PICL_EXIT, event, at, node, stream);
    if (sent)
        fputs(" 0\n", x->out);
    else
        fprintf(x->out, " 3 %d %" PRId64 " %" PRId64 " %d\n", TYPE_INT, bytes, tag, peer);
}

/* The numbers of a record from field `from` on, as one group of data. Enums are numbers. */
static void put_data(struct picl *x, const struct record_item *item, uint32_t from)
{
    char format[DICT_FIELDS_MAX * 3 + 1] = "";
    for (uint32_t i = from; i < item->aspect->field_count; i++) {
        enum dict_type type = item->aspect->fields[i].type;
        x->left_out += type == DICT_STRING;
        if (type != DICT_STRING)
            strcat(format, type == DICT_FLOAT64 ? "%lf" : "%ld");
    }
    if (format[0])
        fprintf(x->out, " 1 \"%s\"", format);
    else
        fputs(" 0", x->out);
    for (uint32_t i = from; i < item->aspect->field_count; i++) {
        uint64_t bits = packet_value(item->r, i);
        double real;
        memcpy(&real, &bits, sizeof real);
        if (item->aspect->fields[i].type == DICT_FLOAT64)
            fprintf(x->out, " %.17g", real);
        else if (item->aspect->fields[i].type != DICT_STRING)
            fprintf(x->out, " %" PRId64, (int64_t)bits);
    }
    fputc('\n', x->out);
}

static int put_record(struct picl *x, const struct record_item *item, int node, int64_t stream)
{
    if (item->aspect->kind == DICT_SENT || item->aspect->kind == DICT_RECEIVED)
        return put_message(x, item, node, stream), 0;
    int64_t lasted = dict_kind_lasts(item->aspect->kind) ? (int64_t)packet_value(item->r, 0) : -1;
    int64_t event = event_of(x, item->aspect->name);
    if (event < 0)
        return BEZEL_ENOMEM;
    if (lasted >= 0)
        put_plain(x, PICL_ENTRY, event, saturate_sub(item->at.ns, lasted), node, stream);
    put_head(x, lasted >= 0 ? PICL_EXIT : PICL_MARK, event, item->at.ns, node, stream);
    put_data(x, item, lasted >= 0 ? 1 : 0);
    return 0;
}

int picl_put(struct picl *x, const struct record_item *item)
{
    struct stream *s = stream_of(x, item);
    int64_t stream = (int64_t)item->stream;
    if (!s)
        return BEZEL_ENOMEM;
    if (!s->begun) {
        *s = (struct stream){.begun = true, .node = number_of(item->process->node)};
        put_plain(x, PICL_ENTRY, PICL_TRACING, x->start, s->node, stream);
    }
    s->last = item->at.ns;
    if (item->r)
        return put_record(x, item, s->node, stream);
    put_head(x, PICL_MARK, PICL_FULL, item->at.ns, s->node, stream);
    fprintf(x->out, " 1 %d %" PRIu64 "\n", TYPE_INT, item->lost);
    return 0;
}

void picl_end(struct picl *x)
{
    for (size_t i = 0; i < x->stream_count; i++)
        if (x->streams[i].begun)
            put_plain(x, PICL_EXIT, PICL_TRACING, x->streams[i].last, x->streams[i].node, (int64_t)i);
}
