// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Context switches of one thread, as a kernel writes them into a ring that may be full, against what really happened:
 * each interval on a CPU is as it was, or counted as lost; the times that the thread was ready lie within what is said
 * of them, whether or not it is known when it was woken, and however long its way to the CPU was, which is no time in a
 * queue; and intervals never overlap, whatever the clock and the bytes are.
 */
#include "sensor/samplers/switches_decode.h"
#include "tests/lib/perf_ring.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <string.h>

enum { CASES = 500, INTERVALS = 400, PID = 70, THREAD = 77 };

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

static struct perf_ring kernel;
static int64_t shift;  /* of our clock: the kernel does not know of it */
static int64_t queued; /* as schedstat counts it */

/* A record of `n` bytes behind its header, with the number of those that were lost before it. */
static void write_record(uint32_t type, uint16_t misc, const void *body, uint64_t n, uint32_t cpu)
{
    struct perf_sample s = {PID, THREAD, (uint64_t)(kernel.now - shift), cpu, 0};
    perf_ring_write(&kernel, type, misc, body, n, &s, sizeof s, &s);
}

/* ---- What really happened ---------------------------------------------------------------------------------------- */

static struct truth {
    int64_t begin, end, off, ready;
    int64_t woken; /* 0: that is not known */
    uint32_t cpu;
    enum switches_end ended;
} truth[INTERVALS];
static unsigned truth_count;

static void switch_in(struct truth *t)
{
    bool preempted = truth_count > 0 && t[-1].ended == SWITCHES_END_PREEMPTED;
    t->off = (int64_t)below(1000);
    t->ready = preempted ? t->off : below(3) ? (int64_t)below((uint64_t)t->off + 1) : 0;
    kernel.now += t->off;
    queued += t->ready;
    t->begin = kernel.now;
    t->woken = preempted || below(2) ? 0 : t->begin - t->ready - (int64_t)below((uint64_t)(t->off - t->ready) + 1);
    t->cpu = (uint32_t)below(4);
    write_record(PERF_RECORD_SWITCH, 0, NULL, 0, t->cpu);
}

static void switch_out(struct truth *t, bool last)
{
    static const uint8_t exit_body[24];
    kernel.now += 1 + (int64_t)below(1000); /* so that begins tell intervals apart, also where some are lost */
    t->end = kernel.now;
    t->ended = last ? SWITCHES_END_EXITED : below(2) ? SWITCHES_END_WAITED : SWITCHES_END_PREEMPTED;
    uint16_t misc = PERF_RECORD_MISC_SWITCH_OUT;
    if (t->ended == SWITCHES_END_PREEMPTED)
        misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    if (last)
        write_record(PERF_RECORD_EXIT, 0, exit_body, sizeof exit_body, t->cpu);
    else
        write_record(PERF_RECORD_SWITCH, misc, NULL, 0, t->cpu);
    truth_count++;
}

/* ---- The reader -------------------------------------------------------------------------------------------------- */

static struct reader {
    struct switches_thread thread;
    int64_t queued, end;
    uint64_t intervals, cuts;
    unsigned next; /* interval of the truth */
    bool cut;      /* an interval was cut: the next one goes on */
} reader;

static void expect(const struct switches_interval *i)
{
    assert_true(i->begin >= reader.end && i->end >= i->begin);
    reader.end = i->end;
    while (reader.next < truth_count && truth[reader.next].begin < i->begin && !reader.cut)
        reader.next++;
    const struct truth *t = &truth[reader.next];
    if (!reader.cut) {
        assert_int_equal(i->begin, t->begin);
        assert_true(i->off == SWITCHES_UNKNOWN || i->off == t->off);
        assert_true(i->off == SWITCHES_UNKNOWN || (i->ready_least <= t->ready && t->ready <= i->ready_most));
        if (i->off != SWITCHES_UNKNOWN && t->woken > t->begin - t->off)
            assert_int_equal(i->ready_most, t->begin - t->woken);
    }
    assert_int_equal(i->cpu, t->cpu);
    reader.cut = i->ended == SWITCHES_END_GOES_ON;
    reader.cuts += reader.cut;
    if (reader.cut)
        return;
    assert_int_equal(i->end, t->end);
    assert_int_equal(i->ended, t->ended);
    reader.intervals++;
    reader.next++;
}

static struct switches_bytes waiting(void)
{
    return (struct switches_bytes){kernel.ring, kernel.size, kernel.tail, kernel.head, shift};
}

/* What the records of all CPUs tell of an event of the thread. */
static void add_waking(struct switches_event *e)
{
    for (unsigned n = reader.next; e->what == SWITCHES_IN && n < INTERVALS && truth[n].begin <= e->time; n++)
        if (truth[n].begin == e->time)
            e->woken = truth[n].woken;
}

static void drain(void)
{
    struct switches_bytes look = waiting(), b = look;
    struct switches_gaps g = {.queued = below(4) ? queued - reader.queued : SWITCHES_UNKNOWN};
    struct switches_thread copy = reader.thread;
    struct switches_event e;
    struct switches_interval i;
    bool broken = false;
    reader.queued = queued;
    bool full = switches_full(&look);
    g.queued = full ? SWITCHES_UNKNOWN : g.queued;
    while (switches_next(&look, &e, &broken)) {
        add_waking(&e);
        switches_add_gap(&g, &copy, &e);
        (void)switches_feed(&copy, &e, &g, &i);
    }
    while (switches_next(&b, &e, &broken)) {
        assert_int_equal(e.thread, THREAD);
        assert_int_equal(e.pid, PID);
        add_waking(&e);
        if (switches_feed(&reader.thread, &e, &g, &i))
            expect(&i);
    }
    if (!full && !kernel.lost && below(3) == 0 && switches_cut(&reader.thread, kernel.now, false, &i))
        expect(&i);
    assert_false(broken);
    kernel.tail = b.at;
}

static void live(unsigned intervals, uint64_t drains)
{
    for (unsigned n = 0; n < intervals; n++) {
        switch_in(&truth[n]);
        if (below(drains) == 0)
            drain();
        switch_out(&truth[n], n + 1 == intervals);
        if (below(drains) == 0)
            drain();
    }
}

static void begin(uint64_t size)
{
    queued = 0;
    kernel = (struct perf_ring){.size = size, .now = 1000 + (int64_t)below(1000), .head = below(size) & ~UINT64_C(7)};
    kernel.tail = kernel.head;
    truth_count = 0;
    memset(truth, 0, sizeof truth);
    shift = (int64_t)below(2000) - 1000;
    reader = (struct reader){.end = kernel.now};
    switches_begin(&reader.thread, kernel.now);
}

TEST(each_interval_is_as_it_was_or_counted_as_lost)
{
    for (int c = 0; c < CASES; c++) {
        begin(UINT64_C(256) << below(6));
        live(1 + (unsigned)below(INTERVALS), 1 + below(60));
        drain();
        uint64_t unsaid = kernel.lost; /* of these no record follows */
        switches_finish(&reader.thread);
        assert_true(reader.intervals + reader.thread.lost <= truth_count);
        if (unsaid == 0)
            assert_int_equal(reader.intervals + reader.thread.lost, truth_count);
        assert_true(unsaid > 0 || reader.thread.state == SWITCHES_STATE_GONE);
    }
}

TEST(with_room_nothing_is_lost_and_one_wait_is_known_exactly)
{
    for (int c = 0; c < CASES; c++) {
        begin(8192);
        live(100, 1);
        assert_int_equal(reader.intervals, 100);
        assert_int_equal(reader.thread.lost, 0);
    }
    struct switches_thread t = {.state = SWITCHES_STATE_OFF, .last = 100, .since = 100};
    struct switches_event in = {.what = SWITCHES_IN, .time = 150}, out = {.what = SWITCHES_WAITED, .time = 160};
    struct switches_gaps g = {.queued = 20};
    struct switches_interval i;
    switches_add_gap(&g, &t, &in);
    assert_false(switches_feed(&t, &in, &g, &i));
    assert_true(switches_feed(&t, &out, &g, &i));
    assert_int_equal(i.off, 50);
    assert_int_equal(i.ready_least, 20);
    assert_int_equal(i.ready_most, 20);
}

/* Feeds a stretch of turns: off `off` each and on the CPU for 40 then; woken `awake` before each, 0: not known. */
static void feed_turns(int64_t (*turns)[2], unsigned count, int64_t sum, struct switches_interval *i)
{
    struct switches_gaps g = {.queued = sum};
    for (int pass = 0; pass < 2; pass++) {
        struct switches_thread t = {.state = SWITCHES_STATE_OFF, .last = 1000, .since = 1000};
        int64_t now = 1000;
        for (unsigned n = 0; n < count; n++) {
            struct switches_event in = {.what = SWITCHES_IN, .time = now += turns[n][0]};
            in.woken = turns[n][1] ? now - turns[n][1] : 0;
            if (pass == 0)
                switches_add_gap(&g, &t, &in);
            (void)switches_feed(&t, &in, &g, &i[n]);
            assert_true(
                switches_feed(&t, &(struct switches_event){.what = SWITCHES_WAITED, .time = now += 40}, &g, &i[n]));
        }
    }
}

/* A loop of 1 kHz, ten turns of which are 11 us on their way to the CPU, and 0.6 us of these in its queue. */
TEST(the_way_from_a_wake_to_the_cpu_is_no_time_in_a_queue)
{
    enum { TURNS = 10, WAY = 11000 };
    struct switches_interval i[TURNS];
    int64_t turns[TURNS][2], least = 0, most = 0;
    for (int n = 0; n < TURNS; n++) {
        turns[n][0] = 900000;
        turns[n][1] = WAY;
    }
    feed_turns(turns, TURNS, TURNS * 600, i);
    for (int n = 0; n < TURNS; n++) {
        least += i[n].ready_least;
        most += i[n].ready_most;
    }
    assert_true(least <= TURNS * 600 && most == TURNS * WAY);
    feed_turns(turns, 1, 600, i);
    assert_true(i->ready_least == 600 && i->ready_most == WAY);
    feed_turns(turns, 1, SWITCHES_UNKNOWN, i);
    assert_true(i->ready_least == 0 && i->ready_most == WAY);
    turns[3][1] = 500000; /* another one has the CPU for the rest */
    feed_turns(turns, TURNS, TURNS * 600 + 489000, i);
    assert_int_equal(i[3].ready_most, 500000);
    assert_int_equal(i[3].ready_least, TURNS * 600 + 489000 - (TURNS - 1) * WAY);
    assert_int_equal(i[4].ready_least, 0);
}

TEST(a_thread_that_runs_when_it_is_first_seen_has_run_since)
{
    struct switches_thread t;
    struct switches_interval i;
    struct switches_gaps g = {.queued = SWITCHES_UNKNOWN};
    struct switches_event out = {.what = SWITCHES_PREEMPTED, .time = 150, .cpu = 3};
    switches_begin(&t, 100);
    assert_false(switches_cut(&t, 120, false, &i)); /* nobody knows */
    assert_true(switches_feed(&t, &out, &g, &i));
    assert_int_equal(i.begin, 100);
    assert_int_equal(i.end, 150);
    assert_int_equal(i.off, SWITCHES_UNKNOWN);
    assert_int_equal(i.ended, SWITCHES_END_PREEMPTED);
    switches_begin(&t, 100);
    assert_true(switches_cut(&t, 120, true, &i)); /* the kernel says that it ran */
    assert_int_equal(i.end, 120);
    assert_int_equal(i.ended, SWITCHES_END_GOES_ON);
    assert_true(switches_feed(&t, &out, &g, &i));
    assert_int_equal(i.begin, 120);
    assert_int_equal(i.off, 0);
}

/* Any bytes, of records whose times jump. */
TEST(whatever_the_kernel_writes_intervals_do_not_overlap)
{
    for (int c = 0; c < CASES; c++) {
        struct switches_gaps g = {.queued = (int64_t)below(2000) - 1};
        struct switches_event e;
        struct switches_interval i;
        bool broken = false;
        int64_t end = 0;
        begin(UINT64_C(256) << below(6));
        live(100, 4);
        for (uint64_t n = below(20); n > 0; n--)
            kernel.ring[below(kernel.size)] = (uint8_t)below(256);
        kernel.tail = kernel.head - below(kernel.size + 2);
        switches_begin(&reader.thread, 0);
        for (struct switches_bytes b = waiting(); switches_next(&b, &e, &broken);) {
            switches_add_gap(&g, &reader.thread, &e);
            if (!switches_feed(&reader.thread, &e, &g, &i))
                continue;
            assert_true(i.begin >= end && i.end >= i.begin && i.off >= SWITCHES_UNKNOWN);
            assert_true(i.ready_least <= i.ready_most && i.ready_most <= i.off);
            end = i.end;
        }
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
