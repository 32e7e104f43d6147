// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-evaluate: what a record costs in an evaluator of a metric `max` and of one `quantile`, what it costs to read a
 * quantile at a decision, and the memory that 64 of them take. One thread; both kinds take turns on the same records:
 * 1,000,000 a second, in runs of 1,024 as a poll brings them, of durations spread evenly over a factor of 32 on a
 * logarithmic scale; the window is a second, and full. The least of all rounds counts: other programs only add.
 *
 * bench-evaluate interval: what a record costs where the times between records of 100 nodes are matched: half of them
 * make beginnings, half of them ends 20 ms later, 1,000,000 records a second in all. The records of a node come each 10
 * ms, those of one after the other, so half of the ends come before their beginnings.
 */
#include "base/clock.h"
#include "metric/interval.h"
#include "metric/statistic.h"
#include "tests/lib/seed.h"

#include <malloc.h>
#include <string.h>

enum { RECORDS = 64 * 1024, RUN = 1024, STRIDE = PACKET_RECORD_BYTES + 8, GAP = 1000, FILL = 32, ROUNDS = 200 };

static uint8_t bytes[RECORDS * STRIDE];
static const struct statistic_field field = {.at = 0, .scale = 1};

static void draw(uint64_t *seed)
{
    for (size_t i = 0; i < RECORDS; i++)
        bytes_put_u64(bytes + i * STRIDE + PACKET_RECORD_BYTES, (uint64_t)seed_between(seed, 20e3, 640e3));
}

static void stamp(int64_t start)
{
    for (size_t i = 0; i < RECORDS; i++)
        packet_put_record(bytes + i * STRIDE, 1, (uint64_t)(start + GAP * (int64_t)i));
}

/* Nanoseconds for each record. */
static double feed(struct statistic *f, int64_t start)
{
    struct packet_run run = {.aspect = 1, .count = RUN, .stride = STRIDE, .value_count = 1};
    int64_t before = clock_now();
    for (size_t i = 0; i < RECORDS; i += RUN) {
        run.first = bytes + i * STRIDE;
        statistic_records(f, &run, &field, start + GAP * (int64_t)(i + RUN));
    }
    return (double)(clock_now() - before) / RECORDS;
}

/* Nanoseconds for each reading. */
static double read_out(struct statistic *f, int64_t now)
{
    enum { READINGS = 1000 };
    double value, sum = 0;
    int64_t before = clock_now();
    for (int i = 0; i < READINGS; i++)
        sum += statistic_value(f, now, &value, NULL) ? value : 0;
    double each = (double)(clock_now() - before) / READINGS;
    return sum > 0 ? each : NAN;
}

static size_t allocated(void)
{
    struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd; /* the latter: blocks that have a mapping of their own */
}

/* ---- Times between records --------------------------------------------------------------------------------------- */

enum { NODES = 100, PAIRS = NODES / 2, POLL = 10 * CLOCK_MS, KEYS = 5000, LATER = 20 * CLOCK_MS, POLLS = 400 };

/* What node `node` recorded in poll `poll`: KEYS / PAIRS beginnings, or the ends of two polls before. */
static void add_node(struct interval *in, uint32_t node, int64_t poll, int64_t now)
{
    bool ends = node % 2;
    struct interval_event events[KEYS / PAIRS];
    for (int64_t i = 0; i < KEYS / PAIRS; i++) {
        int64_t key = ((poll - (ends ? LATER / POLL : 0)) * PAIRS + node / 2) * (KEYS / PAIRS) + i;
        int64_t at = now - POLL + i * (POLL * PAIRS / KEYS);
        events[i] = (struct interval_event){.position = ends,
                                            .key = interval_key_of_integer(key),
                                            .source = node,
                                            .clock = node,
                                            .own = at,
                                            .at = {at, 50 * CLOCK_US}};
    }
    interval_add_all(in, events, KEYS / PAIRS, now);
}

static int bench_interval(void)
{
    struct experiment_metric m = {.kind = METRIC_INTERVAL, .share = 0.99, .window = CLOCK_S};
    struct interval *in;
    double least = INFINITY;
    m.interval.count = 2;
    m.interval.memory = EXPERIMENT_MATCH_MEMORY;
    m.interval.statistic = METRIC_QUANTILE;
    if (interval_new(&m, CLOCK_S, &in) != 0)
        return 1;
    for (int64_t poll = 0; poll < POLLS; poll++) {
        int64_t before = clock_now();
        for (uint32_t node = NODES; node-- > 0;)
            add_node(in, node, poll, poll * POLL + 1000 * CLOCK_S);
        if (poll >= POLLS / 2) /* memory is in use, and the window full */
            least = fmin(least, (double)(clock_now() - before) / (2 * KEYS));
    }
    struct interval_counts c = interval_counts(in);
    if (c.matched != (uint64_t)KEYS * (POLLS - LATER / POLL))
        return 1;
    printf("interval_cpu_ns_per_record %.1f ns\n", least);
    interval_free(in);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return strcmp(argv[1], "interval") == 0 ? bench_interval() : 2;
    uint64_t seed = 1;
    struct statistic *most, *quantile;
    size_t before = allocated();
    if (statistic_new(STATISTIC_QUANTILE, 0.99, CLOCK_S, &quantile) != 0)
        return 1;
    draw(&seed);
    double max_ns = INFINITY, quantile_ns = INFINITY, read_ns = INFINITY;
    int64_t start = CLOCK_S;
    for (int i = 0; i < FILL; i++, start += (int64_t)RECORDS * GAP) {
        stamp(start);
        feed(quantile, start);
    }
    size_t memory = allocated() - before;
    if (statistic_new(STATISTIC_MAX, 0, CLOCK_S, &most) != 0)
        return 1;
    for (int i = 0; i < ROUNDS; i++, start += (int64_t)RECORDS * GAP) {
        stamp(start);
        max_ns = fmin(max_ns, feed(most, start));
        quantile_ns = fmin(quantile_ns, feed(quantile, start));
        read_ns = fmin(read_ns, read_out(quantile, start + (int64_t)RECORDS * GAP));
    }
    printf("max_ns %.2f ns\nquantile_ns %.2f ns\nquantile_over_max %.2f ratio\nquantile_read_ns %.0f ns\n", max_ns,
           quantile_ns, quantile_ns / max_ns, read_ns);
    printf("quantile_64_memory_mib %.1f MiB\n", 64 * (double)memory / 1048576);
    statistic_free(quantile);
    statistic_free(most);
    return 0;
}
