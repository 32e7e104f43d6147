// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "mdr/message.h"
#include "sensor/external/program_knobs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void describe(const struct external_process *p, uint32_t i, struct message_knob_state *to)
{
    const struct knob *k = &p->at->knobs->knob[i];
    *to = (struct message_knob_state){.instance = p->at->instance,
                                      .pid = p->at->pid,
                                      .value = segment_knob(p->at, i),
                                      .min = k->min,
                                      .max = k->max,
                                      .initial = k->initial};
    message_text(to->process, MESSAGE_NAME_MAX, p->name);
    message_text(to->name, MESSAGE_NAME_MAX, k->name);
    message_text(to->unit, MESSAGE_NAME_MAX, k->unit);
}

/* The number of a knob is process index * SEGMENT_KNOBS + knob index. */
void node_knobs_list(struct node *n, uint32_t from, struct message_knob_list *to)
{
    to->count = to->next = 0;
    for (uint32_t at = from; at / SEGMENT_KNOBS < external_process_count(n->external); at++) {
        struct external_process *p = external_process(n->external, at / SEGMENT_KNOBS);
        if (!p || at % SEGMENT_KNOBS >= external_knob_count(n->external, p))
            continue;
        if (to->count == MESSAGE_LISTED_MAX) {
            to->next = at;
            return;
        }
        describe(p, at % SEGMENT_KNOBS, &to->knobs[to->count++]);
    }
}

/* The index in `p` of the knob that `command` names; -1: none. */
static int find(struct node *n, struct external_process *p, const struct message_knob *command)
{
    bool meant = p && (command->process[0] == '\0' || strcmp(command->process, p->name) == 0);
    return meant && external_knob_count(n->external, p) > 0 ? external_knob_find(p, command->name) : -1;
}

/* Whether the value is out of range in one of the processes; if so, fills the reply. */
static bool is_refused(struct node *n, const struct message_knob *command, struct message_reply *reply)
{
    for (uint32_t i = 0; command->action == KNOB_SET && i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        int at = find(n, p, command);
        const struct knob *k = at < 0 ? NULL : &p->at->knobs->knob[at];
        if (!k || (command->value >= k->min && command->value <= k->max))
            continue;
        snprintf(reply->text, sizeof reply->text,
                 "%s: %s: %" PRId32 " is out of range; allowed: %" PRId32 " .. %" PRId32, p->name, k->name,
                 command->value, k->min, k->max);
        reply->answer = ANSWER_REFUSED;
        return true;
    }
    return false;
}

static void carry_out(struct node *n, const struct message_knob *command, enum builtin_setter cause,
                      struct message_reply *reply)
{
    struct node_knob_reason why = {.cause = cause, .limit = -1, .value = NAN};
    reply->answer = ANSWER_KNOB_SET;
    reply->knob_set = 0;
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        struct external_process *p = external_process(n->external, i);
        int at = find(n, p, command);
        if (at < 0)
            continue;
        int32_t value = command->action == KNOB_SET ? command->value : p->at->knobs->knob[at].initial;
        if (!node_knob_set(n, p, (uint32_t)at, value, &why))
            continue;
        reply->knob_set++;
        if (cause == SET_BY_OPERATOR)
            knob_steering_override(n, p, command, value);
    }
}

void node_knob_change(struct node *n, const struct message_knob *command, enum builtin_setter cause,
                      struct message_reply *reply)
{
    if (!is_refused(n, command, reply))
        carry_out(n, command, cause, reply);
}

void node_knob_answer(struct node *n, const struct message_knob *command, struct message_reply *reply)
{
    node_knob_change(n, command, SET_BY_OPERATOR, reply);
}
