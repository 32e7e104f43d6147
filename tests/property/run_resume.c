// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Runs on a virtual clock, whose `bezel run` is killed at random moments, again and again, and taken over: with any
 * events each reaches its end within a bounded time; it never leaves a phase of its end for an earlier one, has
 * programs started only while it runs, and forgets neither when it began nor that it failed. Nodes are started after
 * inner collectors, which end after them and before the root.
 */
#include "ecs/course/run_state.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <string.h>

enum { NODES_MOST = 3, INNER_MOST = 4, STEPS_MOST = 20000 };

static uint64_t seed;
static char *no_arguments[] = {NULL};

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

struct scene {
    struct experiment e;
    struct experiment_process process;
    struct experiment_node nodes[NODES_MOST];
    struct experiment_inner inner[INNER_MOST];
    struct run_state s;
    int64_t now;
};

/* Of the first `of` inner collectors, or the root. */
static struct experiment_parents any_parents(uint32_t of)
{
    struct experiment_parents parents = {.count = 0};
    for (int i = EXPERIMENT_ROOT; i < (int)of; i++)
        if (below(2) && parents.count < EXPERIMENT_PARENTS_MAX)
            parents.of[parents.count++] = i;
    return parents;
}

static void begin(struct scene *c)
{
    memset(c, 0, sizeof *c);
    c->now = 1000 * CLOCK_S;
    c->process = (struct experiment_process){.argv = no_arguments, .instances = (uint32_t)below(4)};
    c->e = (struct experiment){.duration = (int64_t)below(20) * CLOCK_S,
                               .grace = CLOCK_S,
                               .node_count = 1 + (uint32_t)below(NODES_MOST),
                               .nodes = c->nodes,
                               .process_count = c->process.instances > 0,
                               .processes = &c->process,
                               .inner_count = below(2) ? 0 : (uint32_t)below(INNER_MOST + 1),
                               .inner = c->inner};
    if (c->process.instances == 0)
        c->e.duration += CLOCK_S;
    for (int i = 0; i < NODES_MOST; i++)
        if (below(2))
            c->nodes[i] = (struct experiment_node){
                .address = (char[]){"tcp://192.0.2.1:1"},
                .on_loss = {.action = (enum experiment_on_loss)below(3), .wait = (int64_t)below(10) * CLOCK_S}};
    for (uint32_t i = 0; i < c->e.inner_count; i++)
        c->inner[i].parents = any_parents(i);
    for (uint32_t i = 0; i < c->e.node_count; i++)
        c->nodes[i].parents = any_parents(c->e.inner_count);
    (void)run_state_begin(&c->s, &c->e, false, c->now);
}

/* The root, or an inner collector. */
static uint32_t any_collector(const struct scene *c)
{
    uint32_t i = (uint32_t)below(1 + c->e.inner_count);
    return i == 0 ? STATE_COLLECTOR : c->e.node_count + i;
}

/* Something that may happen now. */
static struct state_event any_event(const struct scene *c)
{
    uint32_t d = (uint32_t)below(c->s.daemon_count);
    switch (below(40)) {
    case 0:
        return (struct state_event){.type = EVENT_DAEMON_ENDED, .daemon = d, .unreachable = below(2)};
    case 1:
        return (struct state_event){.type = EVENT_SILENT, .daemon = d};
    case 2:
        return (struct state_event){.type = EVENT_STORE_FAILED};
    case 3:
        return (struct state_event){.type = EVENT_INTERRUPT};
    case 4:
    case 5:
        return (struct state_event){.type = EVENT_PROCESS_ENDED, .failed = below(2), .stops = below(4) == 0};
    default:
        break;
    }
    if (c->s.daemons[d].phase == DAEMON_STARTS)
        return (struct state_event){.type = EVENT_SERVES, .daemon = d};
    if (c->s.phase == PHASE_STOPPING)
        return (struct state_event){.type = EVENT_TREE_EMPTY};
    if (c->s.phase == PHASE_DRAINING && run_state_is_node(&c->s, d) && c->s.daemons[d].phase == DAEMON_SERVES)
        return (struct state_event){.type = EVENT_DRAINED, .daemon = d};
    if (c->s.phase >= PHASE_CLOSING_NODES)
        return (struct state_event){.type = EVENT_DAEMON_ENDED,
                                    .daemon = c->s.phase == PHASE_CLOSING_NODES ? 1 + (uint32_t)below(c->e.node_count)
                                                                                : any_collector(c)};
    return (struct state_event){.type = EVENT_TICK};
}

/* Of its nodes or inner collectors, whether none is there that has not this phase. */
static bool all_are(const struct scene *c, bool nodes, enum state_daemon_phase phase)
{
    for (uint32_t d = 1; d < c->s.daemon_count; d++)
        if ((nodes ? run_state_is_node : run_state_is_inner)(&c->s, d) && c->s.daemons[d].phase != phase)
            return false;
    return true;
}

static void check_tree(const struct scene *c, unsigned what)
{
    assert_true(!(what & ACTION_START_NODES) || c->s.resumes || all_are(c, false, DAEMON_SERVES));
    assert_true(!(what & ACTION_START_INNER) || c->s.daemons[STATE_COLLECTOR].phase != DAEMON_DOWN);
    assert_true(!(what & (ACTION_STOP_INNER | ACTION_STOP_COLLECTOR)) || all_are(c, true, DAEMON_GONE));
    assert_true(!(what & ACTION_STOP_COLLECTOR) || all_are(c, false, DAEMON_GONE));
    assert_true(c->s.phase != PHASE_DONE || c->s.killed || all_are(c, false, DAEMON_GONE));
}

static void check_step(const struct scene *c, enum state_phase before, bool failed, int64_t started, unsigned what)
{
    assert_true(c->s.phase >= before);
    assert_true(!(what & ACTION_START_PROCESSES) || c->s.phase == PHASE_RUNNING);
    assert_true(c->s.failed || !failed);
    assert_true(started == 0 || c->s.started == started);
}

static void step(struct scene *c, const struct state_event *event)
{
    enum state_phase before = c->s.phase;
    bool failed = c->s.failed;
    int64_t started = c->s.started;
    unsigned what = run_state_step(&c->s, event, c->now).what;
    check_step(c, before, failed, started, what);
    check_tree(c, what);
}

/* Killed, and taken over by another one. */
static void take_over(struct scene *c)
{
    struct state_saved saved = run_state_save(&c->s);
    uint32_t ended = c->s.launched - c->s.launched_left;
    enum state_phase was = saved.phase;
    (void)run_state_resume(&c->s, &c->e, &saved, ended, below(10) == 0, c->now);
    assert_true(c->s.phase == PHASE_STARTING || (was == PHASE_DONE && c->s.phase == PHASE_DONE));
    struct state_saved again = run_state_save(&c->s);
    if (was == PHASE_STARTING) /* it begins anew */
        return;
    assert_true(again.phase == was || (was > PHASE_DRAINING && was < PHASE_DONE && again.phase == PHASE_DRAINING));
    assert_int_equal(again.started, saved.started);
    assert_int_equal(again.ended, saved.ended);
    assert_int_equal(again.ended_by, saved.ended_by);
    assert_int_equal(again.failed, saved.failed);
}

TEST(every_run_that_is_taken_over_reaches_its_end)
{
    static struct scene c;
    seed = seed_start();
    for (int round = 0; round < (getenv("BEZEL_TEST_LIGHT") ? 200 : 2000); round++) {
        int steps = 0, kills = (int)below(5);
        begin(&c);
        while (c.s.phase != PHASE_DONE && ++steps < STEPS_MOST) {
            if (kills > 0 && below(8) == 0) {
                kills--;
                take_over(&c);
                continue;
            }
            const struct state_event event = any_event(&c);
            step(&c, &event);
            int64_t due = run_state_deadline(&c.s);
            c.now += below(4) ? (int64_t)below(CLOCK_S) : due < INT64_MAX && due > c.now ? due - c.now : 0;
            step(&c, &(struct state_event){.type = EVENT_TICK});
        }
        assert_true(steps < STEPS_MOST);
    }
}
