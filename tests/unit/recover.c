// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A trace that is taken up again after a kill: what is no next packet of its stream goes, wherever it came from, and
 * nothing else; what goes is kept in damaged/; and the run goes on from there, and once more.
 */
#include "collector/receive/recover.h"
#include "base/file.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RINGS = 2, PACKETS = 12, STORED = 14 /* of both rings */ };

static const uint8_t run_id[16] = "a run's identity";
static struct stored_run run;
static char dir[64];
static unsigned syncs;

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    (void)fd;
    syncs++;
    return 0;
}

static int begin(void **state)
{
    (void)state;
    struct fake_sensor *sensor = fake_new("desk", run_id, 42);
    snprintf(dir, sizeof dir, "/tmp/bezel-recover-XXXXXX");
    assert_non_null(mkdtemp(dir));
    fake_add_process(sensor, "app", 1, ROLE_SUT);
    for (int i = 0; i < PACKETS; i++)
        for (unsigned ring = 0; ring < RINGS; ring++)
            if (i % 5 == 4)
                fake_lose(sensor, 0, ring, 3);
            else
                fake_cut(sensor, 0, ring, 20);
    run = (struct stored_run){0};
    assert_int_equal(stored_start(&run, dir, sensor, STORE_SYNC_NEVER), 0);
    assert_int_equal(stored_feed(&run, STORED), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fake_free(run.sensor);
    return file_remove_tree(dir);
}

static const struct fake_stream *ring(unsigned i)
{
    return &run.sensor->processes[0]->rings[i];
}

static void path_of(char path[256], const char *folder, const char *name)
{
    snprintf(path, 256, "%s/%s/%s", dir, folder, name);
}

static void append(const void *bytes, size_t n)
{
    char path[256];
    path_of(path, "trace/desk", "app-1-0");
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Recovers, stores the rest, and is killed and recovers again; all is there then. */
static void goes_on(void)
{
    struct fake_sensor *sensor = run.sensor;
    for (int life = 0; life < 2; life++) {
        run = (struct stored_run){0};
        assert_int_equal(stored_start(&run, dir, sensor, STORE_SYNC_NEVER), 0);
        assert_int_equal(stored_feed(&run, life ? UINT64_MAX : 3), 0);
        if (life == 0)
            stored_drop(&run);
    }
    assert_true(stored_is_right(run.sensor, dir, true));
    assert_int_equal(stored_stop(&run), 0);
}

/* The next packet of ring 0, in a copy. */
static uint8_t *next_packet(size_t *n)
{
    size_t first = STORED / RINGS;
    *n = ring(0)->starts[first + 1] - ring(0)->starts[first];
    uint8_t *packet = malloc(*n);
    assert_non_null(packet);
    memcpy(packet, ring(0)->bytes + ring(0)->starts[first], *n);
    return packet;
}

/* What is behind the good packets is no packet of this stream: it goes, byte for byte, to damaged/. */
static void is_moved_away(const uint8_t *bytes, size_t n)
{
    char path[256], name[64], *kept = NULL;
    size_t good = ring(0)->starts[STORED / RINGS], size = 0;
    stored_drop(&run);
    append(bytes, n);
    struct fake_sensor *sensor = run.sensor;
    run = (struct stored_run){0};
    assert_int_equal(stored_start(&run, dir, sensor, STORE_SYNC_NEVER), 0);
    stored_drop(&run);
    run.sensor = sensor;
    snprintf(name, sizeof name, "desk-app-1-0@%zu", good);
    path_of(path, "damaged", name);
    assert_int_equal(file_read(path, 1 << 20, &kept, &size), 0);
    assert_int_equal(size, n);
    assert_memory_equal(kept, bytes, n);
    free(kept);
    goes_on();
}

TEST_WITH(begin, end, what_was_being_written_is_cut_off_and_sent_again)
{
    size_t n;
    char path[256];
    uint8_t *packet = next_packet(&n);
    stored_drop(&run);
    append(packet, n / 2);
    path_of(path, "trace/desk", ".app-1-7"); /* and a file that has no name yet */
    assert_int_equal(file_replace(path, "x", 1), 0);
    goes_on();
    assert_int_not_equal(access(path, F_OK), 0);
    path_of(path, "damaged", "");
    assert_int_not_equal(access(path, F_OK), 0); /* nothing was */
    free(packet);
}

TEST_WITH(begin, end, a_packet_of_another_stream_is_moved_away)
{
    is_moved_away(ring(1)->bytes + ring(1)->starts[0], ring(1)->starts[1]);
}

TEST_WITH(begin, end, a_packet_of_another_trace_is_moved_away)
{
    size_t n;
    uint8_t *packet = next_packet(&n);
    packet[4] ^= 1; /* of the uuid */
    is_moved_away(packet, n);
    free(packet);
}

TEST_WITH(begin, end, a_packet_of_another_version_is_moved_away)
{
    size_t n;
    uint8_t *packet = next_packet(&n);
    packet[75]++;
    is_moved_away(packet, n);
    free(packet);
}

TEST_WITH(begin, end, a_packet_that_no_dictionary_explains_is_moved_away)
{
    size_t n;
    uint8_t *packet = next_packet(&n);
    packet[PACKET_HEADER_BYTES + 3] = 99; /* the aspect of its first record */
    is_moved_away(packet, n);
    free(packet);
}

TEST_WITH(begin, end, a_packet_that_came_before_is_moved_away)
{
    size_t last = ring(0)->starts[STORED / RINGS - 1];
    is_moved_away(ring(0)->bytes + last, ring(0)->starts[STORED / RINGS] - last);
}

TEST_WITH(begin, end, a_file_without_a_packet_is_removed)
{
    char path[256];
    stored_drop(&run);
    path_of(path, "trace/desk", "app-1-3");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fclose(f);
    goes_on();
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Positions are sent as acknowledgements: all is synced, and all is saved anew. */
TEST_WITH(begin, end, what_was_found_is_synced_and_saved)
{
    struct fake_sensor *sensor = run.sensor;
    stored_drop(&run);
    run = (struct stored_run){0};
    syncs = 0;
    assert_int_equal(stored_start(&run, dir, sensor, 0), 0);
    assert_int_equal(syncs, RINGS);
    const struct model_process *p = run.node->processes;
    assert_true(p->dirty);
    for (int i = 0; i < RINGS; i++) {
        assert_false(p->streams[i]->unsynced);
        assert_int_equal(p->streams[i]->at.next_seq, STORED / RINGS);
        assert_int_equal(p->streams[i]->bytes, ring((unsigned)i)->starts[STORED / RINGS]);
    }
    stored_drop(&run);
    goes_on();
}

TEST_WITH(begin, end, what_was_refused_and_not_taken_is_remembered)
{
    struct fake_sensor *sensor = run.sensor;
    run.model->totals.refused = 3;
    run.model->totals.untaken = 2;
    run.model->totals.untaken_records = 7;
    assert_int_equal(stored_stop(&run), 0);
    run = (struct stored_run){0};
    assert_int_equal(stored_start(&run, dir, sensor, STORE_SYNC_NEVER), 0);
    assert_int_equal(run.model->totals.refused, 3);
    assert_int_equal(run.model->totals.untaken, 2);
    assert_int_equal(run.model->totals.untaken_records, 7);
    stored_drop(&run);
}
