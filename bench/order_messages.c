// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What messages cost whoever brings records into one order, as the dissertation asks of Vista (7.3.4.6): a master and
 * four slaves, over arrival rates, with the buffers of MISO and SISO. Clocks are wrong by up to their bound of 50 us;
 * a message takes 5 to 60 us. One figure a line, `name value unit`:
 *
 *   order_NAME_held_back_percent   records that had to wait, of all: the hold-back ratio
 *   order_NAME_latency_us          for how long, mean of all records, in the run's time
 *   order_NAME_buffer_length       how many wait, mean over the time
 *   order_NAME_cpu_ns_miso, _siso  CPU of the reader for each record: the service time
 *
 * NAME is the rate: RATE_per_s, where every second record belongs to a message, or compute_RATE_per_s: every tenth one.
 */
#include "base/clock.h"
#include "bench/order_run.h"
#include "run/read/run_reader.h"
#include "tests/lib/seed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 5, RECORDS = 400000, ROUNDS = 5, LOCAL = 1, SENT = 2, RECEIVED = 3 };

struct event {
    struct order_record record;
    unsigned node;
};

static struct order_run run;
static uint64_t seed;
static struct event *events;
static size_t event_count;

static void must(bool holds, const char *what)
{
    order_run_must(&run, holds, what);
}

/* ---- the load ---------------------------------------------------------------------------------------------------- */

static void add(unsigned node, uint32_t aspect, int64_t at, unsigned peer, uint64_t tag)
{
    events[event_count++] = (struct event){{aspect, at, {peer + 1, tag}}, node};
}

static int by_node_and_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->record.at < y->record.at ? -1 : x->record.at > y->record.at;
}

/* Arrivals are exponential; messages go from the master, node 0, to a slave, or back. */
static void draw_events(double rate, double messages)
{
    double at = (double)ORDER_RUN_BEGIN;
    event_count = 0;
    while (event_count + 2 <= RECORDS) {
        unsigned slave = 1 + (unsigned)(seed_next(&seed) % (NODES - 1)), from = seed_next(&seed) % 2 ? slave : 0;
        bool is_message = seed_unit(&seed) < messages / (2 - messages); /* which are two records */
        at += -log(1 - seed_unit(&seed)) * (is_message ? 2 : 1) / rate * CLOCK_S;
        if (!is_message) {
            add(from, LOCAL, (int64_t)at, 0, event_count);
            continue;
        }
        unsigned to = from ? 0 : slave;
        int64_t takes = 5000 + (int64_t)(seed_next(&seed) % 55000);
        uint64_t tag = event_count;
        add(from, SENT, (int64_t)at, to, tag);
        add(to, RECEIVED, (int64_t)at + takes, from, tag);
    }
    qsort(events, event_count, sizeof *events, by_node_and_time);
}

static void make_dictionary(void)
{
    static const char *const names[NODES] = {"app0", "app1", "app2", "app3", "app4"};
    struct dict_aspect aspects[] = {{.id = LOCAL, .name = "local", .field_count = 2},
                                    {.id = SENT, .name = "sent", .kind = DICT_SENT, .field_count = 2},
                                    {.id = RECEIVED, .name = "received", .kind = DICT_RECEIVED, .field_count = 2}};
    for (unsigned i = 0; i < 3; i++) {
        aspects[i].fields[0] = (struct dict_field){DICT_STRING, "peer", "1", ""};
        aspects[i].fields[1] = (struct dict_field){DICT_INT64, "tag", "1", ""};
        run.dictionary_bytes =
            dict_append_aspect(run.dictionary, (size_t)run.dictionary_bytes, sizeof run.dictionary, &aspects[i]);
        must(run.dictionary_bytes > 0, "a dictionary");
    }
    for (unsigned i = 0; i < NODES; i++) {
        run.dictionary_bytes =
            dict_append_string(run.dictionary, (size_t)run.dictionary_bytes, sizeof run.dictionary, i + 1, names[i]);
        must(run.dictionary_bytes > 0, "a dictionary");
    }
}

/* Packets of up to 1,000 records, of one node after the other. */
static void make_run(enum order_buffers buffers)
{
    static const int64_t wrong[NODES] = {-20000, 45000, -45000, 10000, 30000}; /* ns */
    static struct order_record list[1000];
    uint32_t count = 0;
    order_run_open(&run, "bench-order-messages", buffers);
    make_dictionary();
    for (unsigned n = 0; n < NODES; n++) {
        order_run_add_node(&run, wrong[n]);
        order_run_store(&run, n, PACKET_OPEN, NULL, 0);
    }
    for (size_t i = 0; i < event_count; i++) {
        list[count++] = events[i].record;
        if (count == 1000 || i + 1 == event_count || events[i + 1].node != events[i].node) {
            order_run_store(&run, events[i].node, PACKET_DATA, list, count);
            count = 0;
        }
    }
    for (unsigned n = 0; n < NODES; n++)
        order_run_store(&run, n, PACKET_CLOSE, NULL, 0);
    order_run_close(&run);
}

/* ---- reading it -------------------------------------------------------------------------------------------------- */

struct seen {
    double cpu;            /* ns a record */
    double waited, lasted; /* ns: of all records; of the run */
    struct run_reader_totals totals;
};

static struct seen read_run(void)
{
    struct run_reader *r;
    struct record_item item;
    struct seen seen = {0};
    int64_t first = 0, cpu = clock_process_cpu();
    int more;
    must(run_reader_open(run.path, &RECORD_FILTER_ALL, &r) == 0 && run_reader_look(r, RUN_READER_ALL) == 0,
         "opening a run");
    while ((more = run_reader_next(r, &item)) > 0) {
        first = first ? first : item.at.ns;
        seen.waited += (double)(item.logical - item.at.ns); /* where it stands, less its time */
        seen.lasted = (double)(item.logical - first);
    }
    seen.totals = run_reader_totals(r);
    seen.cpu = (double)(clock_process_cpu() - cpu) / (double)event_count;
    must(more == 0 && seen.totals.records == event_count && seen.totals.proofs[RECORD_CONTRARY] == 0, "reading all");
    run_reader_close(r);
    return seen;
}

static int by_cpu(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static struct seen measure(enum order_buffers buffers)
{
    struct seen seen[ROUNDS];
    make_run(buffers);
    for (int i = 0; i < ROUNDS; i++)
        seen[i] = read_run();
    order_run_remove(&run);
    qsort(seen, ROUNDS, sizeof *seen, by_cpu);
    return seen[ROUNDS / 2];
}

static void print(const char *name, double rate, double messages)
{
    draw_events(rate, messages);
    struct seen miso = measure(ORDER_MISO), siso = measure(ORDER_SISO);
    const uint64_t *proofs = miso.totals.proofs;
    double held = (double)(proofs[RECORD_TACHYON] + proofs[RECORD_MOVED]);
    must(miso.waited == siso.waited, "the same order from both");
    printf("order_%s_held_back_percent %.3g percent\n", name, 100 * held / (double)event_count);
    printf("order_%s_latency_us %.3g us\n", name, miso.waited / (double)event_count / CLOCK_US);
    printf("order_%s_buffer_length %.3g records\n", name, miso.waited / miso.lasted);
    printf("order_%s_cpu_ns_miso %.1f ns\n", name, miso.cpu);
    printf("order_%s_cpu_ns_siso %.1f ns\n", name, siso.cpu);
    fflush(stdout);
}

int main(void)
{
    static const int rates[] = {28, 1000, 10000, 100000, 1000000};
    char name[32];
    seed = 7;
    events = calloc(RECORDS, sizeof *events);
    must(events, "memory");
    print("compute_7_per_s", 7.35, 0.1);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        snprintf(name, sizeof name, "%d_per_s", rates[i]);
        print(name, rates[i], 0.5);
    }
    free(events);
    return 0;
}
