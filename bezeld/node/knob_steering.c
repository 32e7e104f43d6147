// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "mdr/message.h"
#include "sensor/external/notes.h"
#include "sensor/external/program_knobs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/*
 * Knobs that the experiment steers (adapt.knobs), on a node. A decision is applied to every program that has the knob:
 * at once to running programs, and to a later one when it is found. It is applied once. If a program changes its knob
 * itself afterwards, the value stays, and the note BEZEL-KNOB-DIVERGED is recorded.
 */

static const struct experiment_knob *file_of(const struct node *n, uint32_t i)
{
    return &n->options.experiment->adapt.knobs[i];
}

/* The number of knob `i` of the file in `p`; -1: the knob is not for `p`, or `p` does not have it, or has ended. */
static int find(struct node *n, uint32_t i, struct external_process *p)
{
    const struct experiment_knob *k = file_of(n, i);
    bool meant = p && p->role == ROLE_SUT && experiment_knob_is_of(n->options.experiment, k, p->name);
    return meant && external_knob_count(n->external, p) > 0 ? external_knob_find(p, k->name) : -1;
}

/* ---- Values of knobs --------------------------------------------------------------------------------------------- */

static void note_diverged(struct node *n, uint32_t i, const struct external_process *p, int32_t value)
{
    struct node_knob *k = &n->knobs[i];
    if (k->diverged)
        return;
    k->diverged = true;
    notes_record(n->external, p, clock_now(), "BEZEL-KNOB-DIVERGED",
                 "its knob %s was set to %" PRId32 " and now has the value %" PRId32
                 ": something else changes it, so decisions have no effect on it",
                 file_of(n, i)->name, k->setpoint.value, value);
}

static void take(struct node *n, uint32_t i, struct external_process *p, uint32_t at)
{
    struct node_knob *k = &n->knobs[i];
    const struct knob *own = &p->at->knobs->knob[at];
    struct knob_search_seen one = {.present = true,
                                   .value = segment_knob(p->at, at),
                                   .min = own->min,
                                   .max = own->max,
                                   .baseline = k->has_baseline ? k->baseline : own->initial};
    bool in_range = k->setpoint.value >= own->min && k->setpoint.value <= own->max;
    if (k->setpoint.given && p->steered >> at & 1 && in_range && one.value != k->setpoint.value)
        note_diverged(n, i, p, one.value);
    knob_controller_merge(&k->seen, &one);
}

static bool names_knobs(const struct experiment *e)
{
    bool names = e->adapt.knob_count > 0;
    for (uint32_t i = 0; i < e->trigger_count && !names; i++)
        names = experiment_trigger_action(&e->triggers[i], ACT_KNOB);
    return names;
}

void knob_steering_declare(struct node *n)
{
    for (uint32_t j = 0; names_knobs(n->options.experiment) && j < external_process_count(n->external); j++) {
        struct external_process *p = external_process(n->external, j);
        if (p && p->role == ROLE_SUT)
            node_knobs_declare(n, p);
    }
}

void knob_steering_find(struct node *n)
{
    knob_steering_declare(n);
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        n->knobs[i].seen = (struct knob_search_seen){.present = false};
        for (uint32_t j = 0; j < external_process_count(n->external); j++) {
            struct external_process *p = external_process(n->external, j);
            int at = find(n, i, p);
            if (at >= 0)
                take(n, i, p, (uint32_t)at);
        }
        n->knobs[i].seen.overrides = n->knobs[i].overrides;
        agent_find_knob(n->agent, i, &n->knobs[i].seen);
    }
}

/* ---- Decisions --------------------------------------------------------------------------------------------------- */

static void give(struct node *n, uint32_t i, struct external_process *p, uint32_t at, bool changed)
{
    const struct node_knob *k = &n->knobs[i];
    const struct knob *own = &p->at->knobs->knob[at];
    int32_t value = k->setpoint.value < own->min   ? own->min
                    : k->setpoint.value > own->max ? own->max
                                                   : k->setpoint.value;
    if (!changed && p->steered >> at & 1)
        return;
    if (node_knob_set(n, p, at, value, &k->because))
        p->steered |= UINT32_C(1) << at;
}

/* The end of the knob's range, in the direction that helps. */
static int32_t end_of(const struct node *n, uint32_t i)
{
    const struct experiment_knob *file = file_of(n, i);
    const struct knob_search_seen *seen = &n->knobs[i].seen;
    if (file->helps == HELPS_MORE)
        return seen->max < file->max ? seen->max : file->max;
    return seen->min > file->min ? seen->min : file->min;
}

/* Recorded only on nodes that have the knob. */
static void record_saturated(struct node *n, uint32_t i)
{
    struct node_knob *k = &n->knobs[i];
    if (k->saturated == k->setpoint.saturated || !k->seen.present)
        return;
    k->saturated = k->setpoint.saturated;
    own_trace_record_conclusion(n->own_trace, &(struct builtin_conclusion){.what = CONCLUSION_SATURATED,
                                                                           .holds = k->saturated,
                                                                           .limit = k->setpoint.limit,
                                                                           .needed = k->setpoint.metric,
                                                                           .budget = end_of(n, i),
                                                                           .floor = i});
}

/* Puts *setpoint in force, and applies it to all programs that have the knob. */
static void carry_out(struct node *n, uint32_t i, const struct knob_controller_setpoint *setpoint,
                      const struct node_knob_reason *because)
{
    struct node_knob *k = &n->knobs[i];
    bool changed = setpoint->given && (!k->setpoint.given || setpoint->value != k->setpoint.value);
    k->setpoint = *setpoint;
    record_saturated(n, i);
    if (changed)
        k->because = *because;
    if (!setpoint->given)
        return;
    for (uint32_t j = 0; j < external_process_count(n->external); j++) {
        struct external_process *p = external_process(n->external, j);
        int at = find(n, i, p);
        if (at >= 0)
            give(n, i, p, (uint32_t)at, changed);
    }
}

void knob_steering_sample(struct node *n)
{
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count && !node_is_managed(n); i++) {
        const struct knob_controller_setpoint *setpoint = agent_knob_setpoint(n->agent, i);
        carry_out(
            n, i, setpoint,
            &(struct node_knob_reason){.cause = SET_BY_AGENT, .limit = setpoint->limit, .value = setpoint->metric});
    }
}

/* ---- With a manager ---------------------------------------------------------------------------------------------- */

void knob_steering_fill(const struct node *n, struct message_observation *o)
{
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        const struct knob_search_seen *seen = &n->knobs[i].seen;
        if (seen->present)
            o->knobs[o->knob_count++] = (struct message_steered){.knob = i,
                                                                 .value = seen->value,
                                                                 .min = seen->min,
                                                                 .max = seen->max,
                                                                 .baseline = seen->baseline,
                                                                 .overrides = seen->overrides};
    }
}

static const struct message_steer *find_steer(const struct message_setpoint *s, uint32_t knob)
{
    for (uint32_t i = 0; i < s->knob_count; i++)
        if (s->knobs[i].knob == knob)
            return &s->knobs[i];
    return NULL;
}

/* Clamps a manager's value to the bounds of the file, and counts it in *clamped. */
static int32_t clamp(const struct node *n, uint32_t i, int32_t value, uint32_t *clamped)
{
    const struct experiment_knob *k = file_of(n, i);
    if (value >= k->min && value <= k->max)
        return value;
    ++*clamped;
    return value < k->min ? k->min : k->max;
}

uint32_t knob_steering_apply(struct node *n, const struct message_setpoint *s)
{
    uint32_t clamped = 0;
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        const struct message_steer *decision = find_steer(s, i);
        struct knob_controller_setpoint setpoint = n->knobs[i].setpoint;
        setpoint.saturated = decision && decision->saturated;
        if (decision) {
            bool known = decision->cause >= 0 && decision->cause < (int32_t)n->options.experiment->limit_count;
            setpoint.limit = known ? decision->cause : -1;
            setpoint.metric = decision->metric;
            setpoint.given = decision->given;
            setpoint.value = decision->given ? clamp(n, i, decision->value, &clamped) : decision->value;
        }
        carry_out(n, i, &setpoint,
                  &(struct node_knob_reason){.cause = SET_BY_MANAGER,
                                             .limit = setpoint.limit,
                                             .value = setpoint.metric,
                                             .epoch = (int64_t)s->leadership.epoch,
                                             .sequence = (int64_t)s->sequence});
    }
    return clamped;
}

/* ---- Overrides by an operator ------------------------------------------------------------------------------------ */

void knob_steering_override(struct node *n, const struct external_process *p, const struct message_knob *command,
                            int32_t value)
{
    for (uint32_t i = 0; i < n->options.experiment->adapt.knob_count; i++) {
        struct node_knob *k = &n->knobs[i];
        if (strcmp(file_of(n, i)->name, command->name) != 0 ||
            !experiment_knob_is_of(n->options.experiment, file_of(n, i), p->name))
            continue;
        k->overrides++;
        k->has_baseline = command->action == KNOB_SET;
        k->baseline = value;
        k->setpoint.given = false;
        k->seen.overrides = k->overrides; /* for observations that are sent before the next sampling instant */
        k->seen.value = k->seen.baseline = value;
        if (node_is_managed(n))
            leadership_override(&n->managed.leadership, clock_now());
    }
}
