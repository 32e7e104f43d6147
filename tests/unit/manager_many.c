// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * As many nodes as a file may name under one manager: where no limit is of all, each is decided for as by a manager of
 * its own, and what is said of one node is said of no other.
 */
#include "base/clock.h"
#include "mdr/manage.h"
#include "resmgr/manager/manager.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>

#define EVERY (100 * CLOCK_MS)

enum { MANY = EXPERIMENT_NODES_MAX, KINDS = 4, ROUNDS = 120, REPEATS = 7 };

static struct experiment_node names[MANY];
static struct experiment_limit limits[] = {
    {.kind = LIMIT_HOLD, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 10},
    {.kind = LIMIT_HOLD, .metric = 0, .compare = COMPARE_AT_MOST, .bound = 1e3}}; /* only some nodes have its metric */
static struct experiment_metric metrics[] = {{.kind = METRIC_LATENCY}};

/* Nodes as they are under a manager. Node REPEATS tells its limit many times. */
struct nodes {
    struct manager *m;
    uint32_t count;
    struct message_observation *how;
    struct message_setpoint *got; /* by each, the last */
};

/* What a poll costs a node of each kind, ns. With the last no polling period fits into the budget. */
static const double cost_of[KINDS] = {5e3, 40e3, 2e6, 3e8};

static struct nodes nodes_new(struct experiment *e, uint32_t count)
{
    struct nodes n = {.count = count, .how = calloc(count, sizeof *n.how), .got = calloc(count, sizeof *n.got)};
    e->node_count = count;
    assert_true(n.how && n.got);
    assert_int_equal(manager_new(e, (struct message_leadership){.epoch = 1, .holder = 1}, 0, &n.m), 0);
    return n;
}

static void nodes_free(struct nodes *n)
{
    manager_free(n->m);
    free(n->how);
    free(n->got);
}

static void observe(struct nodes *n, uint32_t i, uint32_t kind, int64_t now)
{
    struct message_observation *o = &n->how[i];
    double polls = o->on ? (double)EVERY / fmax((double)o->period_ns, cost_of[kind]) : 0;
    double cpu = 0.5 + 100 * polls * cost_of[kind] / (double)EVERY;
    o->life = 1;
    o->at = (uint64_t)now;
    o->step++;
    o->settled = true;
    o->cpu = cpu;
    o->polls = polls;
    o->elapsed = EVERY;
    o->limit_count = i == REPEATS ? MESSAGE_LIMITS_MAX : 2;
    for (uint32_t k = 0; k < o->limit_count; k++)
        o->limits[k] = (struct message_observed){
            .limit = 0, .state = cpu > limits[0].bound ? MESSAGE_LIMIT_VIOLATED : MESSAGE_LIMIT_HELD, .value = cpu};
    if (i != REPEATS)
        o->limits[1] = (struct message_observed){.limit = 1,
                                                 .state = kind == 0 ? MESSAGE_LIMIT_VIOLATED : MESSAGE_LIMIT_UNKNOWN,
                                                 .value = 2 * limits[1].bound};
    manager_receive(n->m, i, o, now);
}

/* `first`: kind of the first node; those after it have the next ones. */
static void round_of(struct nodes *n, uint32_t first, int64_t now)
{
    for (uint32_t i = 0; i < n->count; i++)
        observe(n, i, (first + i) % KINDS, now);
    assert_true(manager_step(n->m, now));
    for (uint32_t i = 0; i < n->count; i++)
        if (manager_send(n->m, i, now, &n->got[i])) {
            n->how[i].on = n->got[i].on;
            n->how[i].period_ns = n->got[i].period_ns;
        }
}

TEST(each_of_many_is_decided_for_as_if_it_were_alone)
{
    struct experiment e = {.nodes = names,
                           .metric_count = 1,
                           .metrics = metrics,
                           .limit_count = 2,
                           .limits = limits,
                           .sensing = {.period = CLOCK_MS},
                           .adapt = {.by = ADAPT_BY_MANAGER,
                                     .policy = POLICY_ELASTIC,
                                     .every = EVERY,
                                     .period_min = 100 * CLOCK_US,
                                     .period_max = CLOCK_S}};
    struct experiment one = e;
    struct nodes many = nodes_new(&e, MANY), alone[KINDS];
    for (uint32_t k = 0; k < KINDS; k++)
        alone[k] = nodes_new(&one, 1);
    for (uint32_t i = 0; i < MANY; i++)
        many.how[i] = (struct message_observation){.on = true, .period_ns = CLOCK_MS, .desired_ns = CLOCK_MS};
    for (uint32_t k = 0; k < KINDS; k++)
        alone[k].how[0] = many.how[0];
    for (int64_t now = EVERY; now <= ROUNDS * EVERY; now += EVERY) {
        round_of(&many, 0, now);
        for (uint32_t k = 0; k < KINDS; k++)
            round_of(&alone[k], k, now);
        for (uint32_t i = 0; i < MANY; i++) {
            const struct message_setpoint *s = &many.got[i], *expected = &alone[i % KINDS].got[0];
            assert_int_equal(many.how[i].period_ns, alone[i % KINDS].how[0].period_ns);
            assert_int_equal(many.how[i].on, alone[i % KINDS].how[0].on);
            assert_int_equal(s->not_the_monitors, expected->not_the_monitors);
            assert_int_equal(s->starved, expected->starved);
        }
    }
    assert_true(many.got[MANY - 4].starved && !many.got[MANY - 3].starved);
    assert_false(many.how[MANY - 1].on); /* the last kind; one that fits still polls */
    assert_true(many.how[MANY - 2].on && many.how[MANY - 2].period_ns > 10 * CLOCK_MS);
    assert_true(many.how[MANY - 4].on && many.how[MANY - 4].period_ns < CLOCK_MS);
    nodes_free(&many);
    for (uint32_t k = 0; k < KINDS; k++)
        nodes_free(&alone[k]);
}
