// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A node alone: what it does with judgements of limits over all nodes, and with commands that make no sense. */
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "mdr/command/command_caller.h"
#include "mdr/message.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/opened_node.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

static const char text[] = "experiment: two\n"
                           "nodes: {a: {}, b: {}}\n"
                           "processes: [{name: p, node: a, command: [unused]}]\n"
                           "sensing: {forward: {accumulate: 7, or: 20 ms}}\n"
                           "limits:\n"
                           "  - {expect: sensor_cpu <= 1 %, per: global, on-violation: {snapshot: 1 s}}\n";

static int open_node(void **state)
{
    scratch_begin(state);
    return opened_node(text);
}

/* A peer that is gone. */
static const struct command_request asker_of_old = {.peer = {.size = 5, .id = "asker"}};

/* Whoever asked for its state is told at once of a limit that breaks, while the rest of the judgement is still to be
 * read. */
TEST_WITH(open_node, close_node, a_limit_that_breaks_leaves_the_rest_of_its_judgement_as_it_was)
{
    static struct message m;
    int64_t now = clock_now();
    node->asker = asker_of_old;
    node->has_asker = true;
    m.type = MESSAGE_JUDGEMENT;
    m.judgement = (struct message_judgement){
        .leadership = {.epoch = 1, .holder = 7}, .sequence = 1, .missing = {1 << 1}, .count = 1};
    m.judgement.list[0] = (struct message_judged){
        .limit = 0, .state = MESSAGE_LIMIT_VIOLATED, .value = 2, .worst = 2, .violated = CLOCK_S, .ago = 0};
    manager_client_receive(node, &asker_of_old, &m, now);
    assert_int_equal(node->judged.missing_since[0], 0);
    assert_int_equal(node->judged.missing_since[1], now);
    assert_int_equal(node->triggers.firings.count, 0);
    node_triggers_turn(node, now);
    const struct message_firing *f = &node->triggers.firings.list[0];
    assert_true(node->triggers.firings.count == 1 && f->trigger == 0 && f->count == 1 && f->value == 2);
    const struct message *told = command_server_message(server);
    assert_true(!node->triggers.firings.fresh && told->type == MESSAGE_REPLY && told->reply.id == 0);
    assert_int_equal(told->reply.node.firings[0].count, 1);
}

/* ---- Which judgements are taken ---------------------------------------------------------------------------------- */

static bool judge(uint64_t epoch, uint64_t holder, uint64_t sequence, uint64_t missing, int64_t now)
{
    static struct message m;
    uint64_t refused = node->judged.refused;
    m.type = MESSAGE_JUDGEMENT;
    m.judgement = (struct message_judgement){
        .leadership = {.epoch = epoch, .holder = holder}, .sequence = sequence, .missing = {missing}, .count = 2};
    m.judgement.list[0] = (struct message_judged){.limit = 0, .state = MESSAGE_LIMIT_HELD, .ago = -1};
    m.judgement.list[1] = (struct message_judged){.limit = 9, .state = MESSAGE_LIMIT_HELD, .ago = -1};
    manager_client_receive(node, &asker_of_old, &m, now);
    assert_in_range(node->judged.refused - refused, 0, 1);
    return node->judged.refused == refused;
}

TEST_WITH(open_node, close_node, judgements_of_a_former_manager_and_repeated_ones_are_refused)
{
    int64_t now = clock_now();
    assert_false(judge(0, 7, 1, 0, now));
    assert_true(judge(2, 7, 5, 0, now));
    assert_int_equal(node->judged.count, 1); /* the experiment has no limit 9 */
    assert_int_equal(node->judged.sequence, 5);
    assert_false(judge(2, 7, 5, 0, now));
    assert_false(judge(2, 7, 4, 0, now));
    assert_false(judge(2, 8, 6, 0, now)); /* another one of the same epoch */
    assert_false(judge(1, 9, 9, 0, now));
    assert_true(judge(2, 7, 6, 0, now));
    assert_true(judge(3, 9, 1, 0, now));
    node->managed.leadership.holder.epoch = 5; /* a manager whose setpoints the node has */
    assert_false(judge(4, 1, 1, 0, now));
    assert_true(judge(5, 1, 1, 0, now));
    assert_int_equal(node->judged.by.epoch, 5);
    node_drain(node);
    uint64_t ignored = node->managed.ignored;
    (void)judge(6, 1, 1, 0, now);
    assert_int_equal(node->managed.ignored, ignored + 1);
    assert_int_equal(node->judged.by.epoch, 5);
}

static void judge_unknown(uint64_t sequence, bool missing, int64_t held, int64_t unknown, int64_t now)
{
    static struct message m;
    m.type = MESSAGE_JUDGEMENT;
    m.judgement = (struct message_judgement){
        .leadership = {.epoch = 1, .holder = 7}, .sequence = sequence, .missing = {missing << 1}, .count = 1};
    m.judgement.list[0] = (struct message_judged){.limit = 0,
                                                  .state = missing ? MESSAGE_LIMIT_UNKNOWN : MESSAGE_LIMIT_HELD,
                                                  .held = held,
                                                  .unknown = unknown,
                                                  .ago = -1};
    manager_client_receive(node, &asker_of_old, &m, now);
}

/* The manager's first judgement of all was late: what it counts as unknown before is a gap. */
TEST_WITH(open_node, close_node, the_time_before_a_managers_first_judgement_was_not_judged)
{
    judge_unknown(1, false, 0, CLOCK_S, clock_now());
    assert_int_equal(node->judged.unjudged[0], CLOCK_S);
}

/* Nobody told this node what became of the time for which another one was told, or it in an earlier life. */
TEST_WITH(open_node, close_node, what_was_unknown_while_others_were_told_may_not_have_been_judged)
{
    int64_t now = clock_now();
    judge_unknown(9, false, CLOCK_S, 12 * CLOCK_S, now);
    assert_int_equal(node->judged.unjudged[0], 12 * CLOCK_S);
    judge_unknown(10, false, 2 * CLOCK_S, 12 * CLOCK_S, now + CLOCK_S);
    judge_unknown(40, false, 5 * CLOCK_S, 15 * CLOCK_S, now + 7 * CLOCK_S);
    assert_int_equal(node->judged.unjudged[0], 15 * CLOCK_S);
}

/* A limit over all nodes is unknown since one is missing: for long, that time counts as not judged. */
TEST_WITH(open_node, close_node, the_time_for_which_a_node_is_missing_was_not_judged)
{
    int64_t begin = clock_now();
    judge_unknown(1, false, CLOCK_S, 0, begin);
    assert_int_equal(node->judged.unjudged[0], 0);
    for (int64_t i = 1; i <= 100; i++)
        judge_unknown(1 + (uint64_t)i, true, CLOCK_S, i * CLOCK_S / 10, begin + i * CLOCK_S / 10);
    assert_int_equal(node->judged.unjudged[0], 10 * CLOCK_S);
    judge_unknown(102, false, CLOCK_S, 10 * CLOCK_S, begin + 10 * CLOCK_S);
    judge_unknown(103, true, CLOCK_S, 11 * CLOCK_S, begin + 11 * CLOCK_S); /* for a moment */
    judge_unknown(104, false, 2 * CLOCK_S, 11 * CLOCK_S, begin + 12 * CLOCK_S);
    assert_int_equal(node->judged.unjudged[0], 10 * CLOCK_S);
}

/* A judgement that held, where node `late`, from 1, was late; 0: none. */
static void judge_late(uint64_t sequence, uint32_t late, int64_t held, int64_t unknown, int64_t now)
{
    static struct message m;
    m.type = MESSAGE_JUDGEMENT;
    m.judgement = (struct message_judgement){.leadership = {.epoch = 1, .holder = 7},
                                             .sequence = sequence,
                                             .missing = {late ? UINT64_C(1) << (late - 1) : 0},
                                             .count = 1};
    m.judgement.list[0] =
        (struct message_judged){.limit = 0, .state = MESSAGE_LIMIT_HELD, .held = held, .unknown = unknown, .ago = -1};
    manager_client_receive(node, &asker_of_old, &m, now);
}

static const char *last_gap_note(void)
{
    const struct message_note *note = NULL;
    for (uint32_t i = 0; i < external_note_count(node->external); i++)
        if (strcmp(external_note(node->external, i)->code, "BEZEL-LIMIT-GAP") == 0)
            note = external_note(node->external, i);
    return note ? note->text : "";
}

/* A note names who was silent while nobody judged a limit over all nodes, also at the end. */
TEST_WITH(open_node, close_node, the_cause_of_a_time_that_nobody_judged_is_noted)
{
    const int64_t gap = 10 * CLOCK_S;
    int64_t now = clock_now();
    judge_late(1, 0, CLOCK_S, 0, now);
    for (int i = 1; i < 10; i++)
        judge_late(1 + (uint64_t)i, 2, CLOCK_S, 0, now += gap / 10); /* nothing is judged, for it waits */
    assert_string_equal(last_gap_note(), "");
    judge_late(11, 0, CLOCK_S, gap, now += gap / 10);
    assert_non_null(strstr(last_gap_note(), "was not judged for 10.0 s: node b was silent"));
    assert_int_equal(node->judged.unjudged[0], gap);
    judge_late(12, 2, CLOCK_S, gap, now += 2 * gap); /* the first word of it, before the nodes' */
    judge_late(13, 0, CLOCK_S, 3 * gap, now += CLOCK_MS);
    assert_non_null(strstr(last_gap_note(), "was not judged for 20.0 s: nothing came from bezel-resmgr"));
    assert_int_equal(node->judged.unjudged[0], 3 * gap);
    global_limits_end(node, now + 5 * gap);
    assert_non_null(strstr(last_gap_note(), "was not judged for 50.0 s: nothing came from bezel-resmgr"));
}

static unsigned notes_of_missing(void)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < external_note_count(node->external); i++)
        n += strcmp(external_note(node->external, i)->code, "BEZEL-GLOBAL-MISSING") == 0;
    return n;
}

TEST_WITH(open_node, close_node, a_node_that_is_missing_for_long_is_noted_once_each_time)
{
    int64_t begin = clock_now(), long_ = 2 * CLOCK_S + experiment_limit_window(experiment, &experiment->limits[0]);
    uint64_t sequence = 0;
    assert_true(judge(1, 7, ++sequence, 1 << 1, begin));
    assert_true(judge(1, 7, ++sequence, 1 << 1, begin + long_ - 1));
    assert_int_equal(notes_of_missing(), 0);
    assert_true(judge(1, 7, ++sequence, 1 << 1, begin + long_));
    assert_int_equal(notes_of_missing(), 1);
    assert_non_null(
        strstr(external_note(node->external, external_note_count(node->external) - 1)->text, "node b for "));
    assert_true(judge(1, 7, ++sequence, 1 << 1, begin + 3 * long_));
    assert_int_equal(node->judged.missing_since[1], -1);
    assert_true(judge(1, 7, ++sequence, 0, begin + 4 * long_)); /* it is back */
    assert_int_equal(node->judged.missing_since[1], 0);
    assert_true(judge(1, 7, ++sequence, 1 << 1, begin + 5 * long_));
    assert_int_equal(node->judged.missing_since[1], begin + 5 * long_);
    assert_int_equal(node->judged.missing_since[0], 0);
    assert_int_equal(notes_of_missing(), 1);
}

/* ---- Commands at its control link -------------------------------------------------------------------------------- */

static struct command_caller asker;
static struct message answer;

static int open_asker(void **state)
{
    int err = open_node(state);
    return err ? err : command_caller_open(&asker, control, (struct command_caller_access){0}, node->options.run, "a");
}

static int close_asker(void **state)
{
    command_caller_close(&asker, 0);
    return close_node(state);
}

static void send_bytes(const uint8_t *bytes, int n)
{
    int64_t deadline = clock_now() + PATIENCE;
    int err;
    assert_true(n > 0);
    while ((err = link_send(asker.link, NULL, bytes, (size_t)n)) == BEZEL_EAGAIN && clock_now() < deadline)
        sched_yield(); /* ZeroMQ has not yet noticed that its queue is empty */
    assert_int_equal(err, 0);
}

/* Whether an answer came, within the patience of a test where one is `wanted`. It is in `answer` then. */
static bool hear(bool wanted)
{
    struct command_request from;
    int64_t deadline = clock_now() + (wanted ? PATIENCE : 50 * CLOCK_MS);
    while (clock_now() < deadline) {
        for (int budget = 8; command_server_receive(server, &budget, &from);)
            node_receive(node, &from);
        int err = command_caller_receive(&asker, &answer);
        assert_true(err == 0 || err == BEZEL_EAGAIN);
        if (!err)
            return true;
        link_wait(&asker.link, 1, NULL, 0, CLOCK_MS);
    }
    return false;
}

/* Sends a command, once the daemon has introduced itself, and waits for its REPLY. */
static const struct message_reply *ask(struct message_command command)
{
    static struct message m;
    int64_t deadline = clock_now() + PATIENCE;
    int sent;
    m.command = command;
    while (((sent = command_caller_send(&asker, &m)) == 0 || sent == BEZEL_EAGAIN) && clock_now() < deadline)
        assert_true(sent != 0 || hear(true)); /* not sent: ZeroMQ has not yet noticed that its queue is empty */
    assert_true(sent > 0);
    assert_true(hear(true));
    assert_int_equal(answer.type, MESSAGE_REPLY);
    assert_int_equal(answer.reply.id, sent);
    return &answer.reply;
}

TEST_WITH(open_asker, close_asker, what_is_no_command_is_dropped_and_one_of_another_version_refused)
{
    struct message m = {.type = MESSAGE_HEARTBEAT};
    uint8_t bytes[256];
    int64_t before = node_last_received(node);
    send_bytes(bytes, message_encode(&m, bytes, sizeof bytes));
    send_bytes((const uint8_t *)"no message", 10);
    assert_false(hear(false));
    bytes[7]++; /* its format */
    send_bytes(bytes, 24);
    assert_true(hear(true));
    assert_int_equal(answer.type, MESSAGE_REFUSE);
    assert_non_null(strstr(answer.refuse.reason, "version"));
    assert_int_equal(node_last_received(node), before); /* none of these is a sign of `bezel run` */
    const struct message_reply *r = ask((struct message_command){.verb = VERB_QUERY});
    assert_int_equal(r->answer, ANSWER_NODE);
    assert_int_equal(r->state, DAEMON_STARTING); /* it has no collector */
    assert_true(node_last_received(node) > before);
}

/* The node goes on until its run ends it; and only `bezel run` keeps the session alive. */
TEST_WITH(open_asker, close_asker, another_operators_stop_is_passed_on_to_the_run)
{
    struct message_leadership owner = {.epoch = 2, .holder = 7};
    assert_false(ask((struct message_command){.verb = VERB_QUERY})->node.stop_wanted);
    node_set_owner(node, owner);
    int64_t before = node_last_received(node);
    const struct message_reply *r = ask((struct message_command){.verb = VERB_STOP});
    assert_int_equal(r->answer, ANSWER_NODE);
    assert_int_equal(r->state, DAEMON_STARTING);
    assert_true(r->node.stop_wanted);
    assert_false(node_draining(node));
    assert_int_equal(node_last_received(node), before);
    asker.owner = owner;
    assert_int_not_equal(ask((struct message_command){.verb = VERB_STOP})->state, DAEMON_STARTING);
    assert_true(node_draining(node));
    assert_true(node_last_received(node) > before);
}

TEST_WITH(open_asker, close_asker, who_asked_for_the_state_is_told_at_once_of_a_limit_that_breaks)
{
    static struct message m;
    assert_int_equal(ask((struct message_command){.verb = VERB_QUERY})->node.firing_count, 0);
    m.type = MESSAGE_JUDGEMENT;
    m.judgement = (struct message_judgement){.leadership = {.epoch = 1, .holder = 7}, .sequence = 1, .count = 1};
    m.judgement.list[0] =
        (struct message_judged){.state = MESSAGE_LIMIT_VIOLATED, .value = 2, .worst = 2, .violated = CLOCK_S};
    manager_client_receive(node, &asker_of_old, &m, clock_now());
    node_triggers_turn(node, clock_now());
    assert_true(hear(true));
    assert_true(answer.type == MESSAGE_REPLY && answer.reply.id == 0);
    assert_int_equal(answer.reply.node.firings[0].count, 1);
    node_triggers_turn(node, clock_now());
    assert_false(hear(false));
}

/* Where a clock jumps it drains, to go on in a new trace. Its run may end it all the same. */
static void drains_to_go_on_until(enum message_verb verb)
{
    assert_true(node_new_trace_due(node) == INT64_MAX);
    node->clock.new_trace = true;
    assert_true(node_new_trace_due(node) == node->clock.began + 5 * CLOCK_S);
    assert_false(node_wants_new_trace(node)); /* it has no collector, to which the old trace could go */
    node_part(node);
    assert_true(node_draining(node) && node->goes_on && node->external->goes_on);
    assert_false(node_parted(node));
    assert_int_not_equal(ask((struct message_command){.verb = verb})->state, DAEMON_STARTING);
    assert_true(node_draining(node) && !node->goes_on && !node->external->goes_on);
    assert_false(node_parted(node));
}

TEST_WITH(open_asker, close_asker, a_node_that_drains_to_go_on_is_ended_by_its_run)
{
    drains_to_go_on_until(VERB_STOP);
}

TEST_WITH(open_asker, close_asker, a_node_that_drains_to_go_on_is_closed_by_its_run)
{
    drains_to_go_on_until(VERB_SHUTDOWN);
}

TEST_WITH(open_asker, close_asker, what_makes_no_sense_is_refused_with_the_reason)
{
    const struct message_reply *r = ask(
        (struct message_command){.verb = VERB_SAVE, .save = {.number = 1, .trigger = 1, .node = "a", .left = CLOCK_S}});
    assert_int_equal(r->answer, ANSWER_REFUSED);
    assert_string_equal(r->text, "trigger 2 asks for no such snapshot");
    r = ask((struct message_command){.verb = VERB_SAVE,
                                     .save = {.number = 1, .trigger = 0, .node = "a", .left = CLOCK_S + 1}});
    assert_int_equal(r->answer, ANSWER_REFUSED);
    r = ask(
        (struct message_command){.verb = VERB_SAVE, .save = {.number = 1, .trigger = 0, .node = "a", .left = CLOCK_S}});
    assert_int_equal(r->answer, ANSWER_NODE);
    struct message_command aspects = {.verb = VERB_SET, .subject = SUBJECT_ASPECTS, .mode = ASPECT_OFF};
    snprintf(aspects.patterns, sizeof aspects.patterns, "good [bad");
    r = ask(aspects);
    assert_int_equal(r->answer, ANSWER_REFUSED);
    assert_string_equal(r->text, "one of the patterns is malformed: no aspect can match it");
    assert_int_equal(node->aspect_steering.rules.count, 0); /* neither is taken */
    for (int i = 0; i < 10000 && r->text[0] != 't'; i++) {
        snprintf(aspects.patterns, sizeof aspects.patterns, "aspect_%d", i);
        r = ask(aspects);
    }
    assert_int_equal(r->answer, ANSWER_REFUSED);
    assert_string_equal(r->text, "too many rules on aspects: replace them all by one for '*'");
    snprintf(aspects.patterns, sizeof aspects.patterns, "*");
    assert_int_equal(ask(aspects)->answer, ANSWER_ASPECTS);
    assert_int_equal(node->aspect_steering.rules.count, 1);
}

/* ---- Pausing ----------------------------------------------------------------------------------------------------- */

static unsigned notes_with(const char *code)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < external_note_count(node->external); i++)
        n += strcmp(external_note(node->external, i)->code, code) == 0;
    return n;
}

TEST_WITH(open_asker, close_asker, paused_it_collects_nothing_until_it_resumes_whatever_the_policy_says)
{
    assert_true(node->external->collecting);
    for (int i = 0; i < 2; i++) /* twice is once */
        assert_int_equal(ask((struct message_command){.verb = VERB_PAUSE})->state, DAEMON_PAUSED);
    assert_false(node->external->collecting);
    assert_int_equal(notes_with("BEZEL-PAUSED"), 1);
    struct agent_outcome on = {.action = POLICY_RESUME, .after = node->policy};
    node_carry_out(node, &on, &(struct node_decider){.who = DECIDED_BY_AGENT}, clock_now());
    assert_false(node->external->collecting);
    assert_int_equal(node_due(node) == INT64_MIN, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ask((struct message_command){.verb = VERB_RESUME})->state, DAEMON_STARTING);
    assert_true(node->external->collecting);
    assert_int_equal(notes_with("BEZEL-RESUMED"), 1);
    struct agent_outcome off = {.action = POLICY_OFF, .after = node->policy};
    off.after.on = false;
    node_carry_out(node, &off, &(struct node_decider){.who = DECIDED_BY_AGENT}, clock_now());
    (void)ask((struct message_command){.verb = VERB_PAUSE});
    (void)ask((struct message_command){.verb = VERB_RESUME});
    assert_false(node->external->collecting); /* the policy has turned it off */
}

/* Whether a record of the node itself waits, which accumulates if it was not taken. */
static bool own_records_wait(void)
{
    for (uint32_t i = 0; i < external_process_count(node->external); i++)
        if (packetize_waits(external_process(node->external, i)))
            return true;
    return false;
}

static void let_records_wait(void)
{
    node->external->accumulate = (struct accumulate){.records = 1000, .longest = 10 * CLOCK_S};
    external_flush(node->external, clock_now());
    node_record_sample(node);
    assert_int_equal(external_poll(node->external, clock_now()), 0);
    assert_true(own_records_wait());
}

TEST_WITH(open_node, close_node, what_was_recorded_before_it_is_paused_or_turned_off_is_taken)
{
    struct agent_outcome off = {.action = POLICY_OFF, .after = node->policy};
    off.after.on = false;
    assert_int_equal(node->external->accumulate.records, 7); /* as the file says */
    assert_int_equal(node->external->accumulate.longest, 20 * CLOCK_MS);
    let_records_wait();
    node_pause(node, true, clock_now());
    assert_false(own_records_wait());
    node_pause(node, false, clock_now());
    let_records_wait();
    node_carry_out(node, &off, &(struct node_decider){.who = DECIDED_BY_AGENT}, clock_now());
    assert_false(own_records_wait());
}

TEST_WITH(open_asker, close_asker, a_restarted_daemon_is_still_paused_and_a_drained_one_is_not)
{
    struct node_options options = node->options;
    (void)ask((struct message_command){.verb = VERB_PAUSE});
    node_shut(node, false);
    node_close(node);
    assert_int_equal(node_open(&options, &node), 0);
    assert_true(node->pause.on);
    assert_false(node->external->collecting);
    (void)ask((struct message_command){.verb = VERB_RESUME});
    node_shut(node, false);
    node_close(node);
    assert_int_equal(node_open(&options, &node), 0);
    assert_false(node->pause.on);
    assert_true(node->external->collecting);
    node_drain(node);
    assert_int_not_equal(ask((struct message_command){.verb = VERB_PAUSE})->state, DAEMON_PAUSED);
    assert_false(node->pause.on);
}

/* Killed while it drains to go on, it drains again at once when it is started again; but not if its run has ended it.
 */
TEST_WITH(open_asker, close_asker, a_restarted_daemon_still_goes_on_in_a_new_trace)
{
    struct node_options options = node->options;
    for (int ended = 0; ended < 2; ended++) {
        node_part(node);
        if (ended)
            (void)ask((struct message_command){.verb = VERB_STOP});
        node_shut(node, false);
        node_close(node);
        assert_int_equal(node_open(&options, &node), 0);
        assert_true(ended ? node_new_trace_due(node) == INT64_MAX : node_new_trace_due(node) <= clock_now());
    }
}

TEST_WITH(open_asker, close_asker, stop_ends_it_at_once_where_nothing_is_drained_and_twice_is_once)
{
    assert_false(node_stopped(node));
    (void)ask((struct message_command){.verb = VERB_SHUTDOWN});
    assert_true(node_stopped(node));
    int64_t by = node->stop_by;
    node_stop(node);
    assert_int_equal(node->stop_by, by);
}
