// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A full run directory: only stored packets are acknowledged, and everything is stored when there is room again. */
#include "mdr/message.h"
#include "run/history/summary.h"
#include "tests/lib/collector_process.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

/* Waits until the collector reports that it is failing, or no longer. */
static void wait_for_state(struct collector_process *c, struct fake_sensor *f, bool failed)
{
    for (int64_t deadline = clock_now() + PATIENCE;;) {
        assert_true(collector_command(c, VERB_QUERY));
        if ((c->message->reply.state == DAEMON_FAILED) == failed)
            return;
        assert_true(clock_now() < deadline);
        fake_round(f, 10 * CLOCK_MS);
    }
}

static void assert_nothing_false_is_acknowledged(const struct collector_process *c, const struct fake_sensor *f,
                                                 bool whole)
{
    char path[256];
    for (unsigned r = 0; r < FAKE_RINGS; r++) {
        snprintf(path, sizeof path, "%s/trace/desk/app-1-%u", c->run, r);
        assert_true(fake_file_is_right(&f->processes[0]->rings[r], path, whole));
    }
}

static void cut_bytes(struct fake_sensor *f, size_t bytes)
{
    for (size_t sum = 0; sum < bytes;) {
        const struct fake_stream *s = &f->processes[0]->rings[seed_next(&seed) % FAKE_RINGS];
        size_t before = s->used;
        fake_cut(f, 0, (unsigned)(s - f->processes[0]->rings), 200);
        sum += s->used - before;
    }
}

TEST(a_full_disk_stops_it_until_there_is_room)
{
    struct collector_process c = {0};
    char listen[LINK_ENDPOINT_MAX], ballast[128];
    assert_true(collector_make(&c));
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", c.run, "tmpfs", 0, "size=6m") != 0) {
        printf("skipped: a small file system cannot be mounted here: %s\n", strerror(errno));
        collector_remove(&c);
        skip();
    }
    snprintf(listen, sizeof listen, "ipc://%s/data", c.dir);
    snprintf(ballast, sizeof ballast, "%s/ballast", c.run);
    int fd = open(ballast, O_WRONLY | O_CREAT, 0666);
    assert_int_equal(posix_fallocate(fd, 0, 3 << 20), 0);
    close(fd);
    struct fake_sensor *f = fake_new("desk", run_id, seed_next(&seed));
    fake_add_process(f, "app", 1, ROLE_SUT);
    assert_true(collector_start(&c, listen));
    assert_true(fake_connect(f, listen));
    cut_bytes(f, 2560 << 10);
    wait_for_state(&c, f, true);
    assert_int_equal(c.message->reply.collector.store_errno, ENOSPC);
    if (!strstr(c.message->reply.text, "run/")) /* which of its files, the disk decides */
        fail_msg("no file is named: '%s'", c.message->reply.text);
    assert_non_null(strstr(c.message->reply.text, "make room"));
    assert_false(fake_all_acked(f));
    assert_nothing_false_is_acknowledged(&c, f, false);
    assert_int_equal(unlink(ballast), 0);
    assert_true(fake_settle(f, PATIENCE));
    wait_for_state(&c, f, false);
    assert_nothing_false_is_acknowledged(&c, f, true);
    assert_true(fake_say_bye(f, PATIENCE));
    assert_int_equal(collector_end(&c, SIGTERM), 0);
    struct summary *s;
    assert_int_equal(summary_load(c.run, &s), 0);
    uint64_t stored = 0;
    for (size_t b = 0; b < s->processes[0].book_count; b++)
        stored += s->processes[0].books[b].stored;
    assert_int_equal(stored, fake_records(f));
    summary_free(s);
    fake_free(f);
    assert_int_equal(umount(c.run), 0);
    collector_remove(&c);
}

TEST(a_run_that_ends_on_a_full_disk_keeps_its_books)
{
    struct collector_process c = {0};
    char listen[LINK_ENDPOINT_MAX];
    assert_true(collector_make(&c));
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", c.run, "tmpfs", 0, "size=3m") != 0) {
        printf("skipped: a small file system cannot be mounted here: %s\n", strerror(errno));
        collector_remove(&c);
        skip();
    }
    snprintf(listen, sizeof listen, "ipc://%s/data", c.dir);
    struct fake_sensor *f = fake_new("desk", run_id, seed_next(&seed));
    fake_add_process(f, "app", 1, ROLE_SUT);
    assert_true(collector_start(&c, listen));
    assert_true(fake_connect(f, listen));
    cut_bytes(f, 4 << 20);
    wait_for_state(&c, f, true);
    assert_int_equal(collector_end(&c, SIGTERM), 0);
    assert_nothing_false_is_acknowledged(&c, f, false);
    struct summary *s;
    assert_int_equal(summary_load(c.run, &s), 0);
    uint64_t stored = 0, acked = 0;
    for (size_t b = 0; b < s->processes[0].book_count; b++)
        stored += s->processes[0].books[b].stored;
    for (unsigned r = 0; r < FAKE_RINGS; r++) {
        const struct fake_stream *stream = &f->processes[0]->rings[r];
        acked += stream->acked > 1 ? (stream->acked - 1) * 200 : 0;
    }
    assert_true(stored >= acked && acked > 0);
    summary_free(s);
    fake_free(f);
    assert_int_equal(umount(c.run), 0);
    collector_remove(&c);
}

TEST(a_limit_on_the_size_of_files_stops_it_too)
{
    struct collector_process c = {.file_limit = 2 << 20};
    char listen[LINK_ENDPOINT_MAX];
    assert_true(collector_make(&c));
    snprintf(listen, sizeof listen, "ipc://%s/data", c.dir);
    struct fake_sensor *f = fake_new("desk", run_id, seed_next(&seed));
    fake_add_process(f, "app", 1, ROLE_SUT);
    assert_true(collector_start(&c, listen));
    assert_true(fake_connect(f, listen));
    while (f->processes[0]->rings[0].used < 3 << 20)
        fake_cut(f, 0, 0, 1000);
    wait_for_state(&c, f, true);
    assert_int_equal(c.message->reply.collector.store_errno, EFBIG);
    assert_non_null(strstr(c.message->reply.text, "app-1-0"));
    assert_nothing_false_is_acknowledged(&c, f, false);
    assert_int_equal(collector_end(&c, SIGTERM), 0);
    c.file_limit = 0;
    assert_true(collector_start(&c, listen));
    assert_true(fake_settle(f, PATIENCE));
    assert_int_equal(collector_end(&c, SIGTERM), 0);
    assert_nothing_false_is_acknowledged(&c, f, true);
    fake_free(f);
    collector_remove(&c);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
