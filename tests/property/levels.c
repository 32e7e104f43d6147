// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Level of detail against all records of the run, one by one: columns of random windows, widths, aspects and fields are
 * the same, and so are records, while the run grows, whatever was taken in when, and when it was closed and opened
 * again in between. The writer is the collector's own store. BEZEL_SEED repeats.
 */
#include "run/levels/levels_internal.h"
#include "run/store/trace_reader.h"
#include "tests/lib/grown_run.h"
#include "tests/lib/test.h"

#include <math.h>

/* ---- the oracle: all records of a stream ------------------------------------------------------------------------- */

struct seen {
    uint64_t time, lost, offset, values[PACKET_FIELDS_MAX];
    uint32_t aspect; /* 0: a loss */
};

struct all {
    size_t count, capacity;
    struct seen *list;
};

static struct seen *add(struct all *a)
{
    if (a->count == a->capacity) {
        a->capacity = a->capacity ? 2 * a->capacity : 1024;
        a->list = realloc(a->list, a->capacity * sizeof *a->list);
        assert_non_null(a->list);
    }
    return memset(&a->list[a->count++], 0, sizeof *a->list);
}

/* The records of the first `bytes` of a stream, which must be complete packets. */
static struct all read_all(const struct levels_stream *s)
{
    struct all a = {0};
    struct trace_reader *r;
    struct packet_header h;
    struct packet_record record;
    const uint8_t *packet;
    uint64_t discarded = 0;
    assert_int_equal(trace_reader_open(s->path, &r), 0);
    while (r->at.bytes < s->bytes) {
        uint64_t at = r->at.bytes;
        size_t offset = PACKET_HEADER_BYTES, from = offset;
        assert_int_equal(trace_reader_next(r, &h, &packet), 1);
        if (h.discarded > discarded)
            *add(&a) = (struct seen){.time = h.timestamp_end, .lost = h.discarded - discarded, .offset = at};
        discarded = h.discarded;
        const struct dict *d = s->process->dict;
        for (; packet_next_record(packet, &h, d->field_counts, d->aspect_count, &offset, &record) == 1; from = offset) {
            struct seen *seen = add(&a);
            *seen = (struct seen){.time = record.timestamp, .aspect = record.aspect, .offset = at + from};
            for (uint32_t i = 0; i < record.value_count; i++)
                seen->values[i] = packet_value(&record, i);
        }
    }
    assert_int_equal(r->at.bytes, s->bytes);
    trace_reader_close(r);
    return a;
}

struct question {
    uint32_t aspect, field;
    bool is_float;
    int64_t from, until;
    unsigned width;
    size_t room;
};

static double number(const struct question *q, const struct seen *s)
{
    double v;
    if (q->field == LEVELS_COUNT)
        return NAN;
    memcpy(&v, &s->values[q->field], sizeof v);
    return q->is_float ? v : (double)(int64_t)s->values[q->field];
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* A column as it must be, with what decides on `last`. */
struct expected {
    struct levels_column is;
    uint64_t last_time;
};

static const struct expected nothing = {.is = {.min = NAN, .max = NAN, .last = NAN}};

/* Adds column `b` of the next stream. */
static void join(struct expected *a, const struct expected *b)
{
    if (isnan(a->is.last) || (!isnan(b->is.last) && b->last_time >= a->last_time)) {
        a->is.last = b->is.last;
        a->last_time = b->last_time;
    }
    a->is.begin = b->is.begin;
    a->is.count += b->is.count;
    a->is.lost += b->is.lost;
    a->is.min = fmin(a->is.min, b->is.min);
    a->is.max = fmax(a->is.max, b->is.max);
}

/* Adds the `n` columns `one` to the `*count` of `list`, by way of `both`. */
static void join_all(struct expected *list, size_t *count, const struct expected *one, size_t n, struct expected *both)
{
    size_t i = 0, k = 0, to = 0;
    for (; i < *count || k < n; to++) {
        bool first = i < *count && (k == n || list[i].is.begin <= one[k].is.begin);
        bool second = k < n && (i == *count || one[k].is.begin <= list[i].is.begin);
        both[to] = first ? list[i++] : nothing;
        if (second)
            join(&both[to], &one[k++]);
    }
    memcpy(list, both, to * sizeof *list);
    *count = to;
}

/* The columns of one stream, in the order of time. */
static size_t columns_of(const struct all *a, const struct question *q, struct expected *list)
{
    size_t count = 0;
    int64_t first = q->from >> q->width, last = q->until >> q->width;
    for (size_t i = 0; i < a->count; i++) {
        const struct seen *s = &a->list[i];
        int64_t at = (int64_t)s->time >> q->width;
        if (at < first || at > last || (s->aspect && q->aspect && s->aspect != q->aspect))
            continue;
        if (!count || list[count - 1].is.begin != at << q->width)
            list[count++] = nothing;
        struct expected *e = &list[count - 1];
        e->is.begin = at << q->width;
        e->is.lost += s->lost;
        if (!s->aspect)
            continue;
        double v = number(q, s);
        e->is.count++;
        e->is.min = fmin(e->is.min, v);
        e->is.max = fmax(e->is.max, v);
        e->is.last = isnan(v) ? e->is.last : v;
        e->last_time = s->time;
    }
    return count;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void assert_columns(struct levels *l, const struct all *all, const size_t *streams, size_t n,
                           const struct question *q)
{
    size_t most = 1, count = 0;
    for (size_t i = 0; i < n; i++)
        most += all[streams[i]].count;
    struct expected *wanted = calloc(3 * most, sizeof *wanted), *one = wanted + most, *both = one + most;
    struct levels_column *found = calloc(most, sizeof *found);
    assert_true(wanted && found);
    for (size_t i = 0; i < n; i++)
        join_all(wanted, &count, one, columns_of(&all[streams[i]], q, one), both);
    count = count < q->room ? count : q->room;
    ssize_t got = levels_columns(l, streams, n, q->aspect, q->field, q->from, q->until, q->width, found,
                                 q->room < most ? q->room : most);
    assert_int_equal(got, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i].begin, wanted[i].is.begin);
        assert_int_equal(found[i].count, wanted[i].is.count);
        assert_int_equal(found[i].lost, wanted[i].is.lost);
        assert_true(same(found[i].min, wanted[i].is.min) && same(found[i].max, wanted[i].is.max));
        assert_true(same(found[i].last, wanted[i].is.last));
    }
    free(wanted);
    free(found);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

struct following {
    const struct all *all;
    const struct question *q;
    size_t next;
    uint64_t given, stop;
};

static bool is_asked(const struct question *q, const struct seen *s)
{
    return (int64_t)s->time >= q->from && (int64_t)s->time <= q->until &&
           (!s->aspect || !q->aspect || s->aspect == q->aspect);
}

static int take_next(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct following *f = context;
    while (f->next < f->all->count && !is_asked(f->q, &f->all->list[f->next]))
        f->next++;
    assert_true(f->next < f->all->count);
    const struct seen *s = &f->all->list[f->next++];
    assert_int_equal(place->record, s->offset);
    assert_int_equal(place->lost, s->lost);
    if (r) {
        assert_int_equal(r->timestamp, s->time);
        assert_int_equal(r->aspect, s->aspect);
        assert_int_equal(bytes_get_u64(place->raw + 4), s->time);
        assert_int_equal(place->bytes, PACKET_RECORD_BYTES + 8 * r->value_count);
    }
    assert_true(place->header->timestamp_begin <= s->time && place->header->timestamp_end >= s->time);
    return ++f->given == f->stop;
}

static void assert_records(struct levels *l, const struct all *all, size_t stream, const struct question *q)
{
    struct following f = {.all = &all[stream], .q = q, .stop = draw(3) ? UINT64_MAX : 1 + draw(5)};
    int result = levels_records(l, stream, q->aspect, q->from, q->until, take_next, &f);
    assert_int_equal(result, f.given == f.stop);
    while (f.next < f.all->count && !is_asked(q, &f.all->list[f.next]))
        f.next++;
    assert_true(result || f.next == f.all->count);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void ask(struct levels *l, const struct all *all)
{
    size_t some[RINGS], n = 0, first = (size_t)draw(levels_stream_count(l));
    const struct levels_stream *s = levels_stream(l, first);
    struct question q = {.field = LEVELS_COUNT, .room = draw(4) ? SIZE_MAX : draw(20)};
    for (size_t i = 0; i < levels_stream_count(l) && n < RINGS; i++)
        if (levels_stream(l, i)->process == s->process && draw(3))
            some[n++] = i;
    q.aspect = (uint32_t)draw(s->process->dict->aspect_count + 1);
    if (q.aspect && s->process->dict->field_counts[q.aspect] && draw(4)) {
        q.field = (uint32_t)draw(s->process->dict->field_counts[q.aspect]);
        q.is_float = s->process->dict->aspects[q.aspect - 1].fields[q.field].type == DICT_FLOAT64;
    }
    q.width = (unsigned)draw(draw(4) ? 34 : LEVELS_WIDTH_MAX + 1);
    int64_t span = s->last - s->first + 2, a = s->first - 1 + (int64_t)draw((uint64_t)span);
    int64_t b = draw(2) ? s->first - 1 + (int64_t)draw((uint64_t)span) : a + (int64_t)draw(1U << 20);
    q.from = draw(8) ? a < b ? a : b : INT64_MIN;
    q.until = draw(8) ? a < b ? b : a : INT64_MAX;
    if (draw(3) == 0 && all[first].count) /* exactly at a record */
        q.from = (int64_t)all[first].list[draw(all[first].count)].time;
    q.until = q.until < q.from ? q.from : q.until;
    assert_columns(l, all, some, n, &q);
    assert_records(l, all, first, &q);
}

static void ask_some(struct levels *l, unsigned times)
{
    size_t n = levels_stream_count(l);
    struct all *all = calloc(n + 1, sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < n; i++)
        all[i] = read_all(levels_stream(l, i));
    for (unsigned i = 0; i < times && n; i++)
        ask(l, all);
    for (size_t i = 0; i < n; i++)
        free(all[i].list);
    free(all);
}

static struct levels *open_levels(const char *run)
{
    struct levels *l;
    assert_int_equal(levels_open(run, &l), 0);
    assert_true(l->store.writes);
    if (draw(4))
        l->tail = draw(2) ? draw(3) : draw(1 << 14);
    l->store.block_bytes = draw(8) ? 512 : LEVELS_BLOCK_BYTES; /* what has blocks of another size is made again */
    if (draw(4) == 0)
        l->trees_bytes = draw(1 << 16);
    return l;
}

/* The first 0 may end a round that began before the latest records were there, the second does not. */
static void update_all(struct levels *l)
{
    for (int round = 0; round < 2; round++) {
        int more;
        while ((more = levels_update(l, (int64_t)draw(3) * CLOCK_MS)) > 0)
            ;
        assert_int_equal(more, 0);
    }
}

/* ---- many records ------------------------------------------------------------------------------------------------ */

enum { MANY = 2000 };

/* How the times of records follow each other. */
struct rhythm {
    uint64_t time;
    unsigned exponent; /* of the usual pause, ns */
};

/* Steady, with bursts, with pauses of all lengths, and at the same time. */
static uint64_t next_time(struct rhythm *p)
{
    if (draw(200) == 0)
        p->exponent = (unsigned)draw(30);
    uint64_t pause = draw(40) ? draw(UINT64_C(2) << p->exponent) : draw(UINT64_C(1) << draw(36));
    return p->time += draw(3) ? pause : 0;
}

static void append_many(struct grown *g, struct model_process *p, uint32_t ring, struct rhythm *rhythm,
                        uint32_t records)
{
    static uint8_t packet[PACKET_MAX_BYTES];
    struct model_stream *s = model_stream(p, ring);
    struct packet_header h = {.stream_id = p->stream_id,
                              .seq = s->at.next_seq,
                              .kind = PACKET_DATA,
                              .instance = p->instance,
                              .ring = ring,
                              .thread = 7,
                              .dictionary = p->dict->hash,
                              .discarded = s->at.discarded,
                              .first_ordinal = s->at.next_ordinal,
                              .records = records};
    memcpy(h.uuid, p->node->uuid, sizeof h.uuid);
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    for (uint32_t i = 0; i < records; i++) {
        uint64_t time = next_time(rhythm);
        h.timestamp_begin = i ? h.timestamp_begin : time;
        h.timestamp_end = time;
        at = put_record(at, p->dict, time);
    }
    g->records += records;
    store(g, p, ring, &h, packet, (size_t)(at - packet));
}

/* The next packet of a stream: records, many or few, or a loss. */
static void append_some(struct grown *g, uint32_t ring, struct rhythm *rhythm)
{
    struct model_process *p = get_process(g, 0, 0);
    if (!model_find_stream(p, ring) || draw(8) == 0) {
        append(g, p, ring, 0, rhythm->time, rhythm->time + 1);
        rhythm->time = p->streams[ring]->last_end;
    } else
        append_many(g, p, ring, rhythm, 1 + (uint32_t)draw(draw(2) ? 20 : MANY));
}

/* However times are distributed, levels have no more than their part of the stream's bytes. */
static void assert_bounded(const struct levels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct levels_tree *t = l->rings[i]->tree;
        uint64_t bytes = t ? t->marks.rows * t->marks.row : 0;
        for (unsigned k = 0; t && k < LEVELS_TRACKS; k++)
            bytes += t->tracks[k] ? t->tracks[k]->spent : 0;
        if (t)
            assert_in_range(bytes, 0, t->at.bytes * 15 / 100 + t->count * 2048);
    }
}

TEST(many_records_have_levels_that_are_right)
{
    static struct grown g;
    for (int round = 0; round < 4; round++) {
        struct rhythm rhythm[2] = {{10 * CLOCK_S, 10}, {10 * CLOCK_S, 20}};
        grown_open(&g, "many");
        struct levels *l = open_levels(g.run);
        for (int i = 0; i < 50; i++) {
            uint32_t ring = (uint32_t)draw(2);
            append_some(&g, ring, &rhythm[ring]);
            if (draw(3) == 0)
                assert_in_range(levels_update(l, 0), 0, 1);
            if (draw(20) == 0) {
                levels_close(l);
                l = open_levels(g.run);
            }
            if (draw(20) == 0) {
                update_all(l);
                ask_some(l, 20);
            }
        }
        update_all(l);
        assert_bounded(l);
        ask_some(l, 100);
        assert_int_equal(levels_totals(l).records, g.records);
        levels_close(l);
        grown_close(&g);
    }
}

TEST(a_growing_run_has_the_columns_of_its_records)
{
    static struct grown g;
    for (int round = 0; round < 4; round++) {
        grown_open(&g, "grows");
        struct levels *l = open_levels(g.run);
        for (int i = 0; i < 120; i++) {
            happen(&g, 300 * CLOCK_MS);
            if (draw(4) == 0)
                assert_in_range(levels_update(l, 0), 0, 1);
            if (draw(12) == 0) {
                update_all(l);
                ask_some(l, 12);
            }
            if (draw(30) == 0) {
                levels_close(l);
                l = open_levels(g.run);
            }
        }
        update_all(l);
        ask_some(l, 50);
        assert_int_equal(levels_totals(l).records, g.records);
        levels_close(l);
        grown_close(&g);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

/* Bytes of a packet that are changed at random are taken, or refused, as packet_check() does. */
TEST(the_builder_refuses_what_a_check_refuses)
{
    static struct grown g;
    static uint8_t packet[1 << 16];
    unsigned refused = 0, taken = 0;
    grown_open(&g, "refused");
    const struct dict *d = get_process(&g, 0, 0)->dict;
    for (int i = 0; i < 1200; i++) {
        struct levels_store store = {.folder = -1, .fd = -1, .block_bytes = LEVELS_BLOCK_BYTES};
        struct levels_tree t = {0};
        struct rhythm rhythm = {CLOCK_S, 4};
        uint8_t *at = packet + PACKET_HEADER_BYTES, *last = at;
        struct packet_header h = {.records = 1 + (uint32_t)draw(30)};
        levels_tree_init(&t, &store);
        for (uint32_t n = 0; n < h.records; n++) {
            h.timestamp_end = next_time(&rhythm);
            last = at;
            at = put_record(at, d, h.timestamp_end);
        }
        if (draw(8) == 0) /* its end lies elsewhere than the packet's */
            bytes_put_u32(last, 1 + (uint32_t)draw(2));
        h.size_bytes = (uint64_t)(at - packet);
        if (draw(2))
            packet[PACKET_HEADER_BYTES + draw(h.size_bytes - PACKET_HEADER_BYTES)] ^= (uint8_t)(1U << draw(8));
        h.records += draw(6) == 0;
        h.timestamp_end -= draw(4) == 0;
        h.timestamp_begin = draw(6) ? 0 : bytes_get_u64(packet + PACKET_HEADER_BYTES + 4) + draw(2);
        int wanted = packet_check(packet, &h, d->field_counts, d->aspect_count, NULL);
        struct trace_position to = {.bytes = h.size_bytes, .records = h.records, .last = h};
        assert_int_equal(levels_build_packet(&t, d, &to, packet), wanted);
        refused += wanted != 0;
        taken += wanted == 0;
        levels_tree_fini(&t);
    }
    assert_true(refused > 200 && taken > 200);
    grown_close(&g);
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
