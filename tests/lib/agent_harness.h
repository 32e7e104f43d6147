// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What tests of agents share: a node with two metrics on aspect "shown" (fps per process, all of the node), one on
 * "sent", two more of the node, and the limits that a test states; processes that make `fps` records a second; a step
 * each 100 ms.
 */
#ifndef BEZEL_TESTS_LIB_AGENT_HARNESS_H
#define BEZEL_TESTS_LIB_AGENT_HARNESS_H

#include "base/clock.h"
#include "resmgr/agent/agent.h"
#include "tests/lib/one_record.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FPS, ALL, SENT, SHARE, GAPS, EVERY = 100000000, WORKERS = 4 };

static struct experiment_node nodes[1];
static char fps[] = "fps", all[] = "all", sent[] = "sent", shown[] = "shown";
static char share[] = "share", gaps[] = "gaps", *share_of[] = {all, all, NULL};
static struct experiment_metric metrics[] = {
    {.name = fps, .aspect = shown, .window = CLOCK_S, .per_process = true},
    {.name = all, .aspect = shown, .window = CLOCK_S},
    {.name = sent, .aspect = sent, .window = CLOCK_S, .per_process = true},
    {.name = share, .kind = METRIC_RATIO, .operands = share_of, .window = CLOCK_S},
    {.name = gaps, .aspect = shown, .kind = METRIC_MEAN, .arrivals = ARRIVALS_TIME, .window = CLOCK_S},
};
static struct experiment_limit limits[4];
static int64_t sensor_cpu_window; /* 0: the last interval */
static struct experiment experiment;
static struct agent *agent;
static const struct agent_outcome *out;
static int64_t now;

static struct worker {
    int slot, watch;
    int64_t interval, next; /* between records; 0: silent */
    uint64_t attempts;
    bool blind; /* the aspect is off: nothing of it is counted */
} workers[WORKERS];

static inline void begin(enum experiment_policy policy, uint32_t limit_count)
{
    experiment = (struct experiment){
        .node_count = 1,
        .nodes = nodes,
        .metric_count = sizeof metrics / sizeof *metrics,
        .metrics = metrics,
        .sensor_cpu_window = sensor_cpu_window,
        .limit_count = limit_count,
        .limits = limits,
        .sensing = {.period = CLOCK_MS},
        .adapt = {.policy = policy, .every = EVERY, .period_min = CLOCK_US, .period_max = CLOCK_S},
    };
    assert_int_equal(agent_new(&experiment, 0, &agent), 0);
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < WORKERS; i++)
        workers[i].slot = -1;
    out = NULL;
    now = 1000 * CLOCK_S;
}

static inline int watch(int slot, const char *name)
{
    return agent_watch(agent, slot, &(struct dict_aspect){.name = name});
}

static inline struct worker *enter(int i, int64_t rate)
{
    struct worker *w = &workers[i];
    char name[32];
    snprintf(name, sizeof name, "client.%d", i + 1);
    w->slot = agent_process_add(agent, name);
    assert_true(w->slot >= 0);
    w->watch = watch(w->slot, "shown");
    assert_true(w->watch >= 0);
    w->interval = CLOCK_S / rate;
    w->next = now + 1;
    w->attempts = 0;
    return w;
}

static inline void leave(struct worker *w)
{
    agent_process_remove(agent, w->slot);
    w->slot = -1;
}

/* Steps until `span` has passed. */
static inline void go(int64_t span, double cpu)
{
    for (int64_t end = now + span; now < end;) {
        now += EVERY;
        for (struct worker *w = workers; w < workers + WORKERS; w++) {
            if (w->slot < 0)
                continue;
            for (; w->interval && w->next <= now; w->next += w->interval) {
                if (w->blind)
                    continue;
                w->attempts++;
                if (!out || out->after.on)
                    agent_records(agent, w->watch, ONE_RECORD(w->next, 0, NULL), now);
            }
            if (w->blind)
                agent_blind(agent, w->watch);
            else
                agent_count(agent, w->watch, w->attempts, now - CLOCK_US); /* the counters are read before the step */
        }
        out = agent_step(agent, now, &(struct policy_measure){.cpu = cpu, .polls = NAN, .elapsed = EVERY});
    }
}

static inline struct experiment_limit hold(int metric, enum experiment_compare compare, double bound)
{
    return (struct experiment_limit){.kind = LIMIT_HOLD, .metric = metric, .compare = compare, .bound = bound};
}

static inline int64_t accounted(const struct agent_limit *l)
{
    return l->settling + l->held + l->violated + l->unknown;
}

static inline int end(void **state)
{
    (void)state;
    agent_free(agent);
    agent = NULL;
    return 0;
}

#endif
