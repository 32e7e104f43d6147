// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What is said of a run's messages, by statistics and by `bezel top`, is what a list of them says, of which some
 * records are missing and some are there twice: how many have no counterpart on either side, and the latencies of all
 * others. Both processes send to the other one with the same tags.
 */
#include "run/read/record_tables.h"

#include "base/clock.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"
#include "views/top/top_source.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CLIENT, SERVER, MESSAGES = 600, RECORDS_MOST = 6 * MESSAGES };
enum { TICK = 1, SENT = 3, RECEIVED = 4 }; /* aspects of either */

static uint64_t seed;
static char run[PATH_MAX];

static struct record {
    int64_t at;
    unsigned process, aspect, peer;
    uint64_t tag;
    int64_t waited; /* of a receiving; -1: it does not know */
} records[RECORDS_MOST];
static size_t record_count;

static struct expected {
    uint64_t sent, received, sent_alone, received_alone, contrary;
    uint64_t asked;
    int64_t unawaited, unawaited_most; /* sum and largest, ns */
    size_t latency_count;
    int64_t latencies[RECORDS_MOST];
} all[2]; /* by sender */

static void add(int64_t at, unsigned process, unsigned aspect, unsigned peer, uint64_t tag)
{
    records[record_count++] = (struct record){at, process, aspect, peer, tag, -1};
}

/* The receiver of the record that was added last says how long it waited for a message that took `latency`. */
static void draw_waited(struct expected *e, bool sent, int64_t latency)
{
    int64_t waited = (int64_t)seed_between(&seed, 1, 2e7), unawaited = latency > waited ? latency - waited : 0;
    if (seed_next(&seed) % 4 == 0)
        return;
    records[record_count - 1].waited = waited;
    if (!sent)
        return;
    e->asked++;
    e->unawaited += unawaited;
    e->unawaited_most = unawaited > e->unawaited_most ? unawaited : e->unawaited_most;
}

/* `peers`: the ids of client, server and channel. */
static void draw_message(const unsigned peers[3], unsigned sender, int64_t at, uint64_t tag)
{
    bool channel = sender == CLIENT && seed_next(&seed) % 4 == 0, sent = seed_next(&seed) % 10 != 0;
    unsigned receivings = seed_next(&seed) % 10 == 0 ? 0 : seed_next(&seed) % 10 == 0 ? 2 : 1;
    struct expected *e = &all[sender];
    if (sent)
        add(at, sender, SENT, peers[channel ? 2 : 1 - sender], tag);
    e->sent += sent;
    e->received += receivings;
    e->sent_alone += sent && receivings == 0;
    e->received_alone += sent ? 0 : receivings;
    for (unsigned i = 0; i < receivings; i++) {
        int64_t latency = (int64_t)seed_between(&seed, 1e3, 1e7);
        add(at + latency, 1 - sender, RECEIVED, peers[channel ? 2 : sender], tag);
        draw_waited(e, sent, latency);
        if (sent)
            e->latencies[e->latency_count++] = latency;
    }
}

/* The program records the sending after a fast receiver has recorded its receiving. */
static void draw_contrary(const unsigned peers[3], unsigned sender, int64_t at, uint64_t tag)
{
    struct expected *e = &all[sender];
    add(at, 1 - sender, RECEIVED, peers[sender], tag);
    add(at + (int64_t)seed_between(&seed, 1e3, 1e7), sender, SENT, peers[1 - sender], tag);
    e->sent++, e->received++;
    e->sent_alone++, e->received_alone++;
    e->contrary++;
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
    qsort(records, record_count, sizeof *records, in_time);
    for (size_t i = 0; i < record_count; i++) {
        const struct record *r = &records[i];
        struct fake_stream *s = &sensor->processes[r->process]->rings[0];
        s->time = (uint64_t)(begin + r->at - 1000); /* a record is made 1 us later */
        if (seed_next(&seed) % 5 == 0)
            fake_cut_one(sensor, r->process, 0, TICK, NULL);
        s->time = (uint64_t)(begin + r->at - 1000);
        fake_cut_one(sensor, r->process, 0, r->aspect, (uint64_t[]){r->peer, r->tag, (uint64_t)r->waited});
    }
    assert_int_equal(stored_whole(run, sensor), 0);
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
    received.fields[received.field_count++] = (struct dict_field){DICT_INT64, "waited", "ns", ""};
    for (unsigned i = CLIENT; i <= SERVER; i++) {
        fake_add_process(sensor, i == CLIENT ? "client" : "server", 100 + i, ROLE_SUT);
        fake_add_aspect_like(sensor, i, &sent);
        fake_add_aspect_like(sensor, i, &received);
        peers[CLIENT] = fake_add_string(sensor, i, "client");
        peers[SERVER] = fake_add_string(sensor, i, "server");
        peers[2] = fake_add_string(sensor, i, "news");
    }
    int64_t at = CLOCK_S;
    for (uint64_t tag = 1; tag <= MESSAGES; tag++) {
        at += (int64_t)(seed_next(&seed) % CLOCK_MS);
        for (unsigned sender = CLIENT; sender <= SERVER; sender++)
            (seed_next(&seed) % 10 ? draw_message : draw_contrary)(peers, sender, at, tag);
    }
    store(sensor, (int64_t)sensor->processes[CLIENT]->rings[0].time);
    fake_free(sensor);
}

static const struct message_statistics *row_of(const struct message_table *t, unsigned process, enum dict_kind kind)
{
    int64_t first = INT64_MAX;
    assert_int_equal(t->count, 4);
    for (size_t i = 0; i < 4; i++)
        first = t->rows[i].process < first ? t->rows[i].process : first; /* the client's */
    for (size_t i = 0; i < 4; i++)
        if ((t->rows[i].process == first) == (process == CLIENT) && t->rows[i].kind == kind)
            return &t->rows[i];
    fail();
    return NULL;
}

static double right(const struct expected *e, double share)
{
    double rank = ceil(share * (double)e->latency_count - 1e-9);
    return (double)e->latencies[(size_t)rank - 1];
}

static void check_tables(const struct expected *e, const struct message_statistics *sent,
                         const struct message_statistics *received)
{
    double sum = 0;
    for (size_t i = 0; i < e->latency_count; i++)
        sum += (double)e->latencies[i];
    assert_int_equal(sent->records, e->sent);
    assert_int_equal(sent->unmatched, e->sent_alone);
    assert_int_equal(sent->contrary, e->contrary);
    assert_int_equal(received->records, e->received);
    assert_int_equal(received->unmatched, e->received_alone);
    assert_int_equal(received->timed, e->latency_count);
    assert_int_equal(received->bound, 0);
    assert_int_equal(received->asked, e->asked);
    assert_true(received->unawaited_max == (double)e->unawaited_most);
    assert_true(fabs(received->unawaited_mean - (double)e->unawaited / (double)e->asked) < 1e-3);
    assert_true(sent->asked == 0 && isnan(sent->unawaited_max) && isnan(sent->unawaited_mean));
    assert_true(received->min == (double)e->latencies[0]);
    assert_true(received->max == (double)e->latencies[e->latency_count - 1]);
    assert_true(fabs(received->mean - sum / (double)e->latency_count) < 1e-6 * received->mean);
    assert_true(received->p50 >= right(e, 0.5) && received->p50 <= right(e, 0.5) * 129 / 128);
    assert_true(received->p99 >= right(e, 0.99) && received->p99 <= right(e, 0.99) * 129 / 128);
    assert_true(isnan(sent->p50) && sent->timed == 0);
}

/* A row of `bezel top`: count, p50, p99, max and bound. */
static void check_top(void)
{
    struct top_source *s;
    struct top_state look;
    struct top_data d = {0};
    assert_int_equal(top_source_open(run, &s), 0);
    while (top_source_update(s, CLOCK_S) > 0)
        ;
    top_state_init(&look, TOP_MESSAGES, 1000 * CLOCK_S, CLOCK_S);
    assert_int_equal(top_source_take(s, &look, &d), 0);
    assert_int_equal(d.count, 2);
    for (size_t i = 0; i < d.count; i++) {
        const struct top_item *item = &d.items[i];
        const struct expected *e = &all[strcmp(item->texts[0], "client") == 0 ? CLIENT : SERVER];
        assert_string_equal(item->texts[1], e == &all[CLIENT] ? "server" : "client");
        assert_true(item->values[0] == (double)e->latency_count);
        assert_true(item->values[1] >= right(e, 0.5) && item->values[1] <= right(e, 0.5) * 33 / 32);
        assert_true(item->values[2] >= right(e, 0.99) && item->values[2] <= right(e, 0.99) * 33 / 32);
        assert_true(item->values[3] == (double)e->latencies[e->latency_count - 1]);
        assert_true(item->values[4] == 0);
    }
    top_source_close(s);
}

static const struct record_tables_wanted messages = {.messages = true};

TEST(messages_come_to_what_their_list_says)
{
    struct record_tables t;
    uint64_t read = 0;
    seed = seed_start();
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    assert_int_equal(mkdir(run, 0777), 0);
    make_run();
    assert_int_equal(record_tables_read(run, &messages, INT64_MAX, &t), 0);
    for (unsigned sender = CLIENT; sender <= SERVER; sender++) {
        qsort(all[sender].latencies, all[sender].latency_count, sizeof *all[sender].latencies, compare);
        check_tables(&all[sender], row_of(&t.messages, sender, DICT_SENT),
                     row_of(&t.messages, 1 - sender, DICT_RECEIVED));
    }
    record_tables_free(&t);
    check_top();
    assert_int_equal(record_tables_read(run, &messages, 0, &t), 0); /* no time: some are left out, none is wrong */
    for (size_t i = 0; i < t.messages.count; i++)
        read += t.messages.rows[i].records;
    assert_in_range(read, 1, record_count - 1);
    record_tables_free(&t);
}

TEST(what_is_no_run_is_refused)
{
    struct record_tables t;
    assert_int_equal(record_tables_read("/nonexistent", &messages, INT64_MAX, &t), BEZEL_ENOENT);
    record_tables_free(&t);
}

int main(void)
{
    return test_run(scratch_begin, scratch_end);
}
