// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/merged_trace.h"

#include "base/bytes.h"
#include "base/file.h"
#include "run/store/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A packet ends when it is full. In CTF a loss is counted by a packet, and lies between the end of the packet before
 * and its own end. The first packet is empty, so that losses before any record have a packet before them.
 */

enum {
    OUT_BYTES = 256 << 10,
    /* magic, uuid, stream class; begin, end, content and packet size, discarded, number */
    OUT_HEADER_BYTES = 4 + 16 + 4 + 6 * 8,
    CONTEXT_MAX_BYTES = MESSAGE_NAME_MAX + 4 + 20,
    OUT_RECORD_MAX_BYTES = 3 + PACKET_RECORD_BYTES + CONTEXT_MAX_BYTES + DICT_FIELDS_MAX * (DICT_TEXT_MAX + 4),
};

/* An event class. The key is its text with id 0. */
struct event_class {
    uint32_t id;
    char text[];
};

/* The classes of one process. */
struct process_classes {
    const struct model_process *process;
    struct process_classes *next;
    uint32_t ids[];
};

struct merged_trace {
    int fd, err, sys;
    FILE *metadata;
    uint8_t uuid[16];
    uint32_t class_count;
    void *classes; /* a tree of <search.h> */
    struct process_classes *processes;
    uint64_t begin, end, number, discarded;
    bool begun; /* the packet has a begin time */
    size_t used;
    uint8_t bytes[OUT_BYTES];
};

static void fail(struct merged_trace *out, int err)
{
    if (!out->err)
        out->err = err, out->sys = errno;
}

/* ---- event classes ----------------------------------------------------------------------------------------------- */

static int compare_classes(const void *a, const void *b)
{
    return strcmp(((const struct event_class *)a)->text, ((const struct event_class *)b)->text);
}

/* The text of an aspect's class, as a struct event_class for free(). NULL: out of memory. */
static struct event_class *describe(const struct dict_aspect *a)
{
    char *text;
    size_t n;
    struct event_class nothing = {0};
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return NULL;
    fwrite(&nothing, offsetof(struct event_class, text), 1, f);
    metadata_put_merged_event(f, 0, a);
    return file_text_end(f, &text) == 0 ? (struct event_class *)(void *)text : NULL;
}

/* The id of the class of aspect `a`; 0: out of memory. */
static uint32_t class_of(struct merged_trace *out, const struct dict_aspect *a)
{
    struct event_class *made = describe(a);
    struct event_class **found = made ? tsearch(made, &out->classes, compare_classes) : NULL;
    if (!found || *found != made) {
        free(made);
        return found ? (*found)->id : 0;
    }
    made->id = ++out->class_count;
    metadata_put_merged_event(out->metadata, made->id, a);
    return made->id;
}

const uint32_t *merged_trace_classes(struct merged_trace *out, const struct model_process *p)
{
    if (out->processes && out->processes->process == p) /* streams of a process follow each other */
        return out->processes->ids;
    struct process_classes *it = malloc(sizeof *it + (p->dict->aspect_count + 1) * sizeof *it->ids);
    if (!it)
        return NULL;
    it->process = p;
    it->next = out->processes;
    out->processes = it;
    for (uint32_t i = 0; i < p->dict->aspect_count; i++)
        if (!(it->ids[i] = class_of(out, &p->dict->aspects[i])))
            return NULL;
    return it->ids;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static void end_packet(struct merged_trace *out)
{
    uint8_t *p = out->bytes;
    size_t size = (out->used + 3) / 4 * 4;
    memset(p + out->used, 0, size - out->used);
    bytes_put_u32(p, (uint32_t)PACKET_MAGIC);
    memcpy(p + 4, out->uuid, sizeof out->uuid);
    bytes_put_u32(p + 20, METADATA_MERGED);
    const uint64_t context[] = {out->begin,         out->end,       8 * (uint64_t)out->used,
                                8 * (uint64_t)size, out->discarded, out->number++};
    for (size_t i = 0; i < sizeof context / sizeof *context; i++)
        bytes_put_u64(p + 24 + 8 * i, context[i]);
    if (!out->err && file_write_all(out->fd, p, size) != 0)
        fail(out, err_from_errno(errno));
    out->used = OUT_HEADER_BYTES;
    out->begun = false;
}

/* Makes room for `n` more bytes at `time`. */
static void make_room(struct merged_trace *out, uint64_t time, size_t n)
{
    if (out->number == 0) {
        out->begin = out->end = time;
        end_packet(out);
    }
    if (out->used + n > OUT_BYTES)
        end_packet(out);
    if (!out->begun)
        out->begin = time;
    out->begun = true;
    out->end = time;
}

/* Writes a string, without padding behind it. */
static uint8_t *put_text(uint8_t *p, const char *text)
{
    size_t n = strlen(text) + 1;
    memcpy(p, text, n);
    return p + n;
}

static uint8_t *align(const struct merged_trace *out, uint8_t *p)
{
    while ((size_t)(p - out->bytes) % 4 != 0)
        *p++ = 0;
    return p;
}

static uint8_t *put_context(const struct merged_trace *out, uint8_t *p, const struct model_process *process,
                            const struct packet_header *h)
{
    p = align(out, put_text(p, process->name));
    bytes_put_u32(p, process->pid);
    bytes_put_u64(p + 4, process->instance);
    bytes_put_u32(p + 12, h->ring);
    bytes_put_u32(p + 16, h->thread);
    return p + 20;
}

/* The text of string `id`; empty if its process had no room for it. */
static const char *text_of(const struct dict *d, uint64_t id)
{
    return id == 0 || id > d->string_count ? "" : d->strings[id - 1];
}

void merged_trace_record(struct merged_trace *out, const struct model_process *p, const struct packet_header *h,
                         const struct packet_record *r, uint32_t event_class)
{
    const struct dict_aspect *a = &p->dict->aspects[r->aspect - 1];
    make_room(out, r->timestamp, OUT_RECORD_MAX_BYTES);
    uint8_t *at = packet_put_record(align(out, out->bytes + out->used), event_class, r->timestamp);
    at = put_context(out, at, p, h);
    for (uint32_t i = 0; i < r->value_count; i++) {
        if (a->fields[i].type == DICT_STRING) {
            at = put_text(at, text_of(p->dict, packet_value(r, i)));
        } else {
            at = align(out, at);
            bytes_put_u64(at, packet_value(r, i));
            at += 8;
        }
    }
    out->used = (size_t)(at - out->bytes);
}

void merged_trace_lose(struct merged_trace *out, uint64_t time, uint64_t lost)
{
    make_room(out, time, 0);
    out->discarded = lost > UINT64_MAX - out->discarded ? UINT64_MAX : out->discarded + lost; /* never falls */
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

static int create(const char *to, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", to, name) >= (int)sizeof path)
        return errno = ENAMETOOLONG, -1;
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int merged_trace_open(const char *to, const struct model_node *node, struct merged_trace **out)
{
    struct merged_trace *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    it->used = OUT_HEADER_BYTES;
    memcpy(it->uuid, node->uuid, sizeof it->uuid);
    it->fd = create(to, "records");
    int metadata = it->fd < 0 ? -1 : create(to, "metadata");
    it->metadata = metadata < 0 ? NULL : fdopen(metadata, "w");
    if (it->metadata) {
        metadata_put_merged(it->metadata, node);
        *out = it;
        return 0;
    }
    int err = err_from_errno(errno);
    if (metadata >= 0)
        close(metadata);
    if (it->fd >= 0)
        close(it->fd);
    free(it);
    return err;
}

int merged_trace_close(struct merged_trace *out)
{
    if (out->begun)
        end_packet(out);
    if (ferror(out->metadata))
        fail(out, BEZEL_ESYS);
    if (fclose(out->metadata) != 0)
        fail(out, err_from_errno(errno));
    if (close(out->fd) != 0)
        fail(out, err_from_errno(errno));
    while (out->processes) {
        struct process_classes *next = out->processes->next;
        free(out->processes);
        out->processes = next;
    }
    tdestroy(out->classes, free);
    int err = out->err;
    errno = out->sys;
    free(out);
    return err;
}
