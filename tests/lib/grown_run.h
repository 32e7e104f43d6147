// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A run that grows at random: three nodes, with clocks that are the run's, another one, and an unknown one; processes
 * whose dictionaries grow; records, losses, and tails that stay torn for a while. The writer is the collector's own
 * store. For one test program: it asserts.
 */
#ifndef BEZEL_TESTS_LIB_GROWN_RUN_H
#define BEZEL_TESTS_LIB_GROWN_RUN_H

#include "base/clock.h"
#include "base/file.h"
#include "collector/receive/receiver_packet.h"
#include "mdr/parts.h"
#include "run/rundb/rundb_live.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 3, PROCESSES = 3, RINGS = 3, EXCHANGES = 40 };

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    return seed_next(&seed) % below;
}

struct grown {
    char run[PATH_MAX];
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    struct model_node *nodes[NODES];
    struct model_process *processes[NODES][PROCESSES];
    uint8_t dictionary[DICT_MAX_BYTES]; /* the newest: processes take it when they like */
    int dictionary_bytes;
    uint32_t aspects;
    uint64_t begin, clock[NODES]; /* of each node: its latest record */
    uint64_t records, lost;
    bool intact;     /* no tail is torn */
    bool mute;       /* `far` has not exchanged times yet */
    bool talks;      /* newer aspects are of messages, through channel h264 */
    int64_t jump_ns; /* by so much the clock of `far` was found to have jumped back after half of the exchanges */
};

static void add_aspect(struct grown *g, const struct dict_aspect *a)
{
    g->dictionary_bytes = dict_append_aspect(g->dictionary, (size_t)g->dictionary_bytes, sizeof g->dictionary, a);
    assert_true(g->dictionary_bytes > 0);
    g->aspects = a->id;
}

static void make_dictionary(struct grown *g)
{
    struct dict_aspect shown = {.id = 1, .name = "shown", .field_count = 4};
    shown.fields[0] = (struct dict_field){DICT_INT64, "frame", "1", ""};
    shown.fields[1] = (struct dict_field){DICT_FLOAT64, "latency", "ms", ""};
    shown.fields[2] = (struct dict_field){DICT_ENUM, "kind", "", "key|delta"};
    shown.fields[3] = (struct dict_field){DICT_STRING, "codec", "", ""};
    struct dict_aspect work = {.id = 2, .name = "work", .kind = DICT_SPAN, .field_count = 1};
    work.fields[0] = (struct dict_field){DICT_INT64, "duration", "ns", ""};
    add_aspect(g, &shown);
    add_aspect(g, &work);
    g->dictionary_bytes =
        dict_append_string(g->dictionary, (size_t)g->dictionary_bytes, sizeof g->dictionary, 1, "h264");
    assert_true(g->dictionary_bytes > 0);
}

static void grown_open(struct grown *g, const char *name)
{
    static const uint8_t clock[16] = {1};
    char identity[MODEL_UUID_TEXT];
    memset(g, 0, sizeof *g);
    snprintf(g->run, sizeof g->run, "%s/%s", scratch_dir, name);
    (void)!file_remove_tree(g->run);
    assert_int_equal(file_make_dirs(g->run, 0777), 0);
    assert_int_equal(rundb_open(g->run, &g->rundb), 0);
    assert_int_equal(store_open(g->run, STORE_SYNC_NEVER, &g->store), 0);
    g->model = model_new("");
    model_uuid_text(clock, identity);
    assert_int_equal(rundb_put(g->rundb, RUNDB_CLOCK, identity), 0);
    assert_int_equal(rundb_put_int(g->rundb, RUNDB_CLOCK_AHEAD, 1700000000 * CLOCK_S), 0);
    assert_int_equal(rundb_commit(g->rundb), 0);
    make_dictionary(g);
    g->begin = 10 * CLOCK_S;
    for (int n = 0; n < NODES; n++)
        g->clock[n] = g->begin;
}

static void grown_close(struct grown *g)
{
    store_close(g->store);
    model_free(g->model);
    assert_int_equal(rundb_close(g->rundb), 0);
}

/* Exchanges of `far`, whose clock runs 100 ppm fast, with the run's clock; round trips are of 100 us. */
static void exchange_times(struct grown *g, const struct model_node *far)
{
    static const uint8_t clock[16] = {1};
    char path[PATH_MAX + 8], insert[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/run.db", g->run);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
    for (int64_t i = 0; i < EXCHANGES; i++) {
        int64_t there = 10 * CLOCK_S + i * CLOCK_S / 10, sent = there + there / 10000 - 50 * CLOCK_US;
        there -= i < EXCHANGES / 2 ? 0 : g->jump_ns;
        snprintf(insert, sizeof insert,
                 "INSERT INTO exchanges VALUES(%lld, 0, %lld, %lld, %lld, %lld, %lld, 0, -1, 0, -1, 0)",
                 (long long)far->row, (long long)clock_identity_short(clock), (long long)sent, (long long)there,
                 (long long)there, (long long)sent + 100000);
        assert_int_equal(sqlite3_exec(db, insert, NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Node 0 has the run's clock; 1 has another one, known by exchanges; 2 one that only its wall clock tells of. */
static struct model_node *get_node(struct grown *g, unsigned n)
{
    static const char *const names[NODES] = {"studio", "far", "shed"};
    if (g->nodes[n])
        return g->nodes[n];
    struct message_hello hello = {.uuid = {(uint8_t)(n + 1)}, .clock = {(uint8_t)(n + 1)}};
    hello.realtime_offset = 1700000000 * CLOCK_S;
    snprintf(hello.node, sizeof hello.node, "%s", names[n]);
    g->nodes[n] = model_add_node(g->model, &hello);
    assert_non_null(g->nodes[n]);
    assert_int_equal(rundb_add_node(g->rundb, g->nodes[n]), 0);
    if (n == 1 && !g->mute)
        exchange_times(g, g->nodes[n]);
    return g->nodes[n];
}

static void give_dictionary(struct grown *g, struct model_process *p)
{
    struct dict *d;
    assert_int_equal(dict_parse(g->dictionary, (size_t)g->dictionary_bytes, &d), 0);
    bool first = p->dict == NULL;
    model_set_dictionary(p, d);
    int err = first ? rundb_add_process(g->rundb, p, g->dictionary, (size_t)g->dictionary_bytes)
                    : rundb_set_dictionary(g->rundb, p, g->dictionary, (size_t)g->dictionary_bytes);
    assert_int_equal(err, 0);
}

static struct model_process *add_process(struct grown *g, struct model_node *node, const char *name, uint32_t number)
{
    static struct message_process said;
    said =
        (struct message_process){.instance = 1000 + number, .stream_id = number, .pid = 100 + number, .role = ROLE_SUT};
    snprintf(said.name, sizeof said.name, "%s", name);
    struct model_process *p = model_add_process(node, &said);
    assert_non_null(p);
    give_dictionary(g, p);
    return p;
}

static struct model_process *get_process(struct grown *g, unsigned n, unsigned i)
{
    static const char *const names[PROCESSES] = {"client", "server", "camera"};
    if (!g->processes[n][i])
        g->processes[n][i] = add_process(g, get_node(g, n), names[i], i + 1);
    return g->processes[n][i];
}

/* A newer dictionary, with an aspect more, that the process has from now on. */
static void extend(struct grown *g, struct model_process *p)
{
    char name[32];
    if (g->aspects < 40) {
        snprintf(name, sizeof name, "extra_%u", g->aspects);
        struct dict_aspect more = {.id = g->aspects + 1, .name = name};
        if (g->talks) {
            more.kind = more.id % 2 ? DICT_SENT : DICT_RECEIVED;
            more.field_count = 2;
            more.fields[0] = (struct dict_field){DICT_STRING, "peer", "", ""};
            more.fields[1] = (struct dict_field){DICT_INT64, "tag", "1", ""};
        }
        add_aspect(g, &more);
    }
    give_dictionary(g, p);
}

static uint8_t *put_record(uint8_t *at, const struct dict *d, uint64_t time)
{
    uint32_t aspect = 1 + (uint32_t)draw(d->aspect_count);
    double latency = draw(8) == 0 ? NAN : (double)draw(64) / 16;
    uint64_t values[4] = {draw(120) - 10, 0, draw(3), draw(2)};
    memcpy(&values[1], &latency, sizeof latency);
    if (aspect == 2)
        values[0] = draw(6) == 0 ? (uint64_t)-1 : draw(20) * CLOCK_MS / 2;
    if (d->aspects[aspect - 1].kind == DICT_SENT || d->aspects[aspect - 1].kind == DICT_RECEIVED) {
        values[0] = draw(8) > 0;
        values[1] = draw(30);
    }
    at = packet_put_record(at, aspect, time);
    for (uint32_t v = 0; v < d->field_counts[aspect]; v++, at += 8)
        bytes_put_u64(at, values[v]);
    return at;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/*
 * Leaves the first part of a packet behind the stored ones, as a collector does that is killed; `n` 0: cuts that off,
 * as the next collector does.
 */
static void tear(struct grown *g, const struct model_stream *s, const uint8_t *packet, size_t n)
{
    char path[PATH_MAX];
    assert_int_equal(store_path(g->store, s->process->node, s, path, sizeof path), 0);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)s->bytes), 0);
    assert_int_equal(pwrite(fd, packet, n, (off_t)s->bytes), n);
    close(fd);
}

static void store(struct grown *g, struct model_process *p, uint32_t ring, struct packet_header *h, uint8_t *packet,
                  size_t n)
{
    struct received a;
    struct model_stream *s = model_stream(p, ring);
    h->size_bytes = n;
    packet_put_header(packet, h);
    if (s->bytes)
        tear(g, s, packet, 0);
    if (h->timestamp_end > MODEL_TIME_MAX) { /* which no collector stores, but readers take */
        assert_int_equal(store_append(g->store, s, packet, n), 0);
        validate_advance(s, h);
        return;
    }
    receiver_take_packet(p->node, g->store, NULL, packet, n, &a);
    assert_int_equal(a.what, RECEIVED_STORED);
    if (!g->intact && draw(3) == 0) { /* of another packet than the one that will come */
        h->seq++;
        h->timestamp_begin = h->timestamp_end = s->last_end + CLOCK_S;
        packet_put_header(packet, h);
        tear(g, s, packet, draw(n));
    }
}

/*
 * Appends the next packet of a stream: of `records` records whose times are drawn from `from` to `until`, but not
 * before those of the packet before; a loss; or where it is new, its opening.
 */
static void append(struct grown *g, struct model_process *p, uint32_t ring, uint32_t records, uint64_t from,
                   uint64_t until)
{
    static uint8_t packet[PACKET_MAX_BYTES];
    uint64_t times[256];
    struct model_stream *s = model_stream(p, ring);
    from = s->last_end > from ? s->last_end : from;
    struct packet_header h = {.stream_id = p->stream_id, .seq = s->at.next_seq, .instance = p->instance};
    h = (struct packet_header){.stream_id = p->stream_id,
                               .seq = s->at.next_seq,
                               .kind = s->at.next_seq ? records ? PACKET_DATA : PACKET_LOSS : PACKET_OPEN,
                               .instance = p->instance,
                               .ring = ring,
                               .thread = 7,
                               .dictionary = p->dict->hash,
                               .discarded = s->at.discarded,
                               .first_ordinal = s->at.next_ordinal};
    memcpy(h.uuid, p->node->uuid, sizeof h.uuid);
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    h.records = h.kind == PACKET_DATA ? records : 0;
    until = until > from ? until : from + 1;
    for (uint32_t i = 0; i < h.records; i++)
        times[i] = from + draw(until - from);
    qsort(times, h.records, sizeof *times, by_value);
    for (uint32_t i = 0; i < h.records; i++)
        at = put_record(at, p->dict, times[i]);
    h.timestamp_begin = h.records ? times[0] : from;
    h.timestamp_end = h.records ? times[h.records - 1] : from;
    if (h.kind == PACKET_LOSS) {
        uint64_t lost = 1 + draw(50);
        h.discarded += lost;
        g->lost += lost;
    }
    g->records += h.records;
    store(g, p, ring, &h, packet, (size_t)(at - packet));
}

/* Something happens in the run; records are made up to `delay` ns before the latest one of their node. */
static inline void happen(struct grown *g, uint64_t delay)
{
    unsigned n = (unsigned)draw(NODES);
    struct model_process *p = get_process(g, n, (unsigned)draw(PROCESSES));
    if (draw(8) == 0)
        extend(g, p);
    uint64_t from = g->clock[n] - (delay ? draw(delay) : 0);
    uint64_t until = g->clock[n] + 1 + draw(100 * CLOCK_MS);
    append(g, p, (uint32_t)draw(RINGS), draw(6) == 0 ? 0 : 1 + (uint32_t)draw(40), from, until);
    g->clock[n] = until;
}

#endif
