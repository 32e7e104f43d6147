// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "collector/store/trace_reader.h"
#include "ecs/export/export_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Times in a stream do not decrease, so a heap of streams, ordered by the time of their next record, gives all records
 * in order of time: of the run's time, by which streams of several nodes compare. Where a clock has jumped back, what
 * follows is put at the time before. A stream's file is open only while its buffer is filled. A stream has a buffer
 * only from its first record to its last: processes that run one after the other need the memory of one.
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
    size_t number;           /* of the source, as the caller's functions get it */
    uint64_t time;           /* of its next record or loss */
    struct clock_reading at; /* the same as the run's time */
    enum next next;
    struct packet_record record;
    uint64_t lost;
    struct packet_header packet; /* the present one */
    uint32_t records_left;       /* in the packet */
    uint64_t packet_end, offset; /* in the file: of the packet, and of bytes[0] */
    size_t taken, used;          /* in bytes: consumed, and read into it */
    uint8_t *bytes;              /* the buffer; NULL: not begun, or ended */
};

struct order {
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
static int fill(const struct order *m, struct source *s, size_t want, uint64_t end)
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
static int next_packet(const struct order *m, struct source *s)
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

static int next_record(const struct order *m, struct source *s)
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
static int advance(const struct order *m, struct source *s)
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
    if (err)
        return err;
    int64_t before = s->at.ns;
    s->at = run_clock_at(&s->process->node->run_clock, s->time < INT64_MAX ? (int64_t)s->time : INT64_MAX);
    s->at.ns = s->at.ns < before ? before : s->at.ns;
    return 1;
}

/* ---- the heap ---------------------------------------------------------------------------------------------------- */

static bool is_before(const struct source *a, const struct source *b)
{
    if (a->at.ns != b->at.ns)
        return a->at.ns < b->at.ns;
    return a->time != b->time && a->process->node == b->process->node ? a->time < b->time : a < b;
}

static void sift_down(struct order *m, size_t i)
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

static void take_out_first(struct order *m)
{
    free(m->heap[0]->bytes);
    m->heap[0]->bytes = NULL;
    m->heap[0] = m->heap[--m->count];
    if (m->count)
        sift_down(m, 0);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static int give(const struct source *s, const struct export_taker *to)
{
    struct export_item item = {.process = s->process,
                               .packet = &s->packet,
                               .r = s->next == RECORD ? &s->record : NULL,
                               .lost = s->lost,
                               .time = s->time,
                               .at = s->at};
    return s->next == NOTHING ? 0 : to->take(to->context, s->number, &item);
}

static int run(struct order *m, const struct export_taker *to)
{
    int err = 0;
    for (size_t i = m->count; i-- > 0;)
        sift_down(m, i);
    while (!err && m->count) {
        struct source *s = m->heap[0];
        err = give(s, to);
        int more = err ? 0 : advance(m, s);
        if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION)
            log_warn("BEZEL-EXPORT-DAMAGED", "%s: %s near byte %llu: exported up to there", s->stream->path,
                     err_text(more), (unsigned long long)at(s));
        else if (more < 0)
            err = more;
        if (more == 1)
            sift_down(m, 0);
        else
            take_out_first(m);
    }
    return err;
}

static int add_sources(struct order *m, const struct model_node *model, const struct export_node *node,
                       const struct export_taker *to)
{
    int err = 0;
    for (size_t i = 0; i < node->count && !err; i++) {
        const struct export_stream *stream = &node->streams[i];
        const struct model_process *p = model_find_process(model, stream->instance);
        if (!p) {
            log_warn("BEZEL-EXPORT-FOREIGN", "left out %s: run.db has no process for it", stream->path);
            continue;
        }
        struct source *s = &m->sources[m->count];
        *s = (struct source){.stream = stream, .process = p, .number = m->count, .time = stream->begin};
        s->at = run_clock_at(&model->run_clock, s->time < INT64_MAX ? (int64_t)s->time : INT64_MAX);
        m->heap[m->count++] = s;
        err = to->add ? to->add(to->context, s->number, p) : 0;
    }
    return err;
}

int export_in_order(const struct export_part *parts, size_t count, size_t memory, const struct export_taker *to)
{
    struct order m = {0};
    size_t streams = 0;
    int err = 0;
    for (size_t i = 0; i < count; i++)
        streams += parts[i].node->count;
    if (streams == 0)
        return 0;
    m.buffer_bytes = memory / streams;
    if (m.buffer_bytes < BUFFER_LEAST)
        m.buffer_bytes = BUFFER_LEAST;
    if (m.buffer_bytes > BUFFER_MOST)
        m.buffer_bytes = BUFFER_MOST;
    m.sources = calloc(streams, sizeof *m.sources);
    m.heap = calloc(streams, sizeof(struct source *));
    if (!m.sources || !m.heap)
        err = BEZEL_ENOMEM;
    for (size_t i = 0; i < count && !err; i++)
        err = add_sources(&m, parts[i].model, parts[i].node, to);
    if (!err)
        err = run(&m, to);
    for (size_t i = 0; m.sources && i < streams; i++)
        free(m.sources[i].bytes);
    free(m.sources);
    free(m.heap);
    return err;
}
