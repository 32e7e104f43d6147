// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"
#include "sensor/knobs.h"
#include "sensor/notes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/*
 * Knobs that the file steers (adapt.knobs), on a node. What was decided is given to every program that has the knob:
 * to those that are there at once, to one that comes later when it is found. Once it has it, it is not told again until
 * something else is decided: a program that turns its own knob back steers itself, and that is said.
 */

static const struct experiment_knob *file_of(const struct node *n, uint32_t i)
{
    return &n->options.experiment->adapt.knobs[i];
}

/* The number of knob `i` of the file in `p`; -1: it is not meant, or has none, or does not live any more. */
static int find(struct node *n, uint32_t i, struct external_process *p)
{
    const struct experiment_knob *k = file_of(n, i);
    bool meant = p && p->role == ROLE_SUT && experiment_knob_is_of(n->options.experiment, k, p->name);
    return meant && external_knob_count(n->external, p) > 0 ? external_knob_find(p, k->name) : -1;
}

/* ---- How knobs are found ----------------------------------------------------------------------------------------- */

static void note_stray(struct node *n, uint32_t i, const struct external_process *p, int32_t value)
{
    struct node_knob *k = &n->knobs[i];
    if (k->strayed)
        return;
    k->strayed = true;
    notes_tell(n->external, p, clock_now(), "BEZEL-KNOB-STRAYS",
               "its knob %s was set to %" PRId32 ", and stands at %" PRId32
               ": somebody else turns it, and what is decided has no effect",
               file_of(n, i)->name, k->order.value, value);
}

static void take(struct node *n, uint32_t i, struct external_process *p, uint32_t at)
{
    struct node_knob *k = &n->knobs[i];
    const struct knob *own = &p->at->knobs->knob[at];
    struct trim_seen one = {.present = true,
                            .value = segment_knob(p->at, at),
                            .min = own->min,
                            .max = own->max,
                            .home = k->has_home ? k->home : own->initial};
    bool in_range = k->order.value >= own->min && k->order.value <= own->max;
    if (k->order.given && p->steered >> at & 1 && in_range && one.value != k->order.value)
        note_stray(n, i, p, one.value);
    helm_merge(&k->seen, &one);
}

void node_helm_find(struct node *n)
{
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        n->knobs[i].seen = (struct trim_seen){.present = false};
        for (uint32_t j = 0; j < external_process_count(n->external); j++) {
            struct external_process *p = external_process(n->external, j);
            int at = find(n, i, p);
            if (at >= 0)
                take(n, i, p, (uint32_t)at);
        }
        n->knobs[i].seen.orders = n->knobs[i].orders;
        agent_find_knob(n->agent, i, &n->knobs[i].seen);
    }
}

/* ---- What was decided -------------------------------------------------------------------------------------------- */

static void give(struct node *n, uint32_t i, struct external_process *p, uint32_t at, bool changed)
{
    const struct node_knob *k = &n->knobs[i];
    const struct knob *own = &p->at->knobs->knob[at];
    int32_t value = k->order.value < own->min ? own->min : k->order.value > own->max ? own->max : k->order.value;
    if (!changed && p->steered >> at & 1)
        return;
    if (node_knob_turn(n, p, at, value, &k->because))
        p->steered |= UINT32_C(1) << at;
}

/* Where it can be turned to, in the direction that helps. */
static int32_t end_of(const struct node *n, uint32_t i)
{
    const struct experiment_knob *file = file_of(n, i);
    const struct trim_seen *seen = &n->knobs[i].seen;
    if (file->helps == HELPS_MORE)
        return seen->max < file->max ? seen->max : file->max;
    return seen->min > file->min ? seen->min : file->min;
}

/* Where the knob is: other nodes have no business with it. */
static void tell_spent(struct node *n, uint32_t i)
{
    struct node_knob *k = &n->knobs[i];
    if (k->spent == k->order.spent || !k->seen.present)
        return;
    k->spent = k->order.spent;
    self_record_finding(n->self, &(struct self_finding){.what = SELF_FINDING_SPENT,
                                                        .holds = k->spent,
                                                        .limit = k->order.limit,
                                                        .needed = k->order.metric,
                                                        .budget = end_of(n, i),
                                                        .floor = i});
}

/* Puts *order in force: `changed` where it is another than before. */
static void carry_out(struct node *n, uint32_t i, const struct helm_order *order, const struct node_turn *because)
{
    struct node_knob *k = &n->knobs[i];
    bool changed = order->given && (!k->order.given || order->value != k->order.value);
    k->order = *order;
    tell_spent(n, i);
    if (changed)
        k->because = *because;
    if (!order->given)
        return;
    for (uint32_t j = 0; j < external_process_count(n->external); j++) {
        struct external_process *p = external_process(n->external, j);
        int at = find(n, i, p);
        if (at >= 0)
            give(n, i, p, (uint32_t)at, changed);
    }
}

void node_helm_sample(struct node *n)
{
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count && !node_is_managed(n); i++) {
        const struct helm_order *order = agent_knob_order(n->agent, i);
        carry_out(n, i, order,
                  &(struct node_turn){.cause = SELF_KNOB_AGENT, .limit = order->limit, .value = order->metric});
    }
}

/* ---- With a manager ---------------------------------------------------------------------------------------------- */

void node_helm_fill(const struct node *n, struct message_observation *o)
{
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        const struct trim_seen *seen = &n->knobs[i].seen;
        if (seen->present)
            o->knobs[o->knob_count++] = (struct message_steered){.knob = i,
                                                                 .value = seen->value,
                                                                 .min = seen->min,
                                                                 .max = seen->max,
                                                                 .home = seen->home,
                                                                 .orders = seen->orders};
    }
}

static const struct message_steer *find_steer(const struct message_setting *s, uint32_t knob)
{
    for (uint32_t i = 0; i < s->knob_count; i++)
        if (s->knobs[i].knob == knob)
            return &s->knobs[i];
    return NULL;
}

/* What a manager says is cut to the bounds of the file, which is counted. */
static int32_t cut(struct node *n, uint32_t i, int32_t value)
{
    const struct experiment_knob *k = file_of(n, i);
    if (value >= k->min && value <= k->max)
        return value;
    n->managed.lease.cut++;
    return value < k->min ? k->min : k->max;
}

void node_helm_obey(struct node *n, const struct message_setting *s)
{
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        const struct message_steer *told = find_steer(s, i);
        struct helm_order order = n->knobs[i].order;
        order.spent = told && told->spent;
        if (told) {
            bool known = told->cause >= 0 && told->cause < (int32_t)n->options.experiment->limit_count;
            order.limit = known ? told->cause : -1;
            order.metric = told->metric;
            order.given = told->given;
            order.value = told->given ? cut(n, i, told->value) : told->value;
        }
        carry_out(n, i, &order,
                  &(struct node_turn){.cause = SELF_KNOB_MANAGER,
                                      .limit = order.limit,
                                      .value = order.metric,
                                      .epoch = (int64_t)s->lease.epoch,
                                      .sequence = (int64_t)s->sequence});
    }
}

/* ---- An operator's, and STATUS ----------------------------------------------------------------------------------- */

void node_helm_overtake(struct node *n, const struct external_process *p, const struct message_knob *order,
                        int32_t value)
{
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        struct node_knob *k = &n->knobs[i];
        if (strcmp(file_of(n, i)->name, order->name) != 0 ||
            !experiment_knob_is_of(n->options.experiment, file_of(n, i), p->name))
            continue;
        k->orders++;
        k->has_home = order->order == KNOB_SET;
        k->home = value;
        k->order.given = false;
        k->seen.orders = k->orders; /* for who is told before the next instant */
        k->seen.value = k->seen.home = value;
        if (node_is_managed(n))
            lease_overtake(&n->managed.lease, clock_now());
    }
}

void node_helm_reply(const struct node *n, struct message_reply *reply)
{
    int64_t away = 0, spent = 0;
    if (n->options.experiment->adapt.knob_count == 0)
        return;
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        const struct node_knob *k = &n->knobs[i];
        away += k->seen.present && k->seen.value != k->seen.home;
        spent += k->order.spent;
    }
    message_reply_add(reply, "knobs_steered", away);
    message_reply_add(reply, "knobs_spent", spent);
}
