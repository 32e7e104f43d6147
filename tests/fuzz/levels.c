// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Files of levels: those of a stream are made, and spoilt as the input says. Where checksums tell, columns are those
 * that the records have; where somebody made the checksums right, columns may be wrong, but come in order, in their
 * time, and to an end. The first byte says which checksums are made right (1: the state's, 2: those of blocks), and
 * how much of the files is cut off (4: the state's end, 8: that of the blocks). Changes of 12 bytes follow: where (0:
 * in the state, 1: in the blocks; 2 to 8: that many bytes, in both), place, value.
 */
#include "base/checksum.h"
#include "base/file.h"
#include "run/levels/levels_internal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/stored_run.h"

#include <fcntl.h>
#include <unistd.h>

enum { PACKETS = 40, RECORDS = 40, COLUMNS = 4096, FILE_MAX = 1 << 18, CHANGE = 12, BLOCK = 512, SPANS = 512 };

struct bytes {
    size_t n, now;
    uint8_t is[FILE_MAX], spoilt[FILE_MAX];
};

static char dir[] = "/dev/shm/bezel-fuzz-levels-XXXXXX", paths[2][96];
static struct bytes files[2]; /* the state; the blocks */
static struct {
    uint64_t at;
    size_t n;
} blocks[SPANS];
static size_t block_count;
static struct levels *l;
static struct levels_column expected[COLUMNS], found[COLUMNS];

static void clean_up(void)
{
    levels_close(l);
    (void)!file_remove_tree(dir);
}

static void store_run(void)
{
    static const uint8_t id[16] = "a run's identity";
    struct fake_sensor *f = fake_new("desk", id, 1);
    fuzz_must(f);
    fake_add_process(f, "app", 1, ROLE_SUT);
    f->processes[0]->rings[0].time = CLOCK_S;
    for (int i = 0; i < PACKETS; i++) {
        fake_cut(f, 0, 0, RECORDS);
        fake_lose(f, 0, 0, 1);
    }
    fuzz_must(stored_whole(dir, f) == 0);
    fake_free(f);
}

static void update(void)
{
    int more;
    while ((more = levels_update(l, CLOCK_S)) > 0)
        ;
    fuzz_must(more == 0);
}

static void open_levels(void)
{
    fuzz_must(levels_open(dir, &l) == 0 && l->store.writes);
    l->store.block_bytes = BLOCK;
    l->tail = 2048;
    update();
}

/* Where blocks lie, so that their checksums can be made right. */
static void note_blocks(const struct levels_list *list)
{
    for (size_t i = 0; list && i < list->blocks; i++) {
        fuzz_must(block_count < SPANS);
        blocks[block_count].at = list->at[i];
        blocks[block_count++].n = 32 + (size_t)list->block_rows * list->row;
    }
}

static void begin(void)
{
    static const char *const names[] = {"desk.app-1-0.state", "desk.app-1-0"};
    fuzz_must(mkdtemp(dir));
    atexit(clean_up);
    store_run();
    open_levels();
    const struct levels_tree *t = l->rings[0]->tree;
    note_blocks(&t->marks);
    for (unsigned i = 0; i < LEVELS_TRACKS; i++)
        for (unsigned level = 0; t->tracks[i] && level < LEVELS_DEPTH; level++)
            note_blocks(t->tracks[i]->lists[level]);
    levels_close(l);
    for (int i = 0; i < 2; i++) {
        char *bytes;
        snprintf(paths[i], sizeof paths[i], "%s/levels/%s", dir, names[i]);
        fuzz_must(file_read(paths[i], FILE_MAX, &bytes, &files[i].n) == 0 && files[i].n > 1000);
        memcpy(files[i].is, bytes, files[i].n);
        free(bytes);
    }
    open_levels();
}

static void change(const uint8_t *p)
{
    struct bytes *f = &files[p[0] & 1];
    size_t n = p[0] >> 1 & 7 ? p[0] >> 1 & 7 : 8, at = ((size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]) % f->n;
    if (at + n > f->n)
        n = f->n - at;
    memcpy(f->spoilt + at, p + 4, n);
}

static void make_right(uint8_t what)
{
    uint64_t sum;
    for (size_t i = 0; what & 2 && i < block_count; i++) {
        uint8_t *p = files[1].spoilt + blocks[i].at;
        sum = checksum_add(CHECKSUM_START, p + sizeof sum, blocks[i].n - sizeof sum);
        memcpy(p, &sum, sizeof sum);
    }
    struct bytes *state = &files[0];
    sum = checksum_add(CHECKSUM_START, state->spoilt, state->now - sizeof sum);
    if (what & 1)
        memcpy(state->spoilt + state->now - sizeof sum, &sum, sizeof sum);
}

static void spoil(const uint8_t *data, size_t size)
{
    for (int i = 0; i < 2; i++) {
        memcpy(files[i].spoilt, files[i].is, files[i].n);
        files[i].now = data[0] & (4 << i) ? files[i].n - 1 - data[0] / 16 * files[i].n / 20 : files[i].n;
    }
    for (size_t at = 1; size - at >= CHANGE; at += CHANGE)
        change(data + at);
    make_right(data[0]);
    for (int i = 0; i < 2; i++) {
        int fd = open(paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        fuzz_must(fd >= 0 && ftruncate(fd, (off_t)files[i].now) == 0);
        fuzz_must(write(fd, files[i].spoilt, files[i].now) == (ssize_t)files[i].now);
        close(fd);
    }
}

/* As levels_open() leaves the stream. */
static void forget(void)
{
    struct levels_ring *ring = l->rings[0];
    levels_tree_drop(l, ring);
    memset(&ring->at, 0, sizeof ring->at);
    levels_ring_publish(ring);
    ring->built = 0;
    ring->raw = ring->is.cut = false;
}

static void ask(uint32_t aspect, uint32_t field, unsigned width, bool is_right)
{
    static const size_t stream = 0;
    size_t tail = l->tail;
    ssize_t n = levels_columns(l, &stream, 1, aspect, field, 0, INT64_MAX, width, found, COLUMNS);
    fuzz_must(n >= 0 && n <= COLUMNS);
    for (ssize_t i = 0; i < n; i++)
        fuzz_must(found[i].begin % (INT64_C(1) << width) == 0 && (i == 0 || found[i].begin > found[i - 1].begin));
    if (!is_right)
        return;
    struct levels_ring *ring = l->rings[0];
    struct levels_tree *t = ring->tree;
    uint64_t built = ring->built;
    ring->tree = NULL, ring->built = 0, l->tail = SIZE_MAX; /* read from the records alone */
    fuzz_must(levels_columns(l, &stream, 1, aspect, field, 0, INT64_MAX, width, expected, COLUMNS) == n);
    ring->tree = t, ring->built = built, l->tail = tail;
    for (ssize_t i = 0; i < n; i++)
        fuzz_must(found[i].begin == expected[i].begin && found[i].count == expected[i].count &&
                  found[i].lost == expected[i].lost && memcmp(&found[i].min, &expected[i].min, 3 * 8) == 0);
}

static int count(const struct packet_record *r, const struct levels_place *place, void *context)
{
    (void)place;
    *(uint64_t *)context += r != NULL;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!l)
        begin();
    if (size < 1)
        return 0;
    bool is_right = !(data[0] & 3);
    spoil(data, size);
    forget();
    update();
    for (unsigned width = 6; width < 24; width += 8) {
        ask(LEVELS_ALL, LEVELS_COUNT, width, is_right);
        ask(1, LEVELS_COUNT, width, is_right);
        ask(2, width / 8, width, is_right);
    }
    uint64_t records = 0, from = l->rings[0]->is.first > 0 ? (uint64_t)l->rings[0]->is.first : 0;
    int result = levels_records(l, 0, 0, (int64_t)(from + 100000), INT64_MAX, count, &records);
    fuzz_must((result == 0 || result == BEZEL_EMALFORMED) && records <= (uint64_t)PACKETS * RECORDS);
    fuzz_must(!is_right || (result == 0 && l->rings[0]->is.records == (uint64_t)PACKETS * RECORDS));
    return 0;
}
