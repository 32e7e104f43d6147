// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/manager/manager.h"

#include "resmgr/agent/agent.h"
#include "resmgr/control/knob_controller.h"
#include "resmgr/manager/aggregate.h"
#include "resmgr/pace/cpu_budget.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { STALE_STEPS = 3 }; /* sampling periods, plus MANAGER_EXPIRY, without a message: the node is unknown then */

static_assert((int)MESSAGE_KNOBS_MAX == (int)EXPERIMENT_KNOBS_MAX, "one bound, two names");

/* Operators' overrides of a knob, on any node: the latest counts, for all nodes. */
struct manager_override {
    uint32_t count;
    int32_t value, baseline;
};

/* Measurements since the last decision. */
struct manager_sum {
    double cpu, polls, records; /* cpu: percent times ns */
    int64_t elapsed;
    bool unsettled;
};

struct manager_node {
    bool known;
    struct message_observation last; /* meaningful where known */
    int64_t received_at;
    struct manager_sum sum;
    uint64_t stepped; /* number of the sampling instant that the last decision used */
    int64_t asked, sent;
    bool unsent; /* a decision is not sent yet */
    uint64_t sequence;
    int cause;
    enum message_infeasible infeasible;
    double needed, budget;
    bool not_the_monitors, starved;
    uint32_t shed;
};

struct manager {
    const struct experiment *experiment;
    struct message_leadership leadership, newer; /* newer: another manager's; epoch 0: none */
    struct policy_state policy;
    struct policy_observation seen; /* scratch of a step */
    uint32_t hold_count;            /* `hold` limits of one node */
    struct knob_controller knob_controller;
    struct manager_override overrides[EXPERIMENT_KNOBS_MAX];
    struct policy_actions actions;
    int64_t stepped;
    struct manager_counts counts;
    bool decides;     /* else it only judges global limits */
    int64_t every;    /* between two steps */
    int global_cause; /* the first global limit in violation; -1: none */
    int any_cause;    /* that one, or the first of another node */
    bool wants_values;
    int64_t asked,
        unanswered; /* when the collector was asked last, and first without an answer since; 0: it answered */
    struct aggregate aggregate;
    struct cpu_budget cpu_budget; /* as the nodes keep it themselves */
    struct manager_node nodes[EXPERIMENT_NODES_MAX];
};

static int64_t stale_after(const struct manager *m)
{
    return MANAGER_EXPIRY + STALE_STEPS * m->experiment->adapt.every;
}

/* Memory for the policy, for as many nodes and limits as the file has. */
static int make_room(struct manager *m)
{
    const struct experiment *e = m->experiment;
    uint32_t count = e->node_count, globals = 0;
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].kind == LIMIT_HOLD)
            *(e->limits[i].global ? &globals : &m->hold_count) += 1;
    m->policy.members = calloc(count, sizeof *m->policy.members);
    m->actions.members = calloc(count, sizeof *m->actions.members);
    m->seen.members = calloc(count, sizeof *m->seen.members);
    m->seen.limits = calloc(globals + (size_t)m->hold_count * count + 1, sizeof *m->seen.limits);
    return m->policy.members && m->actions.members && m->seen.members && m->seen.limits ? 0 : BEZEL_ENOMEM;
}

int manager_new(const struct experiment *e, struct message_leadership leadership, int64_t now, struct manager **out)
{
    struct manager *m = calloc(1, sizeof *m);
    if (!m)
        return BEZEL_ENOMEM;
    m->experiment = e;
    m->leadership = leadership;
    m->stepped = now;
    m->decides = experiment_is_managed(e);
    m->every = m->decides || e->adapt.every > MANAGER_LOOK ? e->adapt.every : MANAGER_LOOK;
    m->global_cause = m->any_cause = -1;
    for (uint32_t i = 0; i < e->limit_count; i++)
        m->wants_values |= experiment_limit_is_on_interval(e, &e->limits[i]);
    if (make_room(m) != 0) {
        manager_free(m);
        return BEZEL_ENOMEM;
    }
    aggregate_start(&m->aggregate, e, stale_after(m));
    m->aggregate.began = now;
    policy_start(&m->policy, &e->adapt, e->sensing.period, m->decides ? e->node_count : 0);
    knob_controller_start(&m->knob_controller, e);
    cpu_budget_start(&m->cpu_budget, e);
    for (uint32_t i = 0; i < e->node_count; i++)
        m->nodes[i].asked = now - MANAGER_ASK;
    *out = m;
    return 0;
}

void manager_free(struct manager *m)
{
    if (!m)
        return;
    free(m->policy.members);
    free(m->actions.members);
    free(m->seen.members);
    free(m->seen.limits);
    free(m);
}

/* ---- Observations ------------------------------------------------------------------------------------------------ */

static bool is_sane(const struct message_observation *o)
{
    return o->period_ns > 0 && o->period_ns <= INT64_MAX && o->desired_ns > 0 && o->desired_ns <= INT64_MAX;
}

static void note_leadership(struct manager *m, struct message_leadership other)
{
    bool ours = other.epoch == m->leadership.epoch && other.holder == m->leadership.holder;
    if (!ours && other.epoch >= m->leadership.epoch && other.epoch > m->newer.epoch)
        m->newer = other;
}

/* The first observation of a node: the policy continues from how it polls. */
static void adopt(struct policy_state *s, uint32_t i, const struct message_observation *o)
{
    policy_set_period(s, (int)i, (int64_t)o->desired_ns);
    s->members[i].period = (int64_t)o->period_ns;
    s->members[i].on = o->on;
}

/* Unknown is not zero: NaN stays NaN in a sum. An impossible value becomes NaN, because a sum could hide it. */
static void add_measure(struct manager_sum *sum, const struct message_observation *o)
{
    if (o->elapsed <= 0)
        return;
    sum->cpu += policy_cpu_is_sane(o->cpu) ? o->cpu * (double)o->elapsed : (double)NAN;
    sum->polls += o->polls;
    sum->records += o->records;
    sum->elapsed = o->elapsed > INT64_MAX - sum->elapsed ? INT64_MAX : sum->elapsed + o->elapsed;
    sum->unsettled = sum->unsettled || !o->settled;
}

static uint32_t overrides_of(const struct message_observation *o, uint32_t knob)
{
    for (uint32_t i = 0; o && i < o->knob_count; i++)
        if (o->knobs[i].knob == knob)
            return o->knobs[i].overrides;
    return 0;
}

/* `before`: the node's previous observation; NULL: there is none since its bezeld started. */
static void add_overrides(struct manager *m, const struct message_observation *before,
                          const struct message_observation *o)
{
    for (const struct message_steered *s = o->knobs; s < o->knobs + o->knob_count; s++)
        if (s->knob < EXPERIMENT_KNOBS_MAX && s->overrides > overrides_of(before, s->knob))
            m->overrides[s->knob] = (struct manager_override){
                .count = m->overrides[s->knob].count + 1, .value = s->value, .baseline = s->baseline};
}

/* Follows how a node polls: at its first observation, after a restart, and where an operator has set it. */
static void follow(struct manager *m, uint32_t node, const struct message_observation *o, bool first, bool back)
{
    const struct manager_node *n = &m->nodes[node];
    if (first)
        adopt(&m->policy, node, o);
    else if (o->overrides != (back ? 0 : n->last.overrides) || o->desired_ns != n->last.desired_ns)
        policy_set_period(&m->policy, (int)node, (int64_t)o->desired_ns);
    policy_set_levels(&m->policy, node, o->levels);
    if (first)
        m->policy.members[node].load_shedding.count = o->shed < o->levels ? o->shed : o->levels;
}

void manager_receive(struct manager *m, uint32_t node, const struct message_observation *o, int64_t now)
{
    struct manager_node *n = &m->nodes[node];
    m->counts.observations++;
    note_leadership(m, o->leadership);
    if (!is_sane(o) || (n->known && (o->life < n->last.life || (o->life == n->last.life && o->at <= n->last.at)))) {
        m->counts.late++;
        return;
    }
    bool first = !n->known, back = n->known && o->life > n->last.life;
    if (m->decides)
        follow(m, node, o, first, back);
    if (!first)
        add_overrides(m, back ? NULL : &n->last, o);
    n->unsent |= first || back;
    if (back || o->step > n->last.step)
        add_measure(&n->sum, o);
    if (back)
        n->stepped = 0;
    n->known = true;
    n->received_at = now;
    n->last = *o;
}

void manager_receive_partials(struct manager *m, uint32_t node, const struct message_partials *partials, int64_t now)
{
    m->counts.observations++;
    if (!aggregate_receive(&m->aggregate, node, partials, now))
        m->counts.late++;
}

/* ---- Values of the collector ------------------------------------------------------------------------------------- */

bool manager_wants_values(const struct manager *m)
{
    return m->wants_values;
}

/* Twice in a sampling period, so that values are not much older than a decision needs. */
static int64_t values_due(const struct manager *m)
{
    int64_t pause = m->every / 2 > MANAGER_LOOK ? m->every / 2 : MANAGER_LOOK;
    if (m->unanswered && pause < MANAGER_ASK)
        pause = MANAGER_ASK;
    return m->wants_values ? m->asked + pause : INT64_MAX;
}

bool manager_asks_collector(struct manager *m, int64_t now)
{
    if (now < values_due(m))
        return false;
    m->asked = now;
    m->unanswered = m->unanswered ? m->unanswered : now;
    return true;
}

/* An answer is to the first question that has none yet, or to a later one: it was sent after that. */
void manager_receive_values(struct manager *m, const struct message_values *values, int64_t now)
{
    int64_t asked = m->unanswered ? m->unanswered : m->asked;
    m->counts.observations++;
    m->unanswered = 0;
    if (!aggregate_receive_values(&m->aggregate, values, now - asked, now))
        m->counts.late++;
}

/* The oldest of the values of the last step, as a limit; -1: there is none. */
static int oldest_value(const struct manager *m)
{
    int oldest = -1;
    for (uint32_t i = 0; i < m->experiment->limit_count && m->wants_values; i++) {
        const struct aggregate_value *v = aggregate_value(&m->aggregate, i);
        if (!experiment_limit_is_on_interval(m->experiment, &m->experiment->limits[i]) || !v->known)
            continue;
        if (oldest < 0 || v->age > aggregate_value(&m->aggregate, (uint32_t)oldest)->age)
            oldest = (int)i;
    }
    return oldest;
}

static void add_lacking(const struct manager *m, struct message_loop *loop)
{
    for (uint32_t i = 0; i < m->experiment->limit_count; i++)
        if (experiment_limit_is_on_interval(m->experiment, &m->experiment->limits[i]))
            loop->lacking[loop->count++] =
                (struct message_lacking){.limit = i, .lack = aggregate_value(&m->aggregate, i)->lack};
}

bool manager_loop(const struct manager *m, uint32_t node, const struct message_setpoint *s, int64_t now,
                  struct message_loop *loop)
{
    int oldest = oldest_value(m);
    *loop = (struct message_loop){.leadership = m->leadership, .limit = oldest};
    if (!m->wants_values || (s && oldest < 0))
        return false;
    if (oldest >= 0) {
        const struct aggregate_value *v = aggregate_value(&m->aggregate, (uint32_t)oldest);
        loop->collected = v->collected;
        loop->decided = v->age;
        loop->sent = v->age + (now - m->stepped);
    }
    if (!s) {
        add_lacking(m, loop);
        return true;
    }
    loop->sequence = s->sequence;
    loop->held = now - m->nodes[node].received_at;
    return true;
}

/* ---- Decisions --------------------------------------------------------------------------------------------------- */

static bool is_present(const struct manager *m, const struct manager_node *n, int64_t now)
{
    return n->known && now - n->received_at <= stale_after(m);
}

uint32_t manager_reached(const struct manager *m, int64_t now)
{
    uint32_t reached = 0;
    for (uint32_t i = 0; i < m->experiment->node_count; i++)
        reached += is_present(m, &m->nodes[i], now);
    return reached;
}

/* Whether the node reports that it polls as decided; without decisions it does. */
static bool applies_decision(const struct manager *m, uint32_t i)
{
    const struct message_observation *o = &m->nodes[i].last;
    if (!m->decides)
        return true;
    const struct policy_member *p = &m->policy.members[i];
    return o->on == p->on && (int64_t)o->period_ns == p->period && o->shed == p->load_shedding.count;
}

static struct policy_measure take_measure(struct manager *m, uint32_t i)
{
    struct manager_sum sum = m->nodes[i].sum;
    m->nodes[i].sum = (struct manager_sum){0};
    if (sum.elapsed == 0)
        return (struct policy_measure){.cpu = NAN, .polls = NAN, .records = NAN, .unconfirmed = true};
    return (struct policy_measure){.cpu = sum.cpu / (double)sum.elapsed,
                                   .polls = sum.polls,
                                   .records = sum.records,
                                   .elapsed = sum.elapsed,
                                   .kept = m->cpu_budget.share > 0,
                                   .deferred = cpu_budget_is_used_up(&m->cpu_budget, sum.cpu / (double)sum.elapsed),
                                   .unconfirmed = sum.unsettled || !applies_decision(m, i)};
}

/* Adds what is seen of limit `limit`, by `member` or all; the first that is violated is the cause. */
static void add_limit(struct manager *m, uint32_t limit, int member, enum limit_state state, double value, int *cause)
{
    struct policy_limit *seen = &m->seen.limits[m->seen.limit_count++];
    *seen = agent_policy_limit(m->experiment, limit, state, value);
    seen->member = member;
    knob_controller_take(&m->knob_controller, limit, seen);
    if (state == LIMIT_VIOLATED && *cause < 0)
        *cause = (int)limit;
}

static void add_limits(struct manager *m, uint32_t i, bool present)
{
    const struct experiment *e = m->experiment;
    const struct message_observation *o = &m->nodes[i].last;
    uint32_t room = m->hold_count; /* whatever the node repeats, the others have theirs */
    m->nodes[i].cause = -1;
    for (uint32_t k = 0; k < o->limit_count && room > 0; k++) {
        const struct message_observed *l = &o->limits[k];
        if (l->limit >= e->limit_count || e->limits[l->limit].kind != LIMIT_HOLD || e->limits[l->limit].global)
            continue;
        add_limit(m, l->limit, (int)i, present ? (enum limit_state)l->state : LIMIT_UNKNOWN, l->value,
                  &m->nodes[i].cause);
        room--;
    }
}

static void add_global_limits(struct manager *m, int64_t now)
{
    const struct experiment *e = m->experiment;
    aggregate_step(&m->aggregate, now);
    m->global_cause = -1;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct agent_limit *l = aggregate_limit(&m->aggregate, i);
        if (e->limits[i].global && e->limits[i].kind == LIMIT_HOLD)
            add_limit(m, i, POLICY_ALL, l->state, l->value, &m->global_cause);
    }
}

static void merge_knobs(struct knob_controller *c, const struct message_observation *o)
{
    for (const struct message_steered *s = o->knobs; s < o->knobs + o->knob_count; s++) {
        struct knob_search_seen one = {
            .present = true, .value = s->value, .min = s->min, .max = s->max, .baseline = s->baseline};
        if (s->knob < c->experiment->adapt.knob_count)
            knob_controller_merge(&c->knobs[s->knob].seen, &one);
    }
}

static void find_knobs(struct manager *m, int64_t elapsed)
{
    struct knob_controller *c = &m->knob_controller;
    knob_controller_begin(c, elapsed);
    for (uint32_t i = 0; i < m->experiment->adapt.knob_count; i++)
        c->knobs[i].seen = (struct knob_search_seen){.present = false};
    for (uint32_t i = 0; i < m->experiment->node_count; i++)
        if (m->nodes[i].known) /* of a missing node: its last observation */
            merge_knobs(c, &m->nodes[i].last);
    for (uint32_t i = 0; i < m->experiment->adapt.knob_count; i++) {
        if (m->overrides[i].count == 0)
            continue;
        c->knobs[i].seen.overrides = m->overrides[i].count;
        c->knobs[i].seen.value = m->overrides[i].value;
        c->knobs[i].seen.baseline = m->overrides[i].baseline;
    }
}

/* Whether a knob moved, or became saturated, or no longer is. */
static bool step_knobs(struct manager *m)
{
    bool changed = false, saturated[EXPERIMENT_KNOBS_MAX];
    uint32_t count = m->experiment->adapt.knob_count;
    for (uint32_t i = 0; i < count; i++)
        saturated[i] = m->knob_controller.knobs[i].setpoint.saturated;
    knob_controller_step(&m->knob_controller, &m->policy, &m->actions, m->seen.dead_time);
    for (uint32_t i = 0; i < count; i++) {
        const struct knob_controller_setpoint *now = &m->knob_controller.knobs[i].setpoint;
        m->counts.moves += now->moved != KNOB_SEARCH_KEEP;
        changed = changed || now->moved != KNOB_SEARCH_KEEP || now->saturated != saturated[i];
    }
    return changed;
}

/* The limit that caused a decision for `node`: preferably one of its own. */
static int cause_of(const struct manager *m, uint32_t node)
{
    return m->nodes[node].cause >= 0 ? m->nodes[node].cause : m->any_cause;
}

static void take_verdict(struct manager *m, uint32_t i)
{
    const struct policy_actions *a = &m->actions;
    struct manager_node *n = &m->nodes[i];
    bool global = a->infeasible && a->infeasible_member == POLICY_ALL;
    bool own = a->infeasible && a->infeasible_member == (int)i;
    enum message_infeasible infeasible = global ? MESSAGE_INFEASIBLE_GLOBAL
                                         : own  ? MESSAGE_INFEASIBLE
                                                : MESSAGE_FEASIBLE;
    bool not_the_monitors = a->members[i].not_the_monitors, starved = a->members[i].starved;
    uint32_t shed = m->policy.members[i].load_shedding.count;
    n->unsent |= infeasible != n->infeasible || not_the_monitors != n->not_the_monitors || starved != n->starved ||
                 shed != n->shed;
    n->starved = starved;
    n->shed = shed;
    n->infeasible = infeasible;
    n->needed = infeasible ? a->needed : 0;
    n->budget = infeasible ? a->budget : 0;
    n->not_the_monitors = not_the_monitors;
}

static bool is_round_complete(const struct manager *m, int64_t now)
{
    bool any = false;
    for (uint32_t i = 0; i < m->experiment->node_count; i++) {
        const struct manager_node *n = &m->nodes[i];
        if (is_present(m, n, now) && n->last.step <= n->stepped)
            return false;
        any |= is_present(m, n, now);
    }
    return any;
}

static int64_t latest_step(const struct manager *m)
{
    return m->stepped + m->every + m->every / 2;
}

bool manager_step(struct manager *m, int64_t now)
{
    uint32_t count = m->experiment->node_count;
    bool moved = false; /* a knob moved: one value for all nodes */
    bool early = now - m->stepped >= m->every / 2 && is_round_complete(m, now);
    if (!early && now < latest_step(m))
        return false;
    find_knobs(m, now - m->stepped);
    m->stepped = now;
    m->counts.steps++;
    m->seen.limit_count = 0;
    add_global_limits(m, now);
    m->any_cause = m->global_cause;
    for (uint32_t i = 0; i < count; i++) {
        struct manager_node *n = &m->nodes[i];
        n->stepped = n->last.step;
        if (!m->decides)
            continue;
        m->seen.members[i] = take_measure(m, i);
        add_limits(m, i, is_present(m, n, now));
        if (m->any_cause < 0)
            m->any_cause = n->cause;
    }
    if (m->decides) {
        int oldest = oldest_value(m);
        m->seen.dead_time = oldest < 0 ? 0 : aggregate_value(&m->aggregate, (uint32_t)oldest)->age;
        policy_step(&m->policy, &m->seen, &m->actions);
        moved = step_knobs(m);
    }
    for (uint32_t i = 0; i < count && m->decides; i++) {
        bool changed = m->actions.members[i].action != POLICY_KEEP;
        m->counts.changes += changed;
        m->nodes[i].unsent |= changed || moved;
        take_verdict(m, i);
    }
    return true;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

/* A node that follows a manager sends it observations unasked; others are asked. */
static int64_t ask_due(const struct manager *m, const struct manager_node *n)
{
    if (!m->decides)
        return n->asked + m->every;
    int64_t due = n->asked + MANAGER_ASK;
    return n->known && n->received_at + MANAGER_ASK > due ? n->received_at + MANAGER_ASK : due;
}

bool manager_asks(struct manager *m, uint32_t node, int64_t now)
{
    struct manager_node *n = &m->nodes[node];
    if (now < ask_due(m, n) || m->newer.epoch)
        return false;
    n->asked = now;
    return true;
}

/* A setpoint that answers an old observation would have expired on arrival; the next observation gets one. */
static bool may_send(const struct manager *m, const struct manager_node *n, int64_t now)
{
    return m->decides && n->known && m->newer.epoch == 0 && now - n->received_at < MANAGER_EXPIRY / 2;
}

static void add_knobs(const struct manager *m, struct message_setpoint *s)
{
    for (uint32_t i = 0; i < m->experiment->adapt.knob_count; i++) {
        const struct knob_controller_setpoint *k = &m->knob_controller.knobs[i].setpoint;
        if (k->given || k->saturated)
            s->knobs[s->knob_count++] = (struct message_steer){.knob = i,
                                                               .given = k->given,
                                                               .value = k->value,
                                                               .cause = k->limit,
                                                               .metric = k->metric,
                                                               .saturated = k->saturated};
    }
}

bool manager_send(struct manager *m, uint32_t node, int64_t now, struct message_setpoint *s)
{
    struct manager_node *n = &m->nodes[node];
    const struct policy_member *p = &m->policy.members[node];
    int64_t pause = applies_decision(m, node) ? MANAGER_RENEW : MANAGER_RETRY;
    if (!may_send(m, n, now) || (!n->unsent && now - n->sent < pause))
        return false;
    *s = (struct message_setpoint){.leadership = m->leadership,
                                   .sequence = ++n->sequence,
                                   .life = n->last.life,
                                   .answers = n->last.at,
                                   .expiry = MANAGER_EXPIRY,
                                   .lasts = MANAGER_LASTS,
                                   .on = p->on,
                                   .period_ns = (uint64_t)p->period,
                                   .cause = cause_of(m, node),
                                   .infeasible = n->infeasible,
                                   .needed = n->needed,
                                   .budget = n->budget,
                                   .not_the_monitors = n->not_the_monitors,
                                   .starved = n->starved,
                                   .shed = p->load_shedding.count};
    add_knobs(m, s);
    n->unsent = false;
    n->sent = now;
    m->counts.setpoints++;
    return true;
}

bool manager_judges(struct manager *m, int64_t now, uint32_t *node, struct message_judgement *j)
{
    if (m->newer.epoch || !aggregate_send(&m->aggregate, now, node, j))
        return false;
    j->leadership = m->leadership;
    return true;
}

int64_t manager_due(const struct manager *m, int64_t now)
{
    int64_t due = latest_step(m), values = values_due(m);
    due = values < due ? values : due;
    for (uint32_t i = 0; i < m->experiment->node_count; i++) {
        const struct manager_node *n = &m->nodes[i];
        bool sends = may_send(m, n, now);
        int64_t next = ask_due(m, n);
        int64_t renewal = n->sent + (applies_decision(m, i) ? MANAGER_RENEW : MANAGER_RETRY);
        if (sends && renewal < next)
            next = renewal;
        due = next < due ? next : due;
    }
    return due;
}

const struct message_leadership *manager_superseded(const struct manager *m)
{
    return m->newer.epoch ? &m->newer : NULL;
}

const struct manager_counts *manager_counts(const struct manager *m)
{
    return &m->counts;
}
