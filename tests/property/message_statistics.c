// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What is said of a run's messages is what a list of them says, of which some records are missing and some are there
 * twice: how many have no counterpart on either side, and the latencies of all others.
 */
#include "run/read/record_tables.h"

#include "base/clock.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { CLIENT, SERVER, MESSAGES = 600, RECORDS_MOST = 3 * MESSAGES };
enum { TICK = 1, SENT = 3, RECEIVED = 4 }; /* aspects of either */

static uint64_t seed;
static char run[PATH_MAX];

static struct record {
    int64_t at;
    unsigned process, aspect, peer;
    uint64_t tag;
} records[RECORDS_MOST];
static size_t record_count;

static struct expected {
    uint64_t sent, received, sent_alone, received_alone, contrary;
    size_t latency_count;
    int64_t latencies[RECORDS_MOST];
} expected;

static void add(int64_t at, unsigned process, unsigned aspect, unsigned peer, uint64_t tag)
{
    records[record_count++] = (struct record){at, process, aspect, peer, tag};
}

/* `peers`: the ids of server, client and channel. */
static void draw_message(const unsigned peers[3], int64_t at, uint64_t tag)
{
    bool channel = seed_next(&seed) % 4 == 0, sent = seed_next(&seed) % 10 != 0;
    unsigned receivings = seed_next(&seed) % 10 == 0 ? 0 : seed_next(&seed) % 10 == 0 ? 2 : 1;
    if (sent)
        add(at, CLIENT, SENT, channel ? peers[2] : peers[0], tag);
    expected.sent += sent;
    expected.received += receivings;
    expected.sent_alone += sent && receivings == 0;
    expected.received_alone += sent ? 0 : receivings;
    for (unsigned i = 0; i < receivings; i++) {
        int64_t latency = (int64_t)seed_between(&seed, 1e3, 1e7);
        add(at + latency, SERVER, RECEIVED, channel ? peers[2] : peers[1], tag);
        if (sent)
            expected.latencies[expected.latency_count++] = latency;
    }
}

/* The program records the sending after a fast receiver has recorded its receiving. */
static void draw_contrary(const unsigned peers[3], int64_t at, uint64_t tag)
{
    add(at, SERVER, RECEIVED, peers[1], tag);
    add(at + (int64_t)seed_between(&seed, 1e3, 1e7), CLIENT, SENT, peers[0], tag);
    expected.sent++, expected.received++;
    expected.sent_alone++, expected.received_alone++;
    expected.contrary++;
}

static int in_time(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void store(struct fake_sensor *sensor, int64_t begin)
{
    struct stored_run stored = {.batch = 0};
    qsort(records, record_count, sizeof *records, in_time);
    for (size_t i = 0; i < record_count; i++) {
        const struct record *r = &records[i];
        struct fake_stream *s = &sensor->processes[r->process]->rings[0];
        s->time = (uint64_t)(begin + r->at - 1000); /* a record is made 1 us later */
        if (seed_next(&seed) % 5 == 0)
            fake_cut_one(sensor, r->process, 0, TICK, NULL);
        s->time = (uint64_t)(begin + r->at - 1000);
        fake_cut_one(sensor, r->process, 0, r->aspect, (uint64_t[]){r->peer, r->tag});
    }
    assert_int_equal(stored_start(&stored, run, sensor, STORE_SYNC_NEVER), 0);
    assert_int_equal(stored_feed(&stored, UINT64_MAX), 0);
    stored_end(&stored);
    assert_int_equal(stored_stop(&stored), 0);
}

static void make_run(void)
{
    static const uint8_t id[16] = "a run's identity";
    static const struct dict_aspect sent = {.kind = DICT_SENT,
                                            .name = "sent",
                                            .field_count = 2,
                                            .fields = {{DICT_STRING, "peer", "", ""}, {DICT_INT64, "tag", "", ""}}};
    struct dict_aspect received = sent;
    struct fake_sensor *sensor = fake_new("desk", id, seed_next(&seed));
    unsigned peers[3] = {0};
    received.kind = DICT_RECEIVED;
    received.name = "received";
    for (unsigned i = CLIENT; i <= SERVER; i++) {
        fake_add_process(sensor, i == CLIENT ? "client" : "server", 100 + i, ROLE_SUT);
        fake_add_aspect_like(sensor, i, &sent);
        fake_add_aspect_like(sensor, i, &received);
        peers[0] = fake_add_string(sensor, i, "server");
        peers[1] = fake_add_string(sensor, i, "client");
        peers[2] = fake_add_string(sensor, i, "news");
    }
    int64_t at = CLOCK_S;
    for (uint64_t tag = 1; tag <= MESSAGES; tag++) {
        at += (int64_t)(seed_next(&seed) % CLOCK_MS);
        (seed_next(&seed) % 10 ? draw_message : draw_contrary)(peers, at, tag);
    }
    store(sensor, (int64_t)sensor->processes[CLIENT]->rings[0].time);
    fake_free(sensor);
}

static const struct message_statistics *row_of(const struct message_table *t, enum dict_kind kind)
{
    assert_int_equal(t->count, 2);
    return t->rows[0].kind == kind ? &t->rows[0] : &t->rows[1];
}

static double right(double share)
{
    double rank = ceil(share * (double)expected.latency_count - 1e-9);
    return (double)expected.latencies[(size_t)rank - 1];
}

static const struct record_tables_wanted messages = {.messages = true};

static void messages_come_to_what_their_list_says(void **state)
{
    (void)state;
    struct record_tables t;
    seed = seed_start();
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    assert_int_equal(mkdir(run, 0777), 0);
    make_run();
    assert_int_equal(record_tables_read(run, &messages, INT64_MAX, &t), 0);
    const struct message_statistics *sent = row_of(&t.messages, DICT_SENT),
                                    *received = row_of(&t.messages, DICT_RECEIVED);
    qsort(expected.latencies, expected.latency_count, sizeof *expected.latencies, compare);
    assert_int_equal(sent->records, expected.sent);
    assert_int_equal(sent->unmatched, expected.sent_alone);
    assert_int_equal(sent->contrary, expected.contrary);
    assert_int_equal(received->records, expected.received);
    assert_int_equal(received->unmatched, expected.received_alone);
    assert_int_equal(received->timed, expected.latency_count);
    assert_int_equal(received->bound, 0);
    assert_true(received->min == (double)expected.latencies[0]);
    assert_true(received->max == (double)expected.latencies[expected.latency_count - 1]);
    double sum = 0;
    for (size_t i = 0; i < expected.latency_count; i++)
        sum += (double)expected.latencies[i];
    assert_true(fabs(received->mean - sum / (double)expected.latency_count) < 1e-6 * received->mean);
    assert_true(received->p50 >= right(0.5) && received->p50 <= right(0.5) * 129 / 128);
    assert_true(received->p99 >= right(0.99) && received->p99 <= right(0.99) * 129 / 128);
    assert_true(isnan(sent->p50) && sent->timed == 0);
    record_tables_free(&t);
    assert_int_equal(record_tables_read(run, &messages, 0, &t), 0); /* no time: some are left out, none is wrong */
    uint64_t read = 0;
    for (size_t i = 0; i < t.messages.count; i++)
        read += t.messages.rows[i].records;
    assert_in_range(read, 1, expected.sent + expected.received - 1);
    record_tables_free(&t);
}

static void what_is_no_run_is_refused(void **state)
{
    (void)state;
    struct record_tables t;
    assert_int_equal(record_tables_read("/nonexistent", &messages, INT64_MAX, &t), BEZEL_ENOENT);
    record_tables_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_to_what_their_list_says),
        cmocka_unit_test(what_is_no_run_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
