// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A run in shared memory for the benchmarks of ordering: one process and stream for each node. They exit on failure.
 */
#ifndef BEZEL_BENCH_ORDER_RUN_H
#define BEZEL_BENCH_ORDER_RUN_H

#include "config/order_settings.h"
#include "run/rundb/rundb_live.h"
#include "run/store/store.h"

enum { ORDER_RUN_NODES = 1000, ORDER_RUN_PACKET = 256 << 10, ORDER_RUN_BOUND = 50000 /* ns, of each clock */ };
enum { ORDER_RUN_RECORDS = (ORDER_RUN_PACKET - PACKET_HEADER_BYTES) / (PACKET_RECORD_BYTES + 2 * 8) }; /* a packet */

#define ORDER_RUN_BEGIN (100 * CLOCK_S) /* of the records, by the run's clock */

struct order_run {
    char path[64];
    const char *program;
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    unsigned nodes;
    uint8_t dictionary[1024];
    int dictionary_bytes;
    int64_t wrong[ORDER_RUN_NODES]; /* by so much the exchanges are wrong, up to ORDER_RUN_BOUND */
    struct model_process *processes[ORDER_RUN_NODES];
};

struct order_record {
    uint32_t aspect;
    int64_t at; /* of the run's clock, ns */
    uint64_t values[2];
};

void order_run_must(struct order_run *r, bool holds, const char *what);

/** Makes a run; the caller then appends to its dictionary, and adds nodes. */
void order_run_open(struct order_run *r, const char *program, enum order_buffers buffers);
void order_run_add_node(struct order_run *r, int64_t wrong);

/** Stores the next packet of node `n`; no records: its stream opens, or closes. */
void order_run_store(struct order_run *r, unsigned n, enum packet_kind kind, const struct order_record *list,
                     uint32_t count);

/** Closes it, with exchanges of times: then it can be read. */
void order_run_close(struct order_run *r);
void order_run_remove(struct order_run *r);

#endif
