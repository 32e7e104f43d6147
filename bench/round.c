// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-round FILE SIDE SECONDS [NAME=PID,PID...]...: gives SIDE a turn (bench/turns.h) and measures SECONDS of it,
 * from a fifth of a second after its begin on. It prints a line `NAME VALUE UNIT` for each NAME, for bench/rounds.awk:
 * the CPU time of all threads of the processes PID. If NAME ends in `_percent`, that is percent of a CPU; else ns for
 * each record that SIDE did. Before and after the turn it looks at the machine, `machine CLOCK_NS STALLED_PERCENT`:
 * what a reading of the clock costs, and how much of the time others took, on this machine or beside it.
 *
 * bench-round machine: looks once. bench-round FILE end: the turns end.
 */
#include "base/clock.h"
#include "bench/batch.h"
#include "bench/turns.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKS = 1000, READINGS = 500, TRIES = 3, STALLED = 10 /* percent */, GROUPS_MAX = 32 };
#define LEAD_NS  (200 * CLOCK_MS)
#define DRAIN_NS (120 * CLOCK_MS) /* a burst of a thread may be 100 ms away */

static double looks[LOOKS];

/* Times batches of readings of the counter: a long one was interrupted. Returns percent of the time. */
static double time_readings(double *each_ns)
{
    static uint64_t sink;
    double all = 0;
    for (int i = 0; i < LOOKS; i++) {
        int64_t before = clock_now();
        for (int k = 0; k < READINGS; k++)
            sink += bench_counter();
        all += looks[i] = (double)(clock_now() - before);
    }
    __asm__ volatile("" : : "m"(sink));
    double usual = bench_quantile(looks, LOOKS, 0.5) * LOOKS;
    *each_ns = usual / LOOKS / READINGS;
    return all > usual ? 100 * (1 - usual / all) : 0;
}

/* Others may have something to finish, which is soon over; what lasts for three looks is a stall. */
static void look_at_machine(void)
{
    double each_ns, stalled = 100;
    for (int i = 0; i < TRIES && stalled > STALLED; i++)
        stalled = time_readings(&each_ns);
    printf("machine %.3f %.2f\n", each_ns, stalled);
}

/* Time that the hypervisor kept from this machine so far, of all CPUs, in ns: what it tells of it. */
static double stolen_ns(void)
{
    double ticks = 0;
    FILE *f = fopen("/proc/stat", "re");
    if (f && fscanf(f, "cpu %*s %*s %*s %*s %*s %*s %*s %lf", &ticks) != 1)
        ticks = 0;
    if (f)
        fclose(f);
    return ticks * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

/* CPU of all threads of processes `pids`, "PID,PID...", so far. */
static double cpu_ns(const char *pids)
{
    double sum = 0, one;
    for (const char *p = pids; *p; p += strcspn(p, ","), p += *p == ',') {
        char pattern[64];
        glob_t found;
        snprintf(pattern, sizeof pattern, "/proc/%d/task/*/schedstat", atoi(p));
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t i = 0; i < found.gl_pathc; i++) {
            FILE *f = fopen(found.gl_pathv[i], "re");
            if (f && fscanf(f, "%lf", &one) == 1)
                sum += one;
            if (f)
                fclose(f);
        }
        globfree(&found);
    }
    return sum;
}

struct edge {
    int64_t at;
    double done, stolen, cpu[GROUPS_MAX];
};

static void take_edge(struct edge *e, const struct turns *t, uint32_t side, char **names, int count)
{
    e->at = clock_now();
    e->done = (double)atomic_load(&t->done[side]);
    for (int i = 0; i < count; i++)
        e->cpu[i] = cpu_ns(strchr(names[i], '=') + 1);
    e->stolen = stolen_ns();
}

static void print_group(const char *name, const struct edge *a, const struct edge *b, int i)
{
    int length = (int)strcspn(name, "=");
    double cpu = b->cpu[i] - a->cpu[i], records = b->done - a->done;
    bool percent = length > 8 && strncmp(name + length - 8, "_percent", 8) == 0;
    if (percent)
        printf("%.*s %.4f %%\n", length, name, 100 * cpu / (double)(b->at - a->at));
    else if (records > 0)
        printf("%.*s %.3f ns\n", length, name, cpu / records);
    else
        printf("void no records in a turn of %.*s\n", length, name);
}

static void measure(struct turns *t, uint32_t side, double seconds, char **names, int count)
{
    static struct edge a, b;
    look_at_machine();
    turns_give(t, side);
    clock_sleep_until(clock_now() + LEAD_NS);
    take_edge(&a, t, side, names, count);
    clock_sleep_until(a.at + (int64_t)(seconds * 1e9));
    take_edge(&b, t, side, names, count);
    turns_give(t, TURNS_NOBODY);
    clock_sleep_until(clock_now() + DRAIN_NS);
    look_at_machine();
    printf("stolen %.2f\n",
           (b.stolen - a.stolen) / (double)(b.at - a.at) / (double)sysconf(_SC_NPROCESSORS_ONLN) * 100);
    for (int i = 0; i < count; i++)
        print_group(names[i], &a, &b, i);
}

int main(int argc, char **argv)
{
    struct turns *t;
    if (argc == 2 && strcmp(argv[1], "machine") == 0)
        return look_at_machine(), 0;
    if (argc == 3 && strcmp(argv[2], "end") == 0)
        return (t = turns_open(argv[1])) ? turns_give(t, TURNS_END), 0 : 1;
    int side = argc >= 4 ? atoi(argv[2]) : 0, groups = argc - 4;
    double seconds = argc >= 4 ? atof(argv[3]) : 0;
    bool good = side >= 1 && side < TURNS_SIDES && seconds > 0 && groups <= GROUPS_MAX;
    for (int i = 0; good && i < groups; i++)
        good = strchr(argv[4 + i], '=') != NULL;
    if (!good)
        return fputs("usage: bench-round FILE SIDE SECONDS [NAME=PID,PID...]... | machine | FILE end\n", stderr), 2;
    if (!(t = turns_open(argv[1])))
        return 1;
    measure(t, (uint32_t)side, seconds, argv + 4, groups);
    return 0;
}
