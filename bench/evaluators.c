// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-evaluators: what evaluating costs a collector. Eight sources send, 100 times a second each, 1,000 records that
 * no metric reads, and 10 that one of ten intervals reads: five frames made, five shown. Printed is the ratio of the
 * collector's CPU time for that without an experiment to that with it, while it is asked for values 20 times a second
 * as by a manager. As a collector is one thread, it is the ratio of the highest rates at which it stores. The
 * median of pairs of runs.
 */
#include "base/clock.h"
#include "mdr/command/command_caller.h"
#include "mdr/message.h"
#include "tests/lib/collector_process.h"
#include "tests/lib/fake_sensor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SOURCES = 8, TURNS = 300, DETAILS = 1000, FRAMES = 5, PAIRS = 5, METRICS = 10 };

static const uint8_t run_id[16] = "a run's identity";
static struct fake_sensor *sources[SOURCES];
static struct collector_process root;
static uint32_t made[SOURCES][METRICS], shown[SOURCES][METRICS];
static struct message message; /* too large for a stack */

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench-evaluators: %s failed\n", what);
    if (root.pid)
        (void)collector_end(&root, SIGKILL);
    collector_remove(&root);
    exit(1);
}

static int64_t cpu_of(const struct collector_process *c)
{
    clockid_t clock;
    struct timespec t;
    must(clock_getcpuclockid(c->pid, &clock) == 0 && clock_gettime(clock, &t) == 0, "reading CPU time");
    return t.tv_sec * CLOCK_S + t.tv_nsec;
}

static void add_source(unsigned i)
{
    static const struct dict_field frame = {DICT_INT64, "frame", "1", ""};
    char name[32];
    snprintf(name, sizeof name, "node%u", i);
    sources[i] = fake_new(name, run_id, i + 1);
    must(sources[i] != NULL, "memory");
    fake_add_process(sources[i], "app", 100, ROLE_SUT);
    fake_add_process(sources[i], "video", 101, ROLE_SUT);
    for (int m = 0; m < METRICS; m++) {
        struct dict_aspect a = {.name = name, .field_count = 1, .fields = {frame}};
        snprintf(name, sizeof name, "made%d", m);
        made[i][m] = fake_add_aspect_like(sources[i], 1, &a);
        snprintf(name, sizeof name, "shown%d", m);
        shown[i][m] = fake_add_aspect_like(sources[i], 1, &a);
    }
    must(fake_connect(sources[i], root.endpoint), "connecting");
}

static void write_experiment(char *text, size_t size)
{
    int n = snprintf(text, size, "experiment: bench\nprocesses: [{name: p, command: [unused]}]\nmetrics:\n");
    for (int i = 0; i < METRICS; i++)
        n += snprintf(text + n, size - (size_t)n,
                      "  m%d: {interval: [made%d, shown%d], match: frame, quantile: 99 %%, window: 1 s}\n", i, i, i);
    n += snprintf(text + n, size - (size_t)n, "limits:\n");
    for (int i = 0; i < METRICS; i++)
        n += snprintf(text + n, size - (size_t)n, "  - {expect: m%d <= 80 ms}\n", i);
}

/* The values that the collector sends; 0: nothing came in time. */
static uint32_t ask(struct command_caller *c)
{
    int64_t deadline = clock_now() + 10 * CLOCK_S;
    message.type = MESSAGE_WATCH;
    must(command_caller_tell(c, &message) == 0, "asking for values");
    while (clock_now() < deadline) {
        if (command_caller_receive(c, &message) != 0)
            link_wait(&c->link, 1, NULL, 0, 10 * CLOCK_MS);
        else if (message.type == MESSAGE_VALUES)
            return message.values.count;
    }
    return 0;
}

static void configure(struct command_caller *c)
{
    int64_t deadline = clock_now() + 10 * CLOCK_S;
    must(command_caller_open(c, root.control, (struct command_caller_access){0}, run_id, "") == 0, "the control link");
    while (ask(c) != METRICS) {
        must(clock_now() < deadline, "giving the experiment");
        message.type = MESSAGE_COMMAND;
        message.command = (struct message_command){.verb = VERB_CONFIGURE};
        memset(&message.configure, 0, sizeof message.configure);
        write_experiment(message.configure.experiment, sizeof message.configure.experiment);
        must(command_caller_send(c, &message) >= 0, "sending the experiment");
    }
}

static void settle(void)
{
    for (unsigned i = 0; i < SOURCES; i++)
        must(fake_settle(sources[i], 60 * CLOCK_S), "storing");
}

/* CPU time of a collector, ns, for all records. */
static double measure(bool evaluates)
{
    struct command_caller manager = {0};
    must(collector_make(&root), "making a folder");
    char listen_at[LINK_ENDPOINT_MAX];
    snprintf(listen_at, sizeof listen_at, "ipc://%s/data", root.dir);
    must(collector_start(&root, listen_at), "starting bezel-collector");
    for (unsigned i = 0; i < SOURCES; i++)
        add_source(i);
    settle();
    if (evaluates)
        configure(&manager);
    int64_t before = cpu_of(&root);
    uint64_t frame = 0;
    for (int64_t turn = 0, at = clock_now(); turn < TURNS; turn++, at += 10 * CLOCK_MS) {
        for (unsigned i = 0; i < SOURCES; i++) {
            fake_cut(sources[i], 0, 0, DETAILS);
            for (int k = 0; k < FRAMES; k++, frame++) {
                unsigned next = (i + 1) % SOURCES;
                fake_cut_one(sources[i], 1, 0, made[i][frame % METRICS], &frame);
                fake_cut_one(sources[next], 1, 1, shown[next][frame % METRICS], &frame);
            }
            fake_round(sources[i], 0);
        }
        if (evaluates && turn % 5 == 0)
            must(ask(&manager) == METRICS, "reading values");
        clock_sleep_until(at);
    }
    settle();
    double used = (double)(cpu_of(&root) - before);
    command_caller_close(&manager, 0);
    for (unsigned i = 0; i < SOURCES; i++) {
        fake_disconnect(sources[i]);
        fake_free(sources[i]);
    }
    (void)collector_end(&root, SIGTERM);
    collector_remove(&root);
    root = (struct collector_process){0};
    return used;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    double ratios[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        double without = measure(false);
        ratios[i] = without / measure(true);
    }
    qsort(ratios, PAIRS, sizeof *ratios, compare);
    printf("evaluators_10_with_over_without %.3f ratio\n", ratios[PAIRS / 2]);
    return 0;
}
