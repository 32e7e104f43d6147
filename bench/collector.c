// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What a tree of collectors costs: sources that are made up on the wire, over real bezel-collector processes. One
 * figure a line: `name value unit`. bench-collector [DEPTH]: all of them, or those of the levels of one such tree.
 *
 *   memory_kib_per_idle_source         resident memory of the root for each of 1,000 sources: a node with one process
 *   memory_kib_per_idle_source_inner   the same of an inner collector
 *   level_cpu_ns_DEPTH_LEVEL           CPU of the collectors of a level (1: the root) for each record, in a tree of
 *                                      that depth: 800,000 records a second in packets of 1,000
 *   direct_1000_nodes_cpu_percent      CPU of the one collector of 1,000 nodes that each report once a second
 *   three_level_1000_nodes_cpu_percent CPU of all 13 collectors of a tree for the same, and of its root alone
 */
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/collector_process.h"
#include "tests/lib/fake_sensor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SOURCES = 1000, INNER_MAX = 12, DEPTH_MAX = 3 };

static const uint8_t run_id[16] = "a run's identity";
static struct fake_sensor *sources[SOURCES];
static unsigned source_count;
static struct collector_process root, inner[INNER_MAX];
static unsigned inner_count;

static void stop_all(void)
{
    for (unsigned i = 0; i < source_count; i++) {
        fake_disconnect(sources[i]);
        fake_free(sources[i]);
    }
    source_count = 0;
    while (inner_count > 0) {
        (void)collector_end(&inner[--inner_count], SIGTERM);
        collector_remove(&inner[inner_count]);
        inner[inner_count] = (struct collector_process){0};
    }
    if (root.pid)
        (void)collector_end(&root, SIGTERM);
    collector_remove(&root);
    root = (struct collector_process){0};
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench-collector: %s failed\n", what);
    stop_all();
    exit(1);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* A collector with these parents; NULL: the root. */
static void start(struct collector_process *c, const char *const *parents)
{
    static const char *const more[] = {"--connections", "1024", NULL};
    char listen_at[LINK_ENDPOINT_MAX];
    must(collector_make(c), "making a folder");
    snprintf(listen_at, sizeof listen_at, "ipc://%s/data", c->dir);
    c->parents = parents;
    c->more = more;
    must(collector_start(c, listen_at), "starting bezel-collector");
}

static const char *start_inner(const char *parent)
{
    static const char *parents[INNER_MAX][2];
    const char **own = parents[inner_count];
    own[0] = parent;
    start(&inner[inner_count], own);
    return inner[inner_count++].endpoint;
}

static int64_t cpu_of(const struct collector_process *c)
{
    clockid_t clock;
    struct timespec t;
    must(clock_getcpuclockid(c->pid, &clock) == 0 && clock_gettime(clock, &t) == 0, "reading CPU time");
    return t.tv_sec * CLOCK_S + t.tv_nsec;
}

static double kib_of(const struct collector_process *c)
{
    char path[64], *text;
    size_t n;
    unsigned long resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)c->pid);
    must(file_read(path, 4096, &text, &n) == 0 && sscanf(text, "%*u %lu", &resident) == 1, path);
    free(text);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static void add_source(const char *endpoint)
{
    char name[32];
    snprintf(name, sizeof name, "node%u", source_count);
    struct fake_sensor *f = fake_new(name, run_id, source_count + 1);
    must(f != NULL, "memory");
    sources[source_count++] = f;
    fake_add_process(f, "app", 100, ROLE_SUT);
    fake_cut(f, 0, 0, 10);
    must(fake_connect(f, endpoint), "connecting");
}

/* Rounds of all sources for `ns`, each every 200 ms. `report`: with a packet and books once a second. */
static void go_on(int64_t ns, bool report)
{
    int64_t end = clock_now() + ns;
    for (int turn = 0; clock_now() < end; turn++) {
        int64_t next = clock_now() + 200 * CLOCK_MS;
        for (unsigned i = 0; i < source_count; i++) {
            if (report && (i + (unsigned)turn) % 5 == 0) {
                fake_cut(sources[i], 0, 0, 10);
                (void)fake_say_books(sources[i], 0, PROCESS_RUNNING, 0);
            }
            fake_round(sources[i], 0);
        }
        clock_sleep_until(next);
    }
}

static void settle(void)
{
    int64_t deadline = clock_now() + 60 * CLOCK_S;
    for (bool all = false; !all;) {
        go_on(200 * CLOCK_MS, false);
        all = true;
        for (unsigned i = 0; i < source_count; i++)
            all = all && fake_all_acked(sources[i]);
        must(clock_now() < deadline, "reaching the root");
    }
}

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static void measure_memory(void)
{
    start(&root, NULL);
    const char *endpoint = start_inner(root.endpoint);
    add_source(endpoint); /* what the first one needs is there */
    settle();
    double at_root = kib_of(&root), at_inner = kib_of(&inner[0]);
    while (source_count < SOURCES)
        add_source(endpoint);
    settle();
    go_on(2 * CLOCK_S, false);
    printf("memory_kib_per_idle_source %.1f KiB\n", (kib_of(&root) - at_root) / (SOURCES - 1));
    printf("memory_kib_per_idle_source_inner %.1f KiB\n", (kib_of(&inner[0]) - at_inner) / (SOURCES - 1));
    stop_all();
}

/* Eight sources, a packet of 1,000 records each every 10 ms. */
static void measure_levels(unsigned depth)
{
    enum { NODES = 8, TURNS = 400, RECORDS = 1000 };
    int64_t before[DEPTH_MAX] = {0};
    start(&root, NULL);
    const char *endpoint = root.endpoint;
    for (unsigned level = 2; level <= depth; level++)
        endpoint = start_inner(endpoint);
    while (source_count < NODES)
        add_source(endpoint);
    settle();
    for (unsigned level = 1; level <= depth; level++)
        before[level - 1] = cpu_of(level == 1 ? &root : &inner[level - 2]);
    for (int64_t turn = 0, at = clock_now(); turn < TURNS; turn++, at += 10 * CLOCK_MS) {
        for (unsigned i = 0; i < NODES; i++) {
            fake_cut(sources[i], 0, 0, RECORDS);
            fake_round(sources[i], 0);
        }
        clock_sleep_until(at);
    }
    settle();
    for (unsigned level = 1; level <= depth; level++)
        printf("level_cpu_ns_%u_%u %.1f ns\n", depth, level,
               (double)(cpu_of(level == 1 ? &root : &inner[level - 2]) - before[level - 1]) /
                   ((double)NODES * TURNS * RECORDS));
    stop_all();
}

/* 1,000 nodes at a root; or 2 collectors below that, 10 below these, and 100 nodes below each of those. */
static void measure_1000_nodes(const char *name, bool tree)
{
    enum { MIDDLE = 2, LOW = 10 };
    const int64_t time = 10 * CLOCK_S;
    int64_t cpu = 0;
    start(&root, NULL);
    for (unsigned i = 0; tree && i < MIDDLE; i++)
        (void)start_inner(root.endpoint);
    for (unsigned i = 0; tree && i < LOW; i++)
        (void)start_inner(inner[i % MIDDLE].endpoint);
    while (source_count < SOURCES)
        add_source(tree ? inner[MIDDLE + source_count % LOW].endpoint : root.endpoint);
    settle();
    go_on(2 * CLOCK_S, true);
    cpu -= cpu_of(&root);
    for (unsigned i = 0; i < inner_count; i++)
        cpu -= cpu_of(&inner[i]);
    int64_t began = clock_now(), at_root = cpu_of(&root);
    go_on(time, true);
    double passed = (double)(clock_now() - began);
    at_root = cpu_of(&root) - at_root;
    cpu += cpu_of(&root);
    for (unsigned i = 0; i < inner_count; i++)
        cpu += cpu_of(&inner[i]);
    printf("%s_1000_nodes_cpu_percent %.2f %%\n", name, 100 * (double)cpu / passed);
    printf("%s_1000_nodes_root_cpu_percent %.2f %%\n", name, 100 * (double)at_root / passed);
    stop_all();
}

int main(int argc, char **argv)
{
    unsigned long asked = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    file_raise_limit();
    if (argc > 1) {
        must(asked >= 1 && asked <= DEPTH_MAX, "reading the depth of the tree, 1 to 3,");
        measure_levels((unsigned)asked);
        return 0;
    }
    measure_memory();
    for (unsigned depth = 1; depth <= DEPTH_MAX; depth++)
        measure_levels(depth);
    measure_1000_nodes("direct", false);
    measure_1000_nodes("three_level", true);
    return 0;
}
