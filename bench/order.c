// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How fast a reader brings the records of many nodes into one order: runs of 1, 10, 100 and 1,000 nodes, each with one
 * process, one stream, and a clock of its own that is known by exchanges of times. Together they record 5,000,000 times
 * a second, in turn, two int64 each, and are polled every 20 ms. The run is one second long, was stored by the
 * collector's own store, and lies in shared memory. One figure a line: `name value unit`.
 *
 *   bench-order                       all figures
 *   bench-order NODES [siso|miso]     reads one such run, for a profiler
 */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "collector/read/run_reader.h"
#include "collector/receive/receiver_packet.h"
#include "collector/rundb/rundb_live.h"
#include "collector/store/store.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    NODES_MAX = 1000,
    RATE = 5000000, /* records of all nodes in a second, which is as long as the run */
    POLLS = 50,     /* in this second */
    PACKET_MOST = 256 << 10,
    RECORD_BYTES = PACKET_RECORD_BYTES + 2 * 8,
    RECORDS_MOST = (PACKET_MOST - PACKET_HEADER_BYTES) / RECORD_BYTES,
    EXCHANGES_BEFORE = 8,
    EXCHANGES = EXCHANGES_BEFORE + 3,
    ROUNDS = 5,
};

#define BEGIN (100 * CLOCK_S) /* of the records, by the run's clock */
#define STEP  (CLOCK_S / RATE)

static char run[] = "/dev/shm/bezel-bench-XXXXXX";
static const uint8_t run_clock[16] = {1};

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench-order: %s failed\n", what);
    (void)!file_remove_tree(run);
    exit(1);
}

/* ---- making a run ------------------------------------------------------------------------------------------------ */

struct making {
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    unsigned nodes;
    uint8_t dictionary[1024];
    int dictionary_bytes;
    struct model_process *processes[NODES_MAX];
};

/* What clock `n` says at `there` of the run's clock: it is some 10 ms ahead of its neighbour, and up to 50 ppm fast. */
static int64_t own_time(unsigned n, int64_t there)
{
    int64_t ppm = (int64_t)(n * 37 % 101) - 50;
    return there + (there - BEGIN) * ppm / 1000000 + (int64_t)(n + 1) * 10 * CLOCK_MS;
}

static void make_dictionary(struct making *m)
{
    struct dict_aspect a = {.id = 1, .name = "sample", .field_count = 2};
    a.fields[0] = (struct dict_field){DICT_INT64, "number", "1", ""};
    a.fields[1] = (struct dict_field){DICT_INT64, "value", "1", ""};
    m->dictionary_bytes = dict_append_aspect(m->dictionary, 0, sizeof m->dictionary, &a);
    must(m->dictionary_bytes > 0, "a dictionary");
}

static void open_run(struct making *m, bool siso)
{
    char identity[MODEL_UUID_TEXT];
    strcpy(run + strlen(run) - 6, "XXXXXX");
    must(mkdtemp(run), "making a folder");
    must(rundb_open(run, &m->rundb) == 0 && store_open(run, STORE_SYNC_NEVER, &m->store) == 0, "making a run");
    m->model = model_new("");
    must(m->model, "memory");
    model_uuid_text(run_clock, identity);
    must(rundb_put_int(m->rundb, RUNDB_CLOCK_AHEAD, 1700000000 * CLOCK_S) == 0 &&
             rundb_put(m->rundb, RUNDB_CLOCK, identity) == 0 &&
             (!siso || rundb_put(m->rundb, RUNDB_ORDER_BUFFERS, order_buffers_word(ORDER_SISO)) == 0),
         "making a run");
    make_dictionary(m);
}

static void add_node(struct making *m, unsigned n)
{
    static struct message_process said;
    struct message_hello hello = {.uuid = {2}, .clock = {2}};
    struct dict *d;
    bytes_put_u32(hello.uuid + 12, n);
    bytes_put_u32(hello.clock + 12, n);
    snprintf(hello.node, sizeof hello.node, "node%u", n);
    struct model_node *node = model_add_node(m->model, &hello);
    must(node && rundb_add_node(m->rundb, node) == 0, "adding a node");
    said = (struct message_process){.instance = 1000, .stream_id = 1, .pid = 100, .role = ROLE_SUT, .name = "app"};
    struct model_process *p = m->processes[n] = model_add_process(node, &said);
    must(p && dict_parse(m->dictionary, (size_t)m->dictionary_bytes, &d) == 0, "adding a process");
    model_set_dictionary(p, d);
    must(rundb_add_process(m->rundb, p, m->dictionary, (size_t)m->dictionary_bytes) == 0, "adding a process");
}

/* Exchanges as a node has them: quickly at first, then once a second; round trips are of 100 us. */
static void exchange_times(const struct making *m)
{
    char path[PATH_MAX], insert[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/run.db", run);
    must(sqlite3_open(path, &db) == SQLITE_OK && sqlite3_busy_timeout(db, 5000) == SQLITE_OK &&
             sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK,
         "opening run.db");
    for (unsigned n = 0; n < m->nodes; n++)
        for (int64_t i = 0; i < EXCHANGES; i++) {
            int64_t after = i - EXCHANGES_BEFORE;
            int64_t there = BEGIN + (after < 0 ? after * 50 * CLOCK_MS : after * CLOCK_S), own = own_time(n, there);
            snprintf(insert, sizeof insert,
                     "INSERT INTO exchanges VALUES(%lld, 0, %lld, %lld, %lld, %lld, %lld, 0, -1, 0, -1)",
                     (long long)m->processes[n]->node->row, (long long)clock_identity_short(run_clock),
                     (long long)own - 50000, (long long)there, (long long)there, (long long)own + 50000);
            must(sqlite3_exec(db, insert, NULL, NULL, NULL) == SQLITE_OK, "exchanging times");
        }
    must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK && sqlite3_close(db) == SQLITE_OK, "closing run.db");
}

/* Stores the next packet of node `n`: `count` records, the first of which is number `first` of all of the run. */
static void store_packet(struct making *m, unsigned n, enum packet_kind kind, uint32_t count, int64_t first)
{
    static uint8_t packet[PACKET_MOST];
    struct model_process *p = m->processes[n];
    struct model_stream *s = model_stream(p, 0);
    struct received got;
    must(s, "memory");
    struct packet_header h = {.stream_id = p->stream_id,
                              .seq = s->at.next_seq,
                              .kind = kind,
                              .instance = p->instance,
                              .thread = 7,
                              .dictionary = p->dict->hash,
                              .first_ordinal = s->at.next_ordinal,
                              .records = count,
                              .size_bytes = PACKET_HEADER_BYTES + count * RECORD_BYTES};
    memcpy(h.uuid, p->node->uuid, sizeof h.uuid);
    h.timestamp_begin = (uint64_t)own_time(n, BEGIN + first * STEP);
    h.timestamp_end = (uint64_t)own_time(n, BEGIN + (first + (count ? count - 1 : 0) * (int64_t)m->nodes) * STEP);
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    for (int64_t i = 0; i < count; i++, at += 2 * 8) {
        int64_t number = first + i * m->nodes;
        at = packet_put_record(at, 1, (uint64_t)own_time(n, BEGIN + number * STEP));
        bytes_put_u64(at, (uint64_t)number);
        bytes_put_u64(at + 8, (uint64_t)(number * number));
    }
    packet_put_header(packet, &h);
    receiver_take_packet(p->node, m->store, packet, h.size_bytes, &got);
    must(got.what == RECEIVED_STORED, "storing a packet");
}

static void store_poll(struct making *m, unsigned n, unsigned poll)
{
    int64_t from = (int64_t)RATE / POLLS * poll, until = from + RATE / POLLS;
    for (int64_t first = from + n; first < until;) {
        int64_t left = (until - first + m->nodes - 1) / m->nodes;
        uint32_t count = left < RECORDS_MOST ? (uint32_t)left : RECORDS_MOST;
        store_packet(m, n, PACKET_DATA, count, first);
        first += (int64_t)count * m->nodes;
    }
}

static void make_run(unsigned nodes, bool siso)
{
    static struct making m;
    m = (struct making){.nodes = nodes};
    open_run(&m, siso);
    for (unsigned n = 0; n < nodes; n++) {
        add_node(&m, n);
        store_packet(&m, n, PACKET_OPEN, 0, n);
    }
    for (unsigned poll = 0; poll < POLLS; poll++)
        for (unsigned n = 0; n < nodes; n++)
            store_poll(&m, n, poll);
    for (unsigned n = 0; n < nodes; n++)
        store_packet(&m, n, PACKET_CLOSE, 0, RATE + (int64_t)n);
    must(rundb_commit(m.rundb) == 0, "storing a run");
    exchange_times(&m);
    store_close(m.store);
    must(rundb_close(m.rundb) == 0, "storing a run");
    model_free(m.model);
}

/* ---- reading it -------------------------------------------------------------------------------------------------- */

static int64_t cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * CLOCK_S + t.tv_nsec;
}

struct cost {
    double wall, cpu; /* ns a record */
};

/* Reads all, and checks that it is all, in order, and that the nodes' records take turns. */
static struct cost read_run(unsigned nodes)
{
    struct run_reader *r;
    struct record_item item;
    const struct model_process *before = NULL;
    int64_t began = clock_now(), cpu = cpu_now(), last = INT64_MIN;
    uint64_t records = 0, turns = 0;
    int more;
    must(run_reader_open(run, &RECORD_FILTER_ALL, &r) == 0 && run_reader_look(r, RUN_READER_ALL) == 0, "opening a run");
    while ((more = run_reader_next(r, &item)) > 0) {
        must(item.at.ns >= last, "the order");
        turns += item.process != before;
        before = item.process;
        last = item.at.ns;
        records++;
    }
    cpu = cpu_now() - cpu;
    began = clock_now() - began;
    must(more == 0 && records == RATE && run_reader_totals(r).proofs[RECORD_LATE] == 0, "reading all");
    must(nodes == 1 || turns > RATE / 10 * 9, "taking turns");
    run_reader_close(r);
    return (struct cost){(double)began / RATE, (double)cpu / RATE};
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void measure(unsigned nodes)
{
    double wall[ROUNDS], cpu[ROUNDS];
    make_run(nodes, false);
    for (int i = 0; i < ROUNDS; i++) {
        struct cost cost = read_run(nodes);
        wall[i] = cost.wall;
        cpu[i] = cost.cpu;
    }
    qsort(wall, ROUNDS, sizeof *wall, by_value);
    qsort(cpu, ROUNDS, sizeof *cpu, by_value);
    printf("ordered_records_per_s_%u_sources %.0f 1/s\n", nodes, 1e9 / wall[ROUNDS / 2]);
    printf("order_cpu_ns_per_record_%u_sources %.1f ns\n", nodes, cpu[ROUNDS / 2]);
    fflush(stdout);
    must(file_remove_tree(run) == 0, "removing the run");
}

int main(int argc, char **argv)
{
    static const unsigned counts[] = {1, 10, 100, NODES_MAX};
    unsigned nodes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    bool siso = argc > 2 && strcmp(argv[2], "siso") == 0;
    file_raise_limit();
    if (nodes > 0 && nodes <= NODES_MAX) {
        make_run(nodes, siso);
        struct cost cost = read_run(nodes);
        printf("%.1f ns of time, %.1f ns of CPU\n", cost.wall, cost.cpu);
        must(file_remove_tree(run) == 0, "removing the run");
        return 0;
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        measure(counts[i]);
    return 0;
}
