// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A node that a resource manager decides for: what it tells the manager, whose setpoints it follows, and what it
 * records of them. What it sends is taken on its way to the link, and what it records on its way to the journal
 * (--wrap).
 */
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "mdr/message.h"
#include "resmgr/manager/manager.h"
#include "tests/lib/opened_node.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include <math.h>
#include <string.h>

/* ---- What leaves the node ---------------------------------------------------------------------------------------- */

enum { SENT_MAX = 8, CONCLUSIONS_MAX = 16 };

static struct {
    uint32_t count;
    struct {
        enum message_type type;
        char peer; /* the first character of its name */
    } list[SENT_MAX];
    struct message_observation observation; /* the last one */
    struct message_partials partials;
    int result;
} sent;

int __wrap_command_server_send(struct command_server *c, const struct command_request *to, const uint8_t source[16]);
int __wrap_command_server_send(struct command_server *c, const struct command_request *to, const uint8_t source[16])
{
    const struct message *m = command_server_message(c);
    (void)source;
    assert_true(sent.count < SENT_MAX);
    sent.list[sent.count].type = m->type;
    sent.list[sent.count++].peer = (char)to->peer.id[0];
    if (m->type == MESSAGE_OBSERVATION)
        sent.observation = m->observation;
    else
        sent.partials = m->partials;
    return sent.result;
}

static struct {
    uint32_t conclusions, setpoints, decisions, rules;
    struct builtin_conclusion conclusion[CONCLUSIONS_MAX];
    struct builtin_setpoints setpoint;
    struct builtin_decision decision;
} recorded;

void __wrap_own_trace_record_conclusion(struct journal *j, const struct builtin_conclusion *r);
void __wrap_own_trace_record_conclusion(struct journal *j, const struct builtin_conclusion *r)
{
    (void)j;
    assert_true(recorded.conclusions < CONCLUSIONS_MAX);
    recorded.conclusion[recorded.conclusions++] = *r;
}

void __wrap_own_trace_record_setpoints(struct journal *j, const struct builtin_setpoints *r);
void __wrap_own_trace_record_setpoints(struct journal *j, const struct builtin_setpoints *r)
{
    (void)j;
    recorded.setpoints++;
    recorded.setpoint = *r;
}

void __wrap_own_trace_record_decision(struct journal *j, const struct builtin_decision *r);
void __wrap_own_trace_record_decision(struct journal *j, const struct builtin_decision *r)
{
    (void)j;
    recorded.decisions++;
    recorded.decision = *r;
}

void __real_external_set_rules(struct external *x);
void __wrap_external_set_rules(struct external *x);
void __wrap_external_set_rules(struct external *x)
{
    recorded.rules++;
    __real_external_set_rules(x);
}

static void forget(void)
{
    memset(&sent, 0, sizeof sent);
    memset(&recorded, 0, sizeof recorded);
}

/* ---- The node ---------------------------------------------------------------------------------------------------- */

/* Limits 0 and 1 bound the monitors of all nodes, 0 the stricter; 4 is only judged, 6 is about something else. */
#define LIMITS(hold)                                                                                                   \
    "metrics: {fps: {rate: frame, window: 100 ms, per: node}}\n"                                                       \
    "limits:\n"                                                                                                        \
    "  - {" hold ": sensor_cpu <= 30 %, per: global}\n"                                                                \
    "  - {" hold ": sensor_cpu <= 50 %, per: global}\n"                                                                \
    "  - {hold: sensor_cpu <= 10 %}\n"                                                                                 \
    "  - {expect: fps >= 25}\n"                                                                                        \
    "  - {expect: sensor_cpu <= 1 %, per: global}\n"                                                                   \
    "  - {hold: fps >= 20}\n"                                                                                          \
    "  - {" hold ": fps >= 18, per: global}\n"

static const char managed[] =
    "experiment: managed\n"
    "nodes: {a: {}, b: {}}\n"
    "processes: [{name: p, node: a, command: [unused]}]\n"
    "sensing: {poll: {period: 1 ms}, aspects: {importance: {'*': 5, 'debug_*': 1, 'info_*': 3}}}\n" LIMITS(
        "hold") "adapt: {by: manager, every: 100 ms}\n";
static const char judged[] =
    "experiment: managed\n"
    "nodes: {a: {}, b: {}}\n"
    "processes: [{name: p, node: a, command: [unused]}]\n" LIMITS("expect") "adapt: {by: node}\n";

static int64_t now;

static int open_node_of(void **state, const char *text)
{
    scratch_begin(state);
    int err = opened_node(text);
    now = clock_now();
    forget();
    static const char *const aspects[] = {"debug_x", "info_x", "other"};
    for (int i = 0; !err && i < 3; i++)
        agent_received_from(node->agent, aspects[i]);
    return err;
}

static int open_managed(void **state)
{
    return open_node_of(state, managed);
}

static int open_judged(void **state)
{
    return open_node_of(state, judged);
}

/* A connection of a manager. */
static struct command_request connection(char name)
{
    struct command_request r = {.peer = {.size = 1}};
    r.peer.id[0] = (uint8_t)name;
    return r;
}

static struct message m; /* too large for a stack */

static void watch(char from)
{
    struct command_request peer = connection(from);
    m.type = MESSAGE_WATCH;
    manager_client_receive(node, &peer, &m, now);
}

/* A setpoint that answers what the node said just now. */
static struct message_setpoint *setpoint(uint64_t epoch, uint64_t sequence)
{
    m.type = MESSAGE_SETPOINT;
    m.setpoint = (struct message_setpoint){.leadership = {.epoch = epoch, .holder = 7},
                                           .sequence = sequence,
                                           .life = node->managed.leadership.life,
                                           .answers = (uint64_t)now,
                                           .expiry = MANAGER_EXPIRY,
                                           .lasts = MANAGER_LASTS,
                                           .on = true,
                                           .period_ns = CLOCK_MS,
                                           .cause = -1};
    return &m.setpoint;
}

/* Whether it is applied. */
static bool arrives(char from)
{
    struct command_request peer = connection(from);
    uint64_t before = node->managed.leadership.answered[LEADERSHIP_APPLIED];
    manager_client_receive(node, &peer, &m, now);
    return node->managed.leadership.answered[LEADERSHIP_APPLIED] > before;
}

/* A sampling instant, at which the monitor used `cpu` percent. What was sent before is forgotten. */
static void sample(double cpu)
{
    sent.count = 0;
    now += 100 * CLOCK_MS;
    node->usage.measured =
        (struct policy_measure){.cpu = cpu, .polls = 900, .records = 4000, .elapsed = 100 * CLOCK_MS + 1};
    manager_client_sample(node, agent_step(node->agent, now, &node->usage.measured), now);
}

static void assert_sent(const char *peers)
{
    uint32_t expected = (uint32_t)strlen(peers);
    assert_int_equal(sent.count, 2 * expected);
    for (uint32_t i = 0; i < sent.count; i++) { /* each time first the partials of global limits */
        assert_int_equal(sent.list[i].type, i % 2 == 0 ? MESSAGE_PARTIALS : MESSAGE_OBSERVATION);
        assert_int_equal(sent.list[i].peer, peers[i / 2]);
    }
    sent.count = 0;
}

/* ---- Observations ------------------------------------------------------------------------------------------------ */

TEST_WITH(open_managed, close_node, before_the_first_instant_nothing_is_measured)
{
    watch('x');
    assert_sent("x");
    const struct message_observation *o = &sent.observation;
    assert_int_equal(o->life, node->managed.leadership.life);
    assert_int_equal(o->at, now);
    assert_int_equal(o->step, 0);
    assert_int_equal(o->leadership.epoch, 0);
    assert_int_equal(o->overrides, 0);
    assert_true(o->on && !o->settled);
    assert_int_equal(o->period_ns, CLOCK_MS);
    assert_int_equal(o->elapsed, 0);
    assert_int_equal(sent.partials.count, 0);
    assert_int_equal(sent.partials.at, now);
    sample(5);
    assert_sent(""); /* nobody decides yet */
}

TEST_WITH(open_managed, close_node, an_observation_has_what_was_measured_and_how_each_hold_limit_of_the_node_stands)
{
    setpoint(3, 4)->period_ns = 2 * CLOCK_MS;
    m.setpoint.shed = 1;
    assert_true(arrives('x'));
    assert_sent("");
    for (int i = 0; i < 40; i++) {
        sample(12.5);
        assert_sent("x");
    }
    const struct message_observation *o = &sent.observation;
    assert_int_equal(o->at, now);
    assert_int_equal(o->step, 40);
    assert_int_equal(o->leadership.epoch, 3);
    assert_int_equal(o->leadership.holder, 7);
    assert_int_equal(o->sequence, 4);
    assert_int_equal(o->period_ns, 2 * CLOCK_MS);
    assert_int_equal(o->desired_ns, CLOCK_MS);
    assert_int_equal(o->levels, 2);
    assert_int_equal(o->shed, 1);
    assert_true(o->on && o->settled);
    assert_true(o->cpu == 12.5 && o->polls == 900 && o->records == 4000);
    assert_int_equal(o->elapsed, 100 * CLOCK_MS + 1);
    assert_int_equal(o->limit_count, 2);
    assert_int_equal(o->limits[0].limit, 2);
    assert_int_equal(o->limits[0].state, MESSAGE_LIMIT_VIOLATED);
    assert_true(fabs(o->limits[0].value - 12.5) < 1e-6);
    assert_int_equal(o->limits[1].limit, 5);
    assert_int_equal(o->limits[1].state, MESSAGE_LIMIT_UNKNOWN);
    assert_int_equal(sent.partials.step, 40);
    assert_int_equal(sent.partials.life, o->life);
    static const uint32_t global[] = {0, 1, 4, 6};
    assert_int_equal(sent.partials.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(sent.partials.list[i].limit, global[i]);
        assert_int_equal(sent.partials.list[i].state == PARTIAL_KNOWN, i < 3);
        assert_true(i == 3 || fabs(sent.partials.list[i].value - 12.5) < 1e-6);
    }
    for (int i = 0; i < 40; i++)
        sample(9.5);
    assert_int_equal(sent.observation.limits[0].state, MESSAGE_LIMIT_HELD);
}

TEST_WITH(open_managed, close_node, between_two_instants_the_manager_hears_of_the_node_too)
{
    manager_client_heartbeat(node, now + 1000 * CLOCK_S);
    assert_sent("");
    setpoint(1, 1);
    assert_true(arrives('x'));
    manager_client_heartbeat(node, now + MANAGER_HEARTBEAT - 1);
    assert_sent("");
    manager_client_heartbeat(node, now + MANAGER_HEARTBEAT);
    assert_sent("x");
    assert_int_equal(sent.observation.at, now + MANAGER_HEARTBEAT);
    manager_client_heartbeat(node, now + 2 * MANAGER_HEARTBEAT - 1);
    assert_sent("");
    setpoint(1, 2); /* does not postpone it */
    assert_true(arrives('x'));
    manager_client_heartbeat(node, now + 2 * MANAGER_HEARTBEAT);
    assert_sent("x");
    now += 2 * MANAGER_HEARTBEAT;
    sample(5); /* does */
    assert_sent("x");
    manager_client_heartbeat(node, now + MANAGER_HEARTBEAT - 1);
    assert_sent("");
    node_drain(node);
    manager_client_heartbeat(node, now + 1000 * CLOCK_S);
    assert_sent("");
}

TEST_WITH(open_managed, close_node, what_is_not_settled_says_so_for_one_interval)
{
    setpoint(1, 1);
    assert_true(arrives('x')); /* as it polls already */
    sample(5);
    assert_true(sent.observation.settled);
    setpoint(1, 2)->period_ns = 3 * CLOCK_MS;
    assert_true(arrives('x'));
    sample(5);
    assert_false(sent.observation.settled);
    sample(5);
    assert_true(sent.observation.settled);
    setpoint(1, 3)->period_ns = 3 * CLOCK_MS;
    m.setpoint.shed = 2;
    assert_true(arrives('x'));
    sample(5);
    assert_false(sent.observation.settled);
    sample(5);
    assert_true(sent.observation.settled);
    manager_client_override(node, now);
    sample(5);
    assert_false(sent.observation.settled);
    assert_int_equal(sent.observation.overrides, 1);
    sample(5);
    assert_true(sent.observation.settled);
    sent.count = 0;
    setpoint(1, 4)->answers = (uint64_t)now - 200 * CLOCK_MS - 1; /* to an observation before the override */
    assert_false(arrives('x'));
    setpoint(1, 4)->answers = (uint64_t)now - 200 * CLOCK_MS;
    assert_true(arrives('x'));
}

/* ---- Who decides ------------------------------------------------------------------------------------------------- */

TEST_WITH(open_managed, close_node, a_manager_that_is_gone_is_not_written_to_until_one_writes)
{
    setpoint(1, 1);
    assert_true(arrives('x'));
    sent.result = BEZEL_EAGAIN; /* its queue is full: it is there */
    sample(5);
    assert_sent("x");
    assert_int_equal(node->managed.unsent, 2);
    sent.result = BEZEL_EUNREACH;
    sample(5);
    assert_sent("x");
    assert_int_equal(node->managed.unsent, 4);
    sample(5);
    manager_client_heartbeat(node, now + 1000 * CLOCK_S);
    assert_sent("");
    sent.result = 0;
    setpoint(1, 2);
    assert_true(arrives('y'));
    manager_client_heartbeat(node, now + MANAGER_HEARTBEAT);
    assert_sent("y");
    assert_int_equal(node->managed.unsent, 4);
}

/* Twice is not once: it connects again, and once more before it was sent anything over the second connection. */
TEST_WITH(open_managed, close_node, observations_go_to_the_connection_of_the_newest_setpoint)
{
    setpoint(1, 1);
    assert_true(arrives('x'));
    setpoint(1, 2);
    assert_true(arrives('y'));
    setpoint(1, 3);
    assert_true(arrives('z'));
    setpoint(1, 2); /* what the second connection brought late */
    assert_false(arrives('y'));
    sample(5);
    assert_sent("z");
    watch('y'); /* is answered, and nothing else */
    assert_sent("y");
    sample(5);
    assert_sent("z");
    assert_int_equal(sent.observation.sequence, 3);
    setpoint(2, 1)->period_ns = 5 * CLOCK_MS;
    assert_true(arrives('n'));
    setpoint(1, 4)->period_ns = 9 * CLOCK_MS; /* a manager that was replaced goes on */
    assert_false(arrives('z'));
    assert_int_equal(node->policy.period, 5 * CLOCK_MS);
    sample(5);
    assert_sent("n");
    assert_int_equal(sent.observation.leadership.epoch, 2);
    struct message_managed status = node_manager_status(node);
    assert_true(status.held);
    assert_int_equal(status.epoch, 2);
    assert_int_equal(status.applied, 4);
}

TEST_WITH(open_managed, close_node, a_restarted_node_follows_no_manager_that_was_replaced)
{
    struct node_options options = node->options;
    setpoint(2, 1);
    assert_true(arrives('x'));
    for (int times = 0; times < 2; times++) { /* it is killed again, before any manager was heard */
        node_shut(node, false);
        node_close(node);
        assert_int_equal(node_open(&options, &node), 0);
        now = clock_now();
        forget();
        assert_int_equal(node->managed.leadership.holder.epoch, 2);
        assert_int_equal(node->managed.leadership.holder.holder, 7);
        assert_false(node_manager_status(node).held);
        sample(5);
        manager_client_heartbeat(node, now + 1000 * CLOCK_S);
        assert_sent("");
    }
    setpoint(1, 9);
    assert_false(arrives('x'));
    setpoint(2, 2)->life--; /* that the earlier bezeld was sent */
    assert_false(arrives('x'));
    setpoint(2, 2);
    assert_true(arrives('x'));
    assert_int_equal(recorded.decisions, 0);
}

/* ---- Setpoints --------------------------------------------------------------------------------------------------- */

TEST_WITH(open_managed, close_node, a_setpoint_is_carried_out_and_recorded_with_its_reason)
{
    setpoint(3, 5)->period_ns = 4 * CLOCK_MS;
    m.setpoint.cause = 2;
    assert_true(arrives('x'));
    assert_int_equal(node->policy.period, 4 * CLOCK_MS);
    assert_int_equal(recorded.decisions, 1);
    assert_int_equal(recorded.decision.action, POLICY_LENGTHEN);
    assert_int_equal(recorded.decision.before, CLOCK_MS);
    assert_int_equal(recorded.decision.after, 4 * CLOCK_MS);
    assert_int_equal(recorded.decision.cause, 2);
    assert_int_equal(recorded.decision.by, DECIDED_BY_MANAGER);
    assert_int_equal(recorded.decision.epoch, 3);
    assert_int_equal(recorded.decision.sequence, 5);
    setpoint(3, 6)->period_ns = 3 * CLOCK_MS;
    m.setpoint.cause = 7; /* the experiment has limits 0 to 6 */
    assert_true(arrives('x'));
    assert_int_equal(recorded.decision.cause, -1);
    setpoint(3, 7)->period_ns = 2 * CLOCK_MS;
    m.setpoint.cause = -2;
    assert_true(arrives('x'));
    assert_int_equal(recorded.decision.cause, -1);
    setpoint(3, 8)->on = false;
    m.setpoint.cause = 5;
    assert_true(arrives('x'));
    assert_int_equal(recorded.decision.action, POLICY_OFF);
    assert_int_equal(recorded.decision.cause, 5);
    assert_false(node->policy.on);
    assert_int_equal(recorded.decisions, 4);
}

static void assert_concluded(uint32_t i, struct builtin_conclusion expected)
{
    const struct builtin_conclusion *c = &recorded.conclusion[i];
    assert_true(i < recorded.conclusions);
    assert_int_equal(c->what, expected.what);
    assert_int_equal(c->holds, expected.holds);
    assert_int_equal(c->limit, expected.limit);
    assert_int_equal(c->floor, expected.floor);
    assert_true(isnan(expected.needed) ? isnan(c->needed) : c->needed == expected.needed);
    assert_true(isnan(expected.budget) ? isnan(c->budget) : c->budget == expected.budget);
}

static void conclude(uint64_t sequence, enum message_infeasible infeasible, bool not_the_monitors, bool starved)
{
    setpoint(1, sequence)->infeasible = infeasible;
    m.setpoint.needed = 45.5;
    m.setpoint.budget = 30;
    m.setpoint.not_the_monitors = not_the_monitors;
    m.setpoint.starved = starved;
    assert_true(arrives('x'));
}

TEST_WITH(open_managed, close_node, what_a_manager_concludes_is_recorded_where_it_changes)
{
    conclude(1, MESSAGE_FEASIBLE, false, false);
    assert_int_equal(recorded.conclusions, 0);
    conclude(2, MESSAGE_INFEASIBLE_GLOBAL, false, false); /* for the strictest limit on all monitors together */
    conclude(3, MESSAGE_INFEASIBLE_GLOBAL, false, false);
    conclude(4, MESSAGE_FEASIBLE, false, false);
    conclude(5, MESSAGE_INFEASIBLE, true, false); /* for a limit of the node */
    conclude(6, MESSAGE_INFEASIBLE, true, true);
    conclude(7, MESSAGE_INFEASIBLE, false, true);
    conclude(8, MESSAGE_INFEASIBLE, false, false);
    assert_int_equal(recorded.conclusions, 7);
    assert_concluded(0, (struct builtin_conclusion){
                            .what = CONCLUSION_INFEASIBLE, .holds = true, .limit = 0, .needed = 45.5, .budget = 30});
    assert_concluded(
        1, (struct builtin_conclusion){.what = CONCLUSION_INFEASIBLE, .limit = -1, .needed = NAN, .budget = NAN});
    assert_concluded(2, (struct builtin_conclusion){
                            .what = CONCLUSION_INFEASIBLE, .holds = true, .limit = -1, .needed = 45.5, .budget = 30});
    static const struct builtin_conclusion rest[] = {{.what = CONCLUSION_NOT_THE_MONITORS, .holds = true},
                                                     {.what = CONCLUSION_STARVED, .holds = true},
                                                     {.what = CONCLUSION_NOT_THE_MONITORS},
                                                     {.what = CONCLUSION_STARVED}};
    for (uint32_t i = 0; i < 4; i++) {
        struct builtin_conclusion expected = rest[i];
        expected.limit = -1;
        expected.needed = expected.budget = NAN;
        assert_concluded(3 + i, expected);
    }
}

TEST_WITH(open_managed, close_node, load_shedding_is_recorded_with_the_importance_that_is_left)
{
    static const uint32_t sheds[] = {1, 1, 2, 0};
    for (uint32_t i = 0; i < 4; i++) {
        setpoint(1, i + 1)->shed = sheds[i];
        assert_true(arrives('x'));
        assert_int_equal(node_load_shedding(node, "debug_x"), sheds[i] >= 1);
        assert_int_equal(node_load_shedding(node, "info_x"), sheds[i] >= 2);
        assert_false(node_load_shedding(node, "other"));
    }
    assert_int_equal(recorded.conclusions, 3);
    assert_int_equal(recorded.rules, 3); /* each time the sensor is told */
    static const int floors[] = {3, 5, 0};
    for (uint32_t i = 0; i < 3; i++)
        assert_concluded(i, (struct builtin_conclusion){.what = CONCLUSION_LOAD_SHEDDING,
                                                        .holds = i < 2,
                                                        .limit = -1,
                                                        .needed = NAN,
                                                        .budget = NAN,
                                                        .floor = floors[i]});
}

TEST_WITH(open_managed, close_node, a_limit_of_the_node_that_breaks_is_recorded_once)
{
    for (int i = 0; i < 2000 && recorded.conclusions == 0; i++) {
        sample(20);
        node_record_conclusions(
            node, agent_apply(node->agent, node->policy, 0,
                              &(struct policy_actions){.members = &(struct policy_member_actions){0}}, -1));
    }
    assert_int_equal(recorded.conclusions, 1); /* global limits are the manager's to judge */
    assert_concluded(0, (struct builtin_conclusion){
                            .what = CONCLUSION_VIOLATED, .holds = true, .limit = 2, .needed = NAN, .budget = NAN});
    node_record_violated(node, 2, true);
    assert_int_equal(recorded.conclusions, 1);
    node_record_violated(node, 2, false);
    assert_int_equal(recorded.conclusions, 2);
    assert_false(recorded.conclusion[1].holds);
}

/* ---- Losing it --------------------------------------------------------------------------------------------------- */

static unsigned notes_of_loss(const char *text)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < external_note_count(node->external); i++) {
        const struct message_note *note = external_note(node->external, i);
        n += strcmp(note->code, "BEZEL-MANAGER-LOST") == 0 && (!text || strcmp(note->text, text) == 0);
    }
    return n;
}

TEST_WITH(open_managed, close_node,
          a_manager_that_is_silent_is_lost_once_and_a_violated_node_polls_as_it_did_while_all_held)
{
    uint64_t sequence = 0;
    for (int i = 0; i < 200; i++) { /* all hold at 5 ms */
        setpoint(1, ++sequence)->period_ns = 5 * CLOCK_MS;
        assert_true(arrives('x'));
        sample(5);
    }
    setpoint(1, ++sequence)->period_ns = CLOCK_MS;
    assert_true(arrives('x'));
    int64_t lost = now + MANAGER_LASTS;
    uint32_t decisions = recorded.decisions;
    while (now + 100 * CLOCK_MS < lost) {
        sample(30);
        assert_int_equal(node->policy.period, CLOCK_MS);
    }
    assert_int_equal(notes_of_loss(NULL), 0);
    sample(30);
    assert_sent("x"); /* it may only be slow */
    assert_int_equal(
        notes_of_loss("no message from the resource manager (epoch 1) for 2.00 s (loss 1): this node keeps "
                      "its polling period (1.00 ms) until one arrives"),
        1);
    assert_int_equal(node->policy.period, 5 * CLOCK_MS);
    assert_int_equal(recorded.decisions, decisions + 1);
    assert_int_equal(recorded.decision.by, DECIDED_BY_AGENT);
    assert_int_equal(recorded.decision.cause, 2);
    assert_int_equal(recorded.decision.after, 5 * CLOCK_MS);
    assert_int_equal(recorded.decision.epoch, 1);
    assert_int_equal(recorded.decision.sequence, sequence);
    assert_false(node_manager_status(node).held);
    for (int i = 0; i < 30; i++) {
        sample(30);
    }
    assert_int_equal(notes_of_loss(NULL), 1);
    assert_int_equal(recorded.decisions, decisions + 1);
    setpoint(1, ++sequence)->on = false;
    assert_true(arrives('x'));
    now += MANAGER_LASTS;
    sample(5);
    assert_int_equal(
        notes_of_loss("no message from the resource manager (epoch 1) for 2.00 s (loss 2): this node keeps "
                      "its polling period (off) until one arrives"),
        1);
}

/* ---- What is recorded -------------------------------------------------------------------------------------------- */

TEST_WITH(open_managed, close_node, setpoints_are_counted_by_answer_and_recorded_where_that_changed)
{
    manager_client_record(node);
    assert_int_equal(recorded.setpoints, 0);
    setpoint(2, 1);
    assert_true(arrives('x'));
    setpoint(2, 2)->period_ns = UINT64_MAX;
    assert_true(arrives('x'));
    setpoint(2, 2);
    assert_false(arrives('x'));
    setpoint(1, 3);
    assert_false(arrives('x'));
    for (int i = 0; i < 3; i++) {
        setpoint(2, 3)->answers = (uint64_t)(now - MANAGER_EXPIRY - 1);
        assert_false(arrives('x'));
    }
    sent.result = BEZEL_EAGAIN;
    sample(5);
    manager_client_record(node);
    assert_int_equal(recorded.setpoints, 1);
    const struct builtin_setpoints *r = &recorded.setpoint;
    assert_int_equal(r->epoch, 2);
    assert_int_equal(r->applied, 2);
    assert_int_equal(r->expired, 3);
    assert_int_equal(r->outdated, 1);
    assert_int_equal(r->repeated, 1);
    assert_int_equal(r->clamped, 1);
    assert_int_equal(r->lost, 0);
    assert_int_equal(r->unsent, 2);
    manager_client_record(node);
    assert_int_equal(recorded.setpoints, 1);
    now += MANAGER_LASTS;
    sample(5);
    manager_client_record(node);
    assert_int_equal(recorded.setpoints, 2);
    assert_int_equal(r->lost, 1);
    assert_int_equal(r->unsent, 4);
}

/* A manager that only judges limits over all nodes. */
TEST_WITH(open_judged, close_node, a_node_that_decides_itself_sends_what_it_is_asked_for_and_takes_no_setpoint)
{
    setpoint(1, 1)->period_ns = 5 * CLOCK_MS;
    assert_false(arrives('x'));
    assert_int_equal(node->managed.ignored, 1);
    manager_client_override(node, now);
    sample(5);
    manager_client_record(node);
    assert_sent("");
    assert_int_equal(recorded.setpoints, 0);
    assert_int_equal(node->managed.overrides, 0);
    assert_false(node_manager_status(node).held);
    watch('x');
    assert_sent("x");
    assert_int_equal(sent.observation.step, 1);
    assert_int_equal(sent.observation.leadership.epoch, 0);
    m.type = MESSAGE_JUDGEMENT;
    m.judgement = (struct message_judgement){.leadership = {.epoch = 4, .holder = 9}, .sequence = 1};
    struct command_request peer = connection('x');
    manager_client_receive(node, &peer, &m, now);
    watch('x');
    assert_int_equal(sent.observation.leadership.epoch, 4);
    assert_int_equal(sent.observation.leadership.holder, 9);
    manager_client_record(node);
    assert_int_equal(recorded.setpoints, 0);
    node_drain(node);
    watch('x');
    assert_sent("x");
    assert_int_equal(node->managed.ignored, 2);
}
