// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The streams of an imported run: records and losses become packets. */
#include "import/fill_internal.h"
#include "mdr/packet.h"
#include "run/model/statistics.h"
#include "run/model/validate.h"

#include <stdlib.h>
#include <string.h>

enum { COMMIT_PACKETS = 1024 }; /* after so many, rows are committed */

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static struct packet_header header_of(const struct fill_ring *r, enum packet_kind kind, int64_t begin, int64_t end)
{
    const struct model_process *p = r->process->process;
    struct packet_header h = {.stream_id = p->stream_id,
                              .timestamp_begin = (uint64_t)begin,
                              .timestamp_end = (uint64_t)end,
                              .size_bytes = PACKET_HEADER_BYTES,
                              .discarded = r->stream->at.discarded,
                              .seq = r->stream->at.next_seq,
                              .kind = kind,
                              .instance = p->instance,
                              .ring = r->number,
                              .thread = r->thread,
                              .dictionary = p->dict->hash,
                              .first_ordinal = r->stream->at.next_ordinal};
    memcpy(h.uuid, p->node->uuid, sizeof h.uuid);
    return h;
}

/* Stores a packet as a collector does. */
static int store_packet(struct fill_ring *r, const struct packet_header *h, uint8_t *packet)
{
    struct fill *in = r->process->in;
    struct validate_found found;
    packet_put_header(packet, h);
    if (validate_check(r->process->process, r->stream, h, packet, &found) != NULL)
        return fill_fail(in, BEZEL_EMALFORMED, "a packet"); /* our own fault */
    int err = store_append(in->store, r->stream, packet, h->size_bytes);
    if (err)
        return fill_fail(in, err, "the trace");
    validate_advance(r->stream, h);
    statistics_count(r->stream, h, packet, &found.all, 0);
    rundb_add_packet(in->rundb, r->process->process, h, packet, found.lost);
    r->process->process->dirty = true;
    in->totals.lost += found.lost;
    in->totals.records += h->records;
    if (++in->packets % COMMIT_PACKETS == 0)
        err = rundb_commit(in->rundb);
    return err ? fill_fail(in, err, "run.db") : 0;
}

/* Stores a packet without records; the opening one of its stream before it. */
static int store_empty(struct fill_ring *r, enum packet_kind kind, int64_t begin, int64_t end, uint64_t lost)
{
    uint8_t packet[PACKET_HEADER_BYTES];
    int err = fill_publish(r->process);
    if (!err && r->stream->packets == 0 && kind != PACKET_OPEN)
        err = store_empty(r, PACKET_OPEN, begin, begin, 0);
    if (err)
        return err;
    struct packet_header h = header_of(r, kind, begin, end);
    h.discarded += lost;
    return store_packet(r, &h, packet);
}

static int fill_flush(struct fill_ring *r)
{
    int err = r->process->in->err;
    if (err || r->records == 0)
        return err;
    err = fill_publish(r->process);
    if (!err && r->stream->packets == 0)
        err = store_empty(r, PACKET_OPEN, r->begin, r->begin, 0);
    if (err)
        return err;
    struct packet_header h = header_of(r, PACKET_DATA, r->begin, r->last);
    h.records = r->records;
    h.size_bytes = r->used;
    err = store_packet(r, &h, r->bytes);
    r->records = 0;
    r->used = PACKET_HEADER_BYTES;
    return err;
}

int fill_close_ring(struct fill_ring *r)
{
    int err = fill_flush(r);
    return err || r->stream->packets == 0 ? err : store_empty(r, PACKET_CLOSE, r->last, r->last, 0);
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

static struct fill_ring *add_ring(struct fill_process *p, uint64_t key)
{
    struct fill_ring *r = calloc(1, sizeof *r), **bucket = &p->rings[key % FILL_RING_BUCKETS];
    struct model_stream *s = r ? model_stream(p->process, p->ring_count) : NULL;
    if (!s) {
        free(r);
        (void)!fill_fail(p->in, BEZEL_ENOMEM, "a stream");
        return NULL;
    }
    *r = (struct fill_ring){
        .process = p, .stream = s, .key = key, .number = p->ring_count, .used = PACKET_HEADER_BYTES, .next = *bucket};
    p->numbered[p->ring_count++] = r;
    return *bucket = r;
}

/* All places are taken: one that another thread has, of records and not losses. */
static struct fill_ring *share_ring(struct fill_process *p, uint64_t key, int64_t time)
{
    for (uint32_t i = 0; i < PACKET_RINGS_MAX; i++) {
        struct fill_ring *r = p->numbered[(key + i) % PACKET_RINGS_MAX];
        if ((r->key & FILL_OF_LOSSES) == (key & FILL_OF_LOSSES) && r->last <= time)
            return r;
    }
    return NULL;
}

struct fill_ring *fill_ring(struct fill_process *p, uint64_t key, uint64_t trace, int64_t time)
{
    struct fill_ring *earlier = NULL;
    for (struct fill_ring *r = p->rings[key % FILL_RING_BUCKETS]; r; r = r->next) {
        if (r->key == key && r->trace == trace && r->last <= time)
            return r;
        if (r->key == key && r->last <= time)
            earlier = r;
    }
    if (!earlier)
        earlier = p->ring_count < PACKET_RINGS_MAX ? add_ring(p, key) : share_ring(p, key, time);
    if (earlier)
        earlier->trace = trace;
    return earlier;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* What all rings hold is stored, and their memory freed. */
static int flush_all(struct fill *in)
{
    int err = 0;
    for (struct fill_process *p = in->processes; p; p = p->next)
        for (uint32_t i = 0; i < p->ring_count && !err; i++) {
            struct fill_ring *r = p->numbered[i];
            err = fill_flush(r);
            free(r->bytes);
            r->bytes = NULL;
            r->room = 0;
        }
    in->waiting = 0;
    return err;
}

/* Makes room for `size` bytes more in a ring. */
static int make_room(struct fill *in, struct fill_ring *r, size_t size)
{
    if (r->used + size > FILL_PACKET_BYTES) {
        int err = fill_flush(r);
        if (err)
            return err;
    }
    if (r->used + size <= r->room)
        return 0;
    if (in->waiting > FILL_MEMORY) {
        int err = flush_all(in);
        if (err)
            return err;
    }
    size_t room = r->room ? r->room * 4 : 2048;
    uint8_t *more = realloc(r->bytes, room);
    if (!more)
        return fill_fail(in, BEZEL_ENOMEM, "records");
    in->waiting += room - r->room;
    r->bytes = more;
    r->room = room;
    return 0;
}

/* The run's time from its first to its last record or loss. */
static void note_time(struct fill *in, const struct fill_ring *r, int64_t from, int64_t until)
{
    int64_t ahead = r->process->process->node->realtime_offset;
    if (from + ahead < in->totals.begin)
        in->totals.begin = from + ahead;
    if (until + ahead > in->totals.end)
        in->totals.end = until + ahead;
}

static bool is_possible(const struct fill_ring *r, int64_t time)
{
    return r && time >= 0 && (uint64_t)time <= MODEL_TIME_MAX && time >= r->last;
}

int fill_record(struct fill *in, struct fill_ring *r, uint32_t thread, uint32_t aspect, int64_t time,
                const uint64_t *values, uint32_t count)
{
    if (in->err)
        return in->err;
    if (aspect == 0 || !is_possible(r, time))
        return fill_leave_out(in), 0;
    int err = r->thread != thread ? fill_flush(r) : 0;
    if (!err)
        err = make_room(in, r, PACKET_RECORD_BYTES + 8 * (size_t)count);
    if (err)
        return err;
    r->thread = thread;
    if (r->records++ == 0)
        r->begin = time;
    note_time(in, r, time, time);
    uint8_t *at = packet_put_record(r->bytes + r->used, aspect, (uint64_t)time);
    for (uint32_t i = 0; i < count; i++, at += 8)
        bytes_put_u64(at, values[i]);
    r->used = (size_t)(at - r->bytes);
    r->last = time;
    return 0;
}

int fill_loss(struct fill *in, struct fill_ring *r, int64_t from, int64_t until, uint64_t count)
{
    if (in->err || !r || count == 0)
        return in->err;
    from = from > r->last ? from : r->last;
    until = until > from ? until : from;
    if (!is_possible(r, from) || (uint64_t)until > MODEL_TIME_MAX ||
        count > MODEL_ATTEMPTS_MAX - r->stream->at.discarded)
        return in->totals.left_out += count, 0;
    note_time(in, r, from, until);
    int err = fill_flush(r); /* what waits was before it */
    err = err ? err : store_empty(r, PACKET_LOSS, from, until, count);
    r->last = until;
    return err;
}

void fill_leave_out(struct fill *in)
{
    in->totals.left_out++;
}
