// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How fast a reader brings the records of many nodes into one order: runs of 1, 10, 100 and 1,000 nodes, each with one
 * process, one stream, and a clock of its own that is known by exchanges of times. Together they record 5,000,000 times
 * a second, in turn, two int64 each, and are polled every 20 ms. The run is one second long, was stored by the
 * collector's own store, and lies in shared memory. One figure a line: `name value unit`.
 *
 *   bench-order                       all figures
 *   bench-order NODES [siso|miso]     those of one such run, which is read once
 */
#include "base/clock.h"
#include "base/file.h"
#include "bench/order_run.h"
#include "run/read/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RATE = 5000000, /* records of all nodes in a second, which is as long as the run */
    POLLS = 50,     /* in this second */
    ROUNDS = 5,
};

#define STEP (CLOCK_S / RATE)

static struct order_run run;

static void must(bool holds, const char *what)
{
    order_run_must(&run, holds, what);
}

/* ---- making a run ------------------------------------------------------------------------------------------------ */

static void make_dictionary(void)
{
    struct dict_aspect a = {.id = 1, .name = "sample", .field_count = 2};
    a.fields[0] = (struct dict_field){DICT_INT64, "number", "1", ""};
    a.fields[1] = (struct dict_field){DICT_INT64, "value", "1", ""};
    run.dictionary_bytes = dict_append_aspect(run.dictionary, 0, sizeof run.dictionary, &a);
    must(run.dictionary_bytes > 0, "a dictionary");
}

/* Records of number `first` of all nodes on, and each `nodes`th after it: those of one poll. */
static void store_poll(unsigned n, unsigned poll)
{
    static struct order_record list[ORDER_RUN_RECORDS];
    int64_t from = (int64_t)RATE / POLLS * poll, until = from + RATE / POLLS;
    uint32_t count = 0;
    for (int64_t number = from + n; number < until; number += run.nodes) {
        list[count++] =
            (struct order_record){1, ORDER_RUN_BEGIN + number * STEP, {(uint64_t)number, (uint64_t)(number * number)}};
        if (count == ORDER_RUN_RECORDS || number + run.nodes >= until) {
            order_run_store(&run, n, PACKET_DATA, list, count);
            count = 0;
        }
    }
}

static void make_run(unsigned nodes, bool siso)
{
    order_run_open(&run, "bench-order", siso ? ORDER_SISO : ORDER_MISO);
    make_dictionary();
    for (unsigned n = 0; n < nodes; n++) {
        order_run_add_node(&run, 0);
        order_run_store(&run, n, PACKET_OPEN, NULL, 0);
    }
    for (unsigned poll = 0; poll < POLLS; poll++)
        for (unsigned n = 0; n < nodes; n++)
            store_poll(n, poll);
    for (unsigned n = 0; n < nodes; n++)
        order_run_store(&run, n, PACKET_CLOSE, NULL, 0);
    order_run_close(&run);
}

/* ---- reading it -------------------------------------------------------------------------------------------------- */

struct cost {
    double wall, cpu; /* ns a record */
};

/* Reads all, and checks that it is all, in order, and that the nodes' records take turns. */
static struct cost read_run(unsigned nodes)
{
    struct run_reader *r;
    struct record_item item;
    const struct model_process *before = NULL;
    int64_t began = clock_now(), cpu = clock_process_cpu(), last = INT64_MIN;
    uint64_t records = 0, turns = 0;
    int more;
    must(run_reader_open(run.path, &RECORD_FILTER_ALL, &r) == 0 && run_reader_look(r, RUN_READER_ALL) == 0,
         "opening a run");
    while ((more = run_reader_next(r, &item)) > 0) {
        must(item.at.ns >= last, "the order");
        turns += item.process != before;
        before = item.process;
        last = item.at.ns;
        records++;
    }
    cpu = clock_process_cpu() - cpu;
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

static void print_cost(unsigned nodes, double wall, double cpu)
{
    printf("ordered_records_per_s_%u_sources %.0f 1/s\n", nodes, 1e9 / wall);
    printf("order_cpu_ns_per_record_%u_sources %.1f ns\n", nodes, cpu);
    fflush(stdout);
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
    print_cost(nodes, wall[ROUNDS / 2], cpu[ROUNDS / 2]);
    order_run_remove(&run);
}

int main(int argc, char **argv)
{
    static const unsigned counts[] = {1, 10, 100, ORDER_RUN_NODES};
    unsigned nodes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    bool siso = argc > 2 && strcmp(argv[2], "siso") == 0;
    file_raise_limit();
    if (nodes > 0 && nodes <= ORDER_RUN_NODES) {
        make_run(nodes, siso);
        struct cost cost = read_run(nodes);
        print_cost(nodes, cost.wall, cost.cpu);
        order_run_remove(&run);
        return 0;
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        measure(counts[i]);
    return 0;
}
