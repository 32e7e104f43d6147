// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/log.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"
#include "resmgr/manager.h"
#include "sensor/notes.h"

#include <math.h>
#include <string.h>

/*
 * Limits on the whole (resmgr/whole.h): this node tells the manager what it adds to them, and, where the manager has
 * chosen it, records for all how they stand.
 */

#define NODE_MISSING (2 * CLOCK_S) /* beyond the longest window: a node that is missing for so long is told of */

/* ---- What the manager is told ------------------------------------------------------------------------------------ */

void node_whole_fill(const struct node *n, int64_t now, struct message_parts *parts)
{
    const struct experiment *e = n->options.experiment;
    *parts = (struct message_parts){.life = n->managed.lease.life, .at = (uint64_t)now, .step = n->managed.steps};
    for (uint32_t i = 0; i < e->limit_count && n->managed.steps > 0; i++)
        if (e->limits[i].whole)
            parts->list[parts->count++] = agent_part(n->agent, i);
}

/* ---- What is recorded -------------------------------------------------------------------------------------------- */

static int64_t time_of(int64_t ago, int64_t now)
{
    return ago < 0 ? 0 : now > ago ? now - ago : 1;
}

static struct agent_limit limit_of(const struct message_judged *j, int64_t now)
{
    return (struct agent_limit){.state = (enum limit_state)j->state,
                                .known = isfinite(j->value),
                                .value = j->value,
                                .slot = -1,
                                .worst = j->worst,
                                .settling = j->settling,
                                .held = j->held,
                                .violated = j->violated,
                                .unknown = j->unknown,
                                .last_violated = time_of(j->ago, now)};
}

/* As it stands where the end of processes is no violation. */
static struct agent_limit limit_at_the_end(const struct message_judged *j, int64_t now)
{
    struct agent_limit l = limit_of(j, now);
    l.violated -= j->doubtful;
    l.unknown += j->doubtful;
    l.worst = j->trusted_worst;
    l.last_violated = time_of(j->trusted_ago, now);
    return l;
}

static void record_limit(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now)
{
    n->judged.told[i] = now;
    self_record_limit(n->self, (int)i, l, (int64_t)n->judged.by.epoch);
    node_tell_violated(n, i, l->violated > 0);
}

static void record(struct node *n, const struct message_judged *j, int64_t now)
{
    uint32_t i = j->limit;
    struct agent_limit l = limit_of(j, now);
    bool changed = l.state != n->observed[i].state || n->judged.told[i] == 0;
    node_tell_observation(n, i, &l, now);
    if (changed || now - n->judged.told[i] >= CLOCK_S)
        record_limit(n, i, &l, now);
    if (changed)
        node_save_judged(n, i, &l, now);
}

static int64_t longest_window(const struct experiment *e)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].whole && experiment_limit_window(e, &e->limits[i]) > longest)
            longest = experiment_limit_window(e, &e->limits[i]);
    return longest;
}

static void tell_missing(struct node *n, uint64_t missing, int64_t now)
{
    const struct experiment *e = n->options.experiment;
    for (uint32_t i = 0; i < e->node_count; i++) {
        int64_t *since = &n->judged.missing_since[i];
        if (!(missing >> i & 1))
            *since = 0;
        else if (*since == 0)
            *since = now;
        else if (*since > 0 && now - *since >= NODE_MISSING + longest_window(e)) {
            *since = -1; /* told */
            notes_tell(n->external, NULL, now, "BEZEL-WHOLE-MISSING",
                       "limits on the whole are unknown, but where the other nodes decide: nothing is known of node %s "
                       "that they could be judged by",
                       e->nodes[i].name);
        }
    }
}

/* ---- What the manager tells -------------------------------------------------------------------------------------- */

/* A manager that was followed by another one judges no more; nothing is heard twice. */
static bool is_newer(const struct node *n, const struct message_judgement *j)
{
    const struct node_judged *last = &n->judged;
    if (j->lease.epoch < n->managed.lease.holder.epoch || j->lease.epoch < last->by.epoch || j->lease.epoch == 0)
        return false;
    if (j->lease.epoch > last->by.epoch)
        return true;
    return j->lease.holder == last->by.holder && j->sequence > last->sequence;
}

void node_whole_hear(struct node *n, int64_t now)
{
    const struct experiment *e = n->options.experiment;
    const struct message_judgement *j = &n->message.judgement;
    if (!is_newer(n, j)) {
        n->judged.refused++;
        return;
    }
    if (j->lease.epoch != n->judged.by.epoch)
        memset(n->judged.told, 0, sizeof n->judged.told);
    n->judged.by = j->lease;
    n->judged.sequence = j->sequence;
    if (!node_is_managed(n))
        n->managed.lease.holder = j->lease; /* who else judges hears of it, and ends */
    n->judged.count = 0;
    for (uint32_t i = 0; i < j->count; i++)
        if (j->list[i].limit < e->limit_count && e->limits[j->list[i].limit].whole)
            n->judged.list[n->judged.count++] = j->list[i];
    n->judged.heard = now;
    for (uint32_t i = 0; i < n->judged.count; i++)
        record(n, &n->judged.list[i], now);
    tell_missing(n, j->missing, now);
}

void node_whole_end(struct node *n, int64_t now)
{
    for (uint32_t i = 0; i < n->judged.count; i++) {
        struct message_judged j = n->judged.list[i];
        j.ago += j.ago < 0 ? 0 : now - n->judged.heard;
        j.trusted_ago += j.trusted_ago < 0 ? 0 : now - n->judged.heard;
        struct agent_limit l = limit_at_the_end(&j, now);
        record_limit(n, j.limit, &l, now);
    }
    n->judged.count = 0;
}
