// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Managers and nodes on a virtual clock, over a network that loses, delays, doubles, reorders and spoils messages.
 * Managers are stopped, continued, killed and replaced, nodes are restarted, and operators override periods. Whatever
 * happens, a node applies no setpoint that is too old, none of a manager that was replaced, none twice, and never polls
 * outside of the bounds. When the network is well again, all nodes apply the decisions of the newest manager, and keep
 * within their budgets.
 */
#include "resmgr/manager/manager.h"
#include "mdr/manage.h"
#include "resmgr/agent/leadership.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

enum { NODES = 4, MANAGERS = 6, QUEUE = 4096, BUDGET = 10 };

#define TICK  (10 * CLOCK_MS)
#define START (500 * CLOCK_S)

struct frame {    /* under way */
    bool is_late; /* of a slow link: its time of arrival was put off already */
    int64_t arrives;
    int64_t observed; /* of a setting: when, in truth, what it answers was sent */
    bool up;          /* to manager `manager` from node `node`; else the other way */
    bool setting;     /* of one that goes down: else WATCH */
    uint32_t manager, node;
    struct message_observation observation;
    struct message_setpoint setpoint;
};

struct node {
    struct leadership leadership;
    int64_t ahead; /* of its clock */
    struct policy_setting in_force;
    int64_t desired, due, beat_due;
    uint32_t overrides, listener; /* the manager that it sends observations to; MANAGERS: none */
    uint64_t steps;
    bool changed;
    double cost; /* percent of a CPU at a period of 1 ms */
    double cpu;
    struct message_leadership applied; /* of the setpoint that was applied last */
    uint64_t applied_sequence, applied_life;
    int64_t overridden; /* when an operator changed the period last, true time */
};

struct host {
    struct manager *manager; /* NULL: not running */
    bool stopped;
    int64_t received_of[NODES]; /* true time at which the last observation that arrived was sent */
};

static struct experiment_node names[NODES];
static struct experiment_limit limits[] = {
    {.kind = LIMIT_HOLD, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = BUDGET}};
static struct experiment e = {
    .node_count = NODES,
    .nodes = names,
    .limit_count = 1,
    .limits = limits,
    .sensing = {.period = CLOCK_MS},
    .adapt = {.by = ADAPT_BY_MANAGER, .every = 100 * CLOCK_MS, .period_min = 100 * CLOCK_US, .period_max = CLOCK_S}};
static struct node nodes[NODES];
static struct host hosts[MANAGERS];
static uint32_t newest; /* manager */
static struct frame queue[QUEUE];
static uint32_t queued;
static int64_t now;
static uint64_t seed, applied, refused[LEADERSHIP_ANSWERS];
static double loss, doubling, spoiling;
static int64_t delay;

static bool chance(double p)
{
    return seed_unit(&seed) < p;
}

static int64_t clock_of(const struct node *n)
{
    return now + n->ahead;
}

/* ---- The network ------------------------------------------------------------------------------------------------- */

static void send(struct frame f)
{
    for (int copies = chance(doubling) ? 2 : 1; copies > 0; copies--) {
        if (chance(loss) || queued == QUEUE)
            continue;
        f.arrives = now + (int64_t)(seed_unit(&seed) * (double)delay);
        if (f.setting && chance(spoiling)) /* a manager that misbehaves */
            f.setpoint.period_ns = seed_next(&seed) >> (seed_next(&seed) % 64);
        queue[queued++] = f;
    }
}

static void observe(uint32_t node, uint32_t manager)
{
    struct node *n = &nodes[node];
    struct frame f = {.up = true, .manager = manager, .node = node, .observed = now};
    bool broken = n->cpu > BUDGET;
    f.observation = (struct message_observation){.life = n->leadership.life,
                                                 .at = (uint64_t)clock_of(n),
                                                 .step = n->steps,
                                                 .leadership = n->leadership.holder,
                                                 .sequence = n->leadership.sequence,
                                                 .on = n->in_force.on,
                                                 .period_ns = (uint64_t)n->in_force.period,
                                                 .desired_ns = (uint64_t)n->desired,
                                                 .overrides = n->overrides,
                                                 .settled = !n->changed,
                                                 .cpu = n->cpu,
                                                 .polls = NAN,
                                                 .records = NAN,
                                                 .elapsed = n->steps ? e.adapt.every : 0,
                                                 .limit_count = 1};
    f.observation.limits[0] = (struct message_observed){
        .limit = 0, .state = broken ? MESSAGE_LIMIT_VIOLATED : MESSAGE_LIMIT_HELD, .value = n->cpu};
    send(f);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

static void check_period(const struct node *n)
{
    assert_in_range(n->in_force.period, e.adapt.period_min, e.adapt.period_max);
}

static void start_node(struct node *n, struct message_leadership kept)
{
    leadership_start(&n->leadership, &e, (uint64_t)clock_of(n), kept);
    n->in_force = (struct policy_setting){true, n->desired};
    n->due = now + (int64_t)(seed_unit(&seed) * (double)e.adapt.every);
    n->beat_due = INT64_MAX;
    n->listener = MANAGERS;
    n->steps = 0;
    n->changed = true;
    n->cpu = NAN;
}

/* Rules that a node cannot check itself. */
static void check_applied(struct node *n, const struct frame *f)
{
    const struct message_setpoint *s = &f->setpoint;
    assert_true(now - f->observed <= MANAGER_EXPIRY);
    assert_true(f->observed >= n->overridden);
    assert_int_equal(s->life, n->leadership.life);
    assert_true(s->leadership.epoch >= n->applied.epoch);
    if (s->leadership.epoch == n->applied.epoch)
        assert_int_equal(s->leadership.holder, n->applied.holder);
    if (s->leadership.epoch == n->applied.epoch && s->life == n->applied_life)
        assert_true(s->sequence > n->applied_sequence);
    n->applied = s->leadership;
    n->applied_sequence = s->sequence;
    n->applied_life = s->life;
}

static void node_receives(const struct frame *f)
{
    struct node *n = &nodes[f->node];
    struct leadership_command command;
    if (!f->setting) {
        observe(f->node, f->manager);
        return;
    }
    enum leadership_answer answer = leadership_receive(&n->leadership, &f->setpoint, n->desired, clock_of(n), &command);
    refused[answer]++;
    if (answer != LEADERSHIP_APPLIED)
        return;
    check_applied(n, f);
    applied++;
    n->changed |= n->in_force.on != command.setting.on || n->in_force.period != command.setting.period;
    n->in_force = command.setting;
    n->listener = f->manager;
    n->beat_due = now + MANAGER_HEARTBEAT;
    check_period(n);
}

static double use_of(const struct node *n)
{
    double noise = 0.95 + 0.1 * seed_unit(&seed);
    return 0.2 + (n->in_force.on ? n->cost * (double)CLOCK_MS / (double)n->in_force.period * noise : 0);
}

static void node_turns(uint32_t i)
{
    struct node *n = &nodes[i];
    struct policy_setting safe;
    if (now >= n->due) {
        enum limit_state worst = n->cpu > BUDGET ? LIMIT_VIOLATED : LIMIT_HELD;
        n->due += e.adapt.every;
        n->cpu = use_of(n);
        n->steps++;
        leadership_judge(&n->leadership, worst, n->in_force, clock_of(n));
        (void)leadership_lost(&n->leadership, clock_of(n));
        if (n->listener < MANAGERS)
            observe(i, n->listener);
        n->changed = false;
        if (leadership_retreats(&n->leadership, worst, &safe)) {
            assert_true(!safe.on || safe.period > n->in_force.period);
            n->in_force = safe;
            n->changed = true;
        }
        check_period(n);
    } else if (now >= n->beat_due && n->listener < MANAGERS) {
        n->beat_due = now + MANAGER_HEARTBEAT;
        observe(i, n->listener);
    }
}

/* ---- Managers ---------------------------------------------------------------------------------------------------- */

static void start_manager(void)
{
    struct message_leadership leadership = {.epoch = ++newest + 1, .holder = seed_next(&seed)};
    assert_int_equal(manager_new(&e, leadership, now, &hosts[newest].manager), 0);
}

static void manager_receives(const struct frame *f)
{
    struct host *o = &hosts[f->manager];
    o->received_of[f->node] = f->observed;
    manager_receive(o->manager, f->node, &f->observation, now);
}

static void manager_turns(uint32_t i)
{
    struct host *o = &hosts[i];
    struct frame f = {.manager = i};
    if (!o->manager || o->stopped)
        return;
    manager_step(o->manager, now);
    for (f.node = 0; f.node < NODES; f.node++) {
        f.setting = false;
        if (manager_asks(o->manager, f.node, now))
            send(f);
        if (!manager_send(o->manager, f.node, now, &f.setpoint))
            continue;
        f.setting = true;
        f.observed = (int64_t)f.setpoint.answers - nodes[f.node].ahead;
        send(f);
    }
    if (manager_superseded(o->manager) && chance(0.1)) { /* it ends, though not at once */
        manager_free(o->manager);
        o->manager = NULL;
    }
}

/* ---- The world --------------------------------------------------------------------------------------------------- */

static void deliver(void)
{
    for (uint32_t i = 0; i < queued;) {
        struct frame f = queue[i];
        bool waits = f.up && hosts[f.manager].stopped; /* for one that is stopped, not gone */
        if (f.arrives > now || waits) {
            i++;
            continue;
        }
        queue[i] = queue[--queued];
        if (!f.up)
            node_receives(&f);
        else if (hosts[f.manager].manager)
            manager_receives(&f);
    }
}

static void turn(void)
{
    now += TICK;
    deliver();
    for (uint32_t i = 0; i < NODES; i++)
        node_turns(i);
    for (uint32_t i = 0; i <= newest; i++)
        manager_turns(i);
}

static void operator_overrides(struct node *n)
{
    n->desired = CLOCK_MS * (1 + (int64_t)(seed_next(&seed) % 8));
    n->in_force.period = n->desired;
    n->overrides++;
    n->changed = true;
    n->overridden = now;
    leadership_override(&n->leadership, clock_of(n));
}

static void something_happens(void)
{
    uint32_t which = (uint32_t)(seed_next(&seed) % (newest + 1)), node = (uint32_t)(seed_next(&seed) % NODES);
    switch (seed_next(&seed) % 6) {
    case 0: /* kill -9, and a new one; or two at once */
        if (chance(0.7)) {
            manager_free(hosts[newest].manager);
            hosts[newest].manager = NULL;
        }
        if (newest + 1 < MANAGERS)
            start_manager();
        break;
    case 1:
        hosts[which].stopped = !hosts[which].stopped;
        break;
    case 2: /* a bezeld is killed and comes back with the settings of file and operator */
        start_node(&nodes[node], nodes[node].leadership.holder);
        nodes[node].overrides = 0;
        break;
    case 3:
        operator_overrides(&nodes[node]);
        break;
    case 4:
        nodes[node].cost = 0.5 + 4 * seed_unit(&seed);
        break;
    default:
        loss = chance(0.5) ? 0.6 * seed_unit(&seed) : 0;
        delay = chance(0.5) ? 3 * CLOCK_S : 20 * CLOCK_MS;
        doubling = 0.3 * seed_unit(&seed);
        break;
    }
}

static void begin(enum experiment_policy policy)
{
    e.adapt.policy = policy;
    queued = 0;
    now = START;
    loss = doubling = spoiling = 0;
    delay = 5 * CLOCK_MS;
    memset(nodes, 0, sizeof nodes);
    memset(hosts, 0, sizeof hosts);
    newest = UINT32_MAX;
    start_manager();
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i].ahead = (int64_t)(seed_next(&seed) % 1000) * CLOCK_S - 400 * CLOCK_S; /* boots differ */
        nodes[i].cost = 0.5 + 4 * seed_unit(&seed);
        nodes[i].desired = CLOCK_MS;
        start_node(&nodes[i], (struct message_leadership){0});
    }
}

static void end(void)
{
    for (uint32_t i = 0; i < MANAGERS; i++)
        manager_free(hosts[i].manager);
}

/* All is well again, and one manager is there. */
static void heal(void)
{
    loss = doubling = spoiling = 0;
    delay = 5 * CLOCK_MS;
    for (uint32_t i = 0; i < newest; i++) {
        manager_free(hosts[i].manager);
        hosts[i].manager = NULL;
    }
    hosts[newest].stopped = false;
    if (!hosts[newest].manager) {
        if (newest + 1 == MANAGERS) {
            struct message_leadership leadership = {.epoch = MANAGERS + 1, .holder = 1};
            assert_int_equal(manager_new(&e, leadership, now, &hosts[newest].manager), 0);
        } else {
            start_manager();
        }
    }
}

static void run(int64_t span)
{
    for (int64_t until = now + span; now < until;)
        turn();
}

static void check_converged(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        const struct node *n = &nodes[i];
        assert_true(n->leadership.held);
        assert_true(n->leadership.holder.epoch > newest);
        assert_int_equal(n->listener, newest);
        assert_true(n->in_force.on);
        if (e.adapt.policy == POLICY_ELASTIC)
            assert_in_range((int64_t)n->cpu, 0, BUDGET);
    }
}

static const enum experiment_policy policies[] = {POLICY_ELASTIC,  POLICY_AIMD, POLICY_DPP_BAND,
                                                  POLICY_INTEGRAL, POLICY_DPP,  POLICY_SPP};

static int rounds(void)
{
    return getenv("BEZEL_TEST_LIGHT") && strcmp(getenv("BEZEL_TEST_LIGHT"), "0") != 0 ? 6 : 24;
}

/* Enough was applied, and enough refused for each of the reasons, for the checks to have had something to check. */
static bool all_was_tried(void)
{
    bool enough = applied > 100;
    for (int i = LEADERSHIP_EXPIRED; i < LEADERSHIP_ANSWERS; i++)
        enough &= refused[i] > 10;
    return enough;
}

TEST(no_setpoint_is_applied_that_must_not_be)
{
    applied = 0;
    memset(refused, 0, sizeof refused);
    for (int i = 0; i < rounds() || (i < 10 * rounds() && !all_was_tried()); i++) { /* few rounds may be unlucky */
        begin(policies[(size_t)i % (sizeof policies / sizeof *policies)]);
        spoiling = 0.1;
        for (int k = 0; k < 40; k++) {
            if (k > 3)
                something_happens();
            run((int64_t)(seed_unit(&seed) * 2 * (double)CLOCK_S));
        }
        end();
    }
    assert_true(all_was_tried());
}

TEST(all_nodes_come_to_the_decisions_of_the_newest_manager)
{
    for (int i = 0; i < rounds() / 3; i++) {
        begin(policies[(size_t)i % 4]);
        for (int k = 0; k < 10; k++) {
            something_happens();
            run((int64_t)(seed_unit(&seed) * 2 * (double)CLOCK_S));
        }
        for (uint32_t k = 0; k < NODES; k++)
            nodes[k].cost = 0.5 + 4 * seed_unit(&seed);
        heal();
        run(60 * CLOCK_S);
        check_converged();
        end();
    }
}

TEST(setpoints_that_are_a_second_late_are_not_applied)
{
    begin(POLICY_ELASTIC);
    applied = 0;
    for (int64_t until = now + 30 * CLOCK_S; now < until;) {
        now += TICK;
        for (uint32_t i = 0; i < queued; i++)
            if (!queue[i].is_late) { /* seen for the first time */
                queue[i].is_late = true;
                queue[i].arrives += CLOCK_S / 2; /* each way */
            }
        deliver();
        for (uint32_t i = 0; i < NODES; i++)
            node_turns(i);
        manager_turns(0);
    }
    assert_int_equal(applied, 0);
    assert_true(manager_counts(hosts[0].manager)->setpoints > 0);
    end();
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
