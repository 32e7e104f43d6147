// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A collector whose disk fails at each of its calls in turn: for want of room, with an error, in part, at syncs, at
 * reads. It tells so, or does without; when the disk works again it goes on from there, and nothing that it
 * acknowledged is lost, nothing stored twice, and the run is complete in the end. The same where it gets no memory.
 */
#include "base/file.h"
#include "collector/receive/recover.h"
#include "run/history/summary.h"
#include "run/verify/verify.h"
#include "tests/lib/disk_calls.h"
#include "tests/lib/no_memory.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 2, PACKETS = 12, RESTARTS = 8, TRIES = 40, SAID = 2048 };

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;
static bool light; /* fewer of the calls fail */

/* ---- a clock that can be moved on -------------------------------------------------------------------------------- */

static int64_t ahead; /* ns */

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return __real_clock_now() + ahead;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

struct fault {
    const char *name;
    unsigned kinds;
    int error; /* 0: in part */
    uint64_t at, count;
};

struct scene {
    struct fake_sensor *sensor;
    int64_t sync;
    char base[SCRATCH_PATH], dir[SCRATCH_PATH + 8];
    struct disk_model *disk;
    struct fault fault;
    struct disk_model *left; /* after the fault, without power; NULL: there was no fault yet */
    uint64_t left_acked[PROCESSES][FAKE_RINGS], drawn;
    unsigned restarts;
};

static struct fake_sensor *make_sensor(uint32_t records)
{
    struct fake_sensor *sensor = fake_new("desk", run_id, seed_next(&seed));
    for (unsigned p = 0; p < PROCESSES; p++) {
        fake_add_process(sensor, "app", 10 + p, p ? ROLE_DAEMON : ROLE_SUT);
        for (unsigned k = 0; k < PACKETS; k++) {
            if (k == 5)
                fake_lose(sensor, p, k % 2, 1 + seed_next(&seed) % 100);
            fake_cut(sensor, p, k % 2, 1 + (uint32_t)(seed_next(&seed) % records));
            if (k == 7)
                fake_add_string(sensor, p, "one more");
        }
    }
    return sensor;
}

static void take_promise(unsigned process, unsigned ring, uint64_t next_seq, void *context)
{
    struct scene *t = context;
    struct fake_stream *s = &t->sensor->processes[process]->rings[ring];
    assert_true(next_seq >= s->acked);
    s->acked = next_seq;
}

/*
 * Keeps what a power failure leaves at one of the changes after a fault. A collector that is started again after a sync
 * failed reads what the disk has lost from the kernel's memory (docs/DURABILITY.md: check the disk first).
 */
static void may_lose_power(void *context)
{
    struct scene *t = context;
    bool syncs = t->fault.kinds & (DISK_SYNCS | DISK_CHANGES);
    if (t->sync == STORE_SYNC_NEVER || (syncs && t->restarts > 0) || disk_calls_failed() == 0 ||
        seed_next(&seed) % ++t->drawn != 0)
        return;
    disk_free(t->left);
    t->left = disk_left(t->disk, syncs || seed_next(&seed) % 2 ? DISK_CERTAIN : DISK_ORDERED, &seed);
    for (unsigned p = 0; p < PROCESSES; p++)
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            t->left_acked[p][ring] = t->sensor->processes[p]->rings[ring].acked;
}

static void hear(const struct verify_report *f, void *context)
{
    size_t n = strlen(context);
    snprintf((char *)context + n, SAID - n, "%s: %s: %s. ", f->code, f->file, f->text);
}

/* Whether everything is stored, once, and the run is complete; if not, what is wrong goes into `said`. */
static bool is_complete(const struct scene *t, char said[SAID])
{
    struct verify v = {.report = hear, .context = said};
    said[0] = '\0';
    disk_calls_pause(true);
    if (!stored_is_right(t->sensor, t->dir, true))
        fail_msg("%s at %llu: a packet is missing, or there twice", t->fault.name, (unsigned long long)t->fault.at);
    assert_int_equal(verify_run(&v, t->dir), 0);
    disk_calls_pause(false);
    if (verify_is(&v) == VERIFY_DAMAGED)
        fail_msg("%s at %llu: %s", t->fault.name, (unsigned long long)t->fault.at, said);
    return verify_is(&v) == VERIFY_COMPLETE && v.totals.records + v.totals.own_records == fake_records(t->sensor);
}

/*
 * Stores all that is not stored yet, past errors that go. Packets come at any time, not only when the store has found
 * room. Returns 0, or the error that stays.
 */
static int store_all(struct stored_run *r)
{
    int err = stored_feed(r, UINT64_MAX);
    for (int tries = 0; err && tries < TRIES; tries++) {
        ahead += STORE_RETRY;
        if (tries % 2)
            (void)store_retry(r->store, clock_now());
        err = stored_feed(r, UINT64_MAX);
    }
    return err;
}

/* One collector, from its start to its end. Returns 0 or why it ended early. */
static int collect(struct scene *t)
{
    struct stored_run r = {.batch = 3, .acknowledged = take_promise, .context = t};
    int err = file_make_dirs(t->dir, 0777);
    if (!err)
        err = stored_start(&r, t->dir, t->sensor, t->sync);
    if (!err)
        err = store_all(&r);
    if (err) {
        stored_drop(&r);
        return err;
    }
    stored_end(&r);
    return stored_stop(&r);
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

static void begin(struct scene *t)
{
    scratch_make(t->base);
    snprintf(t->dir, sizeof t->dir, "%s/run", t->base);
    t->disk = disk_new(t->base);
    t->restarts = 0;
    t->drawn = 0;
    for (unsigned p = 0; p < PROCESSES; p++)
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            t->sensor->processes[p]->rings[ring].acked = 0;
    disk_calls_watch(t->disk, may_lose_power, t);
}

/* A run in which the calls of the fault fail; it may be started again. Returns how many calls there were. */
static uint64_t run_with(struct scene *t)
{
    unsigned before = open_descriptors();
    begin(t);
    disk_calls_fail(t->fault.kinds, t->fault.at, t->fault.count, t->fault.error);
    char said[SAID] = "it does not go on";
    while (collect(t) != 0 || !is_complete(t, said))
        if (++t->restarts > RESTARTS)
            fail_msg("%s at %llu: %s", t->fault.name, (unsigned long long)t->fault.at, said);
    uint64_t made = disk_calls_made();
    disk_calls_end();
    if (open_descriptors() != before)
        fail_msg("%s at %llu: it leaves descriptors open", t->fault.name, (unsigned long long)t->fault.at);
    disk_free(t->disk);
    scratch_remove(t->base);
    return made;
}

/* On the disk that lost its power after the fault, too, all is there that was acknowledged by then. */
static void go_on_without_power(struct scene *t)
{
    char said[SAID] = "it does not start";
    if (!t->left)
        return;
    begin(t);
    disk_calls_end();
    disk_free(t->disk);
    t->disk = t->left;
    t->left = NULL;
    assert_true(disk_put(t->disk, t->base));
    for (unsigned p = 0; p < PROCESSES; p++)
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            t->sensor->processes[p]->rings[ring].acked = t->left_acked[p][ring];
    if (!stored_is_right(t->sensor, t->dir, false))
        fail_msg("%s at %llu: without power, what was acknowledged is not there", t->fault.name,
                 (unsigned long long)t->fault.at);
    if (collect(t) != 0 || !is_complete(t, said))
        fail_msg("%s at %llu: without power, it does not go on: %s", t->fault.name, (unsigned long long)t->fault.at,
                 said);
    disk_free(t->disk);
    scratch_remove(t->base);
}

/* Each call in turn fails, or as many as there is time for; then this and the next ones. */
static void fail_each(struct scene *t, struct fault fault)
{
    t->fault = fault;
    t->fault.at = 0;
    uint64_t calls = run_with(t), few = light ? 6 : 64, rounds = light ? 1 : 8;
    uint64_t stride = calls <= few ? 1 : calls / rounds + 1, restarts = 0, tried = 0;
    for (t->fault.at = 1 + seed_next(&seed) % stride; t->fault.at <= calls; t->fault.at += stride) {
        t->fault.count = fault.count ? fault.count : 1 + seed_next(&seed) % 8;
        (void)run_with(t);
        restarts += t->restarts;
        go_on_without_power(t);
        tried++;
    }
    printf("%s: %llu of %llu calls failed, %llu restarts\n", fault.name, (unsigned long long)tried,
           (unsigned long long)calls, (unsigned long long)restarts);
}

static void fail_all(int64_t sync)
{
    static const struct fault faults[] = {
        {"no room", DISK_ROOM, ENOSPC, 0, 1},
        {"no room for some time", DISK_ROOM, ENOSPC, 0, 0},
        {"quota", DISK_ROOM, EDQUOT, 0, 1},
        {"interrupted", DISK_WRITES, EINTR, 0, 0},
        {"in part", DISK_WRITES, 0, 0, 0},
        {"an error", DISK_CHANGES, EIO, 0, 1},
        {"errors for some time", DISK_CHANGES, EIO, 0, 0},
        {"an error of a sync", DISK_SYNCS, EIO, 0, 1},
        {"an error of a read", DISK_READS, EIO, 0, 1},
    };
    struct scene t = {.sensor = make_sensor(40), .sync = sync};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (sync != STORE_SYNC_NEVER || !(faults[i].kinds & DISK_SYNCS))
            fail_each(&t, faults[i]);
    fake_free(t.sensor);
}

TEST(past_any_error_of_the_disk_it_goes_on_without_a_loss)
{
    fail_all(STORE_SYNC_NEVER);
}

TEST(past_any_error_of_the_disk_what_it_acknowledged_is_in_stable_storage)
{
    fail_all(0);
}

/*
 * A disk of `size` bytes, 0: without end. Of the packets the collector stores what fits, and then finishes its books:
 * packets get nothing of the reserve, however often it tries, and `saves` of its counts meanwhile leave enough of it.
 * When there is room again all is stored. Returns how many bytes were in use when the last packet had come.
 */
static uint64_t fill(struct scene *t, uint64_t size, unsigned saves)
{
    struct stored_run r = {.batch = 3, .acknowledged = take_promise, .context = t};
    char said[SAID] = "";
    begin(t);
    t->fault.at = size;
    disk_calls_size(size);
    assert_int_equal(file_make_dirs(t->dir, 0777), 0);
    assert_int_equal(stored_start(&r, t->dir, t->sensor, t->sync), 0);
    bool full = store_all(&r) != 0;
    uint64_t used = disk_bytes(t->disk);
    assert_true(!full || used + STORE_RESERVE / 2 < size);
    bool given = full; /* the reserve: if the disk is found full only by a save, that one fails */
    for (unsigned i = 0; i < saves; i++) {
        bool saved = stored_save(&r) == 0;
        if (!saved && given)
            fail_msg("on a disk of %llu bytes save %u finds no room", (unsigned long long)size, i);
        given = given || !saved;
    }
    stored_end(&r);
    if (stored_stop(&r) != 0)
        fail_msg("on a disk of %llu bytes the books cannot be finished", (unsigned long long)size);
    assert_true(stored_is_right(t->sensor, t->dir, !full));
    disk_calls_size(0);
    if (full && (collect(t) != 0 || !is_complete(t, said)))
        fail_msg("with room again it does not go on: %s", said);
    disk_calls_end();
    disk_free(t->disk);
    scratch_remove(t->base);
    return used;
}

TEST(on_a_full_disk_the_books_are_finished_and_with_room_the_rest_is_stored)
{
    enum { BEGINNING = 600 << 10, STEP = 512 << 10, SAVES = 200 /* of 40 s */ };
    struct scene t = {.sensor = make_sensor(6000), .sync = STORE_SYNC_NEVER, .fault = {.name = "a full disk"}};
    uint64_t step = light ? 6 * STEP : STEP;
    for (uint64_t room = 0; room < 3 * STORE_ROOM; room += 1 + seed_next(&seed) % step)
        (void)fill(&t, BEGINNING + STORE_RESERVE + room, SAVES);
    fake_free(t.sensor);
}

/* All packets are stored by then: what has no room is a write to the database, each in turn. */
TEST(a_disk_that_is_full_only_at_the_end_gives_its_reserve_to_the_books)
{
    enum { PAGE = 4 << 10, PAGES = 20 };
    uint64_t step = light ? 6 * PAGE : PAGE;
    struct scene t = {.sensor = make_sensor(300), .sync = STORE_SYNC_NEVER, .fault = {.name = "full at the end"}};
    uint64_t used = fill(&t, 0, 0);
    for (uint64_t more = 0; more < PAGES * PAGE; more += step)
        (void)fill(&t, used + more + seed_next(&seed) % step, 0);
    fake_free(t.sensor);
}

/* ---- no memory --------------------------------------------------------------------------------------------------- */

static int verify_it(const char *dir)
{
    char said[SAID] = "";
    struct verify v = {.report = hear, .context = said};
    int err = verify_run(&v, dir);
    if (!err && verify_is(&v) != VERIFY_COMPLETE)
        fail_msg("for want of memory a complete run is found incomplete: %s", said);
    return err;
}

static int summarize_it(const char *dir)
{
    struct summary *s;
    int err = summary_load(dir, &s);
    if (err)
        return err;
    bool whole = s->node_count == 1 && s->process_count == PROCESSES;
    summary_free(s);
    return whole ? 0 : BEZEL_ESYS;
}

/* Who reads a run either tells that it got no memory, or has all of it; verifying may have done without statistics. */
static void read_without_memory(int (*it)(const char *), const char *dir)
{
    bool failed = true;
    for (long left = 0; failed; left++) {
        unsigned before = open_descriptors();
        no_memory_after(left);
        int err = it(dir);
        failed = no_memory_end();
        assert_int_equal(open_descriptors(), before);
        if (err || it != verify_it)
            assert_int_equal(err, failed ? BEZEL_ENOMEM : 0);
    }
}

/* As run_with(), but that the allocation behind the next `left` ones fails. Returns whether so many were made. */
static bool run_without_memory(struct scene *t, long left)
{
    char said[SAID] = "it does not go on";
    unsigned before = open_descriptors();
    begin(t);
    disk_calls_end();
    no_memory_after(left);
    int err = collect(t);
    bool failed = no_memory_end();
    for (t->restarts = 0; err || !is_complete(t, said); err = collect(t))
        if (++t->restarts > RESTARTS || !failed)
            fail_msg("%ld allocations before one fails: %s", left, said);
    if (open_descriptors() != before)
        fail_msg("%ld allocations before one fails: it leaves descriptors open", left);
    if (!failed) {
        read_without_memory(verify_it, t->dir);
        read_without_memory(summarize_it, t->dir);
    }
    disk_free(t->disk);
    scratch_remove(t->base);
    return failed;
}

TEST(past_any_want_of_memory_it_goes_on_without_a_loss)
{
    struct scene t = {.sensor = make_sensor(40), .sync = STORE_SYNC_NEVER, .fault = {.name = "no memory"}};
    uint64_t stride = light ? 40 : 1;
    for (long left = 0; run_without_memory(&t, left); left += 1 + (long)(seed_next(&seed) % stride))
        ;
    fake_free(t.sensor);
}

int main(void)
{
    seed = seed_start();
    light = getenv("BEZEL_TEST_LIGHT") != NULL;
    return test_run(NULL, NULL);
}
