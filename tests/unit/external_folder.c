// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The folder of a node, as the external sensor finds it: files that are no segments, and entries that cannot be read.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/shm/segment.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(bare);

static bool unreadable; /* every folder, behind its first entry */
static int entries_read;

__attribute__((visibility("default"))) struct dirent *__wrap_readdir64(DIR *dir); /* AddressSanitizer asks for it */
struct dirent *__real_readdir64(DIR *dir);

struct dirent *__wrap_readdir64(DIR *dir)
{
    if (unreadable && entries_read++ % 2 == 1)
        return errno = EIO, NULL;
    return __real_readdir64(dir);
}

static void record_one(void *unused)
{
    (void)unused;
    bezel_record(bare);
}

static void make_and_abandon(const char *dir, const char *name, off_t bytes, int64_t age_s)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0 && ftruncate(fd, bytes) == 0);
    struct timespec then = {.tv_sec = time(NULL) - age_s};
    assert_int_equal(futimens(fd, (struct timespec[]){then, then}), 0);
    close(fd);
}

static bool stands(const char *dir, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

TEST(what_a_process_killed_at_birth_left_is_removed)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    make_and_abandon(f.dir, ".0000000000000001" SEGMENT_UNFINISHED, 5000, 0);
    make_and_abandon(f.dir, ".0000000000000002" SEGMENT_UNFINISHED, 0, 0); /* about to be locked? */
    make_and_abandon(f.dir, ".0000000000000003" SEGMENT_UNFINISHED, 0, 60);
    external_housekeep(f.external, clock_now() + 2 * CLOCK_S);
    assert_false(stands(f.dir, ".0000000000000001" SEGMENT_UNFINISHED));
    assert_true(stands(f.dir, ".0000000000000002" SEGMENT_UNFINISHED));
    assert_false(stands(f.dir, ".0000000000000003" SEGMENT_UNFINISHED));
    fixture_close(&f);
}

TEST(a_file_as_large_as_no_segment_keeps_nobody_waiting)
{
    char path[PATH_MAX];
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(record_one, NULL)), 0);
    make_and_abandon(f.dir, "00000000000000ff" SEGMENT_SUFFIX, (off_t)1 << 48, 0);
    fixture_until(&f, fixture_all_gone);
    assert_true(fixture_is_noted(&f, "BEZEL-SEGMENT"));
    snprintf(path, sizeof path, "%s/00000000000000ff" SEGMENT_SUFFIX, f.dir);
    unlink(path);
    fixture_end(&f);
}

static bool one_was_heard(struct fixture *f)
{
    return f->records == 1;
}

static bool nobody_is_looked_for(struct fixture *f)
{
    return external_finished(f->external);
}

/* While entries of the folder cannot be read, the node still expects processes there. */
TEST(a_folder_that_cannot_be_read_is_read_later)
{
    struct fixture f = {.dir = ""};
    fixture_open(&f);
    fixture_turn(&f);
    unreadable = true;
    assert_int_equal(fixture_wait(fixture_spawn(record_one, NULL)), 0);
    fixture_turn(&f);
    unreadable = false;
    fixture_until(&f, one_was_heard);
    fixture_end(&f);
}

TEST(a_folder_that_cannot_be_read_at_the_end_is_reported)
{
    struct fixture f = {.dir = ""};
    fixture_open(&f);
    fixture_turn(&f);
    unreadable = true;
    assert_int_equal(fixture_wait(fixture_spawn(record_one, NULL)), 0);
    external_finish(f.external, clock_now());
    fixture_until(&f, nobody_is_looked_for);
    unreadable = false;
    assert_int_equal(f.records, 0);
    assert_true(external_counts(f.external)->unread > 0);
    const struct message_note *n = external_note(f.external, external_note_count(f.external) - 1);
    assert_string_equal(n->code, "BEZEL-UNREAD");
    assert_non_null(strstr(n->text, "Input/output error"));
    fixture_discard(&f);
}
