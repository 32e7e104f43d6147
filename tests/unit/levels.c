// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Where levels of detail are stored, and what becomes of them there: they are gone on with, never written by two, made
 * again where they are damaged, truncated or another stream's, and go elsewhere where the run cannot be written.
 * Whatever happens, columns are those that are made of the records alone.
 */
#include "base/file.h"
#include "run/levels/levels_internal.h"
#include "run/read/run_reader.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKETS = 12, RECORDS = 400, STREAMS = 2, COLUMNS = 2000 };

static char run[PATH_MAX];
static struct fake_sensor *sensor;
static struct stored_run stored;

/* Stores a run of two streams, with more records than are read without levels. */
static int begin(void **state)
{
    static const uint8_t id[16] = "a run's identity";
    int err = scratch_begin(state);
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    sensor = fake_new("desk", id, 1);
    if (err || !sensor || mkdir(run, 0777) != 0)
        return -1;
    fake_add_process(sensor, "app", 100, ROLE_SUT);
    for (unsigned packet = 0; packet < PACKETS; packet++)
        for (unsigned ring = 0; ring < STREAMS; ring++) {
            fake_cut(sensor, 0, ring, RECORDS);
            if (packet % 3 == 0)
                fake_lose(sensor, 0, ring, 7);
        }
    memset(&stored, 0, sizeof stored);
    return stored_start(&stored, run, sensor, STORE_SYNC_NEVER) || stored_grow(&stored) ? -1 : 0;
}

static int end(void **state)
{
    stored_drop(&stored);
    fake_free(sensor);
    return scratch_end(state);
}

static void update(struct levels *l)
{
    int more;
    while ((more = levels_update(l, CLOCK_S)) > 0)
        ;
    assert_int_equal(more, 0);
}

static struct levels *open_levels(void)
{
    struct levels *l;
    assert_int_equal(levels_open(run, &l), 0);
    l->store.block_bytes = 512;
    l->tail = 16 << 10;
    return l;
}

static struct levels *open_updated(void)
{
    struct levels *l = open_levels();
    update(l);
    assert_int_equal(levels_stream_count(l), STREAMS);
    return l;
}

/* One that makes no levels: columns come from the records alone. */
static struct levels *open_raw(void)
{
    struct levels *l;
    assert_int_equal(levels_open(run, &l), 0);
    l->tail = SIZE_MAX;
    update(l);
    return l;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void assert_same_columns(struct levels *l, struct levels *raw, uint32_t aspect, uint32_t field, unsigned width)
{
    static struct levels_column found[COLUMNS], expected[COLUMNS];
    static const size_t streams[STREAMS] = {0, 1};
    ssize_t n = levels_columns(l, streams, STREAMS, aspect, field, 0, INT64_MAX, width, found, COLUMNS);
    assert_int_equal(n, levels_columns(raw, streams, STREAMS, aspect, field, 0, INT64_MAX, width, expected, COLUMNS));
    assert_true(n > 0);
    for (ssize_t i = 0; i < n; i++) {
        assert_int_equal(found[i].begin, expected[i].begin);
        assert_int_equal(found[i].count, expected[i].count);
        assert_int_equal(found[i].lost, expected[i].lost);
        assert_true(same(found[i].min, expected[i].min) && same(found[i].max, expected[i].max) &&
                    same(found[i].last, expected[i].last));
    }
}

/* `l` has the columns that the records have, at any width. */
static void assert_right(struct levels *l)
{
    struct levels *raw = open_raw();
    for (unsigned width = 10; width < 40; width += 6) {
        assert_same_columns(l, raw, 0, LEVELS_COUNT, width);
        for (uint32_t field = 0; field < 4; field++)
            assert_same_columns(l, raw, 2, field, width);
    }
    assert_int_equal(levels_totals(l).records, levels_totals(raw).records);
    levels_close(raw);
}

/* The number of the levels of a stream: those that are made again have another one. */
static uint64_t nonce_of(struct levels *l, size_t stream)
{
    struct levels_tree *t;
    assert_int_equal(levels_tree_get(l, l->rings[stream], false, &t), 0);
    return t ? t->nonce : 0;
}

static char *path_of(const char *dir, const char *file)
{
    static char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return path;
}

static const char *levels_dir(void)
{
    static char dir[PATH_MAX + 8];
    snprintf(dir, sizeof dir, "%s/levels", run);
    return dir;
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void flip(const char *path, off_t at)
{
    uint8_t byte = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void make_levels(uint64_t nonces[STREAMS])
{
    struct levels *l = open_updated();
    assert_right(l);
    for (size_t i = 0; i < STREAMS; i++)
        assert_true((nonces[i] = nonce_of(l, i)) != 0);
    levels_close(l);
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, the_next_one_goes_on_where_the_last_one_ended)
{
    uint64_t nonces[STREAMS];
    make_levels(nonces);
    off_t before = size_of(path_of(levels_dir(), "desk.app-100-0"));
    for (unsigned packet = 0; packet < PACKETS; packet++)
        fake_cut(sensor, 0, 0, RECORDS);
    assert_int_equal(stored_feed(&stored, UINT64_MAX), 0);
    struct levels *l = open_updated();
    assert_right(l);
    for (size_t i = 0; i < STREAMS; i++)
        assert_int_equal(nonce_of(l, i), nonces[i]);
    levels_close(l);
    assert_true(size_of(path_of(levels_dir(), "desk.app-100-0")) > before);
}

/* As after a kill: there is more in the file than the state knows of. */
TEST_WITH(begin, end, what_lies_behind_the_state_is_cut_off)
{
    uint64_t nonces[STREAMS];
    make_levels(nonces);
    const char *path = path_of(levels_dir(), "desk.app-100-0");
    off_t before = size_of(path);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "a part of a block", 17), 17);
    close(fd);
    struct levels *l = open_updated();
    assert_int_equal(nonce_of(l, 0), nonces[0]);
    assert_int_equal(size_of(path), before);
    levels_close(l);
}

TEST_WITH(begin, end, trees_that_have_no_room_in_memory_are_stored)
{
    struct levels *l = open_levels();
    l->trees_bytes = 1;
    update(l);
    assert_true(!l->rings[0]->tree && l->rings[0]->built && l->rings[1]->tree);
    assert_right(l);
    levels_close(l);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/* What `spoil` did to the files of the first stream is noticed, and they are made again. */
static void assert_made_again(void (*spoil)(const char *blocks, const char *state))
{
    char blocks[2 * PATH_MAX], state[2 * PATH_MAX];
    uint64_t nonces[STREAMS];
    make_levels(nonces);
    snprintf(blocks, sizeof blocks, "%s/desk.app-100-0", levels_dir());
    snprintf(state, sizeof state, "%s/desk.app-100-0.state", levels_dir());
    spoil(blocks, state);
    struct levels *l = open_updated();
    assert_right(l);
    update(l);
    assert_right(l);
    assert_true(nonce_of(l, 0) != nonces[0] && nonce_of(l, 0) != 0);
    assert_int_equal(nonce_of(l, 1), nonces[1]);
    levels_close(l);
}

static void flip_blocks(const char *blocks, const char *state)
{
    (void)state;
    for (off_t at = 100; at < size_of(blocks); at += 400)
        flip(blocks, at);
}

static void flip_state(const char *blocks, const char *state)
{
    (void)blocks;
    flip(state, size_of(state) / 2);
}

static void truncate_blocks(const char *blocks, const char *state)
{
    (void)state;
    assert_int_equal(truncate(blocks, size_of(blocks) / 2), 0);
}

static void truncate_state(const char *blocks, const char *state)
{
    (void)blocks;
    assert_int_equal(truncate(state, size_of(state) - 9), 0);
}

static void remove_blocks(const char *blocks, const char *state)
{
    (void)state;
    assert_int_equal(unlink(blocks), 0);
}

static void copy_file(const char *from, const char *to)
{
    char *bytes;
    size_t n;
    assert_int_equal(file_read(from, 1 << 24, &bytes, &n), 0);
    assert_int_equal(file_replace(to, bytes, n), 0);
    free(bytes);
}

/* All of it is another stream's. */
static void swap_all(const char *blocks, const char *state)
{
    copy_file(path_of(levels_dir(), "desk.app-100-1"), blocks);
    copy_file(path_of(levels_dir(), "desk.app-100-1.state"), state);
}

static void swap_blocks(const char *blocks, const char *state)
{
    (void)state;
    copy_file(path_of(levels_dir(), "desk.app-100-1"), blocks);
}

static void link_blocks(const char *blocks, const char *state)
{
    (void)state;
    assert_int_equal(unlink(blocks), 0);
    assert_int_equal(symlink("desk.app-100-1", blocks), 0);
}

/* A file of elsewhere under two names: whoever owns a run could have it written over. */
static void link_blocks_hard(const char *blocks, const char *state)
{
    static const char stays[1 << 20]; /* larger than what the state says of the blocks */
    (void)state;
    assert_int_equal(file_replace(path_of(scratch_dir, "elsewhere"), stays, sizeof stays), 0);
    assert_int_equal(unlink(blocks), 0);
    assert_int_equal(link(path_of(scratch_dir, "elsewhere"), blocks), 0);
}

TEST_WITH(begin, end, what_is_not_right_is_made_again)
{
    assert_made_again(flip_blocks);
    assert_made_again(flip_state);
    assert_made_again(truncate_blocks);
    assert_made_again(truncate_state);
    assert_made_again(remove_blocks);
    assert_made_again(swap_all);
    assert_made_again(swap_blocks);
    assert_made_again(link_blocks);
    assert_made_again(link_blocks_hard);
    assert_int_equal(size_of(path_of(scratch_dir, "elsewhere")), 1 << 20);
}

/* Blocks that were made of the same stream before, but not with this state. */
TEST_WITH(begin, end, blocks_of_an_earlier_state_are_made_again)
{
    char blocks[2 * PATH_MAX], old[2 * PATH_MAX];
    uint64_t nonces[STREAMS];
    snprintf(blocks, sizeof blocks, "%s/desk.app-100-0", levels_dir());
    snprintf(old, sizeof old, "%s/old", run);
    make_levels(nonces);
    copy_file(blocks, old);
    assert_int_equal(file_remove_tree(levels_dir()), 0);
    make_levels(nonces);
    copy_file(old, blocks);
    struct levels *l = open_updated();
    assert_right(l);
    update(l);
    assert_true(nonce_of(l, 0) != nonces[0] && nonce_of(l, 0) != 0);
    levels_close(l);
}

/* A block that is spoilt while it is in use, so that only its checksum tells. */
TEST_WITH(begin, end, damage_is_noticed_by_the_query_that_meets_it)
{
    struct levels *l = open_updated();
    uint64_t before = nonce_of(l, 0);
    const struct levels_list *list = NULL;
    for (unsigned level = 0; level < LEVELS_DEPTH && !(list && list->blocks); level++)
        list = l->rings[0]->tree->tracks[2]->lists[level];
    assert_true(list && list->blocks > 0);
    for (size_t i = 0; i < list->blocks; i++) /* the minimum of the first field of each block's first node */
        flip(path_of(levels_dir(), "desk.app-100-0"), (off_t)list->at[i] + 32 + sizeof(struct levels_node) + 6);
    assert_right(l);
    assert_int_equal(l->rings[0]->built, 0);
    update(l);
    assert_true(nonce_of(l, 0) != before && nonce_of(l, 0) != 0);
    assert_right(l);
    levels_close(l);
}

/* ---- the stream itself ------------------------------------------------------------------------------------------- */

/* Writes byte `value` at `offset` of the packet of kind `kind` that begins or ends behind byte `at`. */
static void spoil_packet(enum packet_kind kind, off_t at, off_t offset, uint8_t value)
{
    char path[PATH_MAX + 64];
    struct packet_header h = {0};
    uint8_t bytes[PACKET_HEADER_BYTES];
    snprintf(path, sizeof path, "%s/trace/desk/app-100-0", run);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t packet = 0;
    do {
        packet += (off_t)h.size_bytes;
        assert_int_equal(pread(fd, bytes, sizeof bytes, packet), sizeof bytes);
        assert_in_range(packet_get_header(bytes, sizeof bytes, &h) + 100, 0, 100);
    } while (h.kind != kind || packet + (off_t)h.size_bytes <= at);
    assert_int_equal(pwrite(fd, &value, 1, packet + offset), 1);
    close(fd);
}

/* In the middle of the stream: an aspect that there is not. */
static void spoil_stream(void)
{
    spoil_packet(PACKET_DATA, 80000, PACKET_HEADER_BYTES, 0xff);
}

/* The reader of records ends there, too: the same header is refused, of whose packet it gives what is right besides. */
static void assert_read_alike(const struct levels *l, bool header)
{
    struct run_reader *r;
    struct record_item item;
    assert_int_equal(run_reader_open(run, &RECORD_FILTER_ALL, &r), 0);
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    while (run_reader_next(r, &item) > 0)
        ;
    struct run_reader_totals totals = run_reader_totals(r);
    assert_int_equal(totals.cut, 1);
    assert_in_range(totals.records, levels_totals(l).records, levels_totals(l).records + (header ? 0 : RECORDS));
    run_reader_close(r);
}

TEST_WITH(begin, end, a_damaged_stream_is_read_up_to_the_damage)
{
    static const struct {
        enum packet_kind kind;
        off_t offset;
        uint8_t value;
    } cases[] = {
        {PACKET_DATA, PACKET_HEADER_BYTES, 0xff},     /* an aspect that there is not */
        {PACKET_DATA, PACKET_HEADER_BYTES + 4, 0x7f}, /* a time behind the packet's */
        {PACKET_DATA, 103, 1},                        /* fewer records than there are */
        {PACKET_DATA, 68, 1},                         /* out of sequence */
        {PACKET_DATA, 62, 1},                         /* a loss in a packet of records */
        {PACKET_DATA, 112, 1},                        /* an ordinal that does not follow */
        {PACKET_LOSS, 79, PACKET_CLOSE},              /* the next packet is behind the closing one */
        {PACKET_LOSS, 63, 1},                         /* fewer losses than before */
        {PACKET_DATA, 104, 0xff},                     /* a dictionary that there is not */
        {PACKET_DATA, 0, 0},                          /* no packet */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i)
            assert_int_equal(end(test_state) | begin(test_state), 0);
        spoil_packet(cases[i].kind, 80000, cases[i].offset, cases[i].value);
        struct levels *l = open_updated();
        assert_true(levels_stream(l, 0)->cut && !levels_stream(l, 1)->cut);
        assert_in_range(levels_stream(l, 0)->bytes, 60000, 120000);
        assert_true(l->rings[0]->built > 0);
        assert_right(l);
        assert_read_alike(l, cases[i].offset < PACKET_HEADER_BYTES && cases[i].offset != 103);
        levels_close(l);
    }
}

/* No query fails for it. */
TEST_WITH(begin, end, what_is_damaged_later_is_left_out_from_there_on)
{
    static const size_t stream = 0;
    struct levels_column c;
    struct levels *l = open_raw();
    spoil_stream();
    assert_int_equal(levels_columns(l, &stream, 1, 0, LEVELS_COUNT, 0, INT64_MAX, LEVELS_WIDTH_MAX, &c, 1), 1);
    assert_true(levels_stream(l, 0)->cut);
    assert_in_range(c.count, 1, levels_stream(l, 0)->records - 1);
    levels_close(l);
    l = open_updated();
    assert_int_equal(c.count, levels_stream(l, 0)->records);
    levels_close(l);
}

/* Levels were made of what is gone by now. */
TEST_WITH(begin, end, a_shorter_stream_is_read_anew)
{
    char path[PATH_MAX + 64];
    struct levels *l = open_updated();
    uint64_t before = nonce_of(l, 0);
    snprintf(path, sizeof path, "%s/trace/desk/app-100-0", run);
    assert_int_equal(truncate(path, size_of(path) * 3 / 4), 0);
    update(l);
    assert_true(nonce_of(l, 0) != before && nonce_of(l, 0) != 0);
    assert_right(l);
    levels_close(l);
    assert_int_equal(truncate(path, size_of(path) * 3 / 4), 0);
    l = open_updated();
    assert_right(l);
    levels_close(l);
}

/* A stream of the same name and length: its last packet that has levels came from another thread. */
TEST_WITH(begin, end, another_stream_gets_levels_of_its_own)
{
    char path[PATH_MAX + 64];
    uint64_t nonces[STREAMS];
    struct levels *l = open_updated();
    off_t packet = (off_t)(l->rings[0]->built - l->rings[0]->tree->at.last.size_bytes);
    nonces[0] = nonce_of(l, 0);
    nonces[1] = nonce_of(l, 1);
    levels_close(l);
    snprintf(path, sizeof path, "%s/trace/desk/app-100-0", run);
    flip(path, packet + 95);
    l = open_updated();
    assert_right(l);
    assert_true(nonce_of(l, 0) != nonces[0] && nonce_of(l, 0) != 0);
    assert_int_equal(nonce_of(l, 1), nonces[1]);
    levels_close(l);
}

/* ---- where they are ---------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, one_process_writes_and_others_go_on_in_memory)
{
    uint64_t nonces[STREAMS];
    make_levels(nonces);
    struct levels *first = open_updated(), *second = open_levels();
    assert_true(first->store.writes && !second->store.writes);
    for (unsigned packet = 0; packet < PACKETS; packet++)
        fake_cut(sensor, 0, 0, RECORDS);
    assert_int_equal(stored_feed(&stored, UINT64_MAX), 0);
    off_t before = size_of(path_of(levels_dir(), "desk.app-100-0"));
    update(second);
    assert_int_equal(nonce_of(second, 0), nonces[0]); /* that of the first one's */
    assert_true(second->store.in_memory > 0);
    assert_right(second);
    assert_int_equal(size_of(path_of(levels_dir(), "desk.app-100-0")), before);
    update(first);
    assert_right(first);
    levels_close(first);
    assert_right(second);
    levels_close(second);
    struct levels *third = open_updated();
    assert_true(third->store.writes);
    assert_int_equal(nonce_of(third, 0), nonces[0]);
    levels_close(third);
}

TEST_WITH(begin, end, a_run_that_cannot_be_written_has_levels_in_the_cache)
{
    char cache[PATH_MAX];
    uint64_t nonces[STREAMS];
    snprintf(cache, sizeof cache, "%s/cache", scratch_dir);
    assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
    assert_int_equal(file_replace(levels_dir(), "no folder", 9), 0);
    make_levels(nonces);
    struct levels *l = open_updated();
    assert_true(l->store.writes && levels_totals(l).kept > 0);
    for (size_t i = 0; i < STREAMS; i++)
        assert_int_equal(nonce_of(l, i), nonces[i]);
    levels_close(l);
    struct stat st;
    assert_int_equal(stat(path_of(cache, "bezel/levels"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

/* The finest levels are given up as soon as they have no room. */
TEST_WITH(begin, end, without_a_folder_levels_are_in_memory_as_far_as_there_is_room)
{
    assert_int_equal(setenv("XDG_CACHE_HOME", "/dev/null/cache", 1), 0);
    assert_int_equal(file_replace(levels_dir(), "no folder", 9), 0);
    struct levels *l = open_levels();
    assert_int_equal(l->store.folder, -1);
    update(l);
    size_t all = l->store.in_memory;
    assert_true(all > 0);
    assert_right(l);
    levels_close(l);
    l = open_levels();
    l->blocks_bytes = all / 4;
    update(l);
    assert_in_range(l->store.in_memory, 0, all / 4);
    assert_right(l);
    levels_close(l);
    l = open_levels();
    l->blocks_bytes = 0;
    l->trees_bytes = 0;
    update(l);
    assert_true(l->rings[0]->raw && !l->rings[0]->tree);
    assert_right(l);
    levels_close(l);
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, questions_that_make_no_sense_are_refused)
{
    static const size_t streams[] = {0, STREAMS};
    struct levels_column c[4];
    struct levels *l = open_updated();
    assert_int_equal(levels_columns(l, streams, 2, 0, LEVELS_COUNT, 0, 1, 0, c, 4), BEZEL_EINVAL);
    assert_int_equal(levels_columns(l, streams, 1, 0, LEVELS_COUNT, 0, 1, 63, c, 4), BEZEL_EINVAL);
    assert_int_equal(levels_columns(l, streams, 1, 0, 0, 0, 1, 0, c, 4), BEZEL_EINVAL);
    assert_int_equal(levels_columns(l, streams, 1, 3, LEVELS_COUNT, 0, 1, 0, c, 4), BEZEL_EINVAL);
    assert_int_equal(levels_columns(l, streams, 1, 2, 4, 0, 1, 0, c, 4), BEZEL_EINVAL);
    assert_int_equal(levels_columns(l, streams, 0, 0, LEVELS_COUNT, 0, 1, 0, c, 4), 0);
    assert_int_equal(levels_columns(l, streams, 1, 0, LEVELS_COUNT, 5, 4, 0, c, 4), 0);
    assert_int_equal(levels_columns(l, streams, 1, 0, LEVELS_COUNT, INT64_MIN, -1, 0, c, 4), 0);
    assert_int_equal(levels_columns(l, streams, 1, 0, LEVELS_COUNT, 0, INT64_MAX, 62, c, 4), 1);
    assert_int_equal(levels_records(l, STREAMS, 0, 0, 1, NULL, NULL), BEZEL_EINVAL);
    levels_close(l);
    assert_int_equal(levels_open(scratch_dir, &l), BEZEL_ENOENT);
}

static int count(const struct packet_record *r, const struct levels_place *place, void *context)
{
    (void)place;
    *(size_t *)context += r != NULL;
    return 0;
}

/* Whatever the records that are wanted, also if there are none: the time that it takes to read is bounded. */
TEST_WITH(begin, end, a_query_ends_at_its_deadline)
{
    static const size_t streams[] = {0, 1};
    struct levels_column c;
    size_t records = 0;
    struct levels *l = open_raw();
    assert_int_equal(levels_records(l, 0, 2, 0, INT64_MAX, count, &records), 0);
    assert_true(records > 0 && !levels_was_cut(l));
    levels_set_deadline(l, 0);
    assert_false(levels_was_cut(l));
    records = 0;
    assert_int_equal(levels_records(l, 0, 2, 0, INT64_MAX, count, &records), 1);
    assert_true(records == 0 && levels_was_cut(l));
    assert_int_equal(levels_columns(l, streams, 2, 0, LEVELS_COUNT, 0, INT64_MAX, 62, &c, 1), 0);
    levels_set_deadline(l, INT64_MAX);
    assert_int_equal(levels_columns(l, streams, 2, 0, LEVELS_COUNT, 0, INT64_MAX, 62, &c, 1), 1);
    assert_false(levels_was_cut(l));
    levels_close(l);
}

/* However little time there is, a call finds one more stream. */
TEST_WITH(begin, end, streams_are_found_one_by_one_where_time_is_short)
{
    struct levels *l = open_levels();
    assert_int_equal(levels_update(l, 0), 1);
    assert_int_equal(levels_stream_count(l), 1);
    for (int i = 0; i < 10 * STREAMS && levels_stream_count(l) < STREAMS; i++)
        assert_int_equal(levels_update(l, 0), 1);
    assert_int_equal(levels_stream_count(l), STREAMS);
    update(l);
    levels_close(l);
}

/* However short it is, a budget ends only where it was when it came: in the end all is in, and that is said. */
TEST_WITH(begin, end, all_is_in_also_where_time_is_short)
{
    struct levels *l;
    int calls = 0, more = 1;
    assert_int_equal(levels_open(run, &l), 0);
    for (; more > 0 && calls < 1000; calls++)
        more = levels_update(l, 0);
    assert_int_equal(more, 0);
    assert_true(calls > STREAMS);
    assert_int_equal(levels_totals(l).records, STREAMS * PACKETS * RECORDS);
    levels_close(l);
}
