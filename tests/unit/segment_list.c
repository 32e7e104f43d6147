// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The list of processes that record in a folder: whom it has, beside whoever reads them, and what it makes of nonsense.
 */
#include "sensor/shm/segment_list.h"
#include "base/sigbus_guard.h"
#include "sensor/shm/segment_create.h"
#include "tests/lib/attach_scratch.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 2 * SEGMENT_LIST_MAX + 7 };

static struct segment_listed rows[SEGMENT_LIST_MAX];
static uint64_t next;

static int listed(uint64_t after)
{
    return segment_list(&scratch_folder, after, rows, &next);
}

TEST_WITH(scratch_begin, scratch_end, a_process_is_listed_while_it_lives_with_its_records_and_its_reader)
{
    static const uint8_t nobody[16], run[16] = {0xb0, 1};
    struct segment_owned own = {.fd = -1};
    assert_int_equal(listed(0), 0);
    assert_true(segment_create(&own, scratch_dir));
    uint8_t *rings = (uint8_t *)own.segment + segment_ring_offset();
    struct bezel_ring *second = (void *)(rings + segment_ring_stride(own.segment->ring_slots));
    second->attempts[3] = 40;
    second->attempts[RING_ASPECTS - 1] = 2;
    assert_int_equal(listed(0), 1);
    assert_int_equal(next, 0);
    assert_int_equal(rows[0].instance, own.segment->instance);
    assert_int_equal(rows[0].pid, getpid());
    assert_string_equal(rows[0].name, own.segment->name);
    assert_memory_equal(rows[0].run, nobody, sizeof nobody);
    assert_int_equal(rows[0].records, 0); /* a ring that was never used has no memory */
    atomic_store(&own.segment->ring_state[1], SEGMENT_RING_RELEASED);
    struct attached *a = attach_scratch();
    segment_begin_session(a, run);
    assert_int_equal(listed(0), 1);
    assert_int_equal(rows[0].records, 42);
    assert_memory_equal(rows[0].run, run, sizeof run);
    segment_detach(a, false); /* the session is still in the head, but nobody reads */
    assert_int_equal(listed(0), 1);
    assert_memory_equal(rows[0].run, nobody, sizeof nobody);
    segment_forget(&own);
    assert_int_equal(listed(0), 0);
}

/* A thread that is held up within a record, while one session ends and the next one begins, and goes on then. */
TEST_WITH(scratch_begin, scratch_end, a_record_that_was_begun_in_another_session_is_no_attempt_of_this_one)
{
    static const uint8_t run[16] = {0xb0, 1}, next_run[16] = {0xb0, 2};
    struct segment_owned own = {.fd = -1};
    assert_true(segment_create(&own, scratch_dir));
    struct bezel_ring *ring = (void *)((uint8_t *)own.segment + segment_ring_offset());
    atomic_store(&own.segment->ring_state[0], SEGMENT_RING_OWNED);
    struct attached *a = attach_scratch();
    segment_begin_session(a, run);
    ring->attempts[3] = 7;
    ring->full[3] = 6; /* the seventh is counted as an attempt, and not yet as lost */
    struct message_books_row row = segment_tally(a, 3);
    assert_int_equal(row.attempts, 7);
    assert_int_equal(row.full, 6);
    segment_begin_session(a, next_run);
    assert_int_equal(bezel_tally_get(&ring->base_ordinal), 7);
    row = segment_tally(a, 3);
    assert_int_equal(row.attempts + row.full, 0);
    ring->full[3] = 7;
    row = segment_tally(a, 3);
    assert_int_equal(row.attempts, 0); /* what a report makes of it: verdict_begun_before() */
    assert_int_equal(row.full, 1);
    segment_detach(a, false);
    segment_forget(&own);
}

TEST_WITH(scratch_begin, scratch_end, a_long_list_goes_on_in_the_order_of_instances)
{
    static struct segment_owned own[MANY];
    uint64_t after = 0, last = 0;
    int all = 0;
    for (int i = 0; i < MANY; i++) {
        own[i].fd = -1;
        assert_true(segment_create(&own[i], scratch_dir));
    }
    for (int i = 0; i < MANY; i += 3) /* dead ones take no place in the list */
        segment_forget(&own[i]);
    do {
        int n = listed(after);
        assert_in_range(n, 1, SEGMENT_LIST_MAX);
        for (int i = 0; i < n; i++) {
            assert_true(rows[i].instance > last);
            last = rows[i].instance;
        }
        all += n;
        assert_true(next == 0 || next > after);
        after = next;
    } while (next != 0);
    assert_int_equal(all, MANY - (MANY + 2) / 3);
    for (int i = 0; i < MANY; i++)
        if (i % 3)
            segment_forget(&own[i]);
}

TEST_WITH(scratch_begin, scratch_end, nothing_in_a_segment_is_believed)
{
    struct segment_owned own = {.fd = -1};
    assert_true(segment_create(&own, scratch_dir));
    struct segment *s = own.segment;
    strcpy(s->name, "\033]0;owned\a../x");
    s->started = UINT64_MAX;
    assert_int_equal(listed(0), 1);
    assert_string_equal(rows[0].name, "__0_owned_.._x");
    assert_int_equal(rows[0].age_ns, 0);
    memset(s->name, 'a', sizeof s->name);
    s->ring_slots = UINT32_MAX;
    atomic_store(&s->ring_state[0], UINT32_MAX);
    assert_int_equal(listed(0), 1);
    assert_int_equal(strlen(rows[0].name), SEGMENT_NAME_BYTES - 1);
    s->ring_slots = RING_SLOTS_MAX;
    s->ring_max = UINT32_MAX;
    s->pid_namespace++;
    s->name[0] = '\0';
    assert_int_equal(listed(0), 1);
    assert_int_equal(rows[0].pid, 0); /* that number means nothing here */
    assert_string_equal(rows[0].name, "_");
    s->instance++;
    assert_int_equal(listed(0), 0);
    s->instance--;
    s->magic++;
    assert_int_equal(listed(0), 0);
    s->magic--;
    s->version++;
    assert_int_equal(listed(0), 0);
    s->version--;
    assert_int_equal(listed(0), 1);
    assert_int_equal(ftruncate(own.fd, 100), 0);
    assert_int_equal(listed(0), 0);
    segment_forget(&own);
}

TEST_WITH(scratch_begin, scratch_end, what_is_no_segment_is_left_out_and_a_folder_that_cannot_be_read_is_an_error)
{
    static const char *const names[] = {"reader", "1.seg", "0000000000000000.seg", "00000000000000AB.seg",
                                        "00000000000000ab.seg.new"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_return_code(close(openat(scratch_folder.fd, names[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), errno);
    assert_return_code(mkfifoat(scratch_folder.fd, "00000000000000ab.seg", 0600), errno); /* to open it would block */
    assert_return_code(symlinkat("/dev/zero", scratch_folder.fd, "00000000000000ac.seg"), errno);
    assert_int_equal(listed(0), 0);
    struct folder none = {.path = "none", .fd = -1};
    assert_true(segment_list(&none, 0, rows, &next) < 0);
}

int main(void)
{
    sigbus_guard_init();
    return test_run(NULL, NULL);
}
