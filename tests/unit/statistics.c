// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What a collector makes of records of other clocks: which exchanges of times it uses, and how old records are. */
#include "run/model/statistics.h"
#include "mdr/parts.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "tests/lib/test.h"
#include <string.h>

#define AHEAD (1700000000 * CLOCK_S)
#define SHIFT (500 * CLOCK_S) /* by which the node's clock is ahead of ours */

static struct model *m;
static struct model_node *node;
static struct model_process *app, *daemon_;

static struct model_process *add_process(uint64_t instance, enum message_role role, const struct dict_aspect *aspects,
                                         uint32_t count)
{
    static struct message_process said;
    struct dict *dict;
    size_t bytes = 0;
    said = (struct message_process){.instance = instance, .stream_id = (uint32_t)instance, .pid = 1, .role = role};
    strcpy(said.name, "p");
    for (uint32_t i = 0; i < count; i++) {
        struct dict_aspect a = aspects[i];
        a.id = i + 1;
        int n = dict_append_aspect(said.dictionary, bytes, sizeof said.dictionary, &a);
        assert_true(n > 0);
        bytes = (size_t)n;
    }
    assert_int_equal(dict_parse(said.dictionary, bytes, &dict), 0);
    struct model_process *p = model_add_process(node, &said);
    model_set_dictionary(p, dict);
    return p;
}

static int setup(void **state)
{
    static const struct dict_aspect tick = {.name = "tick"};
    struct message_hello hello = {.node = "far", .clock = {9}, .realtime_offset = 5};
    (void)state;
    m = model_new("");
    memcpy(m->run_clock, m->clock, sizeof m->clock);
    m->ahead = AHEAD;
    node = model_add_node(m, &hello);
    daemon_ = add_process(1, ROLE_DAEMON, builtin_aspects, BUILTIN_COUNT);
    app = add_process(2, ROLE_SUT, &tick, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    model_free(m);
    return 0;
}

/* Counts a packet of one record, which arrives at `received`. */
static void count(struct model_process *p, uint32_t aspect, int64_t time, const uint64_t *values, uint32_t value_count,
                  int64_t received)
{
    uint8_t bytes[PACKET_RECORD_MAX_BYTES];
    uint8_t *at = packet_put_record(bytes, aspect, (uint64_t)time);
    for (uint32_t i = 0; i < value_count; i++)
        bytes_put_u64(at + 8 * (size_t)i, values[i]);
    const struct packet_run run = {.aspect = aspect,
                                   .count = 1,
                                   .stride = PACKET_RECORD_BYTES + 8 * value_count,
                                   .value_count = value_count,
                                   .first = bytes};
    const struct packet_header h = {.timestamp_begin = (uint64_t)time, .timestamp_end = (uint64_t)time, .records = 1};
    statistics_count(model_stream(p, 0), &h, bytes, &run, received);
}

/* An exchange of 100 us with clock `clock`, begun at `sent` of the node's clock. */
static void exchange(const uint8_t clock[16], int64_t sent)
{
    int64_t there = sent - SHIFT + 50 * CLOCK_US;
    const uint64_t values[] = {(uint64_t)clock_identity_short(clock), (uint64_t)sent, (uint64_t)there, (uint64_t)there,
                               (uint64_t)(sent + 100 * CLOCK_US)};
    count(daemon_, BUILTIN_EXCHANGE + 1, sent + 100 * CLOCK_US, values, 5, 0);
}

static void exchange_often(void)
{
    for (int64_t i = 0; i < 20; i++)
        exchange(m->run_clock, SHIFT + i * CLOCK_S / 20);
}

TEST_WITH(setup, teardown, exchanges_with_the_clock_of_the_run_tell_the_nodes_clock)
{
    static const uint8_t other[16] = {77};
    exchange(other, SHIFT);
    assert_int_equal(node->run_clock.kind, RUN_CLOCK_WALL);
    exchange_often();
    assert_int_equal(node->run_clock.kind, RUN_CLOCK_EXCHANGES);
    assert_int_equal(node->run_clock.exchanges, 20);
    struct clock_reading r = run_clock_at(&node->run_clock, SHIFT + CLOCK_S / 2);
    assert_in_range(r.ns, AHEAD + CLOCK_S / 2 - 1000, AHEAD + CLOCK_S / 2 + 1000);
    assert_in_range(r.bound, 50 * CLOCK_US, 100 * CLOCK_US);
}

TEST_WITH(setup, teardown, records_of_another_clock_have_a_latency_with_a_bound)
{
    count(app, 1, SHIFT + CLOCK_S, NULL, 0, CLOCK_S + 3 * CLOCK_MS);
    assert_null(app->latency); /* nothing is known of its clock */
    exchange_often();
    count(app, 1, SHIFT + CLOCK_S, NULL, 0, 0);
    assert_null(app->latency); /* when it arrived is not known */
    count(app, 1, SHIFT + CLOCK_S, NULL, 0, CLOCK_S + 3 * CLOCK_MS);
    assert_int_equal(app->latency->count, 1);
    assert_in_range(app->latency->max, 3 * CLOCK_MS - 1000, 3 * CLOCK_MS + 1000);
    assert_in_range(app->latency_bound, 50 * CLOCK_US, 200 * CLOCK_US);
    int64_t bound = app->latency_bound;
    count(app, 1, SHIFT + 2 * CLOCK_S, NULL, 0, 2 * CLOCK_S + CLOCK_MS); /* later, so that less is known */
    assert_true(app->latency_bound > bound);
    bound = app->latency_bound;
    count(app, 1, SHIFT + CLOCK_S, NULL, 0, CLOCK_S + CLOCK_MS);
    assert_int_equal(app->latency_bound, bound); /* the widest */
    assert_int_equal(app->latency->count, 3);
    count(app, 1, SHIFT + 3600 * CLOCK_S, NULL, 0, 3600 * CLOCK_S); /* too much may have happened since */
    assert_int_equal(app->latency->count, 3);
    assert_int_equal(app->counts[1].stored, 6);
}

/* This collector goes on with a run that another machine's began. */
TEST_WITH(setup, teardown, with_another_clock_than_the_runs_there_is_no_latency)
{
    exchange_often();
    m->clock[0] ^= 1;
    count(app, 1, SHIFT + CLOCK_S, NULL, 0, CLOCK_S + 3 * CLOCK_MS);
    assert_null(app->latency);
    node->local = true; /* whatever the run's clock is */
    count(app, 1, SHIFT + CLOCK_S, NULL, 0, SHIFT + CLOCK_S + 3 * CLOCK_MS);
    assert_int_equal(app->latency->max, 3 * CLOCK_MS);
    assert_int_equal(app->latency_bound, 0);
}

/* Where there is no time for values, records count all the same; what follows is evaluated again. */
TEST_WITH(setup, teardown, in_a_hurry_records_are_counted_and_not_evaluated)
{
    const struct dict_aspect level = {.name = "level", .field_count = 1, .fields = {{DICT_INT64, "value", "", ""}}};
    struct model_process *p = add_process(3, ROLE_SUT, &level, 1);
    const uint64_t value = 5;
    count(p, 1, CLOCK_S, &value, 1, 0);
    m->hurried = true;
    count(p, 1, 2 * CLOCK_S, &value, 1, 0);
    m->hurried = false;
    count(p, 1, 3 * CLOCK_S, &value, 1, 0);
    assert_int_equal(p->counts[1].stored, 3);
    assert_int_equal(p->values[1]->fields[0].count, 2);
}
