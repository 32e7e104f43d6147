// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_stream.h"

#include "base/file.h"
#include "base/saturate.h"
#include "run/store/cover.h"
#include "run/store/trace_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)RECORD_BUFFER_LEAST >= (int)PACKET_RECORD_MAX_BYTES &&
                   (int)RECORD_BUFFER_LEAST >= (int)PACKET_HEADER_BYTES,
               "a buffer has room for a record, and for a header");

int record_stream_init(struct record_stream *s, const struct record_source *of, const char *path,
                       const struct model_process *process, uint64_t begin)
{
    s->path = strdup(path);
    s->time = begin;
    record_stream_set_process(s, of, process);
    return s->path ? 0 : BEZEL_ENOMEM;
}

void record_stream_fini(struct record_stream *s)
{
    free(s->path);
    free(s->buffer);
    s->path = NULL;
    s->buffer = NULL;
}

void record_stream_set_process(struct record_stream *s, const struct record_source *of,
                               const struct model_process *process)
{
    const struct dict *d = process->dict;
    s->process = process;
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
    uint8_t bytes[PACKET_HEADER_BYTES];
    struct packet_header h;
    int fd = s->bytes < sizeof bytes ? BEZEL_ENOENT : file_open_plain(s->path, TRACE_READER_PLAIN, false);
    if (fd < 0)
        return INT64_MAX;
    bool is = pread(fd, bytes, sizeof bytes, (off_t)(s->bytes - sizeof bytes)) == (ssize_t)sizeof bytes &&
              packet_get_header(bytes, sizeof bytes, &h) == 0 && h.kind == PACKET_CLOSE &&
              h.instance == s->process->instance;
    close(fd);
    return is ? saturate_ns((int64_t)h.timestamp_end) : INT64_MAX;
}

uint64_t record_stream_at(const struct record_stream *s)
{
    return s->offset + s->taken;
}

bool record_stream_has_more(const struct record_stream *s)
{
    return record_stream_at(s) < s->bytes;
}

/*
 * What follows the last complete packet may be rewritten: a collector that was killed leaves a torn packet, and the
 * next one cuts it off. So nothing behind the present packet is kept from the time before.
 */
void record_stream_measure(struct record_stream *s, uint64_t bytes, int64_t at)
{
    uint64_t end = s->packet_end > record_stream_at(s) ? s->packet_end : record_stream_at(s);
    s->grown_from = s->bytes;
    s->grown[0] = s->grown[1];
    s->grown[1] = at;
    s->bytes = bytes > end ? bytes : end;
    if (s->offset + s->used > end)
        s->used = (size_t)(end - s->offset);
    if (s->settled > s->bytes)
        s->settled = s->bytes;
}

/* ---- the buffer -------------------------------------------------------------------------------------------------- */

static int get_buffer(struct record_stream *s, const struct record_source *of)
{
    if (s->buffer)
        return 0;
    s->capacity = of->memory / (of->streams ? of->streams : 1);
    if (s->capacity < RECORD_BUFFER_LEAST)
        s->capacity = RECORD_BUFFER_LEAST;
    if (s->capacity > RECORD_BUFFER_MOST)
        s->capacity = RECORD_BUFFER_MOST;
    s->buffer = malloc(s->capacity);
    return s->buffer ? 0 : BEZEL_ENOMEM;
}

/* There is nothing to read for now. */
static void drop_buffer(struct record_stream *s)
{
    s->offset = record_stream_at(s);
    s->taken = s->used = 0;
    free(s->buffer);
    s->buffer = NULL;
}

/* Moves on to `offset` of the file, which is not before the present one. */
static void move_to(struct record_stream *s, uint64_t offset)
{
    uint64_t ahead = offset - s->offset;
    if (ahead <= s->used) {
        s->taken = (size_t)ahead;
        return;
    }
    s->offset = offset;
    s->taken = s->used = 0;
}

/* Whether the file that could not be opened is gone, or something else than a file by now. */
static bool is_other(int err)
{
    return err == BEZEL_EINVAL || err == BEZEL_ENOENT || errno == ELOOP || errno == ENXIO;
}

/* Goes on behind what expired, with the rest of the present packet. */
static void pass_expired(struct record_stream *s, const struct record_source *of, const struct cover *c)
{
    uint64_t packets = c->header.seq + 1, given = s->records - s->records_left;
    if (of->expired) {
        of->expired->packets += packets > s->packets ? packets - s->packets : 0;
        of->expired->records += c->records > given ? c->records - given : 0;
    }
    s->packet = c->header;
    s->packets = packets;
    s->records = c->records;
    s->records_left = 0;
    s->packet_end = s->offset = c->header.size_bytes;
    s->taken = s->used = 0;
    s->bytes = s->bytes > s->offset ? s->bytes : s->offset;
    s->passed = true;
}

/* Reads up to `n` bytes of the file behind those that the buffer has. Returns 0, also where they expired, or an error.
 */
static int read_more(struct record_stream *s, const struct record_source *of, size_t n)
{
    struct cover cover;
    uint64_t from = s->offset + s->used;
    struct stat st;
    int fd = file_open_plain(s->path, TRACE_READER_PLAIN, false);
    if (fd < 0)
        return is_other(fd) ? BEZEL_EMALFORMED : fd;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size < s->bytes) /* a torn packet was cut off meanwhile */
        s->bytes = (uint64_t)st.st_size > from ? (uint64_t)st.st_size : from;
    ssize_t got;
    do
        got = pread(fd, s->buffer + s->used, s->bytes - from < n ? (size_t)(s->bytes - from) : n, (off_t)from);
    while (got < 0 && errno == EINTR);
    int err = got < 0 ? err_from_errno(errno) : 0;
    s->used += err ? 0 : (size_t)got;
    if (!err && cover_reaches(fd, from, &cover))
        pass_expired(s, of, &cover);
    close(fd);
    return err;
}

/* Fills the buffer, so that it has `want` bytes, or all that are there. Returns 0 or an error. */
static int fill(struct record_stream *s, const struct record_source *of, size_t want)
{
    s->passed = false;
    if (s->used - s->taken >= want)
        return 0;
    memmove(s->buffer, s->buffer + s->taken, s->used - s->taken);
    s->offset += s->taken;
    s->used -= s->taken;
    s->taken = 0;
    return read_more(s, of, (s->lean ? RECORD_BUFFER_LEAST : s->capacity) - s->used);
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* Whether packet `h` is the next one of this file. */
static bool follows(const struct record_stream *s, const struct packet_header *h)
{
    const struct packet_header *before = &s->packet;
    if (h->instance != s->process->instance || h->seq != s->packets)
        return false;
    return s->packets == 0 || (memcmp(h->uuid, before->uuid, sizeof h->uuid) == 0 && h->ring == before->ring &&
                               h->stream_id == before->stream_id && h->timestamp_begin >= before->timestamp_end &&
                               h->discarded >= before->discarded);
}

/* Whether the process has the dictionary of the packet, if need be a newer one. Returns 0 or an error. */
static int know_dictionary(const struct record_stream *s, const struct record_source *of, const struct packet_header *h)
{
    if (dict_includes(s->process->dict, h->dictionary))
        return 0;
    int err = of->renew ? of->renew(of->context) : 0;
    return err ? err : dict_includes(s->process->dict, h->dictionary) ? 0 : BEZEL_EMALFORMED;
}

/* Begins packet `h`: a loss that it counts comes next, then its records, if any of them may be wanted. */
static void begin_packet(struct record_stream *s, const struct record_source *of, const struct packet_header *h)
{
    const struct model_node *node = s->process->node;
    uint64_t lost = h->discarded - (s->packets ? s->packet.discarded : 0);
    s->packet = *h;
    s->packets++;
    s->records += h->records;
    s->packet_end = record_stream_at(s) + h->size_bytes;
    s->records_left = h->records;
    s->time = lost ? h->timestamp_end : h->timestamp_begin;
    s->lost = lost;
    if (lost && record_filter_in_time(of->filter, node, s->time))
        s->next = RECORD_LOSS;
    enum record_where where = record_filter_where(of->filter, node, h->timestamp_begin, h->timestamp_end);
    s->is_partly = where == RECORD_PARTLY;
    s->lean = h->records > 0 && (!s->any || where == RECORD_OUTSIDE);
    if (s->lean)
        s->records_left = 0;
    move_to(s, s->lean ? s->packet_end : record_stream_at(s) + PACKET_HEADER_BYTES);
}

/* Reads the header of the next packet. Returns 1; 0 where there is no complete one; or an error. */
static int next_packet(struct record_stream *s, const struct record_source *of)
{
    struct packet_header h;
    int err;
    do {
        s->passed = false;
        err = record_stream_has_more(s) ? fill(s, of, PACKET_HEADER_BYTES) : 0;
    } while (!err && s->passed);
    if (err || s->used - s->taken < PACKET_HEADER_BYTES)
        return err;
    err = packet_get_header(s->buffer + s->taken, s->used - s->taken, &h);
    if (err && err != BEZEL_EAGAIN) /* EAGAIN: the header is there, its records are not read yet */
        return err;
    if (!follows(s, &h))
        return BEZEL_EMALFORMED;
    if (h.size_bytes > s->bytes - record_stream_at(s))
        return 0;
    err = know_dictionary(s, of, &h);
    if (err)
        return err;
    begin_packet(s, of, &h);
    return 1;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Decodes the record at *offset of the buffer, of which `end` bytes may be looked at. False: it is none. */
static bool decode(struct record_stream *s, size_t end, size_t *offset)
{
    const uint8_t *p = s->buffer + *offset;
    if (s->record_bytes > 0 && s->record_bytes <= end - *offset && bytes_get_u32(p) == s->record.aspect) {
        s->record.timestamp = bytes_get_u64(p + 4);
        s->record.values = p + PACKET_RECORD_BYTES;
        *offset += s->record_bytes;
        return true;
    }
    const struct dict *d = s->process->dict;
    size_t from = *offset;
    if (packet_read_record(s->buffer, end, d->field_counts, d->aspect_count, offset, &s->record) != 1)
        return false;
    s->aspect = &d->aspects[s->record.aspect - 1];
    s->record_bytes = *offset - from;
    return true;
}

/* Reads a record of the present packet. Returns 0 or an error. */
static int next_record(struct record_stream *s, const struct record_source *of)
{
    uint64_t left = s->packet_end - record_stream_at(s);
    size_t want = left < PACKET_RECORD_MAX_BYTES ? (size_t)left : PACKET_RECORD_MAX_BYTES;
    int err = fill(s, of, want);
    if (!err && s->passed)
        return 0;
    if (err || s->used - s->taken < want)
        return err ? err : BEZEL_EMALFORMED; /* the file was truncated meanwhile */
    /* The part of the packet that is in the buffer. */
    size_t end = s->taken + (left < s->used - s->taken ? (size_t)left : s->used - s->taken), offset = s->taken;
    if (s->records_left-- == 0 || !decode(s, end, &offset) || s->record.timestamp < s->time ||
        s->record.timestamp > s->packet.timestamp_end)
        return BEZEL_EMALFORMED;
    __builtin_prefetch(s->buffer + offset + PACKET_RECORD_MAX_BYTES);
    s->taken = offset;
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
    while (!err && record_stream_at(s) < s->packet_end) {
        err = next_record(s, of);
        if (!err && s->next != RECORD_NOTHING)
            return 1;
    }
    if (!err && s->records_left > 0)
        err = BEZEL_EMALFORMED;
    if (err)
        return err;
    s->time = s->packets ? s->packet.timestamp_end : s->time;
    int more = next_packet(s, of);
    if (more == 0)
        drop_buffer(s);
    return more;
}
