// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Ten days of a run whose store keeps to its room, in virtual time, by size and by time, with collectors that are
 * killed and started again on the way. The books are exact at every look: what is kept and what expired is what was
 * stored, to the record; the oldest went first; and who reads gets exactly what is kept.
 */
#include "export/export_internal.h"
#include "run/levels/levels_internal.h"
#include "run/read/run_missing.h"
#include "run/read/run_reader.h"
#include "run/store/trace_reader.h"
#include "run/verify/verify.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOUR  (3600 * CLOCK_S)
#define DAYS  INT64_C(10)
#define QUIET (3 * HOUR) /* of a turn, in which nothing is stored */

enum { PROCESSES = 3, RINGS = 2, TURN = 8, LOOKS = 7, BLOCKS = 2 << 12, PACKETS = 2600, SAID = 2048 };
enum {
    STRETCH = PACKETS / TURN / LOOKS, /* turns, in each of which one collector is killed */
    TAIL = 8 << 10, /* bytes of a stream that get no levels yet: few, so that these few records have some */
};

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

struct scene {
    char dir[SCRATCH_PATH];
    struct fake_sensor *sensor;
    struct stored_run run;
    int64_t now;
    int64_t stored_at[PROCESSES][RINGS][FAKE_PACKETS];
    uint64_t longest; /* bytes of a turn */
    uint64_t expired; /* records, at the last look */
    uint64_t viewed;  /* records in columns, at the last look */
    bool ended;
    struct run_reader *slow; /* it stands within packets while they expire */
    uint64_t given;          /* records, to it */
};

/* ---- what is cut, and stored ------------------------------------------------------------------------------------- */

static void cut(struct scene *t)
{
    unsigned p = (unsigned)(seed_next(&seed) % PROCESSES), ring = (unsigned)(seed_next(&seed) % RINGS);
    uint64_t what = seed_next(&seed) % 10;
    if (t->sensor->processes[p]->rings[ring].packets >= FAKE_PACKETS - 4)
        return;
    if (what == 0)
        fake_lose(t->sensor, p, ring, 1 + seed_next(&seed) % 100);
    else
        fake_cut(t->sensor, p, ring, 1 + (uint32_t)(seed_next(&seed) % 50));
    if (what == 1)
        fake_add_string(t->sensor, p, "one more");
}

static uint64_t cut_bytes(const struct scene *t)
{
    uint64_t bytes = 0;
    for (unsigned p = 0; p < PROCESSES; p++)
        for (unsigned ring = 0; ring < RINGS; ring++)
            bytes += t->sensor->processes[p]->rings[ring].used;
    return bytes;
}

static void note_times(struct scene *t)
{
    for (unsigned p = 0; p < PROCESSES; p++)
        for (unsigned ring = 0; ring < RINGS; ring++)
            for (uint64_t i = t->sensor->processes[p]->rings[ring].packets; i-- > 0 && !t->stored_at[p][ring][i];)
                t->stored_at[p][ring][i] = t->now;
}

static void store_a_turn(struct scene *t)
{
    uint64_t before = cut_bytes(t);
    for (unsigned k = 0; k < TURN; k++)
        cut(t);
    note_times(t);
    t->longest = cut_bytes(t) - before > t->longest ? cut_bytes(t) - before : t->longest;
    assert_int_equal(stored_feed(&t->run, UINT64_MAX), 0);
}

/* A collector begins, on what the one before it left. */
static void begin(struct scene *t)
{
    assert_int_equal(stored_start(&t->run, t->dir, t->sensor, STORE_SYNC_NEVER), 0);
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

static void hear(const struct verify_report *f, void *context)
{
    size_t n = strlen(context);
    snprintf((char *)context + n, SAID - n, "%s: %s: %s. ", f->code, f->file, f->text);
}

static struct verify_totals verified(const struct scene *t, enum verify_is least)
{
    char said[SAID] = "";
    struct verify v = {.report = hear, .context = said};
    assert_int_equal(verify_run(&v, t->dir), 0);
    if (verify_is(&v) > least)
        fail_msg("%s", said);
    return v.totals;
}

/* A stream's file: its packets are the last ones of those that were stored, each byte for byte. */
struct kept {
    uint64_t first; /* number of the first packet that is kept */
    uint64_t packets, records, blocks;
};

static struct kept look_at_file(const struct scene *t, unsigned p, unsigned ring)
{
    const struct fake_process *process = t->sensor->processes[p];
    const struct fake_stream *s = &process->rings[ring];
    struct kept kept = {.first = s->packets};
    struct packet_header h;
    const uint8_t *packet;
    struct trace_reader *r;
    struct stat st;
    char path[512];
    snprintf(path, sizeof path, "%s/trace/desk/%s-%u-%u", t->dir, process->said.name, process->said.pid, ring);
    if (s->packets == 0)
        return kept;
    assert_int_equal(trace_reader_open(path, &r), 0);
    int more;
    while ((more = trace_reader_next(r, &h, &packet)) > 0) {
        kept.first = kept.packets++ == 0 ? h.seq : kept.first;
        assert_int_equal(h.seq, kept.first + kept.packets - 1);
        assert_memory_equal(packet, s->bytes + s->starts[h.seq], h.size_bytes);
        kept.records += h.records;
    }
    assert_int_equal(more, 0);
    assert_int_equal(trace_reader_rest(r), 0);
    assert_int_equal(kept.first + kept.packets, s->packets);
    assert_int_equal(r->expired->packets, kept.first);
    assert_int_equal(r->expired->records, s->records - kept.records);
    trace_reader_close(r);
    assert_int_equal(stat(path, &st), 0);
    kept.blocks = (uint64_t)st.st_blocks * 512;
    assert_true(st.st_size == (off_t)s->used);
    return kept;
}

/* The records that a reader of the run gets. */
static void assert_read(const struct scene *t, uint64_t records, uint64_t expired)
{
    struct record_filter all = RECORD_FILTER_ALL;
    struct record_item item;
    struct run_reader *r;
    uint64_t read = 0;
    int more;
    assert_int_equal(run_reader_open_compared(t->dir, &all, UINT64_MAX, &r), 0);
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    while ((more = run_reader_next(r, &item)) > 0)
        read += item.r != NULL;
    assert_int_equal(more, 0);
    assert_int_equal(read, records);
    assert_int_equal(run_reader_totals(r).expired, expired);
    assert_int_equal(run_reader_totals(r).cut, 0);
    run_reader_close(r);
}

static int count_record(const struct packet_record *r, const struct levels_place *place, void *context)
{
    (void)place;
    *(uint64_t *)context += r != NULL;
    return 0;
}

/*
 * Views get the records that are kept, from whatever levels there are. Levels that were made in time outlive the
 * packets: the columns still have all records of the last look, but for those that lay in the tails of the streams.
 */
static void assert_viewed(struct scene *t, uint64_t records)
{
    struct levels *l;
    uint64_t found = 0, counted = 0;
    assert_int_equal(levels_open(t->dir, &l), 0);
    l->tail = TAIL;
    while (levels_update(l, CLOCK_S) > 0)
        ;
    for (size_t i = 0; i < levels_stream_count(l); i++) {
        struct levels_column column;
        assert_int_equal(levels_records(l, i, 0, 0, INT64_MAX, count_record, &found), 0);
        assert_false(levels_stream(l, i)->cut);
        if (levels_columns(l, &i, 1, 0, LEVELS_COUNT, 0, INT64_MAX, LEVELS_WIDTH_MAX, &column, 1) == 1)
            counted += column.count;
    }
    assert_int_equal(found, records);
    assert_true(counted >= records && counted <= fake_records(t->sensor));
    assert_true(counted + PROCESSES * RINGS * (TAIL / PACKET_RECORD_BYTES) >= t->viewed);
    t->viewed = counted;
    if (t->ended)
        assert_true(counted > records);
    levels_close(l);
}

static void look(struct scene *t)
{
    const struct store_keep *to = &t->run.keep_to;
    uint64_t kept = 0, records = 0, blocks = 0, bytes = 0;
    int64_t newest_gone = INT64_MIN, oldest_kept = INT64_MAX;
    for (unsigned p = 0; p < PROCESSES; p++)
        for (unsigned ring = 0; ring < RINGS; ring++) {
            const struct fake_stream *s = &t->sensor->processes[p]->rings[ring];
            struct kept k = look_at_file(t, p, ring);
            kept += k.packets;
            records += k.records;
            blocks += k.blocks;
            bytes += s->used - s->starts[k.first];
            if (k.first > 0 && t->stored_at[p][ring][k.first - 1] > newest_gone)
                newest_gone = t->stored_at[p][ring][k.first - 1];
            if (k.first < s->packets && t->stored_at[p][ring][k.first] < oldest_kept)
                oldest_kept = t->stored_at[p][ring][k.first];
        }
    assert_true(newest_gone <= oldest_kept); /* the oldest went first, over all streams */
    uint64_t all = fake_records(t->sensor);
    struct verify_totals v = verified(t, t->ended ? VERIFY_COMPLETE : VERIFY_INCOMPLETE);
    assert_int_equal(v.records + v.own_records, all);
    assert_int_equal(v.expired_records, all - records);
    assert_int_equal(v.packets - v.expired, kept);
    assert_int_equal(v.bytes - v.expired_bytes, bytes);
    assert_true(v.expired_records >= t->expired);
    t->expired = v.expired_records;
    if (to->bytes) {
        assert_true(bytes <= to->bytes + t->longest);
        assert_true(blocks <= to->bytes + t->longest + PROCESSES * RINGS * BLOCKS + PROCESSES * RINGS * BLOCKS);
    } else if (t->expired) {
        assert_true(oldest_kept >= t->now - to->time - 2 * to->time / KEEP_PARTS - QUIET);
        assert_true(newest_gone <= t->now - to->time);
    }
    assert_read(t, records, all - records);
    assert_viewed(t, records);
}

/* Another byte at `at` of a file is one file that was changed. */
static void assert_change_is_seen(const struct scene *t, const char *path, uint64_t at)
{
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (int changed = 1; changed >= 0; changed--) {
        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        assert_int_equal(run_missing(t->dir, &RECORD_FILTER_ALL, UINT64_MAX, false), changed);
    }
    close(fd);
}

/* The first packets of a stream expired: its cover is as it was written, and so is the first record that is kept. */
static void assert_changes_are_seen(const struct scene *t)
{
    const struct fake_process *process = t->sensor->processes[0];
    const struct fake_stream *s = &process->rings[0];
    uint64_t n = look_at_file(t, 0, 0).first;
    struct packet_header h = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/trace/desk/%s-%u-0", t->dir, process->said.name, process->said.pid);
    assert_true(n > 0);
    for (; h.records == 0; n++)
        assert_int_equal(packet_get_header(s->bytes + s->starts[n], s->used - s->starts[n], &h), 0);
    assert_change_is_seen(t, path, s->starts[n - 1] + PACKET_HEADER_BYTES + PACKET_RECORD_BYTES);
    assert_change_is_seen(t, path, PACKET_HEADER_BYTES - 1);
}

/* The slow reader goes on by up to `most` records: of what it had not read, the rest may have expired. */
static void read_slowly(struct scene *t, uint64_t most)
{
    struct record_filter all = RECORD_FILTER_ALL;
    struct record_item item;
    if (!t->slow) {
        assert_int_equal(run_reader_open(t->dir, &all, &t->slow), 0);
        run_reader_buffers(t->slow, 1); /* it reads little ahead */
    }
    assert_int_equal(run_reader_look(t->slow, RUN_READER_ALL), 0);
    int more = 1;
    for (; most > 0 && (more = run_reader_next(t->slow, &item)) > 0; most -= item.r != NULL)
        t->given += item.r != NULL;
    assert_true(more >= 0);
}

static void end_slow_reader(struct scene *t)
{
    read_slowly(t, UINT64_MAX);
    struct run_reader_totals totals = run_reader_totals(t->slow);
    assert_int_equal(t->given + totals.expired, fake_records(t->sensor));
    assert_true(t->given > 0 && totals.expired > 0);
    assert_int_equal(totals.cut + totals.rest, 0);
    run_reader_close(t->slow);
}

/* An export warns of all that expired. */
static void assert_exported(const struct scene *t)
{
    struct export_nodes nodes;
    assert_int_equal(export_find(t->dir, &nodes), 0);
    assert_int_equal(nodes.expired.records, t->expired);
    export_find_free(&nodes);
}

/* ---- ten days ---------------------------------------------------------------------------------------------------- */

static void begin_scene(struct scene *t, struct store_keep keep)
{
    memset(t, 0, sizeof *t);
    scratch_make(t->dir);
    t->sensor = fake_new("desk", run_id, seed_next(&seed));
    for (unsigned p = 0; p < PROCESSES; p++)
        fake_add_process(t->sensor, "app", 10 + p, p == PROCESSES - 1 ? ROLE_DAEMON : ROLE_SUT);
    t->run = (struct stored_run){.keep_to = keep, .now = &t->now, .batch = TURN};
    t->now = clock_now();
}

static void ten_days(struct store_keep keep)
{
    static struct scene t;
    begin_scene(&t, keep);
    int64_t end = t.now + DAYS * 24 * HOUR, turn = DAYS * 24 * HOUR * TURN / PACKETS;
    unsigned turns = 0, collectors = 1, kill = 0;
    begin(&t);
    while (t.now < end) {
        store_a_turn(&t);
        t.now += seed_next(&seed) % 20 == 0 ? QUIET : turn;
        stored_keep(&t.run);
        read_slowly(&t, seed_next(&seed) % 8 == 0 ? seed_next(&seed) % 500 : 0);
        if (turns % STRETCH == 0)
            kill = turns + (unsigned)(seed_next(&seed) % STRETCH);
        if (turns == kill) {
            stored_drop(&t.run); /* as a kill: what was not saved is not */
            look(&t);
            begin(&t);
            look(&t);
            collectors++;
        }
        turns++;
    }
    stored_end(&t.run);
    assert_int_equal(stored_stop(&t.run), 0);
    t.ended = true;
    look(&t);
    end_slow_reader(&t);
    assert_changes_are_seen(&t);
    assert_exported(&t);
    printf("%u turns, %u collectors: %llu of %llu records expired\n", turns, collectors, (unsigned long long)t.expired,
           (unsigned long long)fake_records(t.sensor));
    assert_true(t.expired > fake_records(t.sensor) / 2);
    scratch_remove(t.dir);
    fake_free(t.sensor);
}

TEST(ten_days_by_size)
{
    ten_days((struct store_keep){.bytes = 512 << 10});
}

TEST(ten_days_by_time)
{
    ten_days((struct store_keep){.time = 60 * HOUR});
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
