// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* When streams are synced and what a sync that fails leaves; which files stay open. */
#include "run/store/store_internal.h"
#include "tests/lib/store_fixture.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SYNC_S = 10 };

static int64_t now;
static int sync_error; /* of the next syncs; 0: they succeed */
static unsigned syncs;

int64_t __wrap_clock_now(void);
int64_t __wrap_clock_now(void)
{
    return now;
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    (void)fd;
    syncs++;
    errno = sync_error;
    return sync_error ? -1 : 0;
}

static struct {
    unsigned count;
    off_t from, bytes; /* of the last one */
} pushed;

int __wrap_sync_file_range(int fd, off_t from, off_t bytes, unsigned flags);
int __wrap_sync_file_range(int fd, off_t from, off_t bytes, unsigned flags)
{
    assert_int_equal(fd, 0);
    assert_int_equal(flags, SYNC_FILE_RANGE_WRITE);
    pushed.from = from;
    pushed.bytes = bytes;
    pushed.count++;
    return 0;
}

static struct model_stream *stream(struct store_fixture *t, const char *name)
{
    unsigned p = fake_add_process(t->sensor, name, 1, ROLE_SUT);
    return model_stream(store_fixture_know(t, p), 0);
}

static void open_with(struct store_fixture *t, int64_t sync)
{
    store_close(t->store);
    sync_error = 0;
    syncs = 0;
    assert_int_equal(store_open(t->dir, sync, &t->store), 0);
}

static int begin(void **state)
{
    now = 1000 * CLOCK_S;
    return store_fixture_begin(state);
}

static void append(struct store_fixture *t, struct model_stream *s)
{
    assert_int_equal(store_append(t->store, s, "0123", 4), 0);
}

/* The next sync is due that long after the moment when all were synced, however often a stream was written. */
TEST_WITH(begin, store_fixture_end, a_sync_is_due_an_interval_after_the_last_one)
{
    struct store_fixture *t = *test_state;
    open_with(t, SYNC_S * CLOCK_S);
    struct model_stream *a = stream(t, "a"), *b = stream(t, "b");
    append(t, a);
    append(t, a);
    append(t, b);
    assert_true(store_sync_at(t->store) == now + SYNC_S * CLOCK_S);
    now += 3 * CLOCK_S;
    assert_int_equal(store_sync(t->store, a), 0);
    assert_true(store_sync_at(t->store) == now + (SYNC_S - 3) * CLOCK_S); /* b is not */
    now += CLOCK_S;
    assert_int_equal(store_sync(t->store, b), 0);
    assert_int_equal(store_sync(t->store, b), 0); /* there is nothing to do */
    assert_int_equal(syncs, 2);
    append(t, a);
    assert_true(store_sync_at(t->store) == now + SYNC_S * CLOCK_S);
    assert_false(store_sync_due(t->store, now));
}

TEST_WITH(begin, store_fixture_end, bytes_that_were_synced_do_not_count_towards_the_next_sync)
{
    struct store_fixture *t = *test_state;
    open_with(t, SYNC_S * CLOCK_S);
    struct model_stream *a = stream(t, "a");
    append(t, a);
    store_unsynced(t->store, a, STORE_SYNC_BYTES);
    assert_true(store_sync_due(t->store, now));
    assert_int_equal(store_sync(t->store, a), 0);
    append(t, a);
    assert_false(store_sync_due(t->store, now));
}

TEST_WITH(begin, store_fixture_end, a_synced_length_is_to_be_saved)
{
    struct store_fixture *t = *test_state;
    open_with(t, 0);
    struct model_stream *a = stream(t, "a");
    append(t, a);
    a->process->dirty = false;
    assert_int_equal(store_sync(t->store, a), 0);
    assert_true(a->process->dirty);
}

/* After a failed sync nobody knows what is on the disk, whatever the next one says. */
TEST_WITH(begin, store_fixture_end, a_sync_that_failed_is_never_made_good)
{
    struct store_fixture *t = *test_state;
    const char *path;
    open_with(t, 0);
    struct model_stream *a = stream(t, "a"), *b = stream(t, "b");
    append(t, a);
    append(t, b);
    sync_error = EIO;
    assert_int_not_equal(store_sync(t->store, a), 0);
    assert_int_equal(store_failure(t->store, &path), EIO);
    sync_error = 0;
    assert_int_equal(store_sync(t->store, a), BEZEL_ESYS);
    assert_int_equal(store_sync(t->store, b), BEZEL_ESYS);
    assert_true(a->unsynced && b->unsynced);
    for (int i = 0; i < 3; i++, now += 10 * (int64_t)STORE_RETRY) {
        assert_false(store_retry(t->store, now));
        assert_int_not_equal(store_append(t->store, b, "0123", 4), 0);
    }
    assert_int_equal(store_failure(t->store, NULL), EIO);
}

TEST_WITH(begin, store_fixture_end, who_is_in_a_hurry_syncs_at_once_and_who_never_syncs_does_not)
{
    struct store_fixture *t = *test_state;
    open_with(t, SYNC_S * CLOCK_S);
    struct model_stream *a = stream(t, "a");
    append(t, a);
    assert_false(store_sync_due(t->store, now));
    store_hurry(t->store);
    assert_true(store_sync_due(t->store, now));
    assert_int_equal(store_sync(t->store, a), 0);
    open_with(t, STORE_SYNC_NEVER);
    store_hurry(t->store);
    struct model_stream *b = stream(t, "b");
    append(t, b);
    assert_false(b->unsynced);
    assert_int_equal(store_sync(t->store, b), 0);
    assert_int_equal(syncs, 0);
}

static void push_at(struct model_stream *s, uint64_t bytes)
{
    s->bytes = bytes;
    store_push(s);
}

/* The kernel writes what was appended in large pieces, each once, and none whose last page is still being filled. */
TEST(each_piece_is_pushed_to_the_disk_once)
{
    const uint64_t piece = STORE_PUSH_BYTES, page = 4096;
    struct model_stream s = {.fd = 0};
    pushed.count = 0;
    push_at(&s, piece - 1);
    assert_int_equal(pushed.count, 0);
    push_at(&s, piece + page);
    assert_true(pushed.count == 1 && pushed.from == 0 && pushed.bytes == (off_t)piece);
    push_at(&s, 2 * piece - 1);
    assert_int_equal(pushed.count, 1);
    push_at(&s, 3 * piece + page);
    assert_true(pushed.count == 2 && pushed.from == (off_t)piece && pushed.bytes == (off_t)(2 * piece));
    push_at(&s, page); /* begun anew */
    push_at(&s, piece + page);
    assert_true(pushed.count == 3 && pushed.from == 0 && pushed.bytes == (off_t)piece);
}

TEST_WITH(begin, store_fixture_end, the_file_that_was_written_longest_ago_is_closed_first)
{
    struct store_fixture *t = *test_state;
    struct model_stream *s[4] = {stream(t, "a"), stream(t, "b"), stream(t, "c"), stream(t, "d")};
    t->store->open_max = 3;
    for (int i = 0; i < 3; i++)
        append(t, s[i]);
    append(t, s[0]);
    append(t, s[3]);
    assert_true(s[0]->fd >= 0 && s[1]->fd == -1 && s[2]->fd >= 0 && s[3]->fd >= 0);
}

/* A link in the place of a node's folder would lead elsewhere. */
TEST_WITH(begin, store_fixture_end, nothing_is_written_through_a_link)
{
    struct store_fixture *t = *test_state;
    char elsewhere[128], node[128], file[192];
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", t->dir);
    snprintf(node, sizeof node, "%s/trace/desk", t->dir);
    snprintf(file, sizeof file, "%s/metadata", elsewhere);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(symlink(elsewhere, node), 0);
    assert_int_not_equal(store_append(t->store, stream(t, "a"), "0123", 4), 0);
    assert_int_equal(store_failure(t->store, NULL), ENOTDIR);
    assert_int_not_equal(access(file, F_OK), 0);
}
