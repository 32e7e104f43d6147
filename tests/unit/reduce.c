// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Records that end at their node are counted, each once, whenever the daemon is killed. */
#include "sensor/external/reduce.h"

#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

BEZEL_ASPECT(kept, (int64, number, "1"));
BEZEL_ASPECT(pixel, (int64, number, "1"), (float64, half, "1"));
BEZEL_ASPECT(dot, (int64, number, "1"));

/* What the process is told to record, in the pattern of `mix`, and has recorded. */
static struct page {
    _Atomic uint64_t wanted, done;
    _Atomic bool leave;
    char dir[64];
} * page;

enum { KEPT_OF = 10 }; /* of so many records one is kept, six are pixels, three dots */

static void record_one(uint64_t n)
{
    if (n % KEPT_OF == 0)
        bezel_record(kept, (int64_t)n);
    else if (n % KEPT_OF < 7)
        bezel_record(pixel, (int64_t)n, 0.5);
    else
        bezel_record(dot, (int64_t)n);
}

static void record_what_is_wanted(void *unused)
{
    (void)unused;
    while (page->wanted == 0)
        clock_sleep_until(clock_now() + CLOCK_MS);
    setenv("BEZEL_DIR", page->dir, 1);
    for (uint64_t n = 0; !page->leave;) {
        for (; n < page->wanted; n++)
            record_one(n);
        page->done = n;
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
}

static struct fixture f;
static pid_t child;
static uint64_t seen, ended; /* records that the observer was passed; then when its process ended */
static bool reducing;

static int process_begin(void *unused, const char *name, enum message_role role, uint64_t instance)
{
    (void)unused, (void)name, (void)role, (void)instance;
    return 0;
}

static void process_end(void *unused, int slot)
{
    (void)unused;
    ended = seen;
    external_hand_on(f.external, slot);
}

static int watch(void *unused, int slot, enum message_role role, const struct dict_aspect *aspect)
{
    (void)unused, (void)slot, (void)role;
    return strcmp(aspect->name, "kept") == 0 ? -1 : 3;
}

static void take(void *unused, int number, const struct packet_run *run)
{
    (void)unused, (void)number;
    assert_int_equal(run->missing, 0); /* what is reduced is not missing */
    seen += run->count;
}

static bool reduces(void *unused, const struct dict_aspect *aspect)
{
    (void)unused;
    return reducing && strcmp(aspect->name, "kept") != 0;
}

static void record_more(uint64_t count)
{
    int64_t deadline = clock_now() + PATIENCE;
    page->wanted += count;
    while (page->done < page->wanted) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
}

static void poll(void)
{
    fixture_turn(&f);
}

static int begin(void **unused)
{
    (void)unused;
    memset(&f, 0, sizeof f);
    seen = ended = 0;
    reducing = true;
    f.options = (struct external_options){.batch = true, .take_all = true, .window_bytes = WINDOW_BYTES_MIN};
    f.options.observer = (struct external_observer){.process_begin = process_begin,
                                                    .process_end = process_end,
                                                    .watch = watch,
                                                    .records = take,
                                                    .reduces = reduces};
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    child = fixture_spawn(record_what_is_wanted, NULL); /* before there are locks that it would share */
    fixture_open(&f);
    memcpy(page->dir, f.dir, sizeof page->dir);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    kill(child, SIGKILL);
    fixture_wait(child);
    fixture_end(&f);
    munmap(page, sizeof *page);
    return 0;
}

static struct external_process *process(void)
{
    return external_process(f.external, 0);
}

/* Of all aspects. */
static struct segment_reduction sum(void)
{
    struct segment_reduction all = {0};
    for (uint32_t id = 1; process()->reduce && id < RING_ASPECTS; id++) {
        all.taken += process()->reduce->now[id].taken;
        all.handed += process()->reduce->now[id].handed;
        all.lost += process()->reduce->now[id].lost;
    }
    return all;
}

/* `of` records of all were taken out of the rings. */
static void expect_taken(uint64_t of)
{
    assert_int_equal(f.records, of / KEPT_OF);
    assert_int_equal(sum().taken, of - of / KEPT_OF);
    assert_int_equal(f.streams[0].discarded, of - of / KEPT_OF);
    assert_int_equal(f.streams[0].next_ordinal, of);
}

TEST_WITH(begin, end, reduced_records_are_passed_and_counted_and_not_stored)
{
    record_more(1000);
    poll();
    expect_taken(1000);
    assert_int_equal(seen, 900);
    struct reduce *r = process()->reduce;
    assert_int_equal(r->now[2].taken, 600);
    assert_int_equal(r->now[3].taken, 300);
    assert_true(external_reduces(f.external));
    external_hand_on(f.external, -1);
    assert_false(external_reduces(f.external));
    assert_int_equal(sum().handed, 900);
    struct external_totals flow = external_totals(f.external);
    assert_int_equal(flow.produced, 1000);
    assert_int_equal(flow.reduced, 900);
    assert_int_equal(flow.in_rings, 0);
}

TEST_WITH(begin, end, what_a_killed_daemon_had_not_handed_on_is_lost_with_it)
{
    record_more(1000);
    poll();
    external_hand_on(f.external, -1);
    record_more(500);
    poll();
    external_close(f.external, false);
    fixture_reopen(&f);
    assert_int_equal(sum().handed, 900);
    assert_int_equal(sum().lost, 450);
    assert_int_equal(process()->reduce->now[2].lost, 300);
    assert_false(reduce_is_told(process()));
    record_more(500);
    poll();
    expect_taken(2000);
    external_hand_on(f.external, -1);
    assert_int_equal(sum().handed, 900 + 450);
    external_close(f.external, false);
    fixture_reopen(&f); /* all was handed on */
    assert_int_equal(sum().handed, 900 + 450);
    assert_int_equal(sum().lost, 450);
}

/* The state was written for a packet that was not completed. */
TEST_WITH(begin, end, a_kill_before_the_packet_is_complete_leaves_the_records_in_the_ring)
{
    record_more(1000);
    poll();
    external_hand_on(f.external, -1);
    external_close(f.external, false);
    fixture_reopen(&f);
    struct segment_reductions *all = &process()->at->segment->reductions[2];
    all->state[~all->current & 1] =
        (struct segment_reduction){.taken = 660, .handed = 600, .ordinal = f.streams[0].next_ordinal + 100};
    all->current = ~all->current & 1;
    external_close(f.external, false);
    fixture_reopen(&f);
    assert_int_equal(process()->reduce->now[2].taken, 600);
    assert_int_equal(sum().lost, 0);
    record_more(100);
    poll();
    expect_taken(1100);
    external_hand_on(f.external, -1);
    assert_int_equal(sum().handed, 990);
}

TEST_WITH(begin, end, a_segment_that_lies_makes_no_more_than_it_took)
{
    record_more(10);
    poll();
    struct segment_reductions *all = process()->at->segment->reductions;
    const struct segment_reduction lies = {.taken = 5, .handed = UINT64_MAX, .lost = 7, .ring = UINT64_MAX};
    for (uint32_t id = 0; id < RING_ASPECTS; id++)
        all[id] = (struct segment_reductions){.state = {lies, lies}, .current = UINT64_MAX - id};
    record_more(10);
    poll();
    assert_int_equal(sum().taken, 18); /* the daemon has counts of its own */
    for (uint32_t id = 0; id < RING_ASPECTS; id++)
        all[id] = (struct segment_reductions){.state = {lies, lies}, .current = UINT64_MAX - id};
    external_close(f.external, false);
    fixture_reopen(&f);
    assert_int_equal(sum().taken, 0);
}

static bool is_over(struct fixture *of)
{
    (void)of;
    return process()->phase == EXTERNAL_CLOSED;
}

TEST_WITH(begin, end, what_is_left_when_a_process_ends_is_evaluated_before)
{
    record_more(1000);
    poll();
    record_more(300);
    page->leave = true;
    fixture_wait(child);
    child = fixture_spawn(record_what_is_wanted, NULL);
    fixture_until(&f, is_over);
    assert_int_equal(ended, 1170);
    expect_taken(1300);
    assert_int_equal(sum().handed, 1170);
    assert_true(f.streams[0].closed);
    memcpy(process()->reduce->told, process()->reduce->now, sizeof process()->reduce->told);
}

TEST_WITH(begin, end, records_that_nobody_reduces_are_stored)
{
    reducing = false;
    record_more(100);
    poll();
    assert_int_equal(f.records, 100);
    assert_null(process()->reduce);
}
