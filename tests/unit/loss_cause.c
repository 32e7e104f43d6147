// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a full ring loses is put down to what it is due to: to the ring, or to the window or spool behind it. */
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

BEZEL_ASPECT(odd, (int64, number, "1"), (float64, half, "1"));
BEZEL_ASPECT(even, (int64, number, "1"));

/* What the process is told to record, and has recorded; both aspects in turn. */
static struct page {
    _Atomic uint64_t wanted, done;
    char dir[64];
} * page;

static void record_what_is_wanted(void *unused)
{
    (void)unused;
    while (page->wanted == 0)
        clock_sleep_until(clock_now() + CLOCK_MS);
    setenv("BEZEL_DIR", page->dir, 1);
    for (uint64_t n = 0;;) {
        for (; n < page->wanted; n++) {
            if (n % 2)
                bezel_record(odd, (int64_t)n, 0.5);
            else
                bezel_record(even, (int64_t)n);
        }
        page->done = n;
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
}

static struct fixture f;
static pid_t child;

static struct message_books_row sum_books(void)
{
    struct message_books_row sum;
    (void)fixture_books(&f, NULL, &sum);
    return sum;
}

static void poll(void)
{
    external_poll(f.external, clock_now());
    external_housekeep(f.external, clock_now());
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

static int begin(void **unused)
{
    (void)unused;
    memset(&f, 0, sizeof f);
    f.options = (struct external_options){.batch = true, .take_all = true, .window_bytes = WINDOW_BYTES_MIN};
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    child = fixture_spawn(record_what_is_wanted, NULL); /* before there are locks that it would share */
    fixture_open(&f);
    memcpy(page->dir, f.dir, sizeof page->dir);
    record_more(10);
    poll();
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

/* The window takes nothing more, and the ring is full; nothing is lost but what the filling took. */
static void fill_window(void)
{
    for (uint64_t before = 0, now = 1; now != before;) {
        before = now;
        record_more(1000);
        poll();
        now = external_counts(f.external)->records;
    }
}

TEST_WITH(begin, end, what_is_lost_for_want_of_polls_is_the_rings)
{
    record_more(20000);
    poll();
    record_more(20000);
    poll();
    struct message_books_row sum = sum_books();
    assert_true(sum.full > 30000);
    assert_int_equal(sum.window + sum.spool, 0);
}

TEST_WITH(begin, end, what_is_lost_while_the_window_is_full_is_the_windows)
{
    record_more(20000); /* the ring's */
    poll();
    uint64_t full = sum_books().full;
    fill_window();
    record_more(10000);
    fixture_turn(&f); /* acknowledged: the next cut finds room */
    fixture_turn(&f);
    struct message_books_row sum = sum_books();
    assert_true(full > 0);
    assert_int_equal(sum.full, full);
    assert_true(sum.window >= 10000 - RING_SLOTS_DEFAULT);
    assert_int_equal(sum.attempts, f.records + sum.full + sum.window);
    record_more(20000); /* the ring's again */
    fixture_turn(&f);
    struct message_books_row after = sum_books();
    assert_int_equal(after.window, sum.window);
    assert_true(after.full > full);
    assert_int_equal(after.attempts, f.records + after.full + after.window);
}

TEST_WITH(begin, end, what_is_lost_while_the_spool_is_full_too_is_the_spools)
{
    fill_window();
    record_more(10000);
    external_uplink(f.external).spool_full(f.external, true);
    poll();
    uint64_t window = sum_books().window;
    record_more(5000);
    external_uplink(f.external).spool_full(f.external, false);
    poll();
    record_more(3000);
    fixture_turn(&f);
    fixture_turn(&f);
    struct message_books_row sum = sum_books();
    assert_true(window >= 10000 - RING_SLOTS_DEFAULT);
    assert_int_equal(sum.spool, 5000);
    assert_int_equal(sum.window, window + 3000);
    assert_int_equal(sum.attempts, f.records + sum.full + sum.window + sum.spool);
    struct external_totals flow = external_totals(f.external);
    assert_int_equal(flow.spool, 5000);
    assert_int_equal(flow.in_rings + flow.in_window, 0);
}

TEST_WITH(begin, end, a_new_life_goes_on_with_what_was_put_down_to_causes)
{
    fill_window();
    record_more(10000);
    fixture_turn(&f);
    fixture_turn(&f);
    struct message_books_row before = sum_books();
    assert_true(before.window >= 10000 - RING_SLOTS_DEFAULT);
    external_close(f.external, false);
    record_more(20000); /* nobody reads: the ring's */
    fixture_reopen(&f);
    fixture_turn(&f);
    struct message_books_row after = sum_books();
    assert_int_equal(after.window, before.window);
    assert_true(after.full > before.full);
    assert_int_equal(after.attempts, f.records + after.full + after.window);
}

TEST_WITH(begin, end, a_segment_that_lies_of_causes_makes_no_more_losses_than_there_were)
{
    record_more(20000);
    poll();
    uint64_t full = sum_books().full;
    struct attached *a = external_process(f.external, 0)->at;
    for (uint32_t id = 1; id < RING_ASPECTS; id++)
        a->segment->loss_causes[id] =
            (struct segment_loss_causes){.state = {{0, UINT64_MAX, 7}, {1, 5, UINT64_MAX - 2}}, .current = id};
    struct message_books_row sum = sum_books();
    assert_int_equal(sum.full + sum.window + sum.spool, full);
    for (uint32_t id = 1; id < RING_ASPECTS; id++)
        a->segment->loss_causes[id] = (struct segment_loss_causes){0};
}
