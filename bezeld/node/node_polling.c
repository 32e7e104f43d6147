// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/node_internal.h"
#include "mdr/message.h"
#include "resmgr/pace/gap.h"

/* Whether a poll is divided into slices: other nodes share this thread, and the settings do not limit a poll. */
static bool comes_in_slices(const struct node *n)
{
    const struct message_poll *p = &n->poll_settings.now;
    return n->slice != 0 && p->forward == POLL_FORWARD_BATCH && p->batch == 0;
}

/*
 * Whether the node itself chooses the gap between two polls: it waits busily, or neither file nor operator nor policy
 * says how often it is to poll.
 */
static bool chooses_gap(const struct node *n)
{
    const struct experiment_sensing *s = &n->options.experiment->sensing;
    return n->schedule.busy_wait || (s->period_quiet > s->period && !(n->poll_settings.now.given & POLL_GIVES_PERIOD));
}

/* How long after a poll, or look, that found rings filled by `fill` the next one comes. */
static int64_t until_next(const struct node *n, uint32_t fill)
{
    const struct experiment *e = n->options.experiment;
    int64_t shortest = n->schedule.busy_wait ? 0 : n->policy.period, longest = e->sensing.period_quiet;
    if (!chooses_gap(n))
        return n->policy.period;
    if (n->schedule.busy_wait)
        longest = gap_spin_longest(experiment_asked_latency(e));
    else if (experiment_quiet_period(external_least_slots(n->external)) < longest)
        longest = experiment_quiet_period(external_least_slots(n->external));
    return gap_next(n->gap, fill, shortest, longest);
}

bool node_gap_is_settled(const struct node *n)
{
    return n->gap == until_next(n, 0);
}

static void polled(struct node *n, int64_t now)
{
    int64_t earliest = cpu_usage_polled(&n->usage, now);
    n->gap = until_next(n, external_fill(n->external));
    schedule_polled(&n->schedule, now, n->gap);
    schedule_poll_after(&n->schedule, earliest);
}

bool node_poll(struct node *n, int64_t now)
{
    uint32_t done = external_poll(n->external, now);
    cpu_usage_took(&n->usage, done);
    if (comes_in_slices(n) && done >= n->slice) {
        schedule_poll_at(&n->schedule, now); /* other nodes get their turns first */
        return true;
    }
    polled(n, now);
    sender_next(n->sender, n->schedule.busy_wait ? 0 : n->schedule.poll_due);
    n->took_sut = n->took_sut || external_took_sut(n->external);
    return external_took_sut(n->external); /* the node's own records wait for the next step of the sender */
}

void node_collect(struct node *n, int64_t now)
{
    bool on = n->policy.on && !n->pause.on;
    if (external_collect(n->external, on) && !on)
        cpu_usage_took(&n->usage, external_flush(n->external, now));
}

/* ---- Decisions --------------------------------------------------------------------------------------------------- */

/*
 * Stretches the samplers' periods by the factor between the period in force and the one that file or operator set, but
 * for those that a limit or a violation needs.
 */
static void stretch(struct node *n, int64_t now)
{
    bool moves = experiment_policy_can(n->options.experiment->adapt.policy, POLICY_MOVES);
    double factor = !moves         ? 1
                    : n->policy.on ? (double)n->policy.period / (double)n->poll_settings.now.period_ns
                                   : SAMPLERS_STRETCH_MAX;
    samplers_stretch(n->samplers, factor, n->samplers_kept, now);
}

static int64_t period_in_force(const struct policy_setting *s)
{
    return s->on ? s->period : 0;
}

void node_carry_out(struct node *n, const struct agent_outcome *o, const struct node_decider *by, int64_t now)
{
    n->policy = o->after;
    node_record_conclusions(n, o);
    n->samplers_kept = o->kept;
    stretch(n, now);
    if (o->action == POLICY_KEEP)
        return;
    own_trace_record_decision(n->own_trace, &(struct builtin_decision){.policy = (int)o->policy,
                                                                       .action = (int)o->action,
                                                                       .before = period_in_force(&o->before),
                                                                       .after = period_in_force(&o->after),
                                                                       .cause = o->cause,
                                                                       .by = by->who,
                                                                       .epoch = by->epoch,
                                                                       .sequence = by->sequence});
    node_collect(n, now);
    if (o->action == POLICY_OFF || o->action == POLICY_RESUME)
        poll_stats_restart(&n->usage.poll_stats);
    /* Toggling must not postpone the next poll; otherwise fast toggling prevents polling. */
    schedule_poll_within(&n->schedule, now, n->policy.period);
}

/* ---- Settings of an operator ------------------------------------------------------------------------------------- */

static void limit_polls(struct node *n)
{
    const struct message_poll *p = &n->poll_settings.now;
    bool low = p->batch != 0 && (n->slice == 0 || p->batch < n->slice);
    external_batch(n->external, p->forward == POLL_FORWARD_BATCH, low ? p->batch : n->slice);
}

void node_share(struct node *n, uint32_t slice)
{
    if (n->slice == slice)
        return;
    n->slice = slice;
    limit_polls(n);
}

static void apply(struct node *n, enum builtin_poller cause)
{
    const struct message_poll *now = &n->poll_settings.now;
    schedule_busy_wait(&n->schedule, now->mode == POLL_MODE_BUSY_WAIT);
    limit_polls(n);
    own_trace_record_polling(n->own_trace, &(struct builtin_polling){.cause = cause,
                                                                     .period = n->policy.period,
                                                                     .mode = now->mode,
                                                                     .forward = now->forward,
                                                                     .batch = (int64_t)now->batch});
}

void node_poll_start(struct node *n)
{
    apply(n, n->poll_settings.now.given ? POLLING_BY_KEPT : POLLING_BY_START);
}

/* Applies settings of an operator or trigger. Records that wait in the rings stay there, so none is missed. */
static void change(struct node *n, const struct message_poll *wanted, enum builtin_poller cause, int64_t now)
{
    if (wanted->given & POLL_GIVES_PERIOD) {
        n->policy.period = (int64_t)wanted->period_ns;
        agent_set_period(n->agent, n->policy.period);
    }
    apply(n, cause);
    if (n->schedule.busy_wait)
        schedule_poll_at(&n->schedule, now);
    schedule_poll_within(&n->schedule, now, n->policy.period);
    poll_stats_restart(&n->usage.poll_stats);
    stretch(n, now);
}

bool node_poll_change(struct node *n, const struct message_poll *poll, enum builtin_poller cause, int64_t now,
                      struct message_reply *reply)
{
    if (!poll_settings_change(&n->poll_settings, poll, reply->text)) {
        reply->answer = ANSWER_REFUSED;
        return false;
    }
    change(n, poll, cause, now);
    return true;
}

bool node_poll_answer(struct node *n, const struct message_poll *poll, int64_t now, struct message_reply *reply)
{
    const struct message_poll *in_force = &n->poll_settings.now;
    if (poll->given && !node_poll_change(n, poll, POLLING_BY_OPERATOR, now, reply))
        return false;
    reply->answer = ANSWER_POLL;
    reply->polling = (struct message_polling){.on = n->policy.on,
                                              .period_ns = (uint64_t)n->policy.period,
                                              .mode = in_force->mode,
                                              .forward = in_force->forward,
                                              .batch = in_force->batch,
                                              .effective_ns = (uint64_t)n->usage.poll_stats.mean,
                                              .worst_ns = (uint64_t)n->usage.poll_stats.worst};
    return poll->given & POLL_GIVES_PERIOD;
}
