// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A tree of collectors: what the file makes of it, and the course of a run that has one, on a virtual clock. */
#include "ecs/course/run_state.h"

#include "base/exit_code.h"
#include "tests/lib/test.h"

#include <string.h>

/* a sends to low or root; b to low alone; low passes on to mid1 or mid2, these to root, mid2 to top first. */
static const char tree[] =
    "experiment: tree\n"
    "duration: 10 s\n"
    "nodes: {a: {parents: [low, root]}, b: {parents: [low]}, c: {}}\n"
    "collectors: {mid2: {parents: [top]}, low: {parents: [mid1, mid2]}, mid1: {}, top: {}, x: {}}\n"
    "processes: [{name: app, node: a, command: [app]}]\n";

enum { A = 1, B, C, MID2, LOW, MID1, TOP, X };

static struct experiment *e;
static struct run_state s;
static int64_t now;
static struct state_actions last;

static struct experiment *read_tree(const char *text)
{
    struct experiment *read = NULL;
    struct experiment_diagnostics found;
    if (experiment_read(text, strlen(text), &read, &found) != 0)
        fail_msg("%s", found.list[0].sentence);
    experiment_diagnostics_free(&found);
    return read;
}

static unsigned give(struct state_event event)
{
    last = run_state_step(&s, &event, now);
    return last.what;
}

#define GIVE(...) give((struct state_event){__VA_ARGS__})
#define SERVES(d) GIVE(.type = EVENT_SERVES, .daemon = (d))
#define ENDS(d)   GIVE(.type = EVENT_DAEMON_ENDED, .daemon = (d))
#define START(n)  assert_true(last.what == ACTION_START_INNER && last.level == (n))

static void begin(void)
{
    now = 1000 * CLOCK_S;
    last = run_state_begin(&s, e, false, now);
    assert_int_equal(last.what, ACTION_START_DAEMON);
}

static void serve_collectors(void)
{
    assert_int_equal(SERVES(STATE_COLLECTOR), ACTION_START_INNER);
    START(1);
    assert_int_equal(SERVES(TOP), 0);
    assert_int_equal(SERVES(X), 0);
    assert_int_equal(SERVES(MID1), ACTION_START_INNER);
    START(2);
    assert_int_equal(SERVES(MID2), ACTION_START_INNER);
    START(3);
    assert_int_equal(s.daemons[A].phase, DAEMON_DOWN); /* nodes are started when all of it is there */
    assert_int_equal(SERVES(LOW), ACTION_START_NODES);
}

static void run_up(void)
{
    begin();
    serve_collectors();
    assert_int_equal(SERVES(A), 0);
    assert_int_equal(SERVES(B), 0);
    assert_int_equal(SERVES(C), ACTION_START_PROCESSES);
    assert_int_equal(s.phase, PHASE_RUNNING);
}

/* Until it is given up; it serves in between, or not. Returns the last actions. */
static unsigned end_often(uint32_t d, bool serves)
{
    for (int i = 0; i < STATE_RESTARTS; i++) {
        assert_int_equal(ENDS(d), 0);
        now = run_state_deadline(&s) > now ? run_state_deadline(&s) : now;
        assert_int_equal(GIVE(.type = EVENT_TICK), ACTION_START_DAEMON);
        assert_int_equal(last.daemon, d);
        if (serves)
            assert_int_equal(SERVES(d), 0);
    }
    return ENDS(d);
}

TEST(levels_and_ways_follow_from_the_parents)
{
    static const uint32_t levels[] = {2, 3, 1, 1, 1}, nodes[] = {2, 2, 2, 2, 0};
    assert_int_equal(e->inner_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(experiment_inner_level(e, i), levels[i]);
        assert_int_equal(experiment_inner_nodes(e, i), nodes[i]);
        assert_int_equal(experiment_inner_node(e, i), -1);
    }
    assert_int_equal(experiment_inner_find(e, "mid2"), 0);
    assert_int_equal(experiment_inner_find(e, "root"), -1);
    static const struct {
        uint64_t gone;
        bool reaches;
    } cases[] = {{0, true},  {2, false},  {4, true},  {1, true}, {8, true},
                 {5, false}, {12, false}, {16, true}, {9, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(experiment_reaches_root(e, cases[i].gone), cases[i].reaches);
}

/* A workstation, gate and lift one below the other, and desk below lift; side sends to the root as well. */
static const char gateways[] = "experiment: gateways\n"
                               "nodes:\n"
                               "  gate: {address: 'tcp://gate:7767'}\n"
                               "  lift: {address: 'tcp://10.1.0.2:7767', parents: [upper]}\n"
                               "  desk: {address: 'tcp://desk:7767', parents: [lower, other]}\n"
                               "  side: {address: 'tcp://side:7767', parents: [lower, root]}\n"
                               "  here: {}\n"
                               "collectors:\n"
                               "  lower: {node: lift, parents: [upper]}\n"
                               "  upper: {node: gate}\n"
                               "  other: {node: side, proxy: 'tcp://*:9000'}\n"
                               "  local: {}\n"
                               "processes: [{name: app, node: desk, command: [app]}]\n"
                               "store: {keys: keys}\n";

TEST(commands_go_where_data_go)
{
    static const struct {
        const char *endpoint, *proxies;
    } cases[] = {{"tcp://gate:7767", ""},
                 {"tcp://gate:7769", ""},
                 {"tcp://side:7767", ""},
                 {"tcp://10.1.0.2:7767", "tcp://gate:7869"},
                 {"tcp://10.1.0.2:7769", "tcp://gate:7870"}, /* the collector there */
                 {"tcp://desk:7767", "tcp://gate:7871 tcp://side:9000"},
                 {"tcp://desk:7768", ""}};
    char proxies[EXPERIMENT_PROXIES_MAX];
    struct experiment *g = read_tree(gateways);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        experiment_proxies(g, cases[i].endpoint, proxies);
        assert_string_equal(proxies, cases[i].proxies);
    }
    const struct experiment_inner *upper = &g->inner[experiment_inner_find(g, "upper")];
    assert_string_equal(upper->proxy, "tcp://*:7869");
    assert_string_equal(upper->forward, "tcp://10.1.0.2:7767 tcp://10.1.0.2:7769 tcp://desk:7767=tcp://10.1.0.2:7869");
    assert_string_equal(g->inner[experiment_inner_find(g, "lower")].forward, "tcp://desk:7767");
    assert_string_equal(g->inner[experiment_inner_find(g, "other")].forward, "tcp://desk:7767");
    assert_null(g->inner[experiment_inner_find(g, "local")].proxy);
    experiment_free(g);
}

static uint32_t last_of(uint32_t level)
{
    uint32_t found = 0;
    for (uint32_t d = MID2; d <= X; d++)
        found = s.daemons[d].level == level ? d : found;
    return found;
}

TEST(the_tree_starts_from_the_root_and_ends_with_it)
{
    run_up();
    now += 10 * CLOCK_S;
    assert_int_equal(GIVE(.type = EVENT_TICK), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(.type = EVENT_TREE_EMPTY), ACTION_DRAIN);
    for (uint32_t d = A; d < C; d++)
        assert_int_equal(GIVE(.type = EVENT_DRAINED, .daemon = d), ACTION_DRAIN);
    assert_int_equal(GIVE(.type = EVENT_DRAINED, .daemon = C), ACTION_STOP_NODES);
    assert_int_equal(ENDS(A), 0);
    assert_int_equal(ENDS(B), 0);
    assert_int_equal(ENDS(C), ACTION_STOP_INNER);
    for (uint32_t level = s.level; level > 0; level--)
        for (uint32_t d = MID2, end = last_of(level); d <= X; d++)
            if (s.daemons[d].level == level)
                assert_int_equal(ENDS(d), d < end ? 0 : level > 1 ? ACTION_STOP_INNER : ACTION_STOP_COLLECTOR);
    assert_int_equal(ENDS(A), 0); /* once more, late */
    assert_int_equal(ENDS(STATE_COLLECTOR), 0);
    assert_int_equal(s.phase, PHASE_DONE);
    assert_int_equal(run_state_exit_code(&s, EXIT_OK), EXIT_OK);
}

TEST(one_that_cannot_start_ends_the_run)
{
    begin();
    assert_int_equal(SERVES(STATE_COLLECTOR), ACTION_START_INNER);
    assert_int_equal(SERVES(TOP), 0);
    assert_int_equal(ENDS(MID1), ACTION_STOP_INNER); /* no node has been started */
    assert_int_equal(ENDS(TOP), 0);
    assert_int_equal(ENDS(X), ACTION_STOP_COLLECTOR);
    assert_int_equal(run_state_exit_code(&s, EXIT_OK), EXIT_FAILED);
}

TEST(one_that_is_killed_is_started_again_while_its_children_are_elsewhere)
{
    run_up();
    assert_int_equal(end_often(MID1, true), 0);
    assert_int_equal(s.phase, PHASE_RUNNING); /* mid2 leads to the root */
    assert_false(s.failed);
    assert_int_equal(end_often(X, true), 0);
    assert_int_equal(end_often(TOP, true), ACTION_STOP_PROCESSES); /* it led nobody else there */
    assert_int_equal(s.ended_by, ENDED_BY_FAILURE);
    assert_int_equal(run_state_exit_code(&s, EXIT_OK), EXIT_FAILED);
}

TEST(one_that_does_not_stop_is_killed_and_fails_nothing)
{
    run_up();
    (void)GIVE(.type = EVENT_PROCESS_ENDED);
    (void)GIVE(.type = EVENT_TREE_EMPTY);
    for (uint32_t d = A; d <= C; d++)
        (void)GIVE(.type = EVENT_DRAINED, .daemon = d);
    for (uint32_t d = A; d <= C; d++)
        (void)ENDS(d);
    for (uint32_t level = s.level; level > 0; level--)
        for (uint32_t d = MID2; d < X; d++)
            if (s.daemons[d].level == level)
                (void)ENDS(d);
    assert_true(run_state_deadline(&s) == now + STATE_CLOSE_LIMIT);
    now += STATE_CLOSE_LIMIT;
    assert_int_equal(GIVE(.type = EVENT_TICK), ACTION_REPORT_LATE | ACTION_KILL_INNER);
    assert_int_equal(ENDS(X), ACTION_STOP_COLLECTOR);
    assert_int_equal(run_state_exit_code(&s, EXIT_OK), EXIT_OK);
}

static void resume(struct state_saved saved)
{
    now = 1000 * CLOCK_S;
    last = run_state_resume(&s, e, &saved, 0, false, now);
    assert_int_equal(last.what, ACTION_START_DAEMON);
}

TEST(a_run_that_is_taken_over_has_its_tree_again)
{
    resume((struct state_saved){.phase = PHASE_RUNNING, .started = 996 * CLOCK_S});
    serve_collectors();
    assert_int_equal(SERVES(A), 0);
    assert_int_equal(SERVES(B), 0);
    assert_int_equal(SERVES(C), ACTION_START_PROCESSES);
    assert_int_equal(s.phase, PHASE_RUNNING);
}

TEST(a_run_that_is_taken_over_does_without_one_that_cannot_be_had)
{
    resume((struct state_saved){.phase = PHASE_RUNNING, .started = 996 * CLOCK_S});
    assert_int_equal(SERVES(STATE_COLLECTOR), ACTION_START_INNER);
    assert_int_equal(SERVES(TOP), 0);
    assert_int_equal(SERVES(X), 0);
    assert_int_equal(end_often(MID1, false), ACTION_START_INNER);
    START(2);
    assert_int_equal(SERVES(MID2), ACTION_START_INNER);
    assert_int_equal(SERVES(LOW), ACTION_START_NODES);
    for (uint32_t d = A; d < C; d++)
        assert_int_equal(SERVES(d), 0);
    assert_int_equal(end_often(X, true), 0); /* later, while nodes are asked: they are not asked again */
    assert_int_equal(SERVES(C), ACTION_START_PROCESSES);
    assert_false(s.failed);
    resume((struct state_saved){.phase = PHASE_RUNNING, .started = 996 * CLOCK_S});
    (void)SERVES(STATE_COLLECTOR);
    (void)SERVES(X);
    (void)end_often(MID1, false);
    assert_int_equal(end_often(TOP, false), ACTION_START_INNER);
    (void)SERVES(MID2);
    (void)SERVES(LOW);
    (void)SERVES(A);
    (void)SERVES(B);
    assert_int_equal(SERVES(C), ACTION_STOP_PROCESSES); /* b reaches nobody */
    assert_true(s.failed);
}

int main(void)
{
    e = read_tree(tree);
    int failed = test_run(NULL, NULL);
    experiment_free(e);
    return failed;
}
