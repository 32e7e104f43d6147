// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Level of detail: what it costs to make, what it takes of the disk, and how soon the columns of any window are there.
 * The run has 32 streams in shared memory, with records of 28 bytes on average; or few records in each packet, as a
 * node that is polled often has them. One figure a line: `name value unit`; those of making are of five rounds, for
 * bench/rounds.awk. bench-levels [RUN [PACKETS RECORDS]]: of a run that is there, or is stored there with so many
 * packets of so many records in each stream; the levels are made anew.
 */
#include "run/levels/levels.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 2000, ZOOMS = 40, WINDOWS = 10, ROUNDS = 5 };

static char scratch[] = "/dev/shm/bezel-bench-XXXXXX";

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench-levels: %s failed\n", what);
    (void)!file_remove_tree(scratch);
    exit(1);
}

static void store_run(const char *run, unsigned packets, unsigned records)
{
    static const uint8_t id[16] = "a run's identity";
    struct stored_run r = {0};
    struct fake_sensor *f = fake_new("desk", id, 1);
    must(f && file_make_dirs(run, 0777) == 0, "making a run");
    must(stored_start(&r, run, f, STORE_SYNC_NEVER) == 0, "storing a run");
    for (unsigned i = 0; i < FAKE_PROCESSES; i++) {
        fake_add_process(f, "client", 100 + i, ROLE_SUT);
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            for (unsigned packet = 0; packet < packets; packet++)
                fake_cut(f, i, ring, records);
        must(stored_feed(&r, UINT64_MAX) == 0, "storing a run");
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++) { /* it is not asked for again */
            free(f->processes[i]->rings[ring].bytes);
            f->processes[i]->rings[ring].bytes = NULL;
        }
    }
    must(stored_stop(&r) == 0, "storing a run");
    fake_free(f);
}

static struct levels *open_all(const char *run)
{
    struct levels *l = NULL;
    int more = levels_open(run, &l);
    while (more >= 0 && (more = levels_update(l, CLOCK_S)) > 0)
        ;
    must(more == 0, "levels_update");
    return l;
}

/* Makes the levels, round by round, and prints what they cost. */
static void make(const char *run, const char *ns, const char *bytes)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/levels", run);
    struct levels_totals t = {0};
    for (int i = 0; i < ROUNDS; i++) {
        must(file_remove_tree(path) == 0, "removing levels");
        struct levels *made = open_all(run);
        t = levels_totals(made);
        levels_close(made);
        printf("round\n%s %.1f ns\n", ns, (double)t.cpu_ns / (double)t.records);
    }
    struct levels *l = open_all(run);
    fprintf(stderr, "%s: %llu records, %zu streams, %.1f MiB of memory\n", run, (unsigned long long)t.records,
            levels_stream_count(l), (double)t.memory / (1 << 20));
    printf("end\n");
    printf("%s %.4f ratio\n", bytes, (double)levels_totals(l).kept / (double)t.bytes);
    levels_close(l);
}

/* The streams of the process of stream `i`. */
static size_t streams_of(const struct levels *l, size_t i, size_t list[PACKET_RINGS_MAX])
{
    size_t n = 0;
    for (size_t k = 0; k < levels_stream_count(l) && n < PACKET_RINGS_MAX; k++)
        if (levels_stream(l, k)->process == levels_stream(l, i)->process)
            list[n++] = k;
    return n;
}

/* How long it takes to get up to COLUMNS columns of one process, from `share` of the run's time on, in ms. */
static double ask(struct levels *l, size_t stream, uint64_t *seed, unsigned zoom)
{
    static struct levels_column columns[COLUMNS + 2];
    size_t list[PACKET_RINGS_MAX], n = streams_of(l, stream, list);
    const struct levels_stream *s = levels_stream(l, stream);
    const struct dict *d = s->process->dict;
    uint32_t aspect = (uint32_t)(seed_next(seed) % (d->aspect_count + 1)), field = LEVELS_COUNT;
    if (aspect && d->field_counts[aspect])
        field = (uint32_t)(seed_next(seed) % d->field_counts[aspect]);
    unsigned width = 0;
    int64_t span = (s->last - s->first) >> zoom;
    while (width < LEVELS_WIDTH_MAX && span >> width > COLUMNS)
        width++;
    int64_t from = s->first + (int64_t)(seed_unit(seed) * (double)(s->last - s->first - span));
    int64_t start = clock_now();
    ssize_t got = levels_columns(l, list, n, aspect, field, from, from + span, width, columns, COLUMNS + 2);
    must(got >= 0, "levels_columns");
    return (double)(clock_now() - start) / CLOCK_MS;
}

static void look(const char *run, const char *cold, const char *name)
{
    struct levels *l = open_all(run);
    uint64_t seed = 1;
    double worst = 0, first = 0;
    for (unsigned zoom = 0; zoom < ZOOMS; zoom++)
        for (int i = 0; i < WINDOWS; i++) {
            size_t stream = (size_t)(seed_next(&seed) % levels_stream_count(l));
            uint64_t again = seed;
            double cold_ms = ask(l, stream, &seed, zoom), ms = ask(l, stream, &again, zoom);
            worst = ms > worst ? ms : worst;
            first = zoom == 0 && i == 0 ? cold_ms : first;
        }
    printf("%s %.2f ms\n%s %.2f ms\n", cold, first, name, worst);
    levels_close(l);
}

int main(int argc, char **argv)
{
    char run[PATH_MAX];
    if (argc == 4)
        store_run(argv[1], (unsigned)strtoul(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
    if (argc > 1) {
        make(argv[1], "pyramid_ns_per_record", "pyramid_bytes_over_store");
        look(argv[1], "view_window_cold_ms", "view_window_ms");
        return 0;
    }
    must(mkdtemp(scratch), "making a folder");
    snprintf(run, sizeof run, "%s/large", scratch);
    store_run(run, 157, 2000);
    make(run, "pyramid_ns_per_record", "pyramid_bytes_over_store");
    look(run, "view_window_cold_ms", "view_window_ms");
    must(file_remove_tree(run) == 0, "removing the run");
    snprintf(run, sizeof run, "%s/small", scratch);
    store_run(run, 4000, 4);
    make(run, "pyramid_small_packets_ns_per_record", "pyramid_small_packets_bytes_over_store");
    look(run, "view_window_small_packets_cold_ms", "view_window_small_packets_ms");
    must(file_remove_tree(scratch) == 0, "removing the run");
    return 0;
}
