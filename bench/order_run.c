// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bench/order_run.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "collector/receive/receiver_packet.h"
#include "mdr/parts.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGES_BEFORE = 8, EXCHANGES = EXCHANGES_BEFORE + 3 };

static const uint8_t run_clock[16] = {1};

void order_run_must(struct order_run *r, bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s failed\n", r->program, what);
    (void)!file_remove_tree(r->path);
    exit(1);
}

/* What clock `n` says at `there` of the run's clock: it is some 10 ms ahead of its neighbour, and up to 50 ppm fast. */
static int64_t own_time(unsigned n, int64_t there)
{
    int64_t ppm = (int64_t)(n * 37 % 101) - 50;
    return there + (there - ORDER_RUN_BEGIN) * ppm / 1000000 + (int64_t)(n + 1) * 10 * CLOCK_MS;
}

void order_run_open(struct order_run *r, const char *program, enum order_buffers buffers)
{
    char identity[MODEL_UUID_TEXT];
    *r = (struct order_run){.path = "/dev/shm/bezel-bench-XXXXXX", .program = program};
    order_run_must(r, mkdtemp(r->path), "making a folder");
    order_run_must(r, rundb_open(r->path, &r->rundb) == 0 && store_open(r->path, STORE_SYNC_NEVER, &r->store) == 0,
                   "making a run");
    r->model = model_new("");
    order_run_must(r, r->model, "memory");
    model_uuid_text(run_clock, identity);
    order_run_must(r,
                   rundb_put_int(r->rundb, RUNDB_CLOCK_AHEAD, 1700000000 * CLOCK_S) == 0 &&
                       rundb_put(r->rundb, RUNDB_CLOCK, identity) == 0 &&
                       rundb_put(r->rundb, RUNDB_ORDER_BUFFERS, order_buffers_word(buffers)) == 0,
                   "making a run");
}

void order_run_add_node(struct order_run *r, int64_t wrong)
{
    static struct message_process said;
    struct message_hello hello = {.uuid = {2}, .clock = {2}};
    struct dict *d;
    unsigned n = r->nodes++;
    r->wrong[n] = wrong;
    bytes_put_u32(hello.uuid + 12, n);
    bytes_put_u32(hello.clock + 12, n);
    snprintf(hello.node, sizeof hello.node, "node%u", n);
    struct model_node *node = model_add_node(r->model, &hello);
    order_run_must(r, node && rundb_add_node(r->rundb, node) == 0, "adding a node");
    said = (struct message_process){.instance = 1000, .stream_id = 1, .pid = 100, .role = ROLE_SUT};
    snprintf(said.name, sizeof said.name, "app%u", n);
    struct model_process *p = r->processes[n] = model_add_process(node, &said);
    order_run_must(r, p && dict_parse(r->dictionary, (size_t)r->dictionary_bytes, &d) == 0, "adding a process");
    model_set_dictionary(p, d);
    order_run_must(r, rundb_add_process(r->rundb, p, r->dictionary, (size_t)r->dictionary_bytes) == 0,
                   "adding a process");
}

/* Exchanges as a node has them: quickly at first, then once a second; round trips are of 100 us. */
static void exchange_times(struct order_run *r)
{
    char path[PATH_MAX], insert[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/run.db", r->path);
    order_run_must(r,
                   sqlite3_open(path, &db) == SQLITE_OK && sqlite3_busy_timeout(db, 5000) == SQLITE_OK &&
                       sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK,
                   "opening run.db");
    for (unsigned n = 0; n < r->nodes; n++)
        for (int64_t i = 0; i < EXCHANGES; i++) {
            int64_t after = i - EXCHANGES_BEFORE;
            int64_t there = ORDER_RUN_BEGIN + (after < 0 ? after * 50 * CLOCK_MS : after * CLOCK_S);
            int64_t own = own_time(n, there), said = there + r->wrong[n];
            snprintf(insert, sizeof insert,
                     "INSERT INTO exchanges VALUES(%lld, 0, %lld, %lld, %lld, %lld, %lld, 0, -1, 0, -1, 0)",
                     (long long)r->processes[n]->node->row, (long long)clock_identity_short(run_clock),
                     (long long)own - ORDER_RUN_BOUND, (long long)said, (long long)said,
                     (long long)own + ORDER_RUN_BOUND);
            order_run_must(r, sqlite3_exec(db, insert, NULL, NULL, NULL) == SQLITE_OK, "exchanging times");
        }
    order_run_must(r, sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK && sqlite3_close(db) == SQLITE_OK,
                   "closing run.db");
}

void order_run_store(struct order_run *r, unsigned n, enum packet_kind kind, const struct order_record *list,
                     uint32_t count)
{
    static uint8_t packet[ORDER_RUN_PACKET];
    struct model_process *p = r->processes[n];
    struct model_stream *s = model_stream(p, 0);
    struct received got;
    order_run_must(r, s, "memory");
    struct packet_header h = {.stream_id = p->stream_id,
                              .seq = s->at.next_seq,
                              .kind = kind,
                              .instance = p->instance,
                              .thread = 7,
                              .dictionary = p->dict->hash,
                              .first_ordinal = s->at.next_ordinal,
                              .records = count,
                              .size_bytes = PACKET_HEADER_BYTES + count * (PACKET_RECORD_BYTES + 2 * 8)};
    memcpy(h.uuid, p->node->uuid, sizeof h.uuid);
    h.timestamp_begin = h.timestamp_end = s->last_end ? s->last_end : (uint64_t)own_time(n, ORDER_RUN_BEGIN);
    if (count > 0) {
        h.timestamp_begin = (uint64_t)own_time(n, list[0].at);
        h.timestamp_end = (uint64_t)own_time(n, list[count - 1].at);
    }
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    for (uint32_t i = 0; i < count; i++, at += 2 * 8) {
        at = packet_put_record(at, list[i].aspect, (uint64_t)own_time(n, list[i].at));
        bytes_put_u64(at, list[i].values[0]);
        bytes_put_u64(at + 8, list[i].values[1]);
    }
    packet_put_header(packet, &h);
    receiver_take_packet(p->node, r->store, NULL, packet, h.size_bytes, &got);
    order_run_must(r, got.what == RECEIVED_STORED, "storing a packet");
}

void order_run_close(struct order_run *r)
{
    order_run_must(r, rundb_commit(r->rundb) == 0, "storing a run");
    exchange_times(r);
    store_close(r->store);
    order_run_must(r, rundb_close(r->rundb) == 0, "storing a run");
    model_free(r->model);
}

void order_run_remove(struct order_run *r)
{
    order_run_must(r, file_remove_tree(r->path) == 0, "removing the run");
}
