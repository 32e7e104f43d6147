// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "bezeld/node/owner.h"
#include "mdr/message.h"
#include "resmgr/manager/manager.h"
#include "sensor/external/notes.h"

#include <inttypes.h>
#include <string.h>

/*
 * A node that a resource manager decides for (adapt.by: manager). It sends an observation at each sampling instant, and
 * between two if they are far apart. resmgr/agent/leadership.h decides which manager it follows. The newest manager is
 * kept in a file in the node's folder, so that a restarted daemon does not follow a replaced manager either.
 */

void manager_client_start(struct node *n)
{
    state_file_init(&n->managed.file, n->options.dir, "manager", n->options.run, "which manager decides for it");
    if (experiment_has_manager(n->options.experiment))
        leadership_start(&n->managed.leadership, n->options.experiment, (uint64_t)clock_now(),
                         owner_read(&n->managed.file));
    n->managed.beat_due = INT64_MAX; /* no manager has asked yet */
}

/* ---- Observations for the manager -------------------------------------------------------------------------------- */

static void fill_limits(const struct node *n, struct message_observation *o)
{
    const struct experiment *e = n->options.experiment;
    const struct policy_observation *seen = agent_seen(n->agent);
    for (uint32_t i = 0; i < e->limit_count && o->limit_count < seen->limit_count; i++) {
        const struct policy_limit *l = &seen->limits[o->limit_count];
        if (e->limits[i].kind == LIMIT_HOLD && !e->limits[i].global)
            o->limits[o->limit_count++] =
                (struct message_observed){.limit = i, .state = (enum message_limit_state)l->state, .value = l->value};
    }
}

static void fill(const struct node *n, int64_t now, struct message_observation *o)
{
    const struct policy_measure *m = &n->usage.measured;
    *o = (struct message_observation){.life = n->managed.leadership.life,
                                      .at = (uint64_t)now,
                                      .step = n->managed.steps,
                                      .leadership = n->managed.leadership.holder,
                                      .sequence = n->managed.leadership.sequence,
                                      .on = n->policy.on,
                                      .period_ns = (uint64_t)n->policy.period,
                                      .desired_ns = n->poll_settings.now.period_ns,
                                      .overrides = n->managed.overrides,
                                      .levels = agent_shed(n->agent).levels,
                                      .shed = agent_shed(n->agent).count,
                                      .settled = n->managed.settled,
                                      .cpu = m->cpu,
                                      .polls = m->polls,
                                      .records = m->records,
                                      .elapsed = m->elapsed};
    fill_limits(n, o);
    knob_steering_fill(n, o);
}

/* Sends the control link's message. Returns false if the peer is gone. */
static bool send(struct node *n, const struct command_request *peer)
{
    int err = command_server_send(n->control, peer, n->uuid);
    n->managed.unsent += err != 0;
    return err != BEZEL_EUNREACH;
}

/* Sends an observation, after the partials of global limits, so that the manager decides with both at once. */
static bool send_observation(struct node *n, const struct command_request *peer, int64_t now)
{
    struct message *m = command_server_message(n->control);
    m->type = MESSAGE_PARTIALS;
    if (experiment_has_global(n->options.experiment)) {
        global_limits_fill(n, now, &m->partials);
        (void)!send(n, peer);
    }
    m->type = MESSAGE_OBSERVATION;
    fill(n, now, &m->observation);
    return send(n, peer);
}

static void report(struct node *n, int64_t now)
{
    n->managed.beat_due = now + MANAGER_HEARTBEAT;
    if (!send_observation(n, &n->managed.peer, now))
        n->managed.beat_due = INT64_MAX; /* until a manager sends a message again */
}

void manager_client_heartbeat(struct node *n, int64_t now)
{
    if (now >= n->managed.beat_due && !n->draining)
        report(n, now);
}

/* ---- Decisions of the manager ------------------------------------------------------------------------------------ */

static enum limit_state worst_of(const struct agent *agent)
{
    const struct policy_observation *seen = agent_seen(agent);
    enum limit_state worst = LIMIT_UNKNOWN;
    for (uint32_t i = 0; i < seen->limit_count; i++)
        worst = seen->limits[i].state > worst ? seen->limits[i].state : worst;
    return worst;
}

static struct units_text period_text(struct policy_setting s)
{
    return s.on ? units_duration(s.period) : (struct units_text){"off"};
}

static void note_lost(struct node *n, int64_t now)
{
    const struct leadership *l = &n->managed.leadership;
    notes_record(n->external, NULL, now, "BEZEL-MANAGER-LOST",
                 "no message from the resource manager (epoch %" PRIu64 ") for %s (loss %" PRIu64
                 "): this node keeps its polling period (%s) until one arrives",
                 l->holder.epoch, units_duration(MANAGER_LASTS).s, l->lost, period_text(n->policy).s);
    log_warn("BEZEL-MANAGER-LOST",
             "no message from the resource manager: this node keeps its polling period (%s) until one arrives",
             period_text(n->policy).s);
}

static void carry_out(struct node *n, const struct agent_outcome *o, const struct node_decider *by, int64_t now)
{
    n->managed.changed |= o->action != POLICY_KEEP;
    node_carry_out(n, o, by, now);
}

static void retreat(struct node *n, const struct agent_outcome *o, struct policy_setting safe, int64_t now)
{
    struct policy_member_actions own = {0};
    struct policy_actions no_verdict = {.infeasible_member = POLICY_ALL, .members = &own};
    struct node_decider by = {.who = DECIDED_BY_AGENT,
                              .epoch = (int64_t)n->managed.leadership.holder.epoch,
                              .sequence = (int64_t)n->managed.leadership.sequence};
    carry_out(n, agent_apply(n->agent, safe, agent_shed(n->agent).count, &no_verdict, o->cause), &by, now);
}

void manager_client_sample(struct node *n, const struct agent_outcome *o, int64_t now)
{
    struct policy_setting safe;
    enum limit_state worst = worst_of(n->agent);
    n->managed.steps++;
    if (!node_is_managed(n))
        return;
    n->managed.settled = !n->managed.changed && o->action == POLICY_KEEP;
    n->managed.changed = false;
    leadership_judge(&n->managed.leadership, worst, n->policy, now);
    if (leadership_lost(&n->managed.leadership, now))
        note_lost(n, now);
    if (leadership_retreats(&n->managed.leadership, worst, &safe))
        retreat(n, o, safe, now);
    if (n->managed.beat_due != INT64_MAX)
        report(n, now);
}

static void apply(struct node *n, const struct message_setpoint *s, const struct leadership_command *order, int64_t now)
{
    struct policy_member_actions own = {.not_the_monitors = s->not_the_monitors, .starved = s->starved};
    struct policy_actions verdict = {.infeasible = s->infeasible != MESSAGE_FEASIBLE,
                                     .infeasible_member = s->infeasible == MESSAGE_INFEASIBLE ? 0 : POLICY_ALL,
                                     .needed = s->needed,
                                     .budget = s->budget,
                                     .members = &own};
    struct node_decider by = {
        .who = DECIDED_BY_MANAGER, .epoch = (int64_t)s->leadership.epoch, .sequence = (int64_t)s->sequence};
    bool known = s->cause >= 0 && s->cause < (int32_t)n->options.experiment->limit_count;
    uint32_t before = agent_shed(n->agent).count;
    const struct agent_outcome *o = agent_apply(n->agent, order->setting, s->shed, &verdict, known ? s->cause : -1);
    n->managed.changed |= agent_shed(n->agent).count != before;
    carry_out(n, o, &by, now);
    n->managed.leadership.clamped += knob_steering_apply(n, s);
}

/*
 * The dead time of the loop over the collector: from the newest record of the value that was decided by, until the
 * setpoint is applied here. The manager cannot know how long the setpoint was on the way. Here it is, at most, the time
 * since the observation that the setpoint answers, less the time for which the manager had that. So it is never too
 * short, and no clocks are compared. Recorded at each setpoint that changed something, and else every second.
 */
static void record_loop(struct node *n, const struct message_setpoint *s, bool changed, int64_t now)
{
    const struct message_loop *l = &n->managed.loop;
    bool is = l->sequence == s->sequence && l->sequence > 0 && l->leadership.epoch == s->leadership.epoch &&
              l->leadership.holder == s->leadership.holder && l->limit >= 0;
    int64_t way = now - (int64_t)s->answers - l->held;
    if (!is || (!changed && now - n->managed.looped_at < CLOCK_S))
        return;
    n->managed.looped_at = now;
    const char *name = n->options.experiment->nodes[n->options.node].name;
    node_record_metric(n, BUILTIN_LOOP_COLLECTED, name, (double)l->collected);
    node_record_metric(n, BUILTIN_LOOP_DECIDED, name, (double)l->decided);
    node_record_metric(n, changed ? BUILTIN_LOOP_APPLIED : BUILTIN_LOOP_RENEWED, name,
                       (double)(l->sent + (way > 0 ? way : 0)));
}

static bool moves_knob(const struct node *n, const struct message_setpoint *s)
{
    for (const struct message_steer *k = s->knobs; k < s->knobs + s->knob_count; k++) {
        if (k->knob >= n->options.experiment->adapt.knob_count || !k->given)
            continue;
        const struct knob_controller_setpoint *now = &n->knobs[k->knob].setpoint;
        if (!now->given || now->value != k->value)
            return true;
    }
    return false;
}

static void receive_setpoint(struct node *n, const struct command_request *from, const struct message_setpoint *s,
                             int64_t now)
{
    struct leadership_command order;
    struct leadership *l = &n->managed.leadership;
    uint64_t epoch = l->holder.epoch, holder = l->holder.holder;
    if (leadership_receive(l, s, (int64_t)n->poll_settings.now.period_ns, now, &order) != LEADERSHIP_APPLIED)
        return;
    n->managed.peer = *from;
    if (n->managed.beat_due == INT64_MAX)
        n->managed.beat_due = now + MANAGER_HEARTBEAT;
    if (l->holder.epoch != epoch || l->holder.holder != holder)
        owner_save(&n->managed.file, n->managed.leadership.holder);
    if (order.taken)
        log_info("BEZEL-MANAGER", "the resource manager of epoch %" PRIu64 " decides from now on", l->holder.epoch);
    bool before = n->managed.changed, moves = moves_knob(n, s);
    n->managed.changed = false;
    apply(n, s, &order, now);
    record_loop(n, s, n->managed.changed || moves, now);
    n->managed.changed |= before;
}

static void receive_judgement(struct node *n, const struct message_judgement *j, int64_t now)
{
    if (global_limits_receive(n, j, now) && !node_is_managed(n))
        n->managed.leadership.holder = n->judged.by; /* the next observation names it; a replaced manager then ends */
}

void manager_client_receive(struct node *n, const struct command_request *from, const struct message *m, int64_t now)
{
    n->managed.heard = now;
    if (!experiment_has_manager(n->options.experiment) || n->draining)
        n->managed.ignored++;
    else if (m->type == MESSAGE_WATCH)
        (void)send_observation(n, from, now);
    else if (m->type == MESSAGE_LOOP && m->loop.sequence == 0)
        global_limits_lack(n, &m->loop, now);
    else if (m->type == MESSAGE_LOOP)
        n->managed.loop = m->loop;
    else if (m->type == MESSAGE_JUDGEMENT)
        receive_judgement(n, &m->judgement, now);
    else if (!node_is_managed(n))
        n->managed.ignored++;
    else
        receive_setpoint(n, from, &m->setpoint, now);
}

void manager_client_override(struct node *n, int64_t now)
{
    if (!node_is_managed(n))
        return;
    n->managed.overrides++;
    n->managed.changed = true;
    leadership_override(&n->managed.leadership, now);
}

struct message_managed node_manager_status(const struct node *n)
{
    const struct leadership *l = &n->managed.leadership;
    if (!node_is_managed(n))
        return (struct message_managed){.held = false};
    return (struct message_managed){
        .held = l->held, .epoch = l->holder.epoch, .applied = l->answered[LEADERSHIP_APPLIED]};
}

/* All fields behind `node` and `at` have one type, so there is no padding between them. */
static bool is_as_recorded(const struct builtin_setpoints *now, const struct builtin_setpoints *recorded)
{
    return memcmp(&now->epoch, &recorded->epoch, sizeof *now - offsetof(struct builtin_setpoints, epoch)) == 0;
}

void manager_client_record(struct node *n)
{
    const struct leadership *l = &n->managed.leadership;
    struct builtin_setpoints now = {.epoch = (int64_t)l->holder.epoch,
                                    .applied = (int64_t)l->answered[LEADERSHIP_APPLIED],
                                    .expired = (int64_t)l->answered[LEADERSHIP_EXPIRED],
                                    .outdated = (int64_t)l->answered[LEADERSHIP_OUTDATED],
                                    .repeated = (int64_t)l->answered[LEADERSHIP_REPEATED],
                                    .clamped = (int64_t)l->clamped,
                                    .lost = (int64_t)l->lost,
                                    .unsent = (int64_t)n->managed.unsent};
    if (!node_is_managed(n) || is_as_recorded(&now, &n->managed.recorded))
        return;
    n->managed.recorded = now;
    own_trace_record_setpoints(n->own_trace, &now);
}
