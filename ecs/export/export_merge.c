// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/bytes.h"
#include "base/file.h"
#include "base/log.h"
#include "collector/store/metadata.h"
#include "collector/store/trace_reader.h"
#include "ecs/export/export_internal.h"
#include "ecs/export/merged_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Times in a stream do not decrease, so a heap of streams, ordered by the time of their next record, gives all records
 * in order of time. A stream's file is open only while its buffer is filled. A stream has a buffer only from its first
 * record to its last: processes that run one after the other need the memory of one.
 */

enum {
    BUFFER_LEAST = 4 << 10, /* of each stream, however many there are */
    BUFFER_MOST = 256 << 10,
};

_Static_assert((int)BUFFER_LEAST >= (int)PACKET_RECORD_MAX_BYTES && (int)BUFFER_LEAST >= (int)PACKET_HEADER_BYTES,
               "a buffer has room for a record, and for a header");

enum next { NOTHING, RECORD, LOSS }; /* of a stream; NOTHING: not read yet */

struct source {
    const struct export_stream *stream;
    const struct model_process *process;
    const uint32_t *classes; /* in the merged trace, of the aspects of its process, by id - 1 */
    uint64_t time;           /* of its next record or loss */
    enum next next;
    struct packet_record record;
    uint64_t lost;
    struct packet_header packet; /* the present one */
    uint32_t records_left;       /* in the packet */
    uint64_t packet_end, offset; /* in the file: of the packet, and of bytes[0] */
    size_t taken, used;          /* in bytes: consumed, and read into it */
    uint8_t *bytes;              /* the buffer; NULL: not begun, or ended */
};

struct merge {
    size_t buffer_bytes, count;
    struct source *sources;
    struct source **heap; /* of `count` */
};

/* ---- a stream ---------------------------------------------------------------------------------------------------- */

static uint64_t at(const struct source *s)
{
    return s->offset + s->taken;
}

/* Fills the buffer, so that it has `want` bytes, or all bytes before `end`. Returns 0 or an error. */
static int fill(const struct merge *m, struct source *s, size_t want, uint64_t end)
{
    if (s->used - s->taken >= want || s->offset + s->used >= end)
        return 0;
    memmove(s->bytes, s->bytes + s->taken, s->used - s->taken);
    s->offset += s->taken;
    s->used -= s->taken;
    s->taken = 0;
    int fd = file_open_plain(s->stream->path, TRACE_READER_PLAIN, false);
    if (fd < 0)
        return fd;
    uint64_t rest = s->stream->bytes - (s->offset + s->used);
    size_t room = m->buffer_bytes - s->used;
    ssize_t n;
    do
        n = pread(fd, s->bytes + s->used, rest < room ? rest : room, (off_t)(s->offset + s->used));
    while (n < 0 && errno == EINTR);
    int err = n < 0 ? err_from_errno(errno) : 0;
    close(fd);
    if (err)
        return err;
    s->used += (size_t)n;
    return s->used - s->taken >= want || s->offset + s->used >= end
               ? 0
               : BEZEL_EMALFORMED; /* the file was truncated meanwhile */
}

/* Reads the header of the next packet. A loss that it counts comes next. Returns 0 or an error. */
static int next_packet(const struct merge *m, struct source *s)
{
    uint64_t discarded = s->packet.discarded, end = s->packet.timestamp_end;
    struct packet_header *h = &s->packet;
    int err = fill(m, s, PACKET_HEADER_BYTES, s->stream->bytes);
    if (err)
        return err;
    err = packet_get_header(s->bytes + s->taken, s->used - s->taken, h);
    if (err && err != BEZEL_EAGAIN) /* EAGAIN: the header is there, its records are not read yet */
        return err;
    if (s->used - s->taken < PACKET_HEADER_BYTES || h->instance != s->stream->instance || h->timestamp_begin < end ||
        h->discarded < discarded || h->size_bytes > s->stream->bytes - at(s) ||
        !dict_includes(s->process->dict, h->dictionary))
        return BEZEL_EMALFORMED;
    s->packet_end = at(s) + h->size_bytes;
    s->taken += PACKET_HEADER_BYTES;
    s->records_left = h->records;
    s->lost = h->discarded - discarded;
    s->next = s->lost ? LOSS : NOTHING;
    s->time = s->lost ? h->timestamp_end : h->timestamp_begin;
    return 0;
}

static int next_record(const struct merge *m, struct source *s)
{
    const struct dict *d = s->process->dict;
    int err = fill(m, s, PACKET_RECORD_MAX_BYTES, s->packet_end);
    if (err)
        return err;
    struct packet_header window = s->packet; /* the part of the packet that is in the buffer */
    uint64_t left = s->packet_end - at(s);
    window.size_bytes = s->taken + (left < s->used - s->taken ? left : s->used - s->taken);
    size_t offset = s->taken;
    if (s->records_left-- == 0 ||
        packet_next_record(s->bytes, &window, d->field_counts, d->aspect_count, &offset, &s->record) != 1 ||
        s->record.timestamp < s->time || s->record.timestamp > s->packet.timestamp_end)
        return BEZEL_EMALFORMED;
    s->taken = offset;
    s->time = s->record.timestamp;
    s->next = RECORD;
    return 0;
}

/* Reads the next record or loss. Returns 1, 0 at the end, or an error. */
static int advance(const struct merge *m, struct source *s)
{
    int err = 0;
    if (!s->bytes && !(s->bytes = malloc(m->buffer_bytes)))
        return BEZEL_ENOMEM;
    s->next = NOTHING;
    while (!err && s->next == NOTHING) {
        if (at(s) < s->packet_end)
            err = next_record(m, s);
        else if (s->records_left > 0)
            err = BEZEL_EMALFORMED;
        else if (at(s) < s->stream->bytes)
            err = next_packet(m, s);
        else
            return 0;
    }
    return err ? err : 1;
}

/* ---- the heap ---------------------------------------------------------------------------------------------------- */

static bool is_before(const struct source *a, const struct source *b)
{
    return a->time != b->time ? a->time < b->time : a < b;
}

static void sift_down(struct merge *m, size_t i)
{
    struct source *s = m->heap[i];
    for (size_t child; (child = 2 * i + 1) < m->count; i = child) {
        if (child + 1 < m->count && is_before(m->heap[child + 1], m->heap[child]))
            child++;
        if (is_before(s, m->heap[child]))
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = s;
}

static void take_out_first(struct merge *m)
{
    free(m->heap[0]->bytes);
    m->heap[0]->bytes = NULL;
    m->heap[0] = m->heap[--m->count];
    if (m->count)
        sift_down(m, 0);
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static void put(struct merged_trace *out, const struct source *s)
{
    if (s->next == LOSS)
        merged_trace_lose(out, s->time, s->lost);
    else if (s->next == RECORD)
        merged_trace_record(out, s->process, &s->packet, &s->record, s->classes[s->record.aspect - 1]);
}

static int run(struct merge *m, struct merged_trace *out)
{
    for (size_t i = m->count; i-- > 0;)
        sift_down(m, i);
    while (m->count) {
        struct source *s = m->heap[0];
        put(out, s);
        int more = advance(m, s);
        if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION)
            log_warn("BEZEL-EXPORT-DAMAGED", "%s: %s near byte %llu: exported up to there", s->stream->path,
                     err_text(more), (unsigned long long)at(s));
        else if (more < 0)
            return more;
        if (more == 1)
            sift_down(m, 0);
        else
            take_out_first(m);
    }
    return 0;
}

static int add_sources(struct merge *m, const struct model_node *model, const struct export_node *node,
                       struct merged_trace *out)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct export_stream *stream = &node->streams[i];
        const struct model_process *p = model_find_process(model, stream->instance);
        if (!p) {
            log_warn("BEZEL-EXPORT-FOREIGN", "left out %s: run.db has no process for it", stream->path);
            continue;
        }
        struct source *s = &m->sources[m->count];
        *s = (struct source){.stream = stream, .process = p, .time = stream->begin};
        s->classes = merged_trace_classes(out, p);
        if (!s->classes)
            return BEZEL_ENOMEM;
        m->heap[m->count++] = s;
    }
    return 0;
}

int export_merge(const struct model_node *model, const struct export_node *node, const char *to, size_t memory)
{
    struct merge m = {.buffer_bytes = memory / node->count};
    struct merged_trace *out;
    if (m.buffer_bytes < BUFFER_LEAST)
        m.buffer_bytes = BUFFER_LEAST;
    if (m.buffer_bytes > BUFFER_MOST)
        m.buffer_bytes = BUFFER_MOST;
    int err = merged_trace_open(to, model, &out);
    if (err)
        return err;
    m.sources = calloc(node->count, sizeof *m.sources);
    m.heap = calloc(node->count, sizeof *m.heap);
    err = m.sources && m.heap ? add_sources(&m, model, node, out) : BEZEL_ENOMEM;
    if (!err)
        err = run(&m, out);
    int end = merged_trace_close(out);
    for (size_t i = 0; m.sources && i < node->count; i++)
        free(m.sources[i].bytes);
    free(m.sources);
    free(m.heap);
    return err ? err : end;
}
