// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/manager.h"

#include "resmgr/agent.h"
#include "resmgr/manager_knobs.h"
#include "resmgr/quota.h"
#include "resmgr/whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STALE_STEPS = 3 }; /* sampling periods, and MANAGER_EXPIRY, after which a node that is not heard is unknown */

/* What was measured since the last decision. */
struct manager_sum {
    double cpu, polls, records; /* cpu: percent times ns */
    int64_t elapsed, effective;
    bool unsettled;
};

struct manager_node {
    bool heard;
    struct message_observation last; /* while heard; of limits only those that make sense */
    int64_t heard_at;
    struct manager_sum sum;
    uint64_t stepped; /* the instant that the last decision saw */
    int64_t asked, told;
    bool news; /* decided and not told yet */
    uint64_t sequence;
    int cause;
    enum message_infeasible infeasible;
    double needed, budget;
    bool blameless, starved;
    uint32_t shed;
};

struct manager {
    const struct experiment *experiment;
    struct message_lease lease, newer; /* newer: of epoch 0 while none is known */
    struct policy_state policy;
    struct policy_observation seen; /* scratch of a step */
    struct helm helm;
    struct manager_ordered ordered[EXPERIMENT_KNOBS_MAX];
    struct policy_actions actions;
    int64_t stepped;
    struct manager_counts counts;
    bool decides;    /* else it only judges */
    int64_t every;   /* between two steps */
    int whole_cause; /* the first limit on the whole that is in violation; -1: none */
    struct whole whole;
    struct quota quota; /* as the nodes keep it */
    struct manager_node nodes[EXPERIMENT_NODES_MAX];
};

static int64_t stale_after(const struct manager *m)
{
    return MANAGER_EXPIRY + STALE_STEPS * m->experiment->adapt.every;
}

int manager_new(const struct experiment *e, struct message_lease lease, int64_t now, struct manager **out)
{
    struct manager *m = calloc(1, sizeof *m);
    if (!m)
        return BEZEL_ENOMEM;
    m->experiment = e;
    m->lease = lease;
    m->stepped = now;
    m->decides = experiment_is_managed(e);
    m->every = m->decides || e->adapt.every > MANAGER_LOOK ? e->adapt.every : MANAGER_LOOK;
    m->whole_cause = -1;
    whole_start(&m->whole, e, stale_after(m));
    policy_start(&m->policy, &e->adapt, e->sensing.period, e->node_count);
    helm_start(&m->helm, e);
    quota_start(&m->quota, e);
    for (uint32_t i = 0; i < e->node_count; i++)
        m->nodes[i].asked = now - MANAGER_ASK;
    *out = m;
    return 0;
}

void manager_free(struct manager *m)
{
    free(m);
}

/* ---- What is heard ----------------------------------------------------------------------------------------------- */

static bool is_sane(const struct message_observation *o)
{
    return o->period_ns > 0 && o->period_ns <= INT64_MAX && o->desired_ns > 0 && o->desired_ns <= INT64_MAX;
}

static void note_lease(struct manager *m, struct message_lease other)
{
    bool ours = other.epoch == m->lease.epoch && other.holder == m->lease.holder;
    if (!ours && other.epoch >= m->lease.epoch && other.epoch > m->newer.epoch)
        m->newer = other;
}

/* As the node stands: of one that is heard for the first time. */
static void adopt(struct policy_state *s, uint32_t i, const struct message_observation *o)
{
    policy_set_period(s, (int)i, (int64_t)o->desired_ns);
    s->members[i].period = (int64_t)o->period_ns;
    s->members[i].on = o->on;
}

/* Knowing nothing of what was measured is not knowing that it is nothing: NaN goes on as NaN, and so does what cannot
 * be true, which might look true in a sum. */
static void add_measure(struct manager_sum *sum, const struct message_observation *o)
{
    if (o->elapsed <= 0)
        return;
    sum->cpu += policy_cpu_is_sane(o->cpu) ? o->cpu * (double)o->elapsed : (double)NAN;
    sum->polls += o->polls;
    sum->records += o->records;
    sum->elapsed = o->elapsed > INT64_MAX - sum->elapsed ? INT64_MAX : sum->elapsed + o->elapsed;
    sum->effective = o->effective;
    sum->unsettled = sum->unsettled || !o->settled;
}

void manager_hear(struct manager *m, uint32_t node, const struct message_observation *o, int64_t now)
{
    struct manager_node *n = &m->nodes[node];
    m->counts.observations++;
    note_lease(m, o->lease);
    if (!is_sane(o) || (n->heard && (o->life < n->last.life || (o->life == n->last.life && o->at <= n->last.at)))) {
        m->counts.late++;
        return;
    }
    bool first = !n->heard, back = n->heard && o->life > n->last.life;
    if (first)
        adopt(&m->policy, node, o);
    else if (o->orders != (back ? 0 : n->last.orders) || o->desired_ns != n->last.desired_ns)
        policy_set_period(&m->policy, (int)node, (int64_t)o->desired_ns);
    policy_set_levels(&m->policy, node, o->levels);
    if (first)
        m->policy.members[node].shed.count = o->shed < o->levels ? o->shed : o->levels;
    if (!first)
        manager_knobs_order(m->ordered, back ? NULL : &n->last, o);
    n->news |= first || back;
    if (back || o->step > n->last.step)
        add_measure(&n->sum, o);
    if (back)
        n->stepped = 0;
    n->heard = true;
    n->heard_at = now;
    n->last = *o;
}

void manager_hear_parts(struct manager *m, uint32_t node, const struct message_parts *parts, int64_t now)
{
    m->counts.observations++;
    if (!whole_hear(&m->whole, node, parts, now))
        m->counts.late++;
}

/* ---- What is decided --------------------------------------------------------------------------------------------- */

static bool is_present(const struct manager *m, const struct manager_node *n, int64_t now)
{
    return n->heard && now - n->heard_at <= stale_after(m);
}

/* Whether what the node says that it does is what was decided for it. */
static bool does_as_told(const struct manager *m, uint32_t i)
{
    const struct message_observation *o = &m->nodes[i].last;
    const struct policy_member *p = &m->policy.members[i];
    return o->on == p->on && (int64_t)o->period_ns == p->period && o->shed == p->shed.count;
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
                                   .effective = sum.effective,
                                   .kept = m->quota.share > 0,
                                   .put_off = quota_is_used_up(&m->quota, sum.cpu / (double)sum.elapsed),
                                   .unconfirmed = sum.unsettled || !does_as_told(m, i)};
}

static void add_limits(struct manager *m, uint32_t i, bool present)
{
    const struct experiment *e = m->experiment;
    const struct message_observation *o = &m->nodes[i].last;
    m->nodes[i].cause = -1;
    for (uint32_t k = 0; k < o->limit_count && m->seen.limit_count < POLICY_LIMITS_MAX; k++) {
        const struct message_observed *l = &o->limits[k];
        if (l->limit >= e->limit_count || e->limits[l->limit].kind != LIMIT_HOLD || e->limits[l->limit].whole)
            continue;
        enum limit_state state = present ? (enum limit_state)l->state : LIMIT_UNKNOWN;
        struct policy_limit *seen = &m->seen.limits[m->seen.limit_count++];
        *seen = agent_policy_limit(e, l->limit, state, l->value);
        seen->member = (int)i;
        helm_take(&m->helm, l->limit, seen);
        if (state == LIMIT_VIOLATED && m->nodes[i].cause < 0)
            m->nodes[i].cause = (int)l->limit;
    }
}

/* Ahead of the others: there is room for these. */
static void add_whole(struct manager *m, int64_t now)
{
    const struct experiment *e = m->experiment;
    whole_step(&m->whole, now);
    m->whole_cause = -1;
    for (uint32_t i = 0; i < e->limit_count && m->seen.limit_count < POLICY_LIMITS_MAX; i++) {
        const struct agent_limit *l = whole_limit(&m->whole, i);
        if (!e->limits[i].whole || e->limits[i].kind != LIMIT_HOLD)
            continue;
        struct policy_limit *seen = &m->seen.limits[m->seen.limit_count++];
        *seen = agent_policy_limit(e, i, l->state, l->value);
        seen->member = POLICY_ALL;
        helm_take(&m->helm, i, seen);
        if (l->state == LIMIT_VIOLATED && m->whole_cause < 0)
            m->whole_cause = (int)i;
    }
}

static void find_knobs(struct manager *m, int64_t elapsed)
{
    manager_knobs_begin(&m->helm, elapsed);
    for (uint32_t i = 0; i < m->experiment->node_count; i++)
        if (m->nodes[i].heard) /* of one that is not heard now, as it stood last */
            manager_knobs_hear(&m->helm, &m->nodes[i].last);
}

/* The limit that a decision for `node` goes back to: one of its own first. */
static int cause_of(const struct manager *m, uint32_t node)
{
    int cause = m->nodes[node].cause >= 0 ? m->nodes[node].cause : m->whole_cause;
    for (uint32_t i = 0; i < m->experiment->node_count && cause < 0; i++)
        cause = m->nodes[i].cause;
    return cause;
}

static void take_verdict(struct manager *m, uint32_t i)
{
    const struct policy_actions *a = &m->actions;
    struct manager_node *n = &m->nodes[i];
    bool whole = a->infeasible && a->infeasible_member == POLICY_ALL;
    bool own = a->infeasible && a->infeasible_member == (int)i;
    enum message_infeasible infeasible = whole ? MESSAGE_INFEASIBLE_WHOLE : own ? MESSAGE_INFEASIBLE : MESSAGE_FEASIBLE;
    bool blameless = a->blameless >> i & 1, starved = a->starved >> i & 1;
    uint32_t shed = m->policy.members[i].shed.count;
    n->news |= infeasible != n->infeasible || blameless != n->blameless || starved != n->starved || shed != n->shed;
    n->starved = starved;
    n->shed = shed;
    n->infeasible = infeasible;
    n->needed = infeasible ? a->needed : 0;
    n->budget = infeasible ? a->budget : 0;
    n->blameless = blameless;
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
    bool turned = false; /* a knob: one value for all nodes */
    bool early = now - m->stepped >= m->every / 2 && is_round_complete(m, now);
    if (!early && now < latest_step(m))
        return false;
    find_knobs(m, now - m->stepped);
    m->stepped = now;
    m->counts.steps++;
    m->seen.limit_count = 0;
    m->seen.member_count = count;
    add_whole(m, now);
    for (uint32_t i = 0; i < count; i++) {
        struct manager_node *n = &m->nodes[i];
        m->seen.members[i] = take_measure(m, i);
        n->stepped = n->last.step;
        add_limits(m, i, is_present(m, n, now));
    }
    if (m->decides) {
        policy_step(&m->policy, &m->seen, &m->actions);
        turned = manager_knobs_step(&m->helm, m->ordered, &m->policy, &m->actions, &m->counts.turns);
    }
    for (uint32_t i = 0; i < count && m->decides; i++) {
        bool changed = m->actions.action[i] != POLICY_KEEP;
        m->counts.changes += changed;
        m->nodes[i].news |= changed || turned;
        take_verdict(m, i);
    }
    return true;
}

/* ---- What is told ------------------------------------------------------------------------------------------------ */

/* A node tells of its own accord whom it obeys, and nobody else. */
static int64_t ask_due(const struct manager *m, const struct manager_node *n)
{
    if (!m->decides)
        return n->asked + m->every;
    int64_t due = n->asked + MANAGER_ASK;
    return n->heard && n->heard_at + MANAGER_ASK > due ? n->heard_at + MANAGER_ASK : due;
}

bool manager_asks(struct manager *m, uint32_t node, int64_t now)
{
    struct manager_node *n = &m->nodes[node];
    if (now < ask_due(m, n) || m->newer.epoch)
        return false;
    n->asked = now;
    return true;
}

/* What answers an old observation would be expired when it comes; a new one will bring another occasion. */
static bool may_tell(const struct manager *m, const struct manager_node *n, int64_t now)
{
    return m->decides && n->heard && m->newer.epoch == 0 && now - n->heard_at < MANAGER_EXPIRY / 2;
}

bool manager_tells(struct manager *m, uint32_t node, int64_t now, struct message_setting *s)
{
    struct manager_node *n = &m->nodes[node];
    const struct policy_member *p = &m->policy.members[node];
    int64_t pause = does_as_told(m, node) ? MANAGER_RENEW : MANAGER_RETRY;
    if (!may_tell(m, n, now) || (!n->news && now - n->told < pause))
        return false;
    *s = (struct message_setting){.lease = m->lease,
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
                                  .blameless = n->blameless,
                                  .starved = n->starved,
                                  .shed = p->shed.count};
    manager_knobs_tell(&m->helm, s);
    n->news = false;
    n->told = now;
    m->counts.settings++;
    return true;
}

bool manager_judges(struct manager *m, int64_t now, uint32_t *node, struct message_judgement *j)
{
    if (m->newer.epoch || !whole_tells(&m->whole, now, node, j))
        return false;
    j->lease = m->lease;
    return true;
}

int64_t manager_due(const struct manager *m, int64_t now)
{
    int64_t due = latest_step(m);
    for (uint32_t i = 0; i < m->experiment->node_count; i++) {
        const struct manager_node *n = &m->nodes[i];
        bool tells = may_tell(m, n, now);
        int64_t next = ask_due(m, n);
        int64_t tell = n->told + (does_as_told(m, i) ? MANAGER_RENEW : MANAGER_RETRY);
        if (tells && tell < next)
            next = tell;
        due = next < due ? next : due;
    }
    return due;
}

const struct message_lease *manager_superseded(const struct manager *m)
{
    return m->newer.epoch ? &m->newer : NULL;
}

const struct manager_counts *manager_counts(const struct manager *m)
{
    return &m->counts;
}
