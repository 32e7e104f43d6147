// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/saturate.h"
#include "bezeld/node/node_internal.h"

#define NODE_DRAIN_TURN CLOCK_MS /* between two turns while draining */
#define NODE_EXCHANGES                                                                                                 \
    (10 * CLOCK_MS) /* answers to questions for the time are looked at this often, if any are asked */

/* ---- Sampling and adapting --------------------------------------------------------------------------------------- */

static void sample(struct node *n, int64_t now)
{
    if (cpu_usage_measure(&n->usage, now, clock_process_cpu(), agent_period(n->agent)))
        schedule_poll_within(&n->schedule, now, 0);
    node_count_attempts(n, now);
    agent_counted(n->agent, clock_now());
    knob_steering_find(n);
    const struct agent_outcome *o = agent_step(n->agent, now, &n->usage.measured);
    n->usage.cpu_budget.lossless = o->lossless;
    node_record_observations(n, o, now);
    knob_steering_sample(n);
    node_carry_out(n, o, &(struct node_decider){.who = DECIDED_BY_AGENT}, now);
    manager_client_sample(n, o, now);
    node_triggers_step(n, o, now);
    if (limit_changes_records_all(&n->limits, o->limit_changed, now))
        node_record_limits(n, o);
    if (schedule_takes(&n->schedule.sample_due, now, n->took_sut ? SCHEDULE_HOUSEKEEP : CLOCK_S)) {
        node_record_sample(n);
        n->took_sut = false;
    }
    bool second = schedule_takes(&n->schedule.metric_due, now, CLOCK_S);
    if (n->hand_on_every && schedule_takes(&n->schedule.hand_on_due, now, n->hand_on_every - agent_period(n->agent)))
        node_hand_on(n, -1);
    node_record_threads(n, second, now);
    if (second) {
        node_record_metrics(n);
        node_record_clock(n);
        node_record_totals(n);
        node_record_expired(n);
        node_record_reduced(n);
        manager_client_record(n);
    }
    schedule_stepped(&n->schedule, now, agent_period(n->agent));
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

static bool polls(const struct node *n)
{
    return n->policy.on && !n->pause.on;
}

/*
 * Whether the node may sleep until a process wakes it: meanwhile it measures, judges and steers nothing, and sends the
 * collector a heartbeat twice a second. Metrics have values also while no program is there.
 */
static bool may_sleep(const struct node *n)
{
    const struct experiment *e = n->options.experiment;
    return !n->schedule.busy_wait && polls(n) && !n->draining && e->limit_count == 0 && e->trigger_count == 0 &&
           (e->metric_count == 0 || e->sensing.doorbell) && !node_is_managed(n) &&
           samplers_due(n->samplers) == INT64_MAX && sender_connected(n->sender) && !external_reduces(n->external);
}

static void wake(struct node *n, int64_t now)
{
    external_wake(n->external);
    schedule_wake(&n->schedule, now, agent_period(n->agent));
    (void)cpu_usage_begin(&n->usage, now, clock_process_cpu()); /* the next poll is due now, deferred or not */
    poll_stats_restart(&n->usage.poll_stats);
}

/* Whether a due poll is deferred, because the CPU budget of the sampling interval is used up. */
static bool is_deferred(struct node *n, int64_t now)
{
    if (n->schedule.busy_wait || !cpu_budget_asks(&n->usage.cpu_budget, now))
        return false;
    int64_t room = cpu_budget_look(&n->usage.cpu_budget, now, clock_process_cpu());
    if (room > now)
        schedule_poll_at(&n->schedule, room);
    return room > now;
}

/* When something but a poll is due. */
static int64_t tasks_due(const struct node *n, int64_t now)
{
    const struct schedule *s = &n->schedule;
    if (n->draining || s->asleep || !polls(n))
        return INT64_MIN;
    int64_t due =
        saturate_least(schedule_due(s, false), saturate_least(sender_due(n->sender), samplers_due(n->samplers)));
    if (n->clock.client)
        due = saturate_least(due, now + NODE_EXCHANGES);
    due = saturate_least(due, node_triggers_due(n));
    return saturate_least(due, saturate_least(n->managed.beat_due, snapshot_due(&n->snapshot)));
}

bool node_polls(struct node *n, int64_t now)
{
    if (now >= n->tasks_due || now < n->schedule.poll_due)
        return false;
    if (is_deferred(n, now))
        return true;
    schedule_turn(&n->schedule, now);
    if (node_poll(n, now)) {
        node_triggers_turn(n, now);
        sender_step(n->sender, now, false);
        n->tasks_due = saturate_least(n->tasks_due, tasks_due(n, now));
    }
    return true;
}

bool node_look_begin(const struct node *n, struct node_look *l)
{
    const struct schedule *s = &n->schedule;
    if (s->busy_wait || n->usage.cpu_budget.share > 0 || !node_gap_is_settled(n))
        return false;
    *l = (struct node_look){.due = s->poll_due, .until = n->tasks_due, .gap = n->gap, .stats = n->usage.poll_stats};
    return external_row_begin(n->external, s->turned, &l->row);
}

int64_t node_look_now(const struct node_look *l)
{
    return external_row_now(&l->row, l->due);
}

bool node_look(struct node_look *l, int64_t now)
{
    if (now >= l->until || !external_row_is_still(&l->row, now))
        return false;
    poll_stats_poll(&l->stats, now);
    l->looks++;
    l->due = schedule_next(l->due, now, l->gap);
    return true;
}

void node_looked(struct node *n, const struct node_look *l)
{
    external_row_end(n->external, &l->row);
    if (l->looks == 0)
        return;
    n->schedule.turns += l->looks;
    n->schedule.turned = l->stats.last;
    n->schedule.poll_due = l->due;
    n->usage.polls += l->looks;
    n->usage.poll_stats = l->stats;
}

void node_turn(struct node *n)
{
    int64_t now = clock_now();
    struct schedule *s = &n->schedule;
    schedule_turn(s, now);
    if (s->asleep && (!external_sleeps(n->external) || n->draining))
        wake(n, now);
    bool news = n->draining || s->asleep || now >= sender_due(n->sender);
    if (polls(n) && !n->draining && now >= s->poll_due && !s->asleep && !is_deferred(n, now))
        news = node_poll(n, now) || news;
    if (!n->draining && now >= s->step_due && !s->asleep) {
        now = clock_now(); /* a poll may have taken long, and what is counted was made until now */
        sample(n, now);
        /* One wake-up for all that is due before the next one: */
        schedule_housekeep_within(s, now, agent_period(n->agent));
        news = sender_attend_within(n->sender, now, agent_period(n->agent)) || news;
    }
    if (!n->draining)
        node_triggers_turn(n, now);
    if (!n->draining)
        news = snapshot_take_turn(n, now) || news;
    if (!n->draining)
        samplers_turn(n->samplers, now);
    if (now >= s->housekeep_due || n->draining) {
        external_housekeep(n->external, now);
        schedule_housekept(s, now);
    }
    manager_client_heartbeat(n, now);
    if (!n->draining)
        node_clock_turn(n);
    if (news) /* most polls of a node with few records find none */
        sender_step(n->sender, now, external_finished(n->external));
    if (may_sleep(n) && external_sleep(n->external))
        schedule_sleep(s, now);
    else if (s->asleep)
        wake(n, now);
    n->tasks_due = tasks_due(n, now);
}

int64_t node_due(const struct node *n)
{
    const struct schedule *s = &n->schedule;
    if (n->draining)
        return s->turned + NODE_DRAIN_TURN;
    if (s->asleep)
        return external_sleeps(n->external) ? s->housekeep_due : INT64_MIN;
    int64_t due = saturate_least(schedule_due(s, polls(n)), samplers_due(n->samplers));
    due = saturate_least(due, node_triggers_due(n));
    return saturate_least(due, saturate_least(n->managed.beat_due, snapshot_due(&n->snapshot)));
}

bool node_spins(const struct node *n)
{
    return n->schedule.busy_wait && polls(n) && !n->draining;
}

bool node_draining(const struct node *n)
{
    return n->draining;
}

void node_attend(struct node *n)
{
    sender_attend(n->sender);
    node_turn(n);
}

struct link *node_link(const struct node *n)
{
    return n->schedule.asleep ? NULL : sender_link(n->sender); /* messages of the collector can wait for a second */
}

int node_doorbell(const struct node *n)
{
    return n->schedule.asleep ? external_doorbell(n->external) : -1;
}
