// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Who had a CPU, as a kernel writes it into a ring that may be full, against who really had it: what is said of a time
 * is in order, within it, and never more than the thread had; with room all of it is said. The same of who woke whom.
 */
#include "base/clock.h"
#include "sensor/samplers/switches_cpu.h"
#include "tests/lib/perf_ring.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <string.h>

enum { CASES = 300, COMINGS = 300, THREADS = 6, OBSERVED = 3, CPU = 2 };

static const struct switches_format format = {.flags = 2, .woken = 24};

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

static struct perf_ring kernel;

static void write_bytes(uint32_t type, uint16_t misc, const void *first, uint64_t n, const void *second, uint64_t m)
{
    struct perf_sample s = {0, 0, (uint64_t)kernel.now, CPU, 0};
    perf_ring_write(&kernel, type, misc, first, n, second, m, &s);
}

static void write_switch(uint32_t from, uint32_t to)
{
    struct perf_sample leaves = {from + 100, from, (uint64_t)kernel.now, CPU, 0},
                       comes = {to + 100, to, (uint64_t)kernel.now, CPU, 0};
    uint32_t next[2] = {to + 100, to}, before[2] = {from + 100, from};
    write_bytes(PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, next, sizeof next, &leaves, sizeof leaves);
    write_bytes(PERF_RECORD_SWITCH_CPU_WIDE, 0, before, sizeof before, &comes, sizeof comes);
}

static void write_waking(uint32_t waker, uint32_t woken, uint8_t flags)
{
    struct perf_sample s = {waker + 100, waker, (uint64_t)kernel.now, CPU, 0};
    uint8_t raw[44] = {40};
    raw[4 + 2] = flags;
    memcpy(raw + 4 + 24, &woken, sizeof woken);
    write_bytes(PERF_RECORD_SAMPLE, 0, &s, sizeof s, raw, sizeof raw);
}

/* ---- What really happened ---------------------------------------------------------------------------------------- */

static struct truth {
    int64_t begin, end;
    uint32_t thread;
} truth[COMINGS];
static unsigned truth_count;

static struct switches_comings comings;
static struct switches_wakings wakings;

static void drain(void)
{
    struct switches_bytes b = {kernel.ring, kernel.size, kernel.tail, kernel.head, 0};
    struct switches_cpu_event e;
    bool broken = false, full = switches_full(&b);
    while (switches_cpu_next(&b, &format, &e, &broken)) {
        if (e.what == SWITCHES_CPU_COMES) {
            assert_int_equal(e.pid, e.thread + 100);
            switches_leave(&comings, e.leaves);
            switches_come(&comings, e.time, e.pid, e.thread);
        }
        if (e.what == SWITCHES_CPU_LOST)
            switches_miss(&comings);
        if (e.what == SWITCHES_CPU_WOKEN)
            switches_wake(&wakings, &(struct switches_waking){e.time, kernel.now, e.woken, e.pid, e.thread, e.context});
    }
    assert_false(broken);
    if (full)
        switches_miss(&comings);
    kernel.tail = kernel.head;
}

static uint64_t deaf; /* one switch of so many is not recorded, and no loss is said; 0: none */

static void live(unsigned count, uint64_t drains)
{
    bool passed = true;
    kernel.now = 1000;
    kernel.head = kernel.tail = below(kernel.size) & ~UINT64_C(7);
    kernel.lost = 0;
    comings.count = 0;
    memset(&wakings, 0, sizeof wakings);
    for (truth_count = 0; truth_count < count; truth_count++) {
        struct truth *t = &truth[truth_count];
        uint32_t before = truth_count ? t[-1].thread : THREADS;
        *t = (struct truth){.begin = kernel.now, .thread = (uint32_t)(before + 1 + below(THREADS - 1)) % THREADS};
        passed = deaf && !passed && truth_count + 1 < count && below(deaf) == 0;
        if (!passed)
            write_switch(before, t->thread);
        kernel.now += 1 + (int64_t)below(1000);
        t->end = kernel.now;
        if (below(drains) == 0)
            drain();
    }
    drain();
}

static int64_t really_had(uint32_t thread, int64_t begin, int64_t end)
{
    int64_t had = 0;
    for (unsigned i = 0; i < truth_count; i++) {
        int64_t from = truth[i].begin > begin ? truth[i].begin : begin, to = truth[i].end < end ? truth[i].end : end;
        had += truth[i].thread == thread && to > from ? to - from : 0;
    }
    return had;
}

/* Asks for a time; returns how much of it is named. */
static int64_t ask(int64_t begin, int64_t end)
{
    struct switches_rival r[SWITCHES_RIVALS];
    unsigned n = switches_rivals(&comings, OBSERVED, begin, end, r);
    int64_t at = begin, had = 0;
    for (unsigned i = 0; i < n; i++) {
        assert_true(r[i].begin >= at && r[i].end > r[i].begin && r[i].had > 0);
        assert_true(r[i].had <= really_had(r[i].thread, r[i].begin, r[i].end));
        assert_int_not_equal(r[i].thread, OBSERVED);
        assert_int_equal(r[i].pid, r[i].thread + 100);
        at = r[i].end;
        had += r[i].had;
    }
    assert_true(at <= end);
    return had;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

TEST(nobody_had_more_than_is_said_though_records_are_lost)
{
    for (int c = 0; c < CASES; c++) {
        kernel.size = UINT64_C(512) << below(6);
        live(1 + (unsigned)below(COMINGS), 1 + below(60));
        int64_t begin = 1000 + (int64_t)below((uint64_t)(kernel.now - 1000));
        int64_t end = begin + 1 + (int64_t)below(20000) % (kernel.now - begin);
        int64_t named = ask(begin, end), unknown = switches_unknown(&comings, begin, end);
        assert_true(named + unknown <= end - begin && unknown >= 0);
    }
}

/* A CPU that is off for a while has no records, and none of a loss: the next one shows that some are missing. */
TEST(nobody_had_more_than_is_said_though_records_are_missing_without_a_word)
{
    kernel.size = sizeof kernel.ring;
    deaf = 5;
    for (int c = 0; c < CASES; c++) {
        live(COMINGS, 20);
        unsigned first = (unsigned)below(COMINGS - 2), last = first + 1 + (unsigned)below(COMINGS - first - 1);
        int64_t begin = truth[first].begin, end = truth[last].begin;
        assert_true(ask(begin, end) + switches_unknown(&comings, begin, end) <= end - begin);
    }
    deaf = 0;
}

TEST(with_room_all_is_said_of_a_time_with_few_rivals)
{
    kernel.size = sizeof kernel.ring;
    for (int c = 0; c < CASES; c++) {
        live(COMINGS, 20);
        unsigned first = (unsigned)below(COMINGS - SWITCHES_RIVALS), last = first + (unsigned)below(SWITCHES_RIVALS);
        int64_t begin = truth[first].begin, end = truth[last].end;
        assert_int_equal(ask(begin, end), end - begin - really_had(OBSERVED, begin, end));
        assert_int_equal(switches_unknown(&comings, begin, end), 0);
        assert_true(switches_came(&comings, truth[last].thread, truth[last].begin));
        assert_true(switches_left(&comings, truth[last].thread, truth[last].end));
    }
}

TEST(more_rivals_than_fit_leave_the_longest)
{
    struct switches_rival r[SWITCHES_RIVALS];
    comings.count = 0;
    for (int i = 0; i < 100; i++) {
        switches_come(&comings, i * 1000, 107, 7);
        switches_come(&comings, i * 1000 + 990 + i % 2, 108 + (uint32_t)i, 8 + (uint32_t)i);
    }
    unsigned n = switches_rivals(&comings, 3, 0, 100000, r);
    int64_t had = 0;
    for (unsigned i = 0; i < n; i++)
        had += r[i].thread == 7 ? r[i].had : 0;
    assert_true(had >= 99000);
    assert_int_equal(r[n - 1].end, 100000);
}

TEST(old_times_and_other_threads_are_not_known)
{
    comings.count = 0;
    assert_int_equal(ask(0, 100), 0);
    assert_int_equal(switches_unknown(&comings, 0, 100), 100);
    for (uint32_t i = 0; i < 2 * SWITCHES_COMINGS; i++)
        switches_come(&comings, i, 100 + i % 2, i % 2);
    struct switches_rival r[SWITCHES_RIVALS];
    assert_int_equal(switches_rivals(&comings, 9, 0, SWITCHES_COMINGS, r), 0);
    assert_true(switches_rivals(&comings, 9, SWITCHES_COMINGS, SWITCHES_COMINGS + 4, r) > 0);
    assert_false(switches_came(&comings, 5, SWITCHES_COMINGS));
    assert_false(switches_came(&comings, 0, SWITCHES_COMINGS + 2 * CLOCK_MS));
    assert_false(switches_left(&comings, 5, SWITCHES_COMINGS));
    assert_false(switches_left(&comings, 0, SWITCHES_COMINGS + 2 * CLOCK_MS));
}

TEST(the_first_waking_of_a_wait_is_found_with_its_context)
{
    static const struct {
        uint8_t flags;
        enum switches_context context;
    } ways[] = {{0x01, SWITCHES_BY_THREAD}, {0x10, SWITCHES_BY_SOFTIRQ}, {0x18, SWITCHES_BY_INTERRUPT}};
    kernel.size = sizeof kernel.ring;
    for (int c = 0; c < CASES; c++) {
        live(1, 1);
        int64_t first = 0, since = 1500 + (int64_t)below(2000), end = since + (int64_t)below(2000);
        size_t way = below(3);
        for (int i = 0; i < 60; i++) {
            uint32_t woken = (uint32_t)below(4);
            kernel.now += 1 + (int64_t)below(100);
            write_waking(5, woken, ways[way].flags);
            if (woken == 2 && !first && kernel.now > since && kernel.now <= end)
                first = kernel.now;
            if (below(10) == 0)
                drain();
        }
        drain();
        const struct switches_waking *w = switches_waking_of(&wakings, 2, since, end);
        assert_int_equal(w ? w->time : 0, first);
        if (w) {
            assert_int_equal(w->context, ways[way].context);
            assert_int_equal(w->thread, 5);
        }
    }
}

TEST(a_command_is_said_with_its_thread)
{
    struct {
        uint32_t pid, thread;
        char name[16];
    } body = {104, 4, "stress-ng-cpu-1"};
    struct perf_sample s = {104, 4, 5000, CPU, 0};
    kernel.size = sizeof kernel.ring;
    kernel.head = kernel.tail = kernel.lost = 0;
    write_bytes(PERF_RECORD_COMM, 0, &body, sizeof body, &s, sizeof s);
    struct switches_bytes b = {kernel.ring, sizeof kernel.ring, 0, kernel.head, 0};
    struct switches_cpu_event e;
    bool broken = false;
    assert_true(switches_cpu_next(&b, &format, &e, &broken));
    assert_int_equal(e.what, SWITCHES_CPU_NAMED);
    assert_int_equal(e.thread, 4);
    assert_string_equal(e.command, "stress-ng-cpu-1");
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
