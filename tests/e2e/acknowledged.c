// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What a collector acknowledges is stored when it says so: written, or with `store.sync: always` in stable storage. Its
 * calls are witnessed in their order (tests/lib/witness.c), so that it does not matter how fast anything is.
 */
#include "mdr/message.h"
#include "tests/lib/collector_process.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;

static struct scene {
    struct collector_process collector;
    struct fake_sensor *sensor;
    char path[128];
    struct message message;
    uint8_t bytes[2048];
    uint64_t written, synced;           /* bytes of the stream's file; by this life of the collector */
    uint64_t told, early, synced_times; /* positions that named packets; those told before they were synced */
} s;

static int begin(void **state)
{
    (void)state;
    memset(&s, 0, sizeof s);
    if (!collector_make(&s.collector) ||
        !(s.sensor = fake_new("desk", (const uint8_t *)"a run's identity", seed_next(&seed))))
        return -1;
    snprintf(s.path, sizeof s.path, "%s/witness", s.collector.dir);
    setenv("WITNESS", s.path, 1);
    fake_add_process(s.sensor, "server", 100, ROLE_SUT);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (s.collector.pid)
        collector_end(&s.collector, SIGKILL);
    fake_free(s.sensor);
    collector_remove(&s.collector);
    return 0;
}

static void start_collector(const char *sync)
{
    char endpoint[LINK_ENDPOINT_MAX];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/data", s.collector.dir);
    s.collector.sync = sync;
    setenv("LD_PRELOAD", WITNESS, 1);
    bool started = collector_start(&s.collector, endpoint);
    unsetenv("LD_PRELOAD");
    assert_true(started);
    assert_true(fake_connect(s.sensor, s.collector.endpoint));
}

/* Packets of one stream, a few at a time. */
static void store_some(void)
{
    for (int i = 0; i < 20; i++) {
        for (uint64_t n = 1 + seed_next(&seed) % 4; n > 0; n--)
            fake_cut(s.sensor, 0, 0, 1 + (uint32_t)(seed_next(&seed) % 50));
        assert_true(fake_settle(s.sensor, PATIENCE));
    }
}

/* The collector told a position: as much as it says is there. */
static void check_position(const struct message_position *at, bool sync)
{
    const struct fake_stream *stream = &s.sensor->processes[0]->rings[0];
    assert_true(at->next_seq <= stream->packets);
    uint64_t bytes = stream->starts[at->next_seq];
    assert_true(bytes <= s.written);
    if (sync)
        assert_true(bytes <= s.synced);
    s.told += at->next_seq > 0;
    s.early += bytes > s.synced;
}

static void check_told(const char *hex, bool sync)
{
    size_t n = 0;
    for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
        s.bytes[n] = (uint8_t)byte;
    assert_int_equal(message_decode(s.bytes, n, &s.message), 0);
    bool welcome = s.message.type == MESSAGE_WELCOME;
    uint32_t count = welcome ? s.message.welcome.stream_count : s.message.ack.stream_count;
    for (uint32_t i = 0; i < count; i++)
        check_position(welcome ? &s.message.welcome.streams[i] : &s.message.ack.streams[i], sync);
}

static void check_all(bool sync)
{
    static char line[8192];
    FILE *f = fopen(s.path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        uint64_t n = strtoull(strchr(line, ' ') ? strchr(line, ' ') : "", NULL, 10);
        if (strncmp(line, "begin", 5) == 0)
            s.synced = 0; /* what its former life had synced, this one cannot know */
        else if (strncmp(line, "write", 5) == 0)
            s.written = n > s.written ? n : s.written;
        else if (strncmp(line, "sync", 4) == 0)
            s.synced = n, s.synced_times++;
        else
            check_told(line + 5, sync);
    }
    (void)fclose(f);
    assert_true(s.told >= 20);
}

TEST_WITH(begin, end, with_sync_always_nothing_is_acknowledged_before_it_is_synced)
{
    start_collector("always");
    store_some();
    collector_end(&s.collector, SIGKILL);
    start_collector("always"); /* WELCOME acknowledges what it found */
    store_some();
    assert_int_equal(collector_end(&s.collector, SIGTERM), 0);
    check_all(true);
    assert_true(s.synced_times >= 20);
}

TEST_WITH(begin, end, without_sync_all_that_is_acknowledged_is_written_and_nothing_waits_for_the_disk)
{
    start_collector("never");
    store_some();
    collector_end(&s.collector, SIGKILL);
    start_collector("never");
    store_some();
    assert_int_equal(collector_end(&s.collector, SIGTERM), 0);
    check_all(false);
    assert_int_equal(s.early, s.told);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
