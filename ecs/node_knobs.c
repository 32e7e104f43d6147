// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"
#include "sensor/knobs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Turning ----------------------------------------------------------------------------------------------------- */

static void record(struct node *n, const struct external_process *p, uint32_t i, int32_t before, int32_t after,
                   const struct node_turn *why)
{
    const struct knob *k = &p->at->knobs->knob[i];
    self_record_knob(n->self, &(struct self_knob){.process = p->name,
                                                  .name = k->name,
                                                  .unit = k->unit,
                                                  .instance = (int64_t)p->at->instance,
                                                  .cause = (enum self_knob_cause)why->cause,
                                                  .before = before,
                                                  .after = after,
                                                  .limit = why->limit,
                                                  .value = why->value,
                                                  .epoch = why->epoch,
                                                  .sequence = why->sequence});
}

bool node_knob_turn(struct node *n, struct external_process *p, uint32_t i, int32_t value, const struct node_turn *why)
{
    int32_t before;
    if (external_knob_set(p, i, value, &before) != 0)
        return false;
    if (before != value)
        record(n, p, i, before, value, why);
    return true;
}

static const struct node_turn by_operator = {.cause = SELF_KNOB_OPERATOR, .limit = -1, .value = NAN},
                              kept = {.cause = SELF_KNOB_KEPT, .limit = -1, .value = NAN},
                              at_the_end = {.cause = SELF_KNOB_END, .limit = -1, .value = NAN};

/* What a daemon before this one left turned; a process that another run had was turned back when it was taken in. */
void node_knobs_start(struct node *n)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        for (uint32_t k = 0; p && k < external_knob_count(n->external, p); k++) {
            int32_t initial = p->at->knobs->knob[k].initial, value = segment_knob(p->at, k);
            if (value != initial)
                record(n, p, k, initial, value, &kept);
        }
    }
}

void node_knobs_end(struct node *n)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        for (uint32_t k = 0; p && k < external_knob_count(n->external, p); k++)
            (void)node_knob_turn(n, p, k, p->at->knobs->knob[k].initial, &at_the_end);
    }
}

/* ---- Answering --------------------------------------------------------------------------------------------------- */

static void tell(const struct external_process *p, uint32_t at, uint32_t i, struct message_reply *reply)
{
    const struct knob *k = &p->at->knobs->knob[i];
    snprintf(reply->text, sizeof reply->text, "%s %s %s", p->name, k->name, k->unit);
    message_reply_add(reply, "knob_at", at);
    message_reply_add(reply, "knob_value", segment_knob(p->at, i));
    message_reply_add(reply, "knob_min", k->min);
    message_reply_add(reply, "knob_max", k->max);
    message_reply_add(reply, "knob_initial", k->initial);
    message_reply_add(reply, "knob_instance", (int64_t)p->at->instance);
    message_reply_add(reply, "knob_pid", p->at->pid);
}

/* A knob's number: of its process's place, then its own. */
static void tell_first(struct node *n, uint32_t from, struct message_reply *reply)
{
    for (uint32_t i = from / SEGMENT_KNOBS; i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        uint32_t k = i == from / SEGMENT_KNOBS ? from % SEGMENT_KNOBS : 0;
        if (p && k < external_knob_count(n->external, p)) {
            tell(p, i * SEGMENT_KNOBS + k, k, reply);
            return;
        }
    }
}

/* The number of the knob that `order` means in `p`; -1: none. */
static int find(struct node *n, struct external_process *p, const struct message_knob *order)
{
    bool meant = p && (order->process[0] == '\0' || strcmp(order->process, p->name) == 0);
    return meant && external_knob_count(n->external, p) > 0 ? external_knob_find(p, order->name) : -1;
}

/* Whether the value lies out of the range of one of them; then the reply says so. */
static bool is_refused(struct node *n, const struct message_knob *order, struct message_reply *reply)
{
    for (uint32_t i = 0; order->order == KNOB_SET && i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        int at = find(n, p, order);
        const struct knob *k = at < 0 ? NULL : &p->at->knobs->knob[at];
        if (!k || (order->value >= k->min && order->value <= k->max))
            continue;
        snprintf(reply->text, sizeof reply->text,
                 "%s: %s: %" PRId32 " is out of range; allowed: %" PRId32 " .. %" PRId32, p->name, k->name,
                 order->value, k->min, k->max);
        message_reply_add(reply, "refused", 1);
        return true;
    }
    return false;
}

static void carry_out(struct node *n, const struct message_knob *order, struct message_reply *reply)
{
    int64_t set = 0;
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        int at = find(n, p, order);
        if (at < 0)
            continue;
        int32_t value = order->order == KNOB_SET ? order->value : p->at->knobs->knob[at].initial;
        if (!node_knob_turn(n, p, (uint32_t)at, value, &by_operator))
            continue;
        set++;
        node_helm_overtake(n, p, order, value);
    }
    message_reply_add(reply, "knob_set", set);
}

void node_knob_answer(struct node *n, const struct message_command *command, struct message_reply *reply)
{
    if (command->verb != VERB_KNOB)
        return;
    if (command->knob.order == KNOB_ASK)
        tell_first(n, command->knob.from, reply);
    else if (!is_refused(n, &command->knob, reply))
        carry_out(n, &command->knob, reply);
}
