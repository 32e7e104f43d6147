// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Programs that are run again take as long as worked examples say: alone and on shared CPUs, over other networks, with
 * steps taken out. Of random programs the end is the longest of all paths, each tried.
 */
#include "analysis/rerun.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

enum { THREADS = 9, STEPS = 64, MESSAGES = 16 };

/* When the last step was done. */
static double ended_at(const struct rerun *r)
{
    double last = 0;
    for (size_t i = 0; i < r->step_count; i++)
        last = r->steps[i].ends > last ? r->steps[i].ends : last;
    return last;
}

static uint64_t seed;
static struct rerun_thread threads[THREADS];
static struct rerun_step steps[STEPS];
static struct rerun_message messages[MESSAGES];
static uint32_t cpus[THREADS];
static struct rerun r;

static void begin(size_t message_count, const double *flights)
{
    r = (struct rerun){.threads = threads, .steps = steps, .messages = messages, .cpus = cpus};
    memset(threads, 0, sizeof threads);
    memset(cpus, 0, sizeof cpus);
    r.message_count = message_count;
    for (size_t i = 0; i < message_count; i++)
        messages[i].flight = flights[i];
}

static void forget_arrivals(void)
{
    for (size_t i = 0; i < r.message_count; i++)
        messages[i].arrives = (double)NAN;
}

/* A thread with `count` steps behind those of the thread before: their kinds, and ns or message. */
static void add(uint32_t group, const char *kinds, const double *of)
{
    struct rerun_thread *t = &threads[r.thread_count++];
    *t = (struct rerun_thread){.group = group, .first = r.step_count, .count = strlen(kinds)};
    for (size_t i = 0; kinds[i]; i++) {
        bool runs = kinds[i] == 'r' || kinds[i] == 'd';
        steps[r.step_count++] = (struct rerun_step){.kind = kinds[i] == 'r'   ? RERUN_RUN
                                                            : kinds[i] == 'd' ? RERUN_DELAY
                                                            : kinds[i] == 's' ? RERUN_SEND
                                                                              : RERUN_RECEIVE,
                                                    .message = runs ? 0 : (uint32_t)of[i],
                                                    .ns = runs ? of[i] : 0};
    }
    r.group_count = group + 1 > r.group_count ? group + 1 : r.group_count;
}

static void check(double wanted)
{
    forget_arrivals();
    assert_true(rerun_simulate(&r));
    assert_true(fabs(ended_at(&r) - wanted) < 1e-6);
}

/* One thread works, asks two others, and goes on when both have answered. */
static void draw_two_servants(uint32_t a, uint32_t b, uint32_t c, double network)
{
    begin(4, (const double[]){1 * network, 2 * network, 1 * network, 2 * network});
    add(a, "rssRRr", (const double[]){10, 0, 1, 2, 3, 5});
    add(b, "Rrs", (const double[]){0, 20, 2});
    add(c, "Rrrs", (const double[]){1, 10, 25, 3});
}

TEST(test_two_servants)
{
    draw_two_servants(0, 1, 2, 1);
    check(54);
    double work = 0;
    for (size_t i = 0; i < r.step_count; i++)
        work += steps[i].ns;
    assert_true(fabs(work / ended_at(&r) - 1.296) < 0.001);
    steps[7].ns += 17; /* so much slack the other servant has */
    check(54);
    steps[7].ns = 20 + 17 + 1;
    check(54 + 1);
    draw_two_servants(0, 1, 2, 1);
    steps[11].ns = 0; /* the 25 of the longer one */
    check(37);
    draw_two_servants(0, 1, 1, 1);
    cpus[1] = 1;
    check(73);
    draw_two_servants(0, 0, 1, 1);
    cpus[0] = cpus[1] = 1;
    check(54);
    draw_two_servants(0, 0, 0, 1);
    cpus[0] = 1;
    check(73);
    cpus[0] = 2;
    check(54);
    draw_two_servants(0, 1, 2, 0.1);
    check(50.4);
}

/* The path that is printed of a run of the simplex method: a controller, seven others, and messages each way; ms. */
TEST(test_simplex)
{
    static const double ways[] = {840, 480, 480, 440, 408, 272, 240}, works[] = {159, 108, 88, 79, 67, 64, 42};
    double flights[14], control[15], cpu = 9740;
    for (size_t i = 0; i < 7; i++) {
        flights[2 * i] = flights[2 * i + 1] = ways[i];
        control[2 * i] = (double)(2 * i);
        control[2 * i + 1] = (double)(2 * i + 1);
        cpu += works[i];
    }
    control[14] = 9740;
    begin(14, flights);
    add(0, "sRsRsRsRsRsRsRr", control);
    for (size_t i = 0; i < 7; i++)
        add(0, "Rrs", (const double[]){(double)(2 * i), works[i], (double)(2 * i + 1)});
    check(16667);
    assert_true(fabs(cpu - 10347) < 1e-9);
    assert_true(fabs(31870 / ended_at(&r) - 1.91) < 0.005);
    for (size_t i = 0; i < 14; i++)
        messages[i].flight = 0;
    check(16667 - 4960 - 1360);
}

/* The example of a publication on load balancing factors: its four printed times, and that with a CPU for each. */
TEST(test_balancing)
{
    for (int alone = 0; alone < 2; alone++) {
        begin(2, (const double[]){0, 0});
        add(0, "rR", (const double[]){1, 0});
        add((uint32_t)alone, "rs", (const double[]){7, 0});
        add(2, "rR", (const double[]){1, 1});
        cpus[0] = cpus[1] = cpus[2] = 1;
        forget_arrivals();
        messages[1].arrives = 0;
        assert_true(rerun_simulate(&r));
        assert_true(fabs(steps[0].ends - (alone ? 1 : 2)) < 1e-9);
        assert_true(fabs(steps[1].ends - (alone ? 7 : 8)) < 1e-9);
        assert_true(fabs(steps[4].ends - 1) < 1e-9);
        assert_true(fabs(steps[5].ends - 1) < 1e-9);
        assert_true(fabs(ended_at(&r) - (alone ? 7 : 8)) < 1e-9);
    }
}

/*
 * Work of a sender that its receiver does meanwhile instead: max(Cs - F, Cr + F), of when the message was sent, when
 * its receiving began, and the work.
 */
TEST(test_work_that_moves)
{
    static const double cases[][4] = {{10, 3, 4, 7}, {10, 8, 4, 12}, {5, 9, 2, 11}, {10, 3, 0, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(1, (const double[]){0});
        add(0, "rs", (const double[]){cases[i][0] - cases[i][2], 0});
        add(1, "rrR", (const double[]){cases[i][1], cases[i][2], 0});
        check(cases[i][3]);
    }
}

/* A master that hands out work to N others, each part of which costs it 1 and all of which is 64: N + 64/N. */
TEST(test_master_and_slaves)
{
    static const double counts[] = {1, 2, 4, 8};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        size_t n = (size_t)counts[k];
        char kinds[2 * 8 + 8 + 1] = "";
        double of[2 * 8 + 8];
        begin(2 * n, (const double[16]){0});
        for (size_t i = 0; i < n; i++) {
            kinds[2 * i] = 'r';
            of[2 * i] = 1;
            kinds[2 * i + 1] = 's';
            of[2 * i + 1] = (double)i;
            kinds[2 * n + i] = 'R';
            of[2 * n + i] = (double)(n + i);
        }
        kinds[3 * n] = 0;
        add(0, kinds, of);
        for (size_t i = 0; i < n; i++)
            add((uint32_t)(i + 1), "Rrs", (const double[]){(double)i, 64 / counts[k], (double)(n + i)});
        check(counts[k] + 64 / counts[k]);
    }
}

TEST(test_waits_for_ever)
{
    begin(2, (const double[]){0, 0});
    add(0, "rRs", (const double[]){1, 0, 1});
    add(0, "dRs", (const double[]){2, 1, 0});
    forget_arrivals();
    assert_false(rerun_simulate(&r));
    assert_true(isnan(steps[1].ends) && isnan(steps[4].ends));
    assert_true(fabs(ended_at(&r) - 2) < 1e-9);
}

/* The longest way to the end of step `i` of thread `t`, over all paths. */
static double longest(size_t t, size_t i)
{
    const struct rerun_step *s = &steps[threads[t].first + i];
    double before = i > 0 ? longest(t, i - 1) : 0, over = 0;
    for (size_t from = 0; s->kind == RERUN_RECEIVE && from < r.thread_count; from++)
        for (size_t k = 0; k < threads[from].count; k++)
            if (steps[threads[from].first + k].kind == RERUN_SEND &&
                steps[threads[from].first + k].message == s->message)
                over = longest(from, k) + messages[s->message].flight;
    return (over > before ? over : before) + s->ns;
}

TEST(test_random)
{
    for (int round = 0; round < 2000; round++) {
        size_t count = 2 + seed_next(&seed) % 4, sent = seed_next(&seed) % 5;
        double flights[MESSAGES], of[THREADS][STEPS];
        char kinds[THREADS][STEPS] = {{0}};
        for (size_t i = 0; i < sent; i++)
            flights[i] = (double)(seed_next(&seed) % 30);
        for (size_t i = 0; i < sent; i++) { /* in one order, so that nobody waits for ever */
            size_t from = seed_next(&seed) % count, to = (from + 1 + seed_next(&seed) % (count - 1)) % count;
            const size_t both[] = {from, to};
            for (int k = 0; k < 2; k++) {
                size_t n = strlen(kinds[both[k]]);
                kinds[both[k]][n] = seed_next(&seed) % 2 ? 'r' : 'd';
                of[both[k]][n] = (double)(seed_next(&seed) % 50);
                kinds[both[k]][n + 1] = k ? 'R' : 's';
                of[both[k]][n + 1] = (double)i;
            }
        }
        begin(sent, flights);
        for (size_t i = 0; i < count; i++)
            add((uint32_t)(i % 2), kinds[i], of[i]);
        double most = 0;
        for (size_t t = 0; t < count; t++)
            if (threads[t].count && longest(t, threads[t].count - 1) > most)
                most = longest(t, threads[t].count - 1);
        check(most);
        cpus[0] = cpus[1] = 1; /* never shorter, and never longer than all of it in turn */
        forget_arrivals();
        double all = 0;
        for (size_t i = 0; i < r.step_count; i++)
            all += steps[i].ns + (steps[i].kind == RERUN_SEND ? flights[steps[i].message] : 0);
        assert_true(rerun_simulate(&r) && ended_at(&r) >= most - 1e-6 && ended_at(&r) <= all + 1e-6);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
