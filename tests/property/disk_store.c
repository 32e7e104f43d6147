// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A run directory whose collectors are killed, or lose their power, one after the other: at and within any call that
 * changes or syncs a file, also while they recover from the end before. What was acknowledged is there, what is there
 * is the beginning of what was sent, and the last collector completes the run.
 */
#include "base/file.h"
#include "run/verify/verify.h"
#include "tests/lib/disk_calls.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 2, PACKETS = 16, LIVES = 4, IMAGES = 64, FIRST_IMAGES = 40, SAID = 2048, ROOM = 12 << 10 };

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

/* The number of packets of each stream that the sensor was told to be stored. */
struct promise {
    uint64_t acked[PROCESSES][FAKE_RINGS];
};

/* What a life leaves if it ends at one of its changes. */
struct image {
    struct disk_model *disk;
    struct promise promise;
    enum disk_left how;
    unsigned change;
};

struct scene {
    struct fake_sensor *sensor;
    int64_t sync;
    bool power; /* lives end by a loss of power too, not by kills alone */
    struct store_keep keep;
    unsigned ends;
};

struct life {
    const struct scene *scene;
    struct disk_model *disk;
    struct promise promise;
    unsigned change, drawn, image_count, image_max;
    bool begins; /* what comes before the collector */
    struct image images[IMAGES];
};

/* ---- one life ---------------------------------------------------------------------------------------------------- */

static char story[256]; /* the ends that led to the present life, for messages */

/* Every change is as likely as any other to be among those that are kept, but the many of the beginning less. */
static void may_end_here(void *context)
{
    struct life *l = context;
    l->change++;
    if (l->image_max == 0 || (l->begins && seed_next(&seed) % 8))
        return;
    uint64_t place = l->image_count < l->image_max ? l->image_count++ : seed_next(&seed) % ++l->drawn;
    if (place >= l->image_max)
        return;
    uint64_t draw = l->scene->power ? seed_next(&seed) % 4 : 0;
    struct image *i = &l->images[place];
    disk_free(i->disk);
    i->how = draw == 0 ? DISK_KILLED : draw == 1 ? DISK_CERTAIN : DISK_ORDERED;
    i->change = l->change;
    i->promise = l->promise;
    i->disk = disk_left(l->disk, i->how, &seed);
}

static void take_promise(unsigned process, unsigned ring, uint64_t next_seq, void *context)
{
    struct life *l = context;
    l->promise.acked[process][ring] = next_seq;
}

static void assert_holds(const struct life *l, const char *dir, bool whole)
{
    for (unsigned p = 0; p < PROCESSES; p++)
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            l->scene->sensor->processes[p]->rings[ring].acked = l->promise.acked[p][ring];
    if (!stored_is_right(l->scene->sensor, dir, whole))
        fail_msg("%s: what was acknowledged is not there, or what is there was not sent", story);
}

static void hear(const struct verify_report *f, void *context)
{
    size_t n = strlen(context);
    snprintf((char *)context + n, SAID - n, "%s: %s: %s. ", f->code, f->file, f->text);
}

static void assert_complete(const struct life *l, const char *dir)
{
    char said[SAID] = "";
    struct verify v = {.report = hear, .context = said};
    assert_int_equal(verify_run(&v, dir), 0);
    if (verify_is(&v) != VERIFY_COMPLETE || v.totals.records + v.totals.own_records != fake_records(l->scene->sensor))
        fail_msg("%s: %s", story, said);
}

/* What a collector left when it was ended is no damage, to who looks at it before the next one starts. */
static void assert_undamaged(const char *dir)
{
    char said[SAID] = "";
    struct verify v = {.report = hear, .context = said};
    if (access(dir, F_OK) != 0)
        return;
    assert_int_equal(verify_run(&v, dir), 0);
    if (verify_is(&v) == VERIFY_DAMAGED)
        fail_msg("%s: %s", story, said);
}

/* As `bezel run` does before the collector starts. */
static int begin_run(const struct scene *t, const char *dir)
{
    struct rundb *f;
    int err = file_make_dirs(dir, 0777);
    if (!err)
        err = rundb_open(dir, &f);
    if (err)
        return err;
    if (t->sync != STORE_SYNC_NEVER)
        err = rundb_lasting(f);
    if (!err)
        err = rundb_put(f, "name", "a run");
    int closed = rundb_close(f);
    return err ? err : closed;
}

/* A collector starts, holds to what was promised, and stores `packets` more. */
static void live(struct life *l, const char *dir, uint64_t packets)
{
    struct stored_run r = {.batch = 1 + (unsigned)(seed_next(&seed) % 5),
                           .acknowledged = take_promise,
                           .context = l,
                           .keep_to = l->scene->keep};
    l->begins = true;
    int err = begin_run(l->scene, dir);
    l->begins = false;
    if (err != 0 || stored_start(&r, dir, l->scene->sensor, l->scene->sync) != 0)
        fail_msg("%s: it does not start", story);
    assert_holds(l, dir, false);
    if (stored_feed(&r, packets) != 0)
        fail_msg("%s: it does not go on", story);
    if (packets == UINT64_MAX) {
        stored_end(&r);
        assert_int_equal(stored_stop(&r), 0);
        assert_holds(l, dir, true);
        assert_complete(l, dir);
    } else {
        stored_drop(&r);
    }
}

/* ---- life after life --------------------------------------------------------------------------------------------- */

static struct life *new_life(const struct scene *t, struct disk_model *disk, const struct promise *promise)
{
    struct life *l = calloc(1, sizeof *l);
    assert_non_null(l);
    l->scene = t;
    l->disk = disk;
    if (promise)
        l->promise = *promise;
    return l;
}

static void live_on(struct scene *t, struct life *l, const char *base, unsigned number);

static void live_after(struct scene *t, struct image *i, unsigned number)
{
    static const char *const words[] = {"killed", "without power", "without power, by luck", ""};
    char base[SCRATCH_PATH];
    size_t n = strlen(story);
    snprintf(story + n, sizeof story - n, "life %u %s at change %u; ", number - 1, words[i->how], i->change);
    scratch_make(base);
    assert_true(disk_put(i->disk, base));
    live_on(t, new_life(t, i->disk, &i->promise), base, number);
    scratch_remove(base);
    story[n] = '\0';
    t->ends++;
}

/* Lives life `number` in folder `base`, and for each of the ends that it may come to the next one. Frees `l`. */
static void live_on(struct scene *t, struct life *l, const char *base, unsigned number)
{
    char dir[SCRATCH_PATH + 8];
    snprintf(dir, sizeof dir, "%s/run", base);
    bool last = number + 1 == LIVES;
    assert_undamaged(dir);
    l->image_max = last ? 0 : number == 0 ? FIRST_IMAGES : 1;
    if (getenv("BEZEL_TEST_LIGHT") && number == 0)
        l->image_max /= 8;
    l->drawn = l->image_max;
    disk_calls_watch(l->disk, may_end_here, l);
    disk_calls_split(&seed);
    live(l, dir, last ? UINT64_MAX : 6 + seed_next(&seed) % PACKETS);
    disk_calls_end();
    disk_free(l->disk);
    for (unsigned i = 0; i < l->image_count; i++)
        live_after(t, &l->images[i], number + 1);
    free(l);
}

static struct fake_sensor *make_sensor(void)
{
    struct fake_sensor *sensor = fake_new("desk", run_id, seed_next(&seed));
    for (unsigned p = 0; p < PROCESSES; p++) {
        fake_add_process(sensor, "app", 10 + p, p ? ROLE_DAEMON : ROLE_SUT);
        for (unsigned k = 0; k < PACKETS; k++) {
            uint64_t what = seed_next(&seed) % 8;
            if (what == 0)
                fake_lose(sensor, p, k % 2, 1 + seed_next(&seed) % 100);
            else
                fake_cut(sensor, p, k % 2, 1 + (uint32_t)(seed_next(&seed) % 60));
            if (what == 1)
                fake_add_string(sensor, p, "one more");
        }
    }
    return sensor;
}

static void live_many(int64_t sync, bool power, uint64_t keep)
{
    struct scene t = {.sensor = make_sensor(), .sync = sync, .power = power, .keep.bytes = keep};
    char base[SCRATCH_PATH];
    story[0] = '\0';
    scratch_make(base);
    live_on(&t, new_life(&t, disk_new(base), NULL), base, 0);
    scratch_remove(base);
    fake_free(t.sensor);
    printf("%u lives after an end\n", t.ends);
    assert_true(t.ends > 0);
}

TEST(killed_again_and_again_it_keeps_what_was_acknowledged)
{
    live_many(STORE_SYNC_NEVER, false, 0);
}

TEST(without_power_again_and_again_it_keeps_what_was_acknowledged_when_each_is_synced)
{
    live_many(0, true, 0);
}

TEST(without_power_again_and_again_it_keeps_what_was_acknowledged_when_all_are_synced_together)
{
    live_many(2 * CLOCK_MS, true, 0);
}

/* Most packets expire: in steps that may end anywhere. Nothing else is missing then, and the books stay exact. */
TEST(killed_again_and_again_it_keeps_to_its_room)
{
    live_many(STORE_SYNC_NEVER, false, ROOM);
}

TEST(without_power_again_and_again_it_keeps_to_its_room)
{
    live_many(0, true, ROOM);
}

/*
 * Without any sync a loss of power may take whatever the kernel had not written yet, and leave pages of run.db of
 * different ages. Each file of the trace is the beginning of what was sent all the same, and a verifier comes to its
 * end.
 */
TEST(without_power_and_never_synced_each_file_is_the_beginning_of_what_was_sent)
{
    struct scene t = {.sensor = make_sensor(), .sync = STORE_SYNC_NEVER, .power = true};
    char base[SCRATCH_PATH], dir[SCRATCH_PATH + 8], said[SAID];
    story[0] = '\0';
    scratch_make(base);
    snprintf(dir, sizeof dir, "%s/run", base);
    struct life *l = new_life(&t, disk_new(base), NULL);
    l->image_max = l->drawn = getenv("BEZEL_TEST_LIGHT") ? FIRST_IMAGES / 8 : IMAGES;
    disk_calls_watch(l->disk, may_end_here, l);
    live(l, dir, UINT64_MAX);
    disk_calls_end();
    scratch_remove(base);
    l->promise = (struct promise){0};
    for (unsigned i = 0; i < l->image_count; i++) {
        struct verify v = {.report = hear, .context = said};
        said[0] = '\0';
        scratch_make(base);
        snprintf(dir, sizeof dir, "%s/run", base);
        assert_true(disk_put(l->images[i].disk, base));
        if (access(dir, F_OK) == 0) {
            assert_holds(l, dir, false);
            assert_int_equal(verify_run(&v, dir), 0);
        }
        disk_free(l->images[i].disk);
        scratch_remove(base);
    }
    assert_true(l->image_count > 0);
    disk_free(l->disk);
    free(l);
    fake_free(t.sensor);
}

/* SQLite syncs the run directory too; the store does not rely on it. */
TEST(what_the_store_synced_is_there_without_a_database)
{
    struct scene t = {.sensor = make_sensor()};
    char base[SCRATCH_PATH], left[SCRATCH_PATH], dir[SCRATCH_PATH + 8];
    struct store *store;
    struct dict *dict;
    scratch_make(base);
    scratch_make(left);
    struct life *l = new_life(&t, disk_new(base), NULL);
    const struct message_process *said = &t.sensor->processes[0]->said;
    const struct fake_stream *s = &t.sensor->processes[0]->rings[0];
    struct model *m = model_new("");
    struct model_process *p = model_add_process(model_add_node(m, &t.sensor->hello), said);
    assert_int_equal(dict_parse(said->dictionary, said->dictionary_bytes, &dict), 0);
    model_set_dictionary(p, dict);
    disk_calls_watch(l->disk, NULL, NULL);
    snprintf(dir, sizeof dir, "%s/run", base);
    assert_int_equal(store_open(dir, 0, &store), 0);
    struct model_stream *stream = model_stream(p, 0);
    for (uint64_t i = 0; i < s->packets; i++) {
        assert_int_equal(store_append(store, stream, s->bytes + s->starts[i], s->starts[i + 1] - s->starts[i]), 0);
        assert_int_equal(store_sync(store, stream), 0);
        l->promise.acked[0][0] = i + 1;
        snprintf(dir, sizeof dir, "%s/run", left);
        assert_true(disk_leave(l->disk, left, NULL));
        assert_holds(l, dir, false);
        assert_int_equal(file_remove_tree(dir), 0);
    }
    store_close(store);
    disk_calls_end();
    disk_free(l->disk);
    free(l);
    model_free(m);
    fake_free(t.sensor);
    scratch_remove(base);
    scratch_remove(left);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
