// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What a node's external sensor tells its agent: processes, aspects that a metric cannot read, and the totals (--wrap).
 */
#include "base/clock.h"
#include "base/log.h"
#include "bezeld/node/node_internal.h"
#include "tests/lib/opened_node.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct {
    unsigned warnings, totals, aspects;
    char id[32], warning[512]; /* the last one */
    uint64_t produced, lost, en_route;
    int64_t at;
} told;

void __wrap_log_warn(const char *id, const char *format, ...) BEZEL_PRINTF(2, 3);
void __wrap_log_warn(const char *id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(told.warning, sizeof told.warning, format, args);
    va_end(args);
    snprintf(told.id, sizeof told.id, "%s", id);
    told.warnings++;
}

/* Each number has a digit of its own, so that a sum says what it is of. */
struct external_totals __wrap_external_totals(struct external *x);
struct external_totals __wrap_external_totals(struct external *x)
{
    (void)x;
    return (struct external_totals){.produced = 1,
                                    .full = 10,
                                    .off = 100,
                                    .no_ring = 1000,
                                    .overwritten = 10000,
                                    .window = 100000,
                                    .spool = 1000000,
                                    .in_rings = 10000000,
                                    .in_window = 100000000};
}

void __wrap_agent_totals(struct agent *agent, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now);
void __wrap_agent_totals(struct agent *agent, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now)
{
    (void)agent;
    told.totals++;
    told.produced = produced;
    told.lost = lost;
    told.en_route = en_route;
    told.at = now;
}

void __wrap_agent_received_from(struct agent *agent, const char *aspect);
void __wrap_agent_received_from(struct agent *agent, const char *aspect)
{
    (void)agent;
    told.aspects += strncmp(aspect, "bezel_", 6) != 0 || strcmp(aspect, "bezel_usage") == 0;
}

static void open_node(const char *limit)
{
    char text[512];
    snprintf(text, sizeof text,
             "experiment: observed\ncommand: [unused]\nmetrics: {delay: {mean: latency, of: shown}%s}\nlimits:\n"
             "  - {expect: delay <= 80 ms}\n%s",
             strstr(limit, "waits") ? ", waits: {max: waiting, of: thread_scheduling}" : "", limit);
    assert_int_equal(opened_node(text), 0);
    memset(&told, 0, sizeof told);
}

TEST_WITH(scratch_begin, close_node, totals_are_told_each_ten_milliseconds_where_a_metric_reads_them)
{
    open_node("  - {expect: lost_ratio <= 1 %}\n");
    int64_t now = clock_now() + CLOCK_S;
    node_count_attempts(node, now);
    assert_int_equal(told.totals, 1);
    assert_int_equal(told.produced, 1);
    assert_int_equal(told.lost, 1111010); /* what is off by intention is not lost */
    assert_int_equal(told.en_route, 110000000);
    assert_int_equal(told.at, now);
    node_count_attempts(node, now + 10 * CLOCK_MS - 1);
    assert_int_equal(told.totals, 1);
    node_count_attempts(node, now + 10 * CLOCK_MS);
    assert_int_equal(told.totals, 2);
    assert_null(node_observer(node).stored);
}

TEST_WITH(scratch_begin, close_node, where_no_metric_reads_them_totals_are_not_summed)
{
    open_node("");
    node_count_attempts(node, clock_now() + CLOCK_S);
    assert_int_equal(told.totals, 0);
    assert_null(node_observer(node).stored);
}

TEST_WITH(scratch_begin, close_node, acknowledgements_are_told_where_a_metric_reads_how_late_records_are_stored)
{
    open_node("  - {expect: storing_latency <= 1 s}\n");
    assert_non_null(node_observer(node).stored);
}

TEST_WITH(scratch_begin, close_node, a_process_whose_aspect_a_metric_cannot_read_is_told_with_its_name)
{
    open_node("");
    struct external_observer o = node_observer(node);
    struct dict_aspect shown = {
        .id = 1, .name = "shown", .field_count = 1, .fields = {{DICT_FLOAT64, "other", "ms", ""}}};
    struct dict_aspect unread = {.id = 2, .name = "unread", .field_count = 0};
    int first = o.process_begin(o.context, "client.1", ROLE_SUT, 0),
        second = o.process_begin(o.context, "client.2", ROLE_SUT, 0);
    assert_true(first >= 0 && second >= 0 && first != second);
    assert_true(o.watch(o.context, second, ROLE_SUT, &unread) < 0);
    assert_int_equal(told.warnings, 0);
    (void)o.watch(o.context, second, ROLE_SUT, &shown);
    assert_int_equal(told.warnings, 1);
    assert_string_equal(told.id, "BEZEL-METRIC");
    assert_string_equal(told.warning,
                        "metric delay stays unknown for process client.2: its aspect shown does not have a field that "
                        "the metric reads, or the field is not a number, or not a time, or 'where' cannot be "
                        "compared with it");
    shown.fields[0].name = "latency";
    assert_true(o.watch(o.context, first, ROLE_SUT, &shown) >= 0);
    assert_int_equal(told.warnings, 1);
    assert_int_equal(told.aspects, 3); /* each may be shed */
    o.process_end(o.context, second);
    assert_null(agent_process_name(node->agent, second));
    assert_string_equal(agent_process_name(node->agent, first), "client.1");
}

TEST_WITH(scratch_begin, close_node, of_a_daemon_the_samplers_alone_are_watched_and_only_where_a_metric_reads_them)
{
    struct dict_aspect sampled = {
        .id = 1, .name = "thread_scheduling", .field_count = 1, .fields = {{DICT_INT64, "waiting", "ns", ""}}};
    struct dict_aspect own = {.id = 2, .name = "bezel_usage", .field_count = 0};
    open_node("");
    struct external_observer o = node_observer(node);
    assert_true(o.process_begin(o.context, "bezeld", ROLE_DAEMON, 0) < 0);
    close_node(test_state);
    assert_int_equal(scratch_begin(test_state), 0);
    open_node("  - {expect: waits <= 5 ms}\n");
    o = node_observer(node);
    int daemon = o.process_begin(o.context, "bezeld", ROLE_DAEMON, 0);
    int program = o.process_begin(o.context, "client", ROLE_SUT, 0);
    assert_true(daemon >= 0 && program >= 0);
    assert_true(o.watch(o.context, daemon, ROLE_DAEMON, &sampled) >= 0);
    assert_true(o.watch(o.context, daemon, ROLE_DAEMON, &own) < 0);
    assert_true(o.watch(o.context, program, ROLE_SUT, &sampled) < 0); /* the name is the sampler's */
    assert_int_equal(told.aspects, 0);                                /* none of them is shed */
    assert_int_equal(told.warnings, 0);
    sampled.fields[0].name = "waits";
    (void)o.watch(o.context, daemon, ROLE_DAEMON, &sampled);
    assert_int_equal(told.warnings, 1);
}
