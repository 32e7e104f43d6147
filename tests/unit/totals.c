// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/shm/journal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

BEZEL_ASPECT(tick, (int64, number, "1"));

enum { RING = 4096, MANY = 10000 };

static void record_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < MANY; i++)
        bezel_record(tick, i);
}

static _Atomic bool *may_end; /* shared with the program */

static void record_many_and_stay(void *unused)
{
    record_many(unused);
    while (!*may_end)
        clock_sleep_until(clock_now() + CLOCK_MS);
}

static bool many_were_produced(struct fixture *f)
{
    return external_totals(f->external).produced == MANY;
}

static void assert_flow(struct fixture *f, uint64_t produced, uint64_t full, uint64_t in_rings, uint64_t in_window)
{
    struct external_totals flow = external_totals(f->external);
    assert_int_equal(flow.produced, produced);
    assert_int_equal(flow.full, full);
    assert_int_equal(flow.off + flow.no_ring + flow.overwritten + flow.window + flow.spool, 0);
    assert_int_equal(flow.in_rings, in_rings);
    assert_int_equal(flow.in_window, in_window);
}

static bool nobody_is_left(struct fixture *f)
{
    for (uint32_t i = 0; i < external_process_count(f->external); i++) {
        struct external_process *p = external_process(f->external, i);
        if (p)
            p->books_saved = true;
        if (p)
            return false;
    }
    return true;
}

/* From ring to window, to a daemon's next life, to the reader, and when the process is forgotten. */
TEST(every_record_is_somewhere)
{
    struct fixture f = {.options = {.batch = true, .batch_limit = 1000, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_many, NULL));
    external_poll(f.external, clock_now()); /* finds the process, and takes a thousand */
    assert_flow(&f, MANY, MANY - RING, RING - 1000, 1000);
    external_poll(f.external, clock_now());
    assert_flow(&f, MANY, MANY - RING, RING - 2000, 2000);
    external_close(f.external, false); /* killed */
    fixture_reopen(&f);
    assert_flow(&f, MANY, MANY - RING, RING - 2000, 2000);
    fixture_turn(&f);
    fixture_until(&f, nobody_is_left);
    assert_int_equal(f.records, RING);
    assert_flow(&f, MANY, MANY - RING, 0, 0);
    fixture_end(&f);
}

/* While no snapshot reads its ring: what has no room there is lost, and no longer under way. */
TEST(a_flight_recorder_has_lost_what_its_ring_cannot_hold)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    setenv("BEZEL_WHEN_FULL", "overwrite", 1);
    fixture_open(&f);
    may_end = mmap(NULL, sizeof *may_end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(may_end != MAP_FAILED);
    pid_t pid = fixture_spawn(record_many_and_stay, NULL);
    fixture_until(&f, many_were_produced);
    struct external_totals flow = external_totals(f.external);
    assert_int_equal(flow.overwritten, MANY - RING);
    assert_int_equal(flow.in_rings, RING);
    *may_end = true;
    fixture_wait(pid);
    fixture_until(&f, nobody_is_left);
    flow = external_totals(f.external);
    assert_int_equal(flow.produced, MANY);
    assert_int_equal(flow.overwritten, MANY - f.records);
    assert_int_equal(flow.in_rings, 0);
    fixture_end(&f);
    munmap((void *)may_end, sizeof *may_end);
    unsetenv("BEZEL_WHEN_FULL");
}

TEST(a_full_window_is_reported)
{
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}};
    setenv("BEZEL_RING_RECORDS", "65536", 1);
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_many, NULL));
    fixture_wait(fixture_spawn(record_many, NULL));
    fixture_wait(fixture_spawn(record_many, NULL));
    fixture_wait(fixture_spawn(record_many, NULL));
    fixture_wait(fixture_spawn(record_many, NULL));
    fixture_wait(fixture_spawn(record_many, NULL));
    external_poll(f.external, clock_now());
    assert_true(external_counts(f.external)->backpressure > 0);
    struct external_totals flow = external_totals(f.external);
    assert_true(flow.in_rings > 0 && flow.in_window > 0);
    assert_int_equal(flow.in_rings + flow.in_window, 6 * MANY);
    fixture_until(&f, nobody_is_left);
    assert_flow(&f, 6 * MANY, 0, 0, 0);
    fixture_end(&f);
    unsetenv("BEZEL_RING_RECORDS");
}

TEST(what_bezel_records_of_itself_is_in_the_window_and_nothing_else)
{
    static const struct dict_aspect own = {.name = "own", .field_count = 1, .fields = {{DICT_INT64, "n", "1", ""}}};
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    struct journal *j;
    fixture_open(&f);
    setenv("BEZEL_PROCESS", "bezeld", 1);
    assert_int_equal(journal_open(f.dir, &own, 1, &j), 0);
    unsetenv("BEZEL_PROCESS");
    journal_record(j, 1, (uint64_t[]){1});
    external_poll(f.external, clock_now());
    assert_flow(&f, 0, 0, 0, 1);
    journal_close(j);
    fixture_end(&f);
}

/* As where shared memory was full when a thread wanted a ring, and had room again for the next one. */
TEST(a_ring_that_nobody_ever_had_is_no_ring)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_many, NULL));
    external_poll(f.external, clock_now());
    struct attached *at = external_process(f.external, 0)->at;
    assert_null(at->rings[at->ring_count].reader.ring);
    at->ring_count++;
    assert_flow(&f, MANY, MANY - RING, 0, RING);
    fixture_until(&f, nobody_is_left);
    fixture_end(&f);
}

static bool it_is_closed(struct fixture *f)
{
    const struct external_process *p = external_process(f->external, 0);
    return p && p->phase == EXTERNAL_CLOSED;
}

/* As where a writer was killed after it had counted its attempt: it lies in a ring until nothing can come any more. */
TEST(a_record_that_was_never_finished_is_in_no_ring_once_its_process_is_closed)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_many, NULL));
    external_poll(f.external, clock_now());
    struct attached *at = external_process(f.external, 0)->at;
    uint32_t tick_id = 1;
    while (segment_tally(at, tick_id).attempts == 0)
        tick_id++;
    bezel_attempt(at->rings[0].reader.ring, tick_id);
    assert_flow(&f, MANY + 1, MANY - RING, 1, RING);
    fixture_until(&f, it_is_closed);
    assert_int_equal(external_process(f.external, 0)->unfinished, 1);
    assert_flow(&f, MANY + 1, MANY - RING, 0, 0);
    fixture_until(&f, nobody_is_left);
    assert_flow(&f, MANY + 1, MANY - RING, 0, 0);
    fixture_end(&f);
}

static void record_and_stay(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        bezel_record(tick, i);
    while (!*may_end)
        clock_sleep_until(clock_now() + CLOCK_MS);
}

static bool it_was_read(struct fixture *f)
{
    return f->records == 100;
}

/* As where the machine is so busy that a thread stands still within a record until its process is detached. */
TEST(a_record_that_is_finished_after_its_process_was_left_is_counted_once)
{
    static struct message_books books; /* too large for a stack */
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    may_end = mmap(NULL, sizeof *may_end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(may_end != MAP_FAILED);
    fixture_open(&f);
    pid_t pid = fixture_spawn(record_and_stay, NULL);
    fixture_until(&f, it_was_read);
    const struct external_process *p = external_process(f.external, 0);
    struct bezel_ring *ring = p->at->rings[0].reader.ring;
    uint32_t tick_id = 1;
    while (segment_tally(p->at, tick_id).attempts == 0)
        tick_id++;
    bezel_attempt(ring, tick_id);
    fixture_finish(&f);
    assert_int_equal(p->unfinished, 1);
    bezel_tally_add(&ring->full[tick_id]);
    external_books(p, clock_now(), &books);
    assert_int_equal(books.row_count, 1);
    assert_int_equal(books.rows[0].attempts, 101);
    assert_int_equal(books.rows[0].full, 0);
    assert_int_equal(books.unfinished, 1);
    *may_end = true;
    fixture_wait(pid);
    fixture_end(&f);
    munmap((void *)may_end, sizeof *may_end);
}

/* As a thread does that stood still behind its attempt: a copy of the record before, with the next ordinal. */
static void publish_next(const struct attached_ring *r)
{
    struct bezel_ring *ring = r->reader.ring;
    uint32_t head = ring->head;
    const uint64_t *before = bezel_slot_at(ring, r->reader.bytes - 1, head - BEZEL_SLOT_BYTES);
    uint64_t *at = bezel_slot_at(ring, r->reader.bytes - 1, head);
    memcpy(at, before, BEZEL_SLOT_BYTES);
    at[0] += UINT64_C(1) << BEZEL_ORDINAL_SHIFT;
    __atomic_store_n(&ring->head, head + BEZEL_SLOT_BYTES, __ATOMIC_RELEASE);
}

/* What a bezeld that ends the run knows of the only process: as at its closing packet. */
static void assert_closed_books(struct fixture *f)
{
    static struct message_books books; /* too large for a stack */
    const struct external_process *p = external_process(f->external, 0);
    external_books(p, clock_now(), &books);
    assert_int_equal(books.row_count, 1);
    assert_int_equal(books.rows[0].attempts, 101);
    assert_int_equal(books.rows[0].full + books.rows[0].off, 0);
    assert_int_equal(books.unfinished, 1);
    assert_int_equal(f->records, 100);
    assert_int_equal(f->streams[0].discarded, 1);
    assert_true(f->streams[0].closed);
}

/* One thread had counted its attempt when the closing packet was made; of another record nothing was to be seen yet. */
TEST(what_is_published_behind_the_closing_packet_is_sent_by_no_later_life)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    may_end = mmap(NULL, sizeof *may_end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(may_end != MAP_FAILED);
    fixture_open(&f);
    external_close(f.external, false); /* so that the process does not inherit its locks; the doorbell stays */
    pid_t pid = fixture_spawn(record_and_stay, NULL);
    fixture_reopen(&f);
    fixture_until(&f, it_was_read);
    const struct external_process *p = external_process(f.external, 0);
    const struct attached_ring *ring = &p->at->rings[0];
    uint32_t id = 1;
    while (segment_tally(p->at, id).attempts == 0)
        id++;
    bezel_attempt(ring->reader.ring, id);
    fixture_finish(&f);
    assert_closed_books(&f);
    publish_next(ring);
    bezel_attempt(ring->reader.ring, id);
    publish_next(ring);
    for (int life = 0; life < 2; life++) {
        external_close(f.external, false); /* killed */
        fixture_reopen(&f);
        fixture_until(&f, fixture_all_gone);
        assert_closed_books(&f);
    }
    *may_end = true;
    fixture_wait(pid);
    fixture_discard(&f);
    munmap((void *)may_end, sizeof *may_end);
}
