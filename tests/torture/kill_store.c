// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The store is killed at every call that changes or syncs a file, and loses its power at many of them. What was
 * acknowledged is there, once; what was not comes again, once; and the run verifies.
 */
#include "base/file.h"
#include "run/verify/verify.h"
#include "tests/lib/calls.h"
#include "tests/lib/disk_model.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3, ACK_FD = 600, NEVER = INT32_MAX };

/* Said in place of a process when a restart has told all its positions. */
#define RESTARTED UINT32_MAX

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

/* What the child says, by a write to nowhere, when it acknowledges. */
struct ack {
    uint32_t process, ring;
    uint64_t next_seq;
};

struct scene {
    char dir[64];
    struct fake_sensor *sensor;
    int64_t sync;
    struct disk_model *disk; /* NULL: it is killed, not without power */
    int changes, kill_at;    /* number of the change at whose beginning it is killed */
    uint64_t one_in;         /* power is lost at one call in so many */
    unsigned images;
};

static void acknowledge(unsigned process, unsigned ring, uint64_t next_seq, void *context)
{
    struct ack a = {process, ring, next_seq};
    (void)context;
    if (write(ACK_FD, &a, sizeof a) != sizeof a)
        _exit(3);
}

/* As `bezel run` does before the collector starts, and after its end. */
static int write_facts(const struct scene *t)
{
    struct rundb *f;
    int err = rundb_open(t->dir, &f);
    if (!err && t->sync != STORE_SYNC_NEVER)
        err = rundb_lasting(f);
    if (!err)
        err = rundb_put(f, "name", "a run");
    int closed = err ? err : rundb_close(f);
    return err ? err : closed;
}

/* Two lives of a collector; the first ends as by a kill, with what it had stored and not synced. */
static int store_all(void *context)
{
    const struct scene *t = context;
    struct stored_run r = {.batch = 5, .acknowledged = acknowledge};
    int null = open("/dev/null", O_WRONLY);
    if (dup2(null, ACK_FD) < 0)
        return 2;
    int err = write_facts(t);
    if (!err)
        err = stored_start(&r, t->dir, t->sensor, t->sync);
    if (!err)
        err = stored_feed(&r, 40);
    stored_drop(&r);
    if (!err)
        err = stored_start(&r, t->dir, t->sensor, t->sync);
    acknowledge(RESTARTED, 0, 0, NULL);
    if (!err)
        err = stored_feed(&r, UINT64_MAX);
    if (!err)
        stored_end(&r);
    if (!err)
        err = stored_stop(&r);
    return err || write_facts(t) != 0;
}

static void make_sensor(struct scene *t)
{
    t->sensor = fake_new("desk", run_id, seed_next(&seed));
    for (unsigned p = 0; p < PROCESSES; p++) {
        fake_add_process(t->sensor, "app", 10 + p, ROLE_SUT);
        for (unsigned k = 0; k < 20; k++) {
            uint64_t what = seed_next(&seed) % 16;
            if (what == 0)
                fake_lose(t->sensor, p, k % 2, 1 + seed_next(&seed) % 100);
            else
                fake_cut(t->sensor, p, k % 2, 1 + (uint32_t)(seed_next(&seed) % 60));
            if (what == 1)
                fake_add_string(t->sensor, p, "one more");
        }
    }
}

static void forget(struct scene *t)
{
    for (unsigned p = 0; p < PROCESSES; p++)
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            t->sensor->processes[p]->rings[ring].acked = 0;
}

static void make_dir(char dir[64])
{
    snprintf(dir, 64, "/dev/shm/bezel-kill-store-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

/* ---- what a run that was cut off must hold ----------------------------------------------------------------------- */

static void hear(const struct verify_report *f, void *context)
{
    char *said = context;
    snprintf(said, 512, "%s: %s: %s", f->code, f->file, f->text);
}

static void assert_goes_on(const struct scene *t, const char *dir)
{
    struct stored_run r = {0};
    char said[512] = "";
    struct verify v = {.report = hear, .context = said};
    if (stored_start(&r, dir, t->sensor, STORE_SYNC_NEVER) != 0)
        fail_msg("change %d: it does not start", t->changes);
    if (!stored_is_right(t->sensor, dir, false))
        fail_msg("change %d: the restart took away what was acknowledged", t->changes);
    assert_int_equal(stored_feed(&r, UINT64_MAX), 0);
    stored_end(&r);
    assert_int_equal(stored_stop(&r), 0);
    assert_true(stored_is_right(t->sensor, dir, true));
    assert_int_equal(verify_run(&v, dir), 0);
    if (verify_is(&v) != VERIFY_COMPLETE || v.totals.records != fake_records(t->sensor))
        fail_msg("change %d: %s", t->changes, said);
}

static void lose_power(struct scene *t, uint64_t *luck)
{
    char left[64];
    make_dir(left);
    if (luck)
        printf("power lost at change %d, with luck %llu\n", t->changes, (unsigned long long)*luck);
    assert_true(disk_leave(t->disk, left, luck));
    assert_goes_on(t, left);
    assert_int_equal(file_remove_tree(left), 0);
    t->images++;
}

static bool see(const struct call *c, void *context)
{
    struct scene *t = context;
    struct ack a;
    bool acks = c->number == SYS_write && c->args[0] == ACK_FD;
    acks = acks && c->entry && calls_read(c, c->args[1], &a, sizeof a);
    if (acks && a.process != RESTARTED)
        t->sensor->processes[a.process]->rings[a.ring].acked = a.next_seq;
    else if (acks && t->disk)
        lose_power(t, NULL);
    if (t->disk)
        disk_see(t->disk, c);
    if (!c->entry || !disk_changes(c->number))
        return true;
    t->changes++;
    if (t->disk && seed_next(&seed) % t->one_in == 0) {
        lose_power(t, NULL);
        lose_power(t, &seed);
    }
    return t->changes != t->kill_at;
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

/* Returns whether it came to its end. */
static bool run_until(struct scene *t, int kill_at)
{
    make_dir(t->dir);
    forget(t);
    t->changes = 0;
    t->kill_at = kill_at;
    if (t->one_in)
        t->disk = disk_new(t->dir);
    int status = calls_trace(store_all, t, see, t);
    if (status < 0) {
        printf("skipped: a child cannot be traced here\n");
        exit(77);
    }
    if (t->disk)
        disk_free(t->disk);
    t->disk = NULL;
    if (WIFEXITED(status))
        assert_int_equal(WEXITSTATUS(status), 0);
    return WIFEXITED(status);
}

static void kill_at_every_change(struct scene *t, int stride)
{
    assert_true(run_until(t, NEVER));
    assert_goes_on(t, t->dir);
    assert_int_equal(file_remove_tree(t->dir), 0);
    int changes = t->changes, killed = 0;
    for (int n = 1 + (int)(seed_next(&seed) % (uint64_t)stride); n <= changes; n += stride, killed++) {
        (void)run_until(t, n);
        assert_goes_on(t, t->dir);
        assert_int_equal(file_remove_tree(t->dir), 0);
    }
    printf("killed at %d of %d changes\n", killed, changes);
}

TEST(killed_at_any_write_it_keeps_what_was_acknowledged)
{
    struct scene t = {.sync = STORE_SYNC_NEVER};
    make_sensor(&t);
    kill_at_every_change(&t, getenv("BEZEL_TEST_LIGHT") ? 80 : 6);
    t.sync = 0;
    kill_at_every_change(&t, getenv("BEZEL_TEST_LIGHT") ? 320 : 32);
    fake_free(t.sensor);
}

static void lose_power_with(int64_t sync)
{
    struct scene t = {.sync = sync, .one_in = getenv("BEZEL_TEST_LIGHT") ? 200 : 14};
    make_sensor(&t);
    assert_true(run_until(&t, NEVER));
    assert_int_equal(file_remove_tree(t.dir), 0);
    printf("%u power losses\n", t.images);
    fake_free(t.sensor);
}

TEST(without_power_it_keeps_what_was_acknowledged_when_each_is_synced)
{
    lose_power_with(0);
}

TEST(without_power_it_keeps_what_was_acknowledged_when_all_are_synced_together)
{
    lose_power_with(20 * CLOCK_MS);
}

/* The first life syncs nothing: all that the second one tells it must have synced itself. */
TEST(a_restart_acknowledges_only_what_it_synced)
{
    lose_power_with(10 * CLOCK_S);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
