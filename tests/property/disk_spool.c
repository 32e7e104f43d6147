// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A spool whose disk fails, and whose owners are killed or lose their power, one after the other. After an error or a
 * kill exactly those packets are there that were appended and not freed. After a loss of power, which may destroy any
 * sector, each packet that is read back is whole, in its order, and one that was appended.
 */
#include "mdr/uplink/spool.h"
#include "mdr/uplink/window.h"
#include "tests/lib/disk_calls.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/told_packet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PACKET_MOST = 30000 };
enum { STEPS = 60, LIVES = 4, IMAGES = 40, TRIES = 20 };

static const uint8_t run[16] = "this run", uuid[16] = "this trace";
static uint64_t seed;

/* Numbers of packets: from `first` on those that were not freed, up to `next`, before which all were appended. */
struct truth {
    uint64_t first, next;
    uint64_t first_begun, next_begun; /* where a call is under way: what will be true at its end */
};

struct image {
    struct disk_model *disk;
    struct truth truth;
    enum disk_left how;
};

struct life {
    struct truth truth;
    struct disk_model *disk;
    bool power;
    unsigned image_count, image_max;
    uint64_t drawn;
    struct image images[IMAGES];
};

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* Asserts that the spool holds packets `*first` to `*next` - 1, and sets these. */
static void list_all(struct spool *s, uint64_t *first, uint64_t *next)
{
    static uint8_t packet[WINDOW_PACKET_BYTES], expected[WINDOW_PACKET_BYTES];
    uint64_t at = spool_oldest(s), number;
    int n;
    *first = *next = 0;
    for (bool any = false; (n = spool_read(s, &at, packet, sizeof packet)) > 0; any = true) {
        assert_true(n >= 8);
        memcpy(&number, packet, 8);
        if (any)
            assert_int_equal(number, *next);
        else
            *first = number;
        assert_int_equal(n, told_packet(number, PACKET_MOST, expected));
        assert_memory_equal(packet, expected, (size_t)n);
        *next = number + 1;
    }
    assert_int_equal(n, 0);
}

/* ---- one life ---------------------------------------------------------------------------------------------------- */

static void may_end_here(void *context)
{
    struct life *l = context;
    uint64_t place = l->image_count < l->image_max ? l->image_count++ : seed_next(&seed) % ++l->drawn;
    if (place >= l->image_max)
        return;
    struct image *i = &l->images[place];
    disk_free(i->disk);
    i->how = l->power ? DISK_TORN : DISK_KILLED;
    i->truth = l->truth;
    i->disk = disk_left(l->disk, i->how, &seed);
}

static struct spool *open_spool(const char *dir, struct spool_found *found)
{
    struct spool *s;
    int err = spool_open(dir, run, uuid, SPOOL_BYTES_MIN, &s, found);
    for (int tries = 0; err && tries < TRIES; tries++)
        err = spool_open(dir, run, uuid, SPOOL_BYTES_MIN, &s, found);
    assert_int_equal(err, 0);
    return s;
}

/* Appends the next packet, past errors. Returns false where there is no room in the spool. */
static bool append(struct life *l, struct spool *s)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    uint32_t n = told_packet(l->truth.next, PACKET_MOST, packet);
    uint64_t before = spool_written(s);
    l->truth.next_begun = l->truth.next + 1;
    int err = spool_append(s, packet, n);
    for (int tries = 0; err && err != BEZEL_EFULL && tries < TRIES; tries++) {
        assert_int_equal(spool_written(s), before);
        err = spool_append(s, packet, n);
    }
    l->truth.next += err == 0;
    l->truth.next_begun = l->truth.next;
    assert_true(err == 0 || err == BEZEL_EFULL);
    return err == 0;
}

static void free_some(struct life *l, struct spool *s)
{
    uint64_t at = spool_oldest(s), count = 1 + seed_next(&seed) % (l->truth.next - l->truth.first);
    uint8_t begin[8];
    for (uint64_t n = 0; n < count; n++) {
        uint64_t from = at;
        int got = spool_peek(s, &at, begin, sizeof begin);
        for (int tries = 0; got != 8 && tries < TRIES; tries++) {
            at = from;
            got = spool_peek(s, &at, begin, sizeof begin);
        }
        assert_int_equal(got, 8);
    }
    l->truth.first_begun = l->truth.first + count;
    if (spool_free(s, at) == 0)
        l->truth.first = l->truth.first_begun; /* else a later mark frees them; until then either is right */
}

/* Asserts that what was found is what is to be there, and takes it for the truth. */
static void take_found(struct life *l, struct spool *s, const struct spool_found *found)
{
    uint64_t first, next;
    struct truth *t = &l->truth;
    disk_calls_pause(true);
    list_all(s, &first, &next);
    disk_calls_pause(false);
    if (l->power) {
        assert_true(next <= t->next_begun);
        if (first == next)
            first = next = t->next_begun;
    } else {
        assert_int_equal(found->damaged + found->of_others, 0);
        assert_false(spool_is_doubtful(s));
        assert_int_equal(found->packets, next - first);
        if (first == next) {
            assert_true(t->first_begun == t->next); /* all was freed */
            first = next = t->next;
        }
        assert_true(first == t->first || first == t->first_begun);
        assert_true(next == t->next || next == t->next_begun);
    }
    *t = (struct truth){first, next, first, next};
}

static void live(struct life *l, const char *dir)
{
    struct spool_found found;
    struct spool *s = open_spool(dir, &found);
    take_found(l, s, &found);
    for (int i = 0; i < STEPS; i++)
        if ((seed_next(&seed) % 4 == 0 || !append(l, s)) && l->truth.first < l->truth.next &&
            l->truth.first_begun == l->truth.first)
            free_some(l, s);
    spool_close(s);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static struct life *new_life(struct disk_model *disk, const struct truth *truth, bool power)
{
    struct life *l = calloc(1, sizeof *l);
    assert_non_null(l);
    l->disk = disk;
    l->truth = *truth;
    l->power = power;
    return l;
}

/* Lives life `number` in `dir`, and then one for each end that it may have come to. Frees `l`. */
static void live_on(struct life *l, const char *dir, unsigned number)
{
    unsigned most = getenv("BEZEL_TEST_LIGHT") ? IMAGES / 4 : IMAGES;
    l->image_max = number + 1 == LIVES ? 0 : number == 0 ? most : 1;
    l->drawn = l->image_max;
    disk_calls_watch(l->disk, l->image_max ? may_end_here : NULL, l);
    disk_calls_split(&seed);
    live(l, dir);
    disk_calls_end();
    disk_free(l->disk);
    for (unsigned i = 0; i < l->image_count; i++) {
        char next[SCRATCH_PATH];
        scratch_make(next);
        assert_true(disk_put(l->images[i].disk, next));
        live_on(new_life(l->images[i].disk, &l->images[i].truth, l->power), next, number + 1);
        scratch_remove(next);
    }
    free(l);
}

static void live_many(bool power)
{
    static const struct truth nothing;
    char dir[SCRATCH_PATH];
    scratch_make(dir);
    live_on(new_life(disk_new(dir), &nothing, power), dir, 0);
    scratch_remove(dir);
}

TEST(killed_again_and_again_it_has_exactly_what_was_appended)
{
    live_many(false);
}

TEST(without_power_again_and_again_it_returns_nothing_that_was_not_appended)
{
    live_many(true);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

struct fault {
    const char *name;
    unsigned kinds;
    int error; /* 0: in part */
    uint64_t count;
};

/* Two lives, with what one had, in which calls fail from number `at` on. Returns how many calls there were. */
static uint64_t live_with(const struct fault *fault, uint64_t at)
{
    static const struct truth nothing;
    char dir[SCRATCH_PATH];
    scratch_make(dir);
    struct life *l = new_life(disk_new(dir), &nothing, false);
    disk_calls_watch(l->disk, NULL, NULL);
    disk_calls_fail(fault->kinds, at, fault->count, fault->error);
    for (int i = 0; i < 2; i++)
        live(l, dir);
    uint64_t made = disk_calls_made();
    disk_calls_end();
    struct spool_found found;
    struct spool *s = open_spool(dir, &found);
    take_found(l, s, &found);
    spool_close(s);
    disk_free(l->disk);
    free(l);
    scratch_remove(dir);
    return made;
}

TEST(past_any_error_of_the_disk_it_has_exactly_what_was_appended)
{
    static const struct fault faults[] = {
        {"no room", DISK_ROOM, ENOSPC, 1},      {"no room for some time", DISK_ROOM, ENOSPC, 5},
        {"interrupted", DISK_WRITES, EINTR, 3}, {"in part", DISK_WRITES, 0, 3},
        {"an error", DISK_CHANGES, EIO, 2},     {"an error of a read", DISK_READS, EIO, 1},
    };
    uint64_t rounds = getenv("BEZEL_TEST_LIGHT") ? 20 : 120;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        uint64_t calls = live_with(&faults[i], 0), stride = calls / rounds + 1;
        printf("%s: one of %llu calls\n", faults[i].name, (unsigned long long)calls);
        for (uint64_t at = 1 + seed_next(&seed) % stride; at <= calls; at += stride)
            (void)live_with(&faults[i], at);
    }
}

/* What the disk says is no packet may be one for the next owner. */
TEST(a_spool_that_cannot_be_read_now_is_left_as_it_is)
{
    static const struct truth nothing;
    char dir[SCRATCH_PATH], elsewhere[SCRATCH_PATH];
    struct spool_found found;
    struct spool *s;
    scratch_make(dir);
    scratch_make(elsewhere);
    struct life *l = new_life(disk_new(dir), &nothing, false);
    s = open_spool(dir, &found);
    for (int i = 0; i < 5; i++)
        assert_true(append(l, s));
    spool_close(s);
    uint64_t failed = 1;
    for (uint64_t at = 1; failed; at++) {
        assert_int_equal(spool_open(elsewhere, uuid, run, SPOOL_BYTES_MIN, &s, &found), 0); /* another's head */
        spool_close(s);
        disk_calls_watch(l->disk, NULL, NULL);
        disk_calls_fail(DISK_READS, at, 1, EIO);
        int err = spool_open(dir, run, uuid, SPOOL_BYTES_MIN, &s, &found);
        failed = disk_calls_failed();
        disk_calls_end();
        assert_int_equal(err, failed ? BEZEL_ESYS : 0);
        if (failed)
            s = open_spool(dir, &found);
        take_found(l, s, &found);
        spool_close(s);
        assert_true(failed || at > 2);
    }
    disk_free(l->disk);
    free(l);
    scratch_remove(elsewhere);
    scratch_remove(dir);
}

/* The disk changes bytes that the owner of the spool wrote, and has not read back yet. */
TEST(bytes_that_change_under_it_are_not_returned)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    char dir[SCRATCH_PATH];
    struct spool_found found;
    scratch_make(dir);
    struct spool *s = open_spool(dir, &found);
    uint32_t n = told_packet(0, PACKET_MOST, packet);
    assert_int_equal(spool_append(s, packet, n), 0);
    int fd = open(spool_path(s), O_RDWR);
    off_t last = lseek(fd, 0, SEEK_END) - 1;
    uint8_t changed = (uint8_t)(packet[n - 1] ^ (1 + seed_next(&seed) % 255));
    assert_int_equal(pwrite(fd, &changed, 1, last), 1);
    close(fd);
    uint64_t at = spool_oldest(s);
    assert_int_equal(spool_read(s, &at, packet, sizeof packet), BEZEL_EMALFORMED);
    assert_int_equal(at, spool_written(s));
    spool_discard(s);
    scratch_remove(dir);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
