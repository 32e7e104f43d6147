// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Metrics of several nodes in the collector: what it reads of the packets that are stored, and what it tells of them.
 */
#include "collector/evaluate/evaluate.h"

#include "base/clock.h"
#include "mdr/manage.h"
#include "run/model/interval_times.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

enum { MADE = 1, SHOWN, OTHER, ASPECTS = OTHER, RECORD = PACKET_RECORD_BYTES + 8 };

#define START  (1000 * CLOCK_S)
#define AHEAD  (5 * CLOCK_S)
#define WINDOW CLOCK_S

static const char text[] = "experiment: two\n"
                           "nodes: {a: {}, b: {}}\n"
                           "processes: [{name: p, node: a, command: [unused]}]\n"
                           "metrics: {e2e: {interval: [made, shown], match: frame, max: yes, window: 1 s}}\n"
                           "limits: [{expect: e2e <= 80 ms}, {expect: sensor_cpu <= 50 %}, {expect: e2e >= 2 ms}]\n"
                           "sensing: {poll: {period: 10 ms}}\n";

static struct dict_aspect aspects[ASPECTS] = {
    {.id = MADE, .name = "made", .field_count = 1, .fields = {{DICT_INT64, "frame", "", ""}}},
    {.id = SHOWN, .name = "shown", .field_count = 1, .fields = {{DICT_INT64, "frame", "", ""}}},
    {.id = OTHER, .name = "other", .field_count = 1, .fields = {{DICT_INT64, "frame", "", ""}}}};
static struct dict dict = {.aspect_count = ASPECTS, .aspects = aspects, .field_counts = {0, 1, 1, 1}};
static struct model model;
static struct model_node nodes[2];
static struct model_process processes[2];
static struct model_stream streams[2];
static struct evaluate *e;
static int64_t now;
static struct message_values values;

static int start(void **state)
{
    (void)state;
    now = START;
    memset(&model, 1, sizeof model.clock + sizeof model.run_clock);
    model.ahead = AHEAD;
    for (int i = 0; i < 2; i++) {
        nodes[i] = (struct model_node){.row = 1 + i, .model = &model, .clock = {1}};
        run_clock_init(&nodes[i].run_clock, RUN_CLOCK_SAME, AHEAD);
        processes[i] = (struct model_process){.row = 10 + i, .node = &nodes[i], .dict = &dict};
        streams[i] = (struct model_stream){.process = &processes[i]};
    }
    e = evaluate_new(&model, NULL, now);
    return e ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    evaluate_free(e);
    for (int i = 0; i < 2; i++) {
        free(processes[i].evaluated);
        free(processes[i].thinned);
    }
    return 0;
}

/* A packet of process `i` with one record, of `frame` at `time`. */
static void packet(int i, uint32_t aspect, uint64_t frame, int64_t time, uint64_t lost)
{
    uint8_t bytes[PACKET_HEADER_BYTES + RECORD];
    struct packet_header h = {
        .size_bytes = sizeof bytes, .records = 1, .timestamp_begin = (uint64_t)time, .timestamp_end = (uint64_t)time};
    struct validate_found found = {
        .lost = lost,
        .since = (uint64_t)(time - CLOCK_MS),
        .all = {
            .aspect = aspect, .count = 1, .stride = RECORD, .value_count = 1, .first = bytes + PACKET_HEADER_BYTES}};
    bytes_put_u64(packet_put_record(bytes + PACKET_HEADER_BYTES, aspect, (uint64_t)time), frame);
    evaluate_packet(e, &streams[i], &h, bytes, &found, now);
}

/* A frame that takes `ms` from one node to the other, and comes 3 ms after it was shown. */
static void frame(uint64_t number, int64_t ms)
{
    now += ms * CLOCK_MS + 3 * CLOCK_MS;
    packet(1, SHOWN, number, now - 3 * CLOCK_MS, 0);
    packet(0, MADE, number, now - (ms + 3) * CLOCK_MS, 0);
}

static const struct message_value *value(uint32_t i)
{
    evaluate_values(e, now, &values);
    assert_int_equal(values.count, 2);
    assert_int_equal(values.life, START);
    return &values.list[i];
}

static void configured(void)
{
    assert_null(evaluate_configure(e, text, now));
    now += WINDOW;
}

TEST_WITH(start, end, without_an_experiment_it_has_no_values)
{
    frame(1, 5);
    evaluate_values(e, now, &values);
    assert_int_equal(values.count, 0);
    assert_non_null(evaluate_configure(e, "experiment: x\n", now));
    evaluate_values(e, now, &values);
    assert_int_equal(values.count, 0);
}

TEST_WITH(start, end, records_of_two_nodes_belong_together_in_any_order)
{
    configured();
    packet(0, OTHER, 1, now, 0);
    assert_int_equal(value(0)->state, PARTIAL_UNKNOWN); /* of a process that has the aspects */
    assert_int_equal(value(0)->lack, LACK_RECORDS);
    frame(1, 5);
    frame(2, 40);
    const struct message_value *v = value(0);
    assert_int_equal(v->state, PARTIAL_KNOWN);
    assert_int_equal(v->limit, 0);
    assert_true(v->value == 40e6 && v->low == 40e6 && v->high == 40e6);
    assert_int_equal(v->age, 3 * CLOCK_MS);
    assert_int_equal(v->collected, 3 * CLOCK_MS);
    now += 7 * CLOCK_MS;
    v = value(1);
    assert_int_equal(v->limit, 2);
    assert_int_equal(v->age, 10 * CLOCK_MS);
    assert_int_equal(v->collected, 3 * CLOCK_MS);
    now += 2 * WINDOW;
    assert_int_equal(value(0)->lack, LACK_RECORDS);
}

TEST_WITH(start, end, the_first_window_counts_from_the_first_record_on)
{
    assert_null(evaluate_configure(e, text, now));
    assert_int_equal(value(0)->lack, LACK_RECORDS);
    frame(1, 5);
    assert_int_equal(value(0)->state, PARTIAL_KNOWN);
    assert_true(value(0)->value == 5e6);
}

/* Of what was evaluated in an earlier life of the collector nothing is known. */
TEST_WITH(start, end, the_first_window_of_a_later_life_is_unknown)
{
    model.nodes = &nodes[0];
    nodes[0].processes = &processes[0];
    assert_null(evaluate_configure(e, text, now));
    frame(1, 5);
    assert_int_equal(value(0)->state, PARTIAL_UNKNOWN);
    assert_int_equal(value(0)->lack, LACK_BEGIN);
    assert_null(evaluate_configure(e, text, now)); /* by the next manager */
    now += WINDOW - 8 * CLOCK_MS;
    frame(2, 5);
    assert_int_equal(value(0)->state, PARTIAL_KNOWN);
    model.nodes = NULL;
}

/* Its beginning may have come before the collector was started again. */
TEST_WITH(start, end, an_end_whose_beginning_may_have_been_before_leaves_the_value_open)
{
    configured();
    packet(1, SHOWN, 99, now, 0);
    now += 400 * CLOCK_MS;
    frame(1, 5);
    assert_true(value(0)->high == 5e6); /* its beginning may be under way */
    now += 200 * CLOCK_MS;
    const struct message_value *v = value(0);
    assert_int_equal(v->lack, LACK_LOST);
    assert_true(v->high > 80e6);
}

TEST_WITH(start, end, what_was_lost_leaves_it_open_where_it_may_have_been_of_the_metric)
{
    configured();
    now += 30 * CLOCK_S;
    frame(1, 5);
    packet(1, SHOWN, 2, now - CLOCK_MS, 0);
    now += 500 * CLOCK_MS;
    assert_true(value(0)->high == 5e6); /* an end that never had a beginning */
    packet(0, OTHER, 3, now, 1);
    assert_true(value(0)->high > 80e6);
    assert_int_equal(value(0)->lack, LACK_LOST);
}

TEST_WITH(start, end, without_the_run_s_clock_nothing_is_known)
{
    configured();
    frame(1, 5);
    model.run_clock[0] = 2; /* the collector was started again on another machine */
    assert_int_equal(value(0)->lack, LACK_CLOCKS);
    model.run_clock[0] = 1;
    run_clock_init(&nodes[0].run_clock, RUN_CLOCK_WALL, AHEAD);
    nodes[0].clock[0] = 2;
    frame(2, 40);
    assert_int_equal(value(0)->lack, LACK_CLOCKS);
    assert_true(value(0)->high > 80e6);
}

/* ---- records that end here --------------------------------------------------------------------------------------- */

enum { MIXED = 3 };

/* A packet of process 0 with records of made, other and made, number `seq` of its stream; returns its bytes. */
static size_t mixed(uint8_t *bytes, struct packet_header *h, enum packet_kind kind, uint64_t seq)
{
    static const uint32_t of[MIXED] = {MADE, OTHER, MADE};
    *h = (struct packet_header){.size_bytes = PACKET_HEADER_BYTES + MIXED * RECORD,
                                .records = MIXED,
                                .kind = kind,
                                .seq = seq,
                                .first_ordinal = MIXED * (seq - 1),
                                .timestamp_begin = (uint64_t)now,
                                .timestamp_end = (uint64_t)now};
    packet_put_header(bytes, h);
    for (size_t i = 0; i < MIXED; i++)
        bytes_put_u64(packet_put_record(bytes + PACKET_HEADER_BYTES + i * RECORD, of[i], (uint64_t)now), seq);
    return h->size_bytes;
}

static struct evaluate_thinned thinned_of(enum packet_kind kind, uint64_t seq)
{
    uint8_t bytes[PACKET_HEADER_BYTES + MIXED * RECORD];
    struct packet_header h;
    struct evaluate_thinned t;
    const struct packet_run several = {0};
    (void)mixed(bytes, &h, kind, seq);
    assert_int_equal(evaluate_thin(e, &streams[0], &h, bytes, &several, &t), 0);
    if (t.reduced > 0)
        evaluate_took(e, &streams[0], &h, bytes, &several);
    return t;
}

/* What is to be stored is a packet of `records`, after so many as `discarded`; it is taken as stored. */
static void is_stored(struct evaluate_thinned t, enum packet_kind kind, uint32_t records, uint64_t discarded)
{
    struct packet_header h;
    struct packet_run all;
    assert_non_null(t.bytes);
    assert_int_equal(packet_get_header(t.bytes, t.header.size_bytes, &h), 0);
    assert_int_equal(packet_check(t.bytes, &h, dict.field_counts, ASPECTS, &all), 0);
    assert_int_equal(h.kind, kind);
    assert_int_equal(h.records, records);
    assert_int_equal(h.discarded, discarded);
    if (records == 1)
        assert_int_equal(all.aspect, OTHER);
    streams[0].thinned += packet_reduced(&h, streams[0].thinned);
    free(t.bytes);
}

static const char reducing[] = "experiment: two\nnodes: {a: {}, b: {}}\n"
                               "processes: [{name: p, node: a, command: [unused]}]\n"
                               "metrics: {e2e: {interval: [made, shown], match: frame, max: yes}}\n"
                               "limits: [{expect: e2e <= 80 ms}]\nsensing: {keep: {made: reduced}}\n";

TEST_WITH(start, end, records_that_end_here_are_taken_out_of_their_packet)
{
    assert_null(thinned_of(PACKET_DATA, 1).bytes); /* nobody evaluates yet */
    assert_null(evaluate_configure(e, reducing, now));
    is_stored(thinned_of(PACKET_DATA, 2), PACKET_THINNED, 1, 2);
    is_stored(thinned_of(PACKET_DATA, 3), PACKET_THINNED, 1, 4);
    assert_int_equal(processes[0].thinned[MADE], 4);
    assert_int_equal(processes[0].thinned[OTHER], 0);
    is_stored(thinned_of(PACKET_REDUCED, 4), PACKET_REDUCED, MIXED, 4); /* it counts records of its node's */
    assert_null(evaluate_configure(e, text, now));
    is_stored(thinned_of(PACKET_DATA, 5), PACKET_DATA, MIXED, 4);
    assert_int_equal(processes[0].thinned[MADE], 4);
}

TEST_WITH(start, end, records_of_a_node_whose_clock_is_unknown_are_kept)
{
    assert_null(evaluate_configure(e, reducing, now));
    run_clock_init(&nodes[0].run_clock, RUN_CLOCK_WALL, AHEAD);
    nodes[0].clock[0] = 2;
    assert_null(thinned_of(PACKET_DATA, 1).bytes);
}

TEST_WITH(start, end, times_and_counts_go_on_from_their_text)
{
    struct interval_times before = {.memory = 1 << 20}, after = {.memory = 1 << 20};
    for (int64_t ns = -5; ns < 2000; ns += 7)
        assert_true(interval_times_add(&before, 3, &(struct interval_time){.end = 9, .part = 1, .took = {ns, 12}}));
    char *row = interval_times_text(&before.rows[0]), counts[1024];
    assert_int_equal(interval_times_read(&after, row), 0);
    struct interval_statistics a = interval_times_of(&before.rows[0]), b = interval_times_of(&after.rows[0]);
    assert_true(a.metric == b.metric && a.end == b.end && a.part == b.part && a.count == b.count && a.bound == b.bound);
    assert_true(a.min == b.min && a.mean == b.mean && a.p50 == b.p50 && a.p99 == b.p99 && a.max == b.max);
    assert_true(interval_times_add(&after, 3, &(struct interval_time){.end = 9, .part = 1, .took = {-6, 20}}));
    assert_int_equal(after.count, 1);
    assert_true(after.rows[0].is.min == -6 && after.rows[0].is.bound == 20);
    row[0] = 'x';
    assert_int_equal(interval_times_read(&after, row), BEZEL_EMALFORMED);
    assert_int_equal(interval_times_read(&after, "70000 9 1 1 0x1p+0 0x1p+0 0x1p+0 0 "), BEZEL_EMALFORMED);
    free(row);
    interval_times_free(&before);
    interval_times_free(&after);
    struct interval_counts c = {.records = 7, .ends = {1, 2}, .open = 3, .waiting = 4}, sum = {.records = 1, .open = 1};
    interval_counts_text(&c, counts, sizeof counts);
    interval_counts_add(&sum, interval_counts_read(counts));
    assert_int_equal(sum.records, 8);
    assert_int_equal(sum.ends[INTERVAL_LOST], 1 + 4);
    assert_int_equal(sum.ends[INTERVAL_LATE], 2);
    assert_int_equal(sum.beginnings[INTERVAL_LOST], 3);
    assert_int_equal(sum.open, 1);
}

/* The statistics of times have a bound: those that it leaves out are counted, through all lives of the collector. */
TEST_WITH(start, end, times_without_memory_are_counted)
{
    struct interval_times t = {.memory = 4096};
    uint64_t added = 0, left_out = 0;
    char counts[1024];
    for (int64_t ns = 1; ns < CLOCK_S; ns *= 2)
        if (interval_times_add(&t, 3, &(struct interval_time){.took = {ns, 0}}))
            added++;
        else
            left_out++;
    assert_true(added > 0 && left_out > 0);
    assert_int_equal(t.unkept[3], left_out);
    assert_int_equal(interval_times_of(&t.rows[0]).count, added);
    struct interval_counts before = {.unkept = t.unkept[3]}, now_has = {.unkept = 1};
    interval_counts_text(&before, counts, sizeof counts);
    interval_counts_add(&now_has, interval_counts_read(counts));
    assert_int_equal(now_has.unkept, left_out + 1);
    interval_times_free(&t);
    assert_int_equal(t.unkept[3], 0);
}
