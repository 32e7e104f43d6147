// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"
#include "resmgr/manager.h"
#include "sensor/notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A node that a resource manager decides for (adapt.by: manager). It tells how it stands at each sampling instant, and
 * between them where those are rare; whom it obeys is resmgr/lease.h's. The newest lease is kept in the node's folder:
 * a manager that was followed by another one is not obeyed by the next life of this daemon either.
 */

enum { KEPT_MAX = 96 }; /* of that file: the run, then epoch and holder in digits */

bool node_is_managed(const struct node *n)
{
    return experiment_is_managed(n->options.experiment);
}

static void kept_path(const struct node *n, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/manager", n->options.dir);
}

static void keep(const struct node *n)
{
    char text[KEPT_MAX], path[PATH_MAX];
    const struct message_lease *newest = &n->managed.lease.holder;
    kept_path(n, path);
    memcpy(text, n->options.run, sizeof n->options.run);
    size_t size = sizeof n->options.run;
    size +=
        (size_t)snprintf(text + size, sizeof text - size, "%" PRIu64 " %" PRIu64 "\n", newest->epoch, newest->holder);
    if (file_replace(path, text, size) != 0)
        log_warn("BEZEL-MANAGER", "%s cannot be written: %s: a restart of this daemon forgets whom it obeys", path,
                 strerror(errno));
}

static struct message_lease read_kept(const struct node *n)
{
    char *text, path[PATH_MAX];
    size_t size;
    struct message_lease newest = {0};
    kept_path(n, path);
    if (file_read_plain(path, 1, KEPT_MAX, &text, &size) != 0)
        return newest;
    if (size <= sizeof n->options.run || memcmp(text, n->options.run, sizeof n->options.run) != 0 ||
        sscanf(text + sizeof n->options.run, "%" SCNu64 " %" SCNu64, &newest.epoch, &newest.holder) != 2)
        newest = (struct message_lease){0};
    free(text);
    return newest;
}

void node_manager_start(struct node *n)
{
    if (experiment_has_manager(n->options.experiment))
        lease_start(&n->managed.lease, n->options.experiment, (uint64_t)clock_now(), read_kept(n));
    n->managed.beat_due = INT64_MAX; /* nobody listens */
}

void node_manager_end(const struct node *n)
{
    char path[PATH_MAX];
    kept_path(n, path);
    if (node_is_managed(n))
        unlink(path);
}

/* ---- What the manager is told ------------------------------------------------------------------------------------ */

static void fill_limits(const struct node *n, struct message_observation *o)
{
    const struct experiment *e = n->options.experiment;
    const struct policy_observation *seen = agent_seen(n->agent);
    for (uint32_t i = 0; i < e->limit_count && o->limit_count < seen->limit_count; i++) {
        const struct policy_limit *l = &seen->limits[o->limit_count];
        if (e->limits[i].kind == LIMIT_HOLD && !e->limits[i].whole)
            o->limits[o->limit_count++] =
                (struct message_observed){.limit = i, .state = (enum message_limit_state)l->state, .value = l->value};
    }
}

static void fill(const struct node *n, int64_t now, struct message_observation *o)
{
    const struct policy_measure *m = &n->measured;
    *o = (struct message_observation){.life = n->managed.lease.life,
                                      .at = (uint64_t)now,
                                      .step = n->managed.steps,
                                      .lease = n->managed.lease.holder,
                                      .sequence = n->managed.lease.sequence,
                                      .on = n->policy.on,
                                      .period_ns = (uint64_t)n->policy.period,
                                      .desired_ns = n->polling.now.period_ns,
                                      .orders = n->managed.orders,
                                      .levels = agent_shed(n->agent).levels,
                                      .shed = agent_shed(n->agent).count,
                                      .settled = n->managed.settled,
                                      .cpu = m->cpu,
                                      .polls = m->polls,
                                      .records = m->records,
                                      .elapsed = m->elapsed,
                                      .effective = m->effective};
    fill_limits(n, o);
    node_helm_fill(n, o);
}

/* False where there is no such peer any more. */
static bool send(struct node *n, const struct link_peer *peer)
{
    int size = message_encode(&n->message, n->bytes, sizeof n->bytes);
    int err = size < 0 ? size : link_send(n->control, peer, n->bytes, (size_t)size);
    n->managed.untold += err != 0;
    return err != BEZEL_EUNREACH;
}

/* How the node stands; ahead of it what it adds to limits on the whole, so that both are of one decision. */
static bool tell(struct node *n, const struct link_peer *peer, int64_t now)
{
    n->message.type = MESSAGE_PARTS;
    if (experiment_has_whole(n->options.experiment)) {
        node_whole_fill(n, now, &n->message.parts);
        (void)!send(n, peer);
    }
    n->message.type = MESSAGE_OBSERVATION;
    fill(n, now, &n->message.observation);
    return send(n, peer);
}

static void tell_holder(struct node *n, int64_t now)
{
    n->managed.beat_due = now + MANAGER_BEAT;
    if (!tell(n, &n->managed.peer, now))
        n->managed.beat_due = INT64_MAX; /* until it asks, or somebody else does */
}

void node_manager_beat(struct node *n, int64_t now)
{
    if (now >= n->managed.beat_due && !n->draining)
        tell_holder(n, now);
}

/* ---- What it decides --------------------------------------------------------------------------------------------- */

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

static void tell_lost(struct node *n, int64_t now)
{
    const struct lease *l = &n->managed.lease;
    notes_tell(n->external, NULL, now, "BEZEL-MANAGER-LOST",
               "the resource manager (epoch %" PRIu64 ") was not heard of for %s (loss %" PRIu64
               "): this node keeps the polling period that it has (%s) until one is",
               l->holder.epoch, units_duration(MANAGER_LASTS).s, l->lost, period_text(n->policy).s);
    log_warn("BEZEL-MANAGER-LOST", "the resource manager is not heard of: this node keeps its polling period (%s)",
             period_text(n->policy).s);
}

static void retreat(struct node *n, const struct agent_outcome *o, struct policy_setting safe, int64_t now)
{
    static const struct policy_actions no_verdict = {.infeasible_member = POLICY_ALL};
    struct self_decider by = {.who = SELF_BY_AGENT,
                              .epoch = (int64_t)n->managed.lease.holder.epoch,
                              .sequence = (int64_t)n->managed.lease.sequence};
    node_carry_out(n, agent_obey(n->agent, safe, agent_shed(n->agent).count, &no_verdict, o->cause), &by, now);
}

void node_manager_sample(struct node *n, const struct agent_outcome *o, int64_t now)
{
    struct policy_setting safe;
    enum limit_state worst = worst_of(n->agent);
    n->managed.steps++;
    if (!node_is_managed(n))
        return;
    n->managed.settled = !n->managed.changed;
    n->managed.changed = false;
    lease_judge(&n->managed.lease, worst, n->policy, now);
    if (lease_lost(&n->managed.lease, now))
        tell_lost(n, now);
    if (lease_retreats(&n->managed.lease, worst, &safe))
        retreat(n, o, safe, now);
    if (n->managed.beat_due != INT64_MAX)
        tell_holder(n, now);
}

static void obey(struct node *n, const struct message_setting *s, const struct lease_order *order, int64_t now)
{
    struct policy_actions verdict = {.infeasible = s->infeasible != MESSAGE_FEASIBLE,
                                     .infeasible_member = s->infeasible == MESSAGE_INFEASIBLE ? 0 : POLICY_ALL,
                                     .needed = s->needed,
                                     .budget = s->budget,
                                     .blameless = s->blameless,
                                     .starved = s->starved};
    struct self_decider by = {
        .who = SELF_BY_MANAGER, .epoch = (int64_t)s->lease.epoch, .sequence = (int64_t)s->sequence};
    bool known = s->cause >= 0 && s->cause < (int32_t)n->options.experiment->limit_count;
    uint32_t before = agent_shed(n->agent).count;
    const struct agent_outcome *o = agent_obey(n->agent, order->setting, s->shed, &verdict, known ? s->cause : -1);
    n->managed.changed |= agent_shed(n->agent).count != before;
    node_carry_out(n, o, &by, now);
    node_helm_obey(n, s);
}

static void hear_setting(struct node *n, const struct link_peer *peer, const struct message_setting *s, int64_t now)
{
    struct lease_order order;
    struct lease *l = &n->managed.lease;
    uint64_t epoch = l->holder.epoch, holder = l->holder.holder;
    if (lease_hear(l, s, (int64_t)n->polling.now.period_ns, now, &order) != LEASE_OBEYED)
        return;
    n->managed.peer = *peer;
    if (n->managed.beat_due == INT64_MAX)
        n->managed.beat_due = now + MANAGER_BEAT;
    if (l->holder.epoch != epoch || l->holder.holder != holder)
        keep(n);
    if (order.taken)
        log_info("BEZEL-MANAGER", "the resource manager of epoch %" PRIu64 " decides from now on", l->holder.epoch);
    obey(n, s, &order, now);
}

void node_manager_hear(struct node *n, const struct link_peer *peer, int64_t now)
{
    struct message_setting setting = n->message.setting;
    if (!experiment_has_manager(n->options.experiment) || n->draining)
        n->managed.ignored++;
    else if (n->message.type == MESSAGE_WATCH)
        (void)tell(n, peer, now);
    else if (n->message.type == MESSAGE_JUDGEMENT)
        node_whole_hear(n, now);
    else if (!node_is_managed(n))
        n->managed.ignored++;
    else
        hear_setting(n, peer, &setting, now);
}

void node_manager_overtake(struct node *n, int64_t now)
{
    if (!node_is_managed(n))
        return;
    n->managed.orders++;
    n->managed.changed = true;
    lease_overtake(&n->managed.lease, now);
}

void node_manager_reply(const struct node *n, struct message_reply *reply)
{
    const struct lease *l = &n->managed.lease;
    if (!node_is_managed(n))
        return;
    message_reply_add(reply, "manager_held", l->held);
    message_reply_add(reply, "manager_epoch", (int64_t)l->holder.epoch);
    message_reply_add(reply, "manager_obeyed", (int64_t)l->answered[LEASE_OBEYED]);
    message_reply_add(reply, "manager_expired", (int64_t)l->answered[LEASE_EXPIRED]);
    message_reply_add(reply, "manager_outdated", (int64_t)l->answered[LEASE_OUTDATED]);
    message_reply_add(reply, "manager_repeated", (int64_t)l->answered[LEASE_REPEATED]);
    message_reply_add(reply, "manager_cut", (int64_t)l->cut);
    message_reply_add(reply, "manager_lost", (int64_t)l->lost);
    message_reply_add(reply, "manager_untold", (int64_t)n->managed.untold);
}

void node_manager_tell(struct node *n)
{
    const struct lease *l = &n->managed.lease;
    struct self_obeyed now = {.epoch = (int64_t)l->holder.epoch,
                              .obeyed = (int64_t)l->answered[LEASE_OBEYED],
                              .expired = (int64_t)l->answered[LEASE_EXPIRED],
                              .outdated = (int64_t)l->answered[LEASE_OUTDATED],
                              .repeated = (int64_t)l->answered[LEASE_REPEATED],
                              .cut = (int64_t)l->cut,
                              .lost = (int64_t)l->lost,
                              .untold = (int64_t)n->managed.untold};
    if (!node_is_managed(n) || memcmp(&now, &n->managed.told, sizeof now) == 0)
        return;
    n->managed.told = now;
    self_record_obeyed(n->self, &now);
}
