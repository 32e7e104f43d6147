// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"

#define NODE_HOUSEKEEP  (100 * CLOCK_MS)
#define NODE_ASLEEP     CLOCK_S         /* ... of a node that sleeps: half of what a silent peer is given */
#define NODE_CONTROL    (10 * CLOCK_MS) /* commands are looked at this often, however short the period; or oftener */
#define NODE_DRAIN_TURN CLOCK_MS        /* between two turns while draining */

/* ---- Sampling and adapting --------------------------------------------------------------------------------------- */

static void begin_measure(struct node *n, int64_t now, int64_t cpu)
{
    if (n->quota.put_off && n->poll_due > now)
        n->poll_due = now;
    quota_begin(&n->quota, now, cpu, n->polls - n->polls_before);
    n->sampled_at = now;
    n->cpu_before = cpu;
    n->polls_before = n->polls;
    n->polled_before = n->polled;
}

/*
 * CPU of all our threads since the sample before: other sessions on this thread are part of what monitoring costs.
 * Where that one came so late that less than half a sampling period is over, a single poll might be all of it: then it
 * stands as it was, and nothing was measured.
 */
static void measure(struct node *n, int64_t now)
{
    int64_t cpu = clock_process_cpu(), elapsed = now - n->sampled_at;
    n->measured.elapsed = 0;
    if (elapsed <= 0 || elapsed < agent_period(n->agent) / 2)
        return;
    n->sensor_cpu = 100.0 * (double)(cpu - n->cpu_before) / (double)elapsed;
    n->measured = (struct policy_measure){.cpu = n->sensor_cpu,
                                          .polls = (double)(n->polls - n->polls_before),
                                          .records = (double)(n->polled - n->polled_before),
                                          .elapsed = elapsed,
                                          .effective = n->pace.mean,
                                          .kept = n->quota.share > 0,
                                          .put_off = n->quota.put_off};
    begin_measure(n, now, cpu);
}

/* From the period that the file or the operator set; off is as long as it gets. */
void node_stretch(struct node *n, int64_t now)
{
    bool moves = experiment_policy_moves(n->options.experiment->adapt.policy);
    double factor = !moves         ? 1
                    : n->policy.on ? (double)n->policy.period / (double)n->polling.now.period_ns
                                   : SAMPLERS_STRETCH_MAX;
    samplers_stretch(n->samplers, factor, now);
}

void node_carry_out(struct node *n, const struct agent_outcome *o, const struct self_decider *by, int64_t now)
{
    n->policy = o->after;
    node_take_findings(n, o);
    if (o->action == POLICY_KEEP)
        return;
    n->managed.changed = true;
    self_record_decision(n->self, o, by);
    external_collect(n->external, n->policy.on);
    node_stretch(n, now);
    if (o->action == POLICY_OFF || o->action == POLICY_RESUME)
        pace_restart(&n->pace);
    /* Off and on again moves no poll: were it put off each time, one that flickers within its period would never poll.
     */
    if (!n->busy_wait && n->poll_due > now + n->policy.period)
        n->poll_due = now + n->policy.period;
}

void node_sample(struct node *n, int64_t now)
{
    measure(n, now);
    node_count_attempts(n, now);
    node_helm_find(n);
    const struct agent_outcome *o = agent_step(n->agent, now, &n->measured);
    node_tell_observations(n, o, now);
    node_helm_sample(n);
    node_carry_out(n, o, &(struct self_decider){.who = SELF_BY_AGENT}, now);
    node_manager_sample(n, o, now);
    node_save_watch(n, o, now);
    if (o->limit_changed || now - n->limits_told >= CLOCK_S) {
        n->limits_told = now;
        node_tell_limits(n, o);
    }
    if (now >= n->sample_due) {
        n->sample_due = now + NODE_HOUSEKEEP;
        node_tell_sample(n);
    }
    if (now >= n->metric_due) {
        n->metric_due = now + CLOCK_S;
        node_tell_metrics(n);
        node_tell_clock(n);
        node_tell_flow(n);
        node_tell_expired(n);
        node_manager_tell(n);
    }
    n->agent_due += agent_period(n->agent);
    if (n->agent_due <= now)
        n->agent_due = now + agent_period(n->agent);
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

/*
 * Whether the node may sleep until somebody knocks: nothing is measured, judged or steered meanwhile, and the collector
 * hears of us once a second.
 */
static bool may_sleep(const struct node *n)
{
    return !n->busy_wait && n->policy.on && !n->draining && n->options.experiment->limit_count == 0 &&
           samplers_due(n->samplers) == INT64_MAX && forward_connected(n->forward);
}

static void wake(struct node *n, int64_t now)
{
    external_wake(n->external);
    n->asleep = false;
    n->poll_due = n->housekeep_due = now;
    n->agent_due = now + agent_period(n->agent);
    begin_measure(n, now, clock_process_cpu());
    pace_restart(&n->pace);
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A poll that is due waits where the budget of the sampling interval is used up. */
static bool is_put_off(struct node *n, int64_t now)
{
    if (n->busy_wait || !quota_asks(&n->quota, now))
        return false;
    int64_t room = quota_look(&n->quota, now, clock_process_cpu());
    if (room > now)
        n->poll_due = room;
    return room > now;
}

void node_turn(struct node *n)
{
    int64_t now = clock_now();
    n->turned = now;
    n->wakeups++;
    if (n->asleep && (!external_sleeps(n->external) || n->draining))
        wake(n, now);
    bool news = n->draining || n->asleep || now >= forward_due(n->forward);
    if (n->policy.on && !n->draining && now >= n->poll_due && !n->asleep && !is_put_off(n, now))
        news = node_poll(n, now) || news;
    if (!n->draining && now >= n->agent_due && !n->asleep)
        node_sample(n, now);
    if (!n->draining)
        news = node_save_turn(n, now) || news;
    if (!n->draining)
        samplers_turn(n->samplers, now);
    if (now >= n->housekeep_due || n->draining) {
        external_housekeep(n->external, now);
        n->housekeep_due = now + (n->asleep ? NODE_ASLEEP : NODE_HOUSEKEEP);
    }
    node_manager_beat(n, now);
    if (news) /* most polls of a node with little to tell find nothing */
        forward_step(n->forward, now, external_finished(n->external));
    if (now >= n->control_due || n->draining) {
        node_answer_commands(n);
        n->control_due = now + earliest(NODE_CONTROL, node_is_managed(n) ? agent_period(n->agent) : NODE_CONTROL);
    }
    if (may_sleep(n) && external_sleep(n->external)) {
        n->housekeep_due = n->asleep ? n->housekeep_due : now + NODE_ASLEEP;
        n->asleep = true;
    } else if (n->asleep) {
        wake(n, now);
    }
}

int64_t node_due(const struct node *n)
{
    if (n->draining)
        return n->turned + NODE_DRAIN_TURN;
    if (n->busy_wait && n->policy.on)
        return INT64_MIN;
    if (n->asleep)
        return external_sleeps(n->external) ? n->housekeep_due : INT64_MIN;
    int64_t due = earliest(earliest(n->agent_due, n->housekeep_due), samplers_due(n->samplers));
    due = earliest(due, n->managed.beat_due);
    due = earliest(due, saving_due(&n->saving));
    return n->policy.on ? earliest(due, n->poll_due) : due;
}

bool node_draining(const struct node *n)
{
    return n->draining;
}

void node_attend(struct node *n)
{
    n->control_due = 0;
    forward_attend(n->forward);
    node_turn(n);
}

size_t node_links(const struct node *n, struct link *links[NODE_LINKS])
{
    links[0] = n->control;
    links[1] = n->asleep ? NULL : forward_link(n->forward); /* what the collector says can wait for a second */
    return NODE_LINKS;
}

int node_bell(const struct node *n)
{
    return n->asleep ? external_bell(n->external) : -1;
}
