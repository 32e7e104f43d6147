// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A node in the loop over the collector: the dead time that it records, and what it notes of limits that are unknown.
 * What it records is taken on its way to the journal (--wrap).
 */
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "mdr/message.h"
#include "resmgr/manager/manager.h"
#include "tests/lib/opened_node.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <string.h>

static const char managed[] = "experiment: managed\n"
                              "nodes: {a: {}, b: {}}\n"
                              "processes: [{name: p, node: a, command: [unused]}]\n"
                              "sensing: {poll: {period: 1 ms}}\n"
                              "limits: [{hold: sensor_cpu <= 30 %, per: global}]\n"
                              "adapt: {by: manager, every: 100 ms}\n";

enum { METRICS_MAX = 8 };

static struct {
    uint32_t count;
    struct builtin_metric list[METRICS_MAX];
} metrics;

void __wrap_own_trace_record_metric(struct journal *j, const struct builtin_metric *r);
void __wrap_own_trace_record_metric(struct journal *j, const struct builtin_metric *r)
{
    (void)j;
    if (strncmp(r->metric, "loop:", 5) != 0)
        return;
    assert_true(metrics.count < METRICS_MAX);
    metrics.list[metrics.count++] = *r;
}

static struct builtin_trigger fired; /* the last one */

void __wrap_own_trace_record_trigger(struct journal *j, const struct builtin_trigger *r);
void __wrap_own_trace_record_trigger(struct journal *j, const struct builtin_trigger *r)
{
    (void)j;
    fired = *r;
}

static int64_t now;

static int open_managed(void **state)
{
    scratch_begin(state);
    int err = opened_node(managed);
    now = clock_now();
    memset(&metrics, 0, sizeof metrics);
    return err;
}

static const char late[] = "experiment: late\n"
                           "nodes: {a: {}, b: {}}\n"
                           "processes: [{name: p, node: a, command: [unused]}]\n"
                           "metrics: {e2e: {interval: [sent, taken], match: frame, max: yes}}\n"
                           "limits: [{expect: e2e <= 80 ms}]\n"
                           "triggers: [{when: e2e <= 80 ms violated, do: [{mark: late}]}]\n"
                           "adapt: {by: manager, every: 100 ms}\n";

static int open_late(void **state)
{
    scratch_begin(state);
    int err = opened_node(late);
    now = clock_now();
    memset(&metrics, 0, sizeof metrics);
    memset(&fired, 0, sizeof fired);
    return err;
}

static struct message m; /* too large for a stack */

static void receive(void)
{
    struct command_request peer = {.peer = {.size = 1}};
    manager_client_receive(node, &peer, &m, now);
}

static void setpoint(uint64_t sequence, int64_t period, int64_t answers)
{
    m.type = MESSAGE_SETPOINT;
    m.setpoint = (struct message_setpoint){.leadership = {.epoch = 1, .holder = 7},
                                           .sequence = sequence,
                                           .life = node->managed.leadership.life,
                                           .answers = (uint64_t)answers,
                                           .expiry = MANAGER_EXPIRY,
                                           .lasts = MANAGER_LASTS,
                                           .on = true,
                                           .period_ns = (uint64_t)period,
                                           .cause = -1};
    receive();
}

static unsigned notes(const char *text)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < external_note_count(node->external); i++) {
        const struct message_note *note = external_note(node->external, i);
        n += strcmp(note->code, "BEZEL-LIMIT-UNKNOWN") == 0 && (!text || strcmp(note->text, text) == 0);
    }
    return n;
}

static void loop(uint64_t sequence, int64_t sent_at)
{
    m.type = MESSAGE_LOOP;
    m.loop = (struct message_loop){.leadership = {.epoch = 1, .holder = 7},
                                   .sequence = sequence,
                                   .limit = 0,
                                   .collected = CLOCK_MS,
                                   .decided = 20 * CLOCK_MS,
                                   .sent = sent_at,
                                   .held = 2 * CLOCK_MS};
    receive();
}

static void assert_recorded(uint32_t i, const char *name, int64_t value)
{
    assert_true(i < metrics.count);
    assert_string_equal(metrics.list[i].metric, name);
    assert_string_equal(metrics.list[i].process, "a");
    assert_true(metrics.list[i].value == (double)value);
}

TEST_WITH(open_managed, close_node,
          the_dead_time_of_the_loop_is_recorded_where_a_setpoint_changes_something_and_every_second)
{
    loop(1, 21 * CLOCK_MS);
    setpoint(1, 3 * CLOCK_MS, now - 10 * CLOCK_MS);
    assert_int_equal(metrics.count, 3);
    assert_recorded(0, "loop:collected", CLOCK_MS);
    assert_recorded(1, "loop:decided", 20 * CLOCK_MS);
    assert_recorded(2, "loop:applied", (21 + 10 - 2) * CLOCK_MS);
    loop(2, 25 * CLOCK_MS);
    setpoint(2, 3 * CLOCK_MS, now);
    assert_int_equal(metrics.count, 3); /* it changed nothing */
    now += CLOCK_S;
    loop(3, 25 * CLOCK_MS);
    setpoint(3, 3 * CLOCK_MS, now);
    assert_int_equal(metrics.count, 6);
    assert_recorded(5, "loop:renewed", 25 * CLOCK_MS); /* the way is never below 0 */
    setpoint(4, 4 * CLOCK_MS, now);                    /* of whose value nothing is known */
    assert_int_equal(metrics.count, 6);
}

static void lack(enum message_lack lack)
{
    m.type = MESSAGE_LOOP;
    m.loop = (struct message_loop){.limit = -1, .count = 2, .lacking = {{.limit = 0, .lack = lack}, {.limit = 99}}};
    receive();
}

/* The manager sends how old the newest record is by which it judged: a trigger's latency counts from there. */
TEST_WITH(open_late, close_node, a_trigger_that_waits_for_an_interval_counts_from_its_newest_record)
{
    m.type = MESSAGE_LOOP;
    m.loop = (struct message_loop){.limit = 0, .sent = 35 * CLOCK_MS, .count = 1, .lacking = {{.limit = 0}}};
    receive();
    m.type = MESSAGE_JUDGEMENT;
    m.judgement = (struct message_judgement){
        .leadership = {.epoch = 1, .holder = 7},
        .sequence = 1,
        .count = 1,
        .list = {{.limit = 0, .state = MESSAGE_LIMIT_VIOLATED, .value = 9e7, .worst = 9e7, .violated = 1, .ago = 0}}};
    receive();
    node_triggers_turn(node, now);
    assert_true(fired.trigger == 0 && fired.event == TRIGGER_FIRED && fired.value == 9e7);
    assert_int_equal(fired.moment, now - 35 * CLOCK_MS);
    assert_true(fired.latency >= 35 * CLOCK_MS);
}

TEST_WITH(open_managed, close_node, what_a_limit_lacks_for_long_is_noted_once)
{
    lack(LACK_VALUES);
    now += 2 * CLOCK_S - 1;
    lack(LACK_VALUES);
    assert_int_equal(notes(NULL), 0);
    now++;
    lack(LACK_VALUES);
    now += CLOCK_S;
    lack(LACK_VALUES);
    assert_int_equal(notes(NULL), 1);
    assert_int_equal(notes("limit sensor_cpu <= 30 % is unknown: nothing comes from the collector, which "
                           "evaluates it: it was killed, stopped or cut off, or is slow"),
                     1);
    lack(LACK_BEGIN);
    now += CLOCK_S;
    lack(LACK_NOTHING);
    now += 2 * CLOCK_S;
    lack(LACK_CLOCKS);
    assert_int_equal(notes(NULL), 1);
}
