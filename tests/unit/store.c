// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The trace on disk: names, order of appearance, few descriptors, and what a failed write leaves (nothing). */
#include "run/store/store.h"
#include "run/store/cover.h"

#include "base/file.h"
#include "run/store/disk.h"
#include "run/store/trace_reader.h"
#include "tests/lib/patience.h"
#include "tests/lib/store_fixture.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t stands_at; /* not 0: the time of the clock */

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return stands_at ? stands_at : __real_clock_now();
}

static struct model_process *add(struct store_fixture *t, const char *name, uint32_t pid)
{
    return store_fixture_know(t, fake_add_process(t->sensor, name, pid, ROLE_SUT));
}

static bool exists(const struct store_fixture *t, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/trace/desk/%s", t->dir, name);
    return access(path, F_OK) == 0;
}

static long size_of(const struct store_fixture *t, const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/trace/desk/%s", t->dir, name);
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

TEST_WITH(store_fixture_begin, store_fixture_end, metadata_is_there_with_the_first_packet_and_grows_with_the_dictionary)
{
    struct store_fixture *t = *test_state;
    struct model_stream *s = model_stream(add(t, "app", 1), 0);
    char path[256], *text;
    size_t n;
    assert_false(exists(t, "metadata"));
    assert_int_equal(store_append(t->store, s, "0123456789", 10), 0);
    assert_true(exists(t, "metadata"));
    assert_int_equal(size_of(t, "app-1-0"), 10);
    assert_int_equal(s->bytes, 10);
    struct model_stream *another = model_stream(add(t, "another", 2), 0);
    assert_int_equal(store_append(t->store, s, "0123456789", 10), 0); /* needs no new descriptor */
    assert_int_equal(store_append(t->store, another, "0123456789", 10), 0);
    snprintf(path, sizeof path, "%s/trace/desk/metadata", t->dir);
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    assert_non_null(strstr(text, "stream {\n    id = 2;"));
    free(text);
    assert_int_equal(size_of(t, "app-1-0"), 20);
}

TEST_WITH(store_fixture_begin, store_fixture_end, processes_of_one_name_and_pid_have_files_of_their_own)
{
    struct store_fixture *t = *test_state;
    struct model_process *a = add(t, "app", 1), *b = add(t, "app", 1), *c = add(t, "../a b", 3), *d = add(t, "..", 4);
    assert_string_equal(a->base, "app-1");
    assert_int_equal(strlen(b->base), strlen("app-1-0123456789abcdef"));
    assert_string_equal(c->base, "_._a_b-3");
    assert_string_equal(d->base, "_.-4");
    assert_int_equal(store_append(t->store, model_stream(a, 0), "a", 1), 0);
    assert_int_equal(store_append(t->store, model_stream(b, 0), "bb", 2), 0);
    assert_int_equal(store_append(t->store, model_stream(c, 127), "ccc", 3), 0);
    assert_int_equal(size_of(t, "app-1-0"), 1);
    assert_int_equal(size_of(t, "_._a_b-3-127"), 3);
}

/* A process whose part of the metadata is some 50 KiB long. */
static void add_talkative(struct store_fixture *t, uint32_t pid)
{
    char text[240];
    struct dict *dict;
    unsigned index = fake_add_process(t->sensor, "talkative", pid, ROLE_SUT);
    const struct message_process *said = &t->sensor->processes[index]->said;
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "%0200d", i);
        fake_add_string(t->sensor, index, text);
    }
    struct model_process *p = model_add_process(t->node, said);
    assert_int_equal(dict_parse(said->dictionary, said->dictionary_bytes, &dict), 0);
    model_set_dictionary(p, dict);
}

static bool explained(const struct store_fixture *t, uint32_t stream_id)
{
    char path[256], what[64], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/trace/desk/metadata", t->dir);
    snprintf(what, sizeof what, "stream {\n    id = %u;", stream_id);
    assert_int_equal(file_read(path, 1 << 24, &text, &n), 0);
    bool found = strstr(text, what) != NULL;
    free(text);
    return found;
}

/* Beyond burst and rate metadata is late: until the rate allows it, or the run ends. */
TEST_WITH(store_fixture_begin, store_fixture_end, metadata_of_a_thousand_processes_is_written_at_a_bounded_rate)
{
    enum { PROCESSES = 1000 };
    struct store_fixture *t = *test_state;
    struct message_process said = t->sensor->processes[fake_add_process(t->sensor, "app", 1, ROLE_SUT)]->said;
    int64_t began = clock_now();
    uint64_t written = 0;
    long before = 0;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct dict *dict;
        said.instance++;
        said.stream_id = said.pid = 100 + i;
        struct model_process *p = model_add_process(t->node, &said);
        assert_int_equal(dict_parse(said.dictionary, said.dictionary_bytes, &dict), 0);
        model_set_dictionary(p, dict);
        assert_int_equal(store_append(t->store, model_stream(p, 0), "0123", 4), 0);
        written += size_of(t, "metadata") != before ? (uint64_t)size_of(t, "metadata") : 0;
        before = size_of(t, "metadata");
        assert_true(i > 20 || explained(t, said.stream_id));
    }
    uint64_t ms = (uint64_t)((clock_now() - began) / CLOCK_MS);
    assert_true(written <= STORE_METADATA_BURST + (uint64_t)before + (ms + 1) * STORE_METADATA_RATE / 1000);
    assert_true(written < (uint64_t)before * PROCESSES / 2); /* the bytes without a bound */
    int64_t deadline = clock_now() + PATIENCE;
    while (t->node->metadata_late && clock_now() < deadline) {
        clock_sleep_until(clock_now() + 10 * CLOCK_MS);
        store_tidy(t->store, t->model, false);
    }
    assert_true(explained(t, said.stream_id));
}

TEST_WITH(store_fixture_begin, store_fixture_end, metadata_that_is_late_is_there_at_the_end)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = add(t, "app", 1);
    assert_int_equal(store_append(t->store, model_stream(p, 0), "0123", 4), 0);
    for (uint32_t i = 0; i < 5; i++)
        add_talkative(t, 100 + i);
    stands_at = clock_now(); /* so that nothing is added to its burst */
    for (int i = 0; !t->node->metadata_late; i++) {
        assert_true(i < 1000);
        p->metadata_stale = true;
        assert_int_equal(store_append(t->store, model_stream(p, 0), "0123", 4), 0);
    }
    struct model_process *last = add(t, "last", 2);
    assert_int_equal(store_append(t->store, model_stream(last, 0), "0123", 4), 0);
    store_tidy(t->store, t->model, true);
    stands_at = 0;
    assert_true(explained(t, last->stream_id));
}

/* Of three nodes the one in the middle has nothing to add. */
TEST_WITH(store_fixture_begin, store_fixture_end, metadata_of_every_node_that_is_late_is_written)
{
    struct store_fixture *t = *test_state;
    struct model_process *first = add(t, "app", 1);
    struct model_node *nodes[3] = {t->node};
    struct model_process *last[3] = {first};
    for (int i = 1; i < 3; i++) {
        struct message_hello hello = t->sensor->hello;
        hello.uuid[0] ^= (uint8_t)i;
        snprintf(hello.node, sizeof hello.node, "node%d", i);
        nodes[i] = model_add_node(t->model, &hello);
        struct dict *dict;
        struct message_process *said = &t->sensor->processes[0]->said;
        last[i] = model_add_process(nodes[i], said);
        assert_int_equal(dict_parse(said->dictionary, said->dictionary_bytes, &dict), 0);
        model_set_dictionary(last[i], dict);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_append(t->store, model_stream(last[i], 0), "0123", 4), 0);
    struct model_node *middle = t->model->nodes->next;
    for (struct model_node *node = t->model->nodes; node; node = node->next) {
        node->metadata_late = node != middle;
        node->processes->metadata_stale = node != middle;
    }
    store_tidy(t->store, t->model, false);
    for (const struct model_node *node = t->model->nodes; node; node = node->next)
        assert_false(node->metadata_late);
    middle->next->processes->metadata_stale = true; /* declared, and no packet of it came */
    store_tidy(t->store, t->model, true);
    assert_false(middle->next->processes->metadata_stale);
    assert_int_equal(store_failure(t->store, NULL), 0);
}

static off_t reserve_of(const struct store_fixture *t)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/.reserve", t->dir);
    return stat(path, &st) == 0 ? st.st_size : -1;
}

TEST_WITH(store_fixture_begin, store_fixture_end, with_room_again_the_reserve_is_back_and_packets_are_stored_at_once)
{
    struct store_fixture *t = *test_state;
    struct model_stream *s = model_stream(add(t, "app", 1), 0);
    const char *path;
    stands_at = clock_now();
    assert_int_equal(reserve_of(t), STORE_RESERVE);
    assert_int_equal(store_append(t->store, s, "0123", 4), 0);
    store_fail(t->store, ENOSPC, "a file");
    assert_int_equal(reserve_of(t), -1);
    assert_int_equal(store_failure(t->store, &path), ENOSPC);
    assert_string_equal(path, "a file");
    stands_at += STORE_RETRY - 1;
    assert_false(store_retry(t->store, stands_at)); /* not yet */
    assert_int_equal(store_append(t->store, s, "0123", 4), BEZEL_ENOSPC);
    stands_at++;
    assert_true(store_retry(t->store, stands_at));
    assert_int_equal(store_failure(t->store, NULL), 0);
    assert_int_equal(reserve_of(t), STORE_RESERVE);
    assert_int_equal(store_append(t->store, s, "0123", 4), 0);
    assert_int_equal(size_of(t, "app-1-0"), 8);
    assert_false(store_retry(t->store, stands_at + 10 * (int64_t)STORE_RETRY)); /* nothing is wrong */
    store_fail(t->store, EIO, "a file"); /* of which a packet alone can show that it is over */
    stands_at += STORE_RETRY;
    assert_true(store_retry(t->store, stands_at));
    assert_int_equal(store_failure(t->store, NULL), EIO);
    assert_int_equal(store_append(t->store, s, "0123", 4), 0);
    assert_int_equal(store_failure(t->store, NULL), 0);
    assert_int_equal(reserve_of(t), STORE_RESERVE);
    stands_at = 0;
}

TEST_WITH(store_fixture_begin, store_fixture_end, what_is_not_there_cannot_be_synced)
{
    struct store_fixture *t = *test_state;
    char path[256];
    assert_int_equal(disk_sync(t->dir), 0);
    assert_int_equal(disk_sync_parent(t->dir), 0);
    snprintf(path, sizeof path, "%s/none", t->dir);
    assert_int_equal(disk_sync(path), ENOENT);
    assert_int_equal(disk_sync_parent(path), 0); /* of the folder in which it would be */
    snprintf(path, sizeof path, "%s/none/such", t->dir);
    assert_int_equal(disk_sync_parent(path), ENOENT);
    snprintf(path, sizeof path, "%s/none/such///", t->dir);
    assert_int_equal(disk_sync_parent(path), ENOENT);
    snprintf(path, sizeof path, "%s///", t->dir);
    assert_int_equal(disk_sync_parent(path), 0);
    assert_int_equal(disk_sync_parent("/"), 0);
    assert_int_equal(disk_sync_parent("a-name"), 0);
}

/* Metadata is written although the next packet, which would have it written, never comes. */
TEST_WITH(store_fixture_begin, store_fixture_end, what_was_declared_and_not_used_is_explained_at_the_end)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = add(t, "app", 1);
    assert_int_equal(store_append(t->store, model_stream(p, 0), "0123", 4), 0);
    assert_false(p->metadata_stale);
    struct model_process *idle = add(t, "idle", 2);
    store_tidy(t->store, t->model, false);
    assert_false(explained(t, idle->stream_id));
    store_tidy(t->store, t->model, true);
    assert_true(explained(t, idle->stream_id));
}

TEST_WITH(store_fixture_begin, store_fixture_end, metadata_that_cannot_be_written_late_is_named_with_its_folder)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = add(t, "app", 1);
    char path[256], moved[256];
    const char *told;
    assert_int_equal(store_append(t->store, model_stream(p, 0), "0123", 4), 0);
    snprintf(path, sizeof path, "%s/trace/desk", t->dir);
    snprintf(moved, sizeof moved, "%s/trace/moved", t->dir);
    assert_int_equal(rename(path, moved), 0);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    p->metadata_stale = true;
    store_tidy(t->store, t->model, true);
    assert_int_equal(store_failure(t->store, &told), ENOTDIR);
    assert_string_equal(told, path);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

TEST_WITH(store_fixture_begin, store_fixture_end, more_streams_than_descriptors_are_stored)
{
    struct store_fixture *t = *test_state;
    struct rlimit before, few = {.rlim_cur = 32, .rlim_max = 32};
    getrlimit(RLIMIT_NOFILE, &before);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    store_close(t->store);
    assert_int_equal(store_open(t->dir, STORE_SYNC_NEVER, &t->store), 0);
    struct model_process *p = add(t, "app", 1);
    unsigned least = open_descriptors();
    for (int round = 0; round < 3; round++)
        for (uint32_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
            assert_int_equal(store_append(t->store, model_stream(p, ring), "0123456789abcdef", 1 + ring % 16), 0);
    assert_true(open_descriptors() - least <= 24);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(size_of(t, "app-1-0"), 3);
    assert_int_equal(size_of(t, "app-1-1023"), 3 * 16);
}

TEST_WITH(store_fixture_begin, store_fixture_end, many_bytes_are_synced_ahead_of_time)
{
    struct store_fixture *t = *test_state;
    static char bytes[1 << 20];
    store_close(t->store);
    assert_int_equal(store_open(t->dir, 3600 * CLOCK_S, &t->store), 0);
    struct model_stream *s = model_stream(add(t, "app", 1), 0);
    assert_int_equal(store_append(t->store, s, bytes, sizeof bytes), 0);
    for (uint64_t n = sizeof bytes; n < STORE_SYNC_BYTES; n += sizeof bytes) {
        assert_false(store_sync_due(t->store, clock_now()));
        assert_int_equal(store_append(t->store, s, bytes, sizeof bytes), 0);
    }
    assert_true(store_sync_due(t->store, clock_now()));
}

TEST_WITH(store_fixture_begin, store_fixture_end, a_failed_write_leaves_nothing_and_is_tried_again)
{
    struct store_fixture *t = *test_state;
    struct model_stream *s = model_stream(add(t, "app", 1), 0), *fresh = model_stream(s->process, 1);
    struct rlimit before, small = {.rlim_cur = 1000};
    const char *path;
    char bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(store_append(t->store, s, bytes, 600), 0);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(store_append(t->store, s, bytes, 600), BEZEL_ENOSPC); /* 400 of them fitted */
    assert_int_equal(size_of(t, "app-1-0"), 600);
    assert_int_equal(s->bytes, 600);
    assert_int_equal(store_failure(t->store, &path), EFBIG);
    assert_non_null(strstr(path, "/trace/desk/app-1-0"));
    assert_int_equal(store_append(t->store, s, bytes, 1), BEZEL_ENOSPC); /* not tried */
    int64_t later = clock_now() + STORE_RETRY;
    assert_false(store_retry(t->store, clock_now() - STORE_RETRY));
    assert_true(store_retry(t->store, later));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    clock_sleep_until(later);
    assert_int_equal(store_append(t->store, fresh, bytes, 4096), 0);
    assert_int_equal(store_append(t->store, s, bytes, 600), 0);
    assert_int_equal(store_failure(t->store, NULL), 0);
    assert_int_equal(size_of(t, "app-1-0"), 1200);
    assert_int_equal(size_of(t, "app-1-1"), 4096);
}

TEST_WITH(store_fixture_begin, store_fixture_end, a_first_packet_that_fails_leaves_no_file)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = add(t, "app", 1);
    struct rlimit before, small = {.rlim_cur = 8192};
    static char bytes[10000];
    assert_int_equal(store_append(t->store, model_stream(p, 0), bytes, 10), 0);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(store_append(t->store, model_stream(p, 1), bytes, sizeof bytes), BEZEL_ENOSPC);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(exists(t, "app-1-1"));
    assert_false(exists(t, ".app-1-1"));
    assert_int_equal(model_stream(p, 1)->fd, -1);
}

TEST_WITH(store_fixture_begin, store_fixture_end, a_part_gives_no_bytes_that_its_cover_reaches_over)
{
    struct store_fixture *t = *test_state;
    struct model_stream *s = model_stream(add(t, "app", 1), 0);
    uint8_t bytes[1 << 16];
    const uint8_t *at;
    char path[256];
    for (int i = 0; i < 20; i++)
        fake_cut(t->sensor, 0, 0, 40);
    const struct fake_stream *f = &t->sensor->processes[0]->rings[0];
    assert_int_equal(store_append(t->store, s, f->bytes, f->used), 0);
    assert_int_equal(store_path(t->store, t->node, s, path, sizeof path), 0);
    struct cover c = {0};
    assert_int_equal(packet_get_header(f->bytes, PACKET_HEADER_BYTES, &c.header), 0);
    c.header.size_bytes = f->starts[3];
    c.header.seq = 2;
    int err = cover_write(path, &c);
    assert_true(err == 0 || err == EOPNOTSUPP);
    struct trace_part part = {.bytes = bytes, .fd = -1};
    for (int i = 0; i < 2; i++) /* the second time they are in memory */
        assert_int_equal(trace_part_get(&part, path, 0, PACKET_HEADER_BYTES, sizeof bytes, &at), BEZEL_EAGAIN);
    assert_int_equal(part.cover.header.size_bytes, f->starts[3]);
    assert_true(trace_part_get(&part, path, f->starts[3], PACKET_HEADER_BYTES, sizeof bytes, &at) > 0);
    assert_memory_equal(at, f->bytes + f->starts[3], PACKET_HEADER_BYTES);
    trace_part_close(&part);
}

TEST_WITH(store_fixture_begin, store_fixture_end, a_reader_ends_at_a_torn_tail_and_goes_on_when_it_grows)
{
    struct store_fixture *t = *test_state;
    struct model_stream *s = model_stream(add(t, "app", 1), 0);
    struct trace_reader *r;
    struct packet_header h;
    const uint8_t *packet;
    char path[256];
    fake_cut(t->sensor, 0, 0, 10);
    fake_cut(t->sensor, 0, 0, 20);
    const struct fake_stream *f = &t->sensor->processes[0]->rings[0];
    assert_int_equal(store_append(t->store, s, f->bytes, f->starts[2] + 130), 0);
    assert_int_equal(store_path(t->store, t->node, s, path, sizeof path), 0);
    assert_int_equal(trace_reader_open(path, &r), 0);
    assert_int_equal(trace_reader_next(r, &h, &packet), 1);
    assert_int_equal(h.kind, PACKET_OPEN);
    assert_int_equal(trace_reader_next(r, &h, &packet), 1);
    assert_int_equal(h.records, 10);
    assert_memory_equal(packet, f->bytes + f->starts[1], h.size_bytes);
    for (int i = 0; i < 2; i++)
        assert_int_equal(trace_reader_next(r, &h, &packet), 0);
    assert_int_equal(r->at.bytes, f->starts[2]);
    /* By its headers, of a file that was longer when it was measured. */
    uint8_t bytes[4096];
    struct trace_part part = {.bytes = bytes, .fd = -1};
    struct trace_reader torn = {.path = path, .part = &part, .most = sizeof bytes, .end = 1 << 20};
    int more;
    while ((more = trace_reader_step(&torn)) > 0)
        ;
    assert_int_equal(more, 0);
    assert_int_equal(torn.at.bytes, f->starts[2]);
    trace_part_close(&part);
    size_t rest = f->starts[2] + 130;
    assert_int_equal(store_append(t->store, s, f->bytes + rest, f->used - rest), 0);
    assert_int_equal(trace_reader_next(r, &h, &packet), 1);
    assert_int_equal(h.records, 20);
    assert_int_equal(store_append(t->store, s, f->bytes + f->starts[1], f->starts[2] - f->starts[1]), 0);
    assert_int_equal(trace_reader_next(r, &h, &packet), BEZEL_EMALFORMED); /* out of sequence */
    trace_reader_close(r);
}

/* A collector that was killed left a torn packet; the next one wrote another of the size that there was of it. */
TEST_WITH(store_fixture_begin, store_fixture_end, what_was_read_ahead_of_a_torn_packet_is_read_again)
{
    struct store_fixture *t = *test_state;
    struct model_stream *s = model_stream(add(t, "app", 1), 0);
    struct packet_header h;
    uint8_t bytes[4096], torn[PACKET_HEADER_BYTES];
    char path[256];
    fake_cut(t->sensor, 0, 0, 10);
    fake_cut(t->sensor, 0, 0, 10);
    const struct fake_stream *f = &t->sensor->processes[0]->rings[0];
    assert_int_equal(store_append(t->store, s, f->bytes, f->used), 0);
    assert_int_equal(store_path(t->store, t->node, s, path, sizeof path), 0);
    assert_int_equal(packet_get_header(f->bytes + f->starts[2], f->used - f->starts[2], &h), 0);
    h.size_bytes += 100;
    packet_put_header(torn, &h);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, torn, sizeof torn, (off_t)f->starts[2]), sizeof torn);
    struct trace_part part = {.bytes = bytes, .fd = -1};
    struct trace_reader r = {.path = path, .part = &part, .most = sizeof bytes, .end = f->used};
    for (int i = 0; i < 2; i++)
        assert_int_equal(trace_reader_step(&r), 1);
    assert_int_equal(pwrite(fd, f->bytes + f->starts[2], sizeof torn, (off_t)f->starts[2]), sizeof torn);
    assert_int_equal(trace_reader_step(&r), 1);
    assert_int_equal(r.at.bytes, f->used);
    trace_part_close(&part);
    close(fd);
}
