// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_stream.h"

#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)RECORD_BUFFER_LEAST >= (int)PACKET_RECORD_MAX_BYTES &&
                   (int)RECORD_BUFFER_LEAST >= (int)PACKET_HEADER_BYTES,
               "a buffer has room for a record, and for a header");

int record_stream_init(struct record_stream *s, const struct record_source *of, const char *path,
                       const struct model_process *process, uint64_t begin)
{
    s->file = (struct trace_reader){.path = strdup(path), .part = &s->part, .expired = of->expired};
    s->part = (struct trace_part){.fd = -1, .rests = true};
    s->time = begin;
    record_stream_set_process(s, of, process);
    return s->file.path ? 0 : BEZEL_ENOMEM;
}

/* There is nothing to read for now. */
static void drop_buffer(struct record_stream *s)
{
    trace_part_close(&s->part);
    free(s->part.bytes);
    s->part.bytes = NULL;
}

void record_stream_fini(struct record_stream *s)
{
    drop_buffer(s);
    free((char *)(uintptr_t)s->file.path);
}

void record_stream_cut(struct record_stream *s)
{
    s->cut = true;
    drop_buffer(s);
}

void record_stream_set_process(struct record_stream *s, const struct record_source *of,
                               const struct model_process *process)
{
    const struct dict *d = process->dict;
    s->process = s->file.process = process;
    s->any = record_filter_aspects(of->filter, d, s->wanted);
    s->aspect = s->record.aspect && !s->cut ? &d->aspects[s->record.aspect - 1] : NULL;
    if (!of->sendings)
        return;
    s->any = false;
    for (uint32_t i = 0; i < d->aspect_count; i++) {
        uint8_t *wanted = &s->wanted[d->aspects[i].id];
        *wanted = d->aspects[i].kind == DICT_SENT ? *wanted : RECORD_UNWANTED;
        s->any = s->any || *wanted != RECORD_UNWANTED;
    }
}

int64_t record_stream_closed(const struct record_stream *s)
{
    uint8_t header[PACKET_HEADER_BYTES];
    struct trace_part part = {.bytes = header, .fd = -1};
    struct packet_header h;
    const uint8_t *bytes;
    if (s->file.end < sizeof header)
        return INT64_MAX;
    uint64_t at = s->file.end - sizeof header;
    ssize_t n = trace_part_read(&part, s->file.path, at, sizeof header, sizeof header, &bytes);
    trace_part_close(&part);
    bool is = n == (ssize_t)sizeof header && packet_get_header(bytes, sizeof header, &h) == 0 &&
              h.kind == PACKET_CLOSE && h.instance == s->process->instance;
    return is ? saturate_ns((int64_t)h.timestamp_end) : INT64_MAX;
}

void record_stream_measure(struct record_stream *s, uint64_t bytes, int64_t at)
{
    s->grown_from = s->file.end;
    s->grown[0] = s->grown[1];
    s->grown[1] = at;
    trace_reader_measure(&s->file, bytes);
    if (s->settled > s->file.end)
        s->settled = s->file.end;
}

static int get_buffer(struct record_stream *s, const struct record_source *of)
{
    if (s->part.bytes)
        return 0;
    s->capacity = of->memory / (of->streams ? of->streams : 1);
    if (s->capacity < RECORD_BUFFER_LEAST)
        s->capacity = RECORD_BUFFER_LEAST;
    if (s->capacity > RECORD_BUFFER_MOST)
        s->capacity = RECORD_BUFFER_MOST;
    s->file.most = RECORD_BUFFER_LEAST;
    s->part.bytes = malloc(s->capacity);
    return s->part.bytes ? 0 : BEZEL_ENOMEM;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* Whether the process has the dictionary of the packet, if need be a newer one. Returns 0 or an error. */
static int know_dictionary(const struct record_stream *s, const struct record_source *of)
{
    uint64_t dictionary = s->file.at.last.dictionary;
    if (dict_includes(s->process->dict, dictionary))
        return 0;
    int err = of->renew ? of->renew(of->context) : 0;
    return err ? err : dict_includes(s->process->dict, dictionary) ? 0 : BEZEL_EMALFORMED;
}

/*
 * Begins the present packet: a loss that it counts comes next, then its records, if any of them may be wanted. As much
 * is read ahead as was wanted in a row, so no more is read in vain than was wanted; else of each packet its header.
 */
static void begin_packet(struct record_stream *s, const struct record_source *of)
{
    const struct model_node *node = s->process->node;
    const struct packet_header *h = &s->file.at.last;
    s->lost = s->file.lost;
    s->time = s->lost ? h->timestamp_end : h->timestamp_begin;
    if (s->lost && record_filter_in_time(of->filter, node, s->time))
        s->next = RECORD_LOSS;
    enum record_where where = record_filter_where(of->filter, node, h->timestamp_begin, h->timestamp_end);
    s->is_partly = where == RECORD_PARTLY;
    bool lean = h->records > 0 && (!s->any || where == RECORD_OUTSIDE);
    s->records_left = lean ? 0 : h->records;
    s->at = lean ? s->file.at.bytes : s->file.at.bytes - h->size_bytes + PACKET_HEADER_BYTES;
    s->in_a_row = lean ? 0 : s->in_a_row + h->size_bytes;
    s->file.most = s->in_a_row < RECORD_BUFFER_LEAST ? RECORD_BUFFER_LEAST
                   : s->in_a_row < s->capacity       ? (size_t)s->in_a_row
                                                     : s->capacity;
}

/* Reads the header of the next packet. Returns 1; 0 if there is no complete one; or an error. */
static int next_packet(struct record_stream *s, const struct record_source *of)
{
    int more = trace_reader_step(&s->file);
    s->at = s->file.at.bytes;
    if (more <= 0)
        return more;
    s->at -= s->file.at.last.size_bytes;
    int err = know_dictionary(s, of);
    if (err)
        return err;
    begin_packet(s, of);
    return 1;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Decodes the record at the beginning of the `n` bytes at `p`. Returns its size, or 0: it is none. */
static size_t decode(struct record_stream *s, const uint8_t *p, size_t n)
{
    if (s->record_bytes > 0 && s->record_bytes <= n && bytes_get_u32(p) == s->record.aspect) {
        s->record.timestamp = bytes_get_u64(p + 4);
        s->record.values = p + PACKET_RECORD_BYTES;
        return s->record_bytes;
    }
    const struct dict *d = s->process->dict;
    size_t offset = 0;
    if (packet_read_record(p, n, d->field_counts, d->aspect_count, &offset, &s->record) != 1)
        return 0;
    s->aspect = &d->aspects[s->record.aspect - 1];
    return s->record_bytes = offset;
}

/* Goes on behind what expired. The rest of the present packet did, too. */
static int pass_expired(struct record_stream *s)
{
    s->file.at.records -= s->records_left;
    s->records_left = 0;
    trace_reader_pass(&s->file);
    s->at = s->file.at.bytes;
    return 0;
}

/* Reads a record of the present packet. Returns 0 or an error. */
static int next_record(struct record_stream *s, const struct record_source *of)
{
    const struct trace_reader *file = &s->file;
    uint64_t left = file->at.bytes - s->at, most = file->end - s->at;
    size_t want = left < PACKET_RECORD_MAX_BYTES ? (size_t)left : PACKET_RECORD_MAX_BYTES;
    const uint8_t *p;
    ssize_t n = trace_part_get(&s->part, file->path, s->at, want, most < file->most ? (size_t)most : file->most, &p);
    if (n == BEZEL_EAGAIN)
        return pass_expired(s);
    if (n < (ssize_t)want)
        return n < 0 ? (int)n : BEZEL_EMALFORMED; /* the file was truncated meanwhile */
    size_t size = s->records_left-- > 0 ? decode(s, p, left < (uint64_t)n ? (size_t)left : (size_t)n) : 0;
    if (size == 0 || s->record.timestamp < s->time || s->record.timestamp > file->at.last.timestamp_end)
        return BEZEL_EMALFORMED;
    __builtin_prefetch(p + size + PACKET_RECORD_MAX_BYTES);
    s->at += size;
    s->time = s->record.timestamp;
    s->next = record_filter_lets(of->filter, s->process, &s->record, s->wanted[s->record.aspect], s->is_partly)
                  ? RECORD_IS
                  : RECORD_NOTHING;
    return 0;
}

int record_stream_advance(struct record_stream *s, const struct record_source *of)
{
    int err = get_buffer(s, of);
    s->next = RECORD_NOTHING;
    while (!err && s->at < s->file.at.bytes) {
        err = next_record(s, of);
        if (!err && s->next != RECORD_NOTHING)
            return 1;
    }
    if (!err && s->records_left > 0)
        err = BEZEL_EMALFORMED;
    if (err)
        return err;
    s->time = s->file.at.bytes ? s->file.at.last.timestamp_end : s->time;
    int more = next_packet(s, of);
    if (more == 0)
        drop_buffer(s);
    return more;
}
