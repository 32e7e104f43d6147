// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What was recorded is what is cut, in order, to the last bit: any mixture of aspects, in rings so small that records
 * cross their ends, polled at any moment, with and without an observer.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MOST_VALUES = 12,
    RECORDS = 6000,
    SHAPES = 6,
    LONG_RING = 16384 /* slots: longer than a packet of any window */
};

static const char *const names[SHAPES] = {"none", "one", "two", "three", "six", "twelve"};

BEZEL_ASPECT(none);
BEZEL_ASPECT(one, (int64, a, "1"));
BEZEL_ASPECT(two, (int64, a, "1"), (int64, b, "1"));
BEZEL_ASPECT(three, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"));
BEZEL_ASPECT(six, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"));
BEZEL_ASPECT(twelve, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"),
             (int64, f, "1"), (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (int64, k, "1"),
             (int64, l, "1"));

/* Shared with the program: it makes `wanted` records, then says so. */
struct poll_stats {
    _Atomic uint64_t wanted, made;
};

struct expectation {
    uint64_t seed, next; /* number of the next record */
};

/* Record `n`, as it was and must be: which aspect. Runs of the same one are as likely as changes. */
static uint32_t shape_of(uint64_t seed, uint64_t n)
{
    uint64_t r = seed + n / 8;
    uint64_t run = seed_next(&r);
    r = seed ^ n;
    return (uint32_t)(run % 2 ? (run >> 8) % SHAPES : (seed_next(&r) >> 8) % SHAPES);
}

static int64_t value_of(uint64_t seed, uint64_t n, uint32_t i)
{
    uint64_t r = seed ^ (n * MOST_VALUES + i);
    return (int64_t)seed_next(&r);
}

static void record_number(uint64_t seed, uint64_t n)
{
    int64_t v[MOST_VALUES];
    for (uint32_t i = 0; i < MOST_VALUES; i++)
        v[i] = value_of(seed, n, i);
    v[0] = (int64_t)n; /* tells what was lost */
    switch (shape_of(seed, n)) {
    case 0:
        bezel_record(none);
        break;
    case 1:
        bezel_record(one, v[0]);
        break;
    case 2:
        bezel_record(two, v[0], v[1]);
        break;
    case 3:
        bezel_record(three, v[0], v[1], v[2]);
        break;
    case 4:
        bezel_record(six, v[0], v[1], v[2], v[3], v[4], v[5]);
        break;
    default:
        bezel_record(twelve, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]);
    }
}

static void check_record(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                         const char *aspect)
{
    struct expectation *e = f->context;
    (void)h;
    uint64_t n = e->next++;
    assert_string_equal(aspect, names[shape_of(e->seed, n)]);
    if (r->value_count > 0)
        assert_int_equal(packet_value(r, 0), n);
    for (uint32_t i = 1; i < r->value_count; i++)
        assert_int_equal((int64_t)packet_value(r, i), value_of(e->seed, n, i));
}

struct program {
    struct poll_stats *poll_stats;
    uint64_t seed;
};

static void record_on_demand(void *context)
{
    const struct program *p = context;
    for (uint64_t wanted; (wanted = p->poll_stats->wanted) != UINT64_MAX;) {
        if (p->poll_stats->made == wanted)
            sched_yield();
        else
            record_number(p->seed, p->poll_stats->made++);
    }
}

/* An observer of some of the aspects: which of them, and how many records of each it was shown. */
struct view {
    uint64_t seed, choice, next[SHAPES], shown[SHAPES];
    int64_t last[SHAPES];
    bool watched[SHAPES];
};

static int watch_some(void *context, int slot, enum message_role role, const struct dict_aspect *aspect)
{
    (void)role;
    struct view *view = context;
    (void)slot;
    for (int i = 0; i < SHAPES; i++)
        if (strcmp(names[i], aspect->name) == 0)
            return (view->watched[i] = (view->choice >> i) % 2) ? i : -1;
    return -1;
}

/* What it is shown are the records of this aspect, all of them, in order. */
static void see(void *context, int watch, const struct packet_run *run)
{
    struct view *view = context;
    assert_true(run->count > 0 && view->watched[watch]);
    for (uint32_t i = 0; i < run->count; i++) {
        const struct packet_record r = packet_run_record(run, i);
        while (shape_of(view->seed, view->next[watch]) != (uint32_t)watch)
            view->next[watch]++;
        uint64_t n = view->next[watch]++;
        for (uint32_t k = 0; k < r.value_count; k++)
            assert_int_equal((int64_t)packet_value(&r, k), k == 0 ? (int64_t)n : value_of(view->seed, n, k));
        assert_true((int64_t)r.timestamp >= view->last[watch]);
        view->last[watch] = (int64_t)r.timestamp;
    }
    view->shown[watch] += run->count;
}

static void all_was_shown(const struct view *view, uint64_t records)
{
    uint64_t made[SHAPES] = {0};
    for (uint64_t n = 0; n < records; n++)
        made[shape_of(view->seed, n)]++;
    for (int i = 0; i < SHAPES; i++)
        assert_int_equal(view->shown[i], view->watched[i] ? made[i] : 0);
}

static int begin(void *context, const char *name, enum message_role role, uint64_t started)
{
    (void)context;
    (void)role;
    (void)started;
    (void)name;
    return 0;
}

static void what_was_recorded_is_cut(bool batch, uint32_t ring, uint64_t records, uint64_t seed)
{
    struct expectation e = {.seed = seed};
    uint64_t choice = ~seed;
    struct view view = {.seed = seed, .choice = seed_next(&choice)};
    struct poll_stats *poll_stats =
        mmap(NULL, sizeof *poll_stats, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(poll_stats != MAP_FAILED);
    char size[16];
    snprintf(size, sizeof size, "%u", ring);
    setenv("BEZEL_RING_RECORDS", size, 1);
    struct fixture f = {
        .options = {.batch = batch,
                    .take_all = true,
                    .window_bytes = WINDOW_BYTES_MIN,
                    .observer = {.context = &view, .process_begin = begin, .watch = watch_some, .records = see}},
        .record = check_record,
        .context = &e};
    fixture_open(&f);
    struct program program = {poll_stats, seed};
    pid_t pid = fixture_spawn(record_on_demand, &program);
    int64_t deadline = clock_now() + PATIENCE;
    while (poll_stats->wanted < (getenv("BEZEL_TEST_LIGHT") ? records / 5 : records)) {
        poll_stats->wanted += seed_next(&seed) % (ring / 4); /* four slots each at most: nothing is lost */
        while (poll_stats->made < poll_stats->wanted || f.records < poll_stats->made) {
            assert_true(clock_now() < deadline);
            fixture_turn(&f);
        }
    }
    uint64_t all = poll_stats->wanted;
    poll_stats->wanted = UINT64_MAX;
    assert_int_equal(fixture_wait(pid), 0);
    fixture_finish(&f);
    assert_int_equal(f.records, all);
    assert_int_equal(f.streams[0].discarded, 0);
    all_was_shown(&view, all);
    fixture_close(&f);
    munmap(poll_stats, sizeof *poll_stats);
    unsetenv("BEZEL_RING_RECORDS");
}

TEST(batches_hold_what_was_recorded)
{
    uint64_t seed = seed_start();
    what_was_recorded_is_cut(true, 64, RECORDS, seed);
    what_was_recorded_is_cut(true, 1024, RECORDS, seed_next(&seed));
    what_was_recorded_is_cut(true, LONG_RING, 2 * LONG_RING, seed_next(&seed));
}

TEST(single_records_hold_what_was_recorded)
{
    what_was_recorded_is_cut(false, 64, RECORDS / 4, seed_start()); /* a poll each */
}
