// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NODE_SAVE_TOLD   CLOCK_S          /* its progress, in the trace */
#define NODE_BROKEN_TOLD (100 * CLOCK_MS) /* that a limit broke, of our own accord: not more often */

/* ---- Limits that ask for snapshots ------------------------------------------------------------------------------- */

static void add_broken(const struct node *n, struct message_reply *reply)
{
    const struct node_broken *b = &n->broken;
    int64_t bits;
    memcpy(&bits, &b->value, sizeof bits);
    if (b->count == 0)
        return;
    message_reply_add(reply, "violations", (int64_t)b->count);
    message_reply_add(reply, "violated_limit", b->limit);
    message_reply_add(reply, "violated_at", b->at + n->realtime_offset);
    message_reply_add(reply, "violated_age", clock_now() - b->at);
    message_reply_add(reply, "violated_value", bits);
}

/* At once: others' rings go on overwriting. Where it is lost, the next answer tells. */
static void tell_broken(struct node *n, int64_t now)
{
    if (!n->has_asker || saving_due(&n->saving) != INT64_MAX || now < n->broken.tell_due)
        return;
    n->broken.tell_due = now + NODE_BROKEN_TOLD;
    n->message.type = MESSAGE_REPLY;
    n->message.reply = (struct message_reply){.id = 0};
    node_fill_reply(n, &n->message.reply);
    add_broken(n, &n->message.reply);
    int size = message_encode(&n->message, n->bytes, sizeof n->bytes);
    if (size > 0)
        (void)!link_send(n->control, &n->asker, n->bytes, (size_t)size);
}

/* Whether it broke, and a snapshot is to be made of it. */
static bool breaks(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now)
{
    bool violated = l->state == LIMIT_VIOLATED, before = n->broken.is[i];
    n->broken.is[i] = violated;
    if (!violated || before || n->options.experiment->limits[i].snapshot == 0)
        return false;
    n->broken.count++;
    n->broken.limit = i;
    n->broken.at = now;
    n->broken.value = l->known ? l->value : (double)NAN;
    return true;
}

void node_save_watch(struct node *n, const struct agent_outcome *o, int64_t now)
{
    bool broke = false;
    for (uint32_t i = 0; i < o->limit_count && o->limit_changed; i++)
        if (!n->options.experiment->limits[i].whole)
            broke |= breaks(n, i, &o->limits[i], now);
    if (broke)
        tell_broken(n, now);
}

void node_save_judged(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now)
{
    if (breaks(n, i, l, now))
        tell_broken(n, now);
}

/* ---- The snapshot ------------------------------------------------------------------------------------------------ */

static int64_t count_recorders(struct node *n)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        count += p && p->role == ROLE_SUT && p->at->when_full == SEGMENT_OVERWRITE;
    }
    return count;
}

static void record(struct node *n, bool over)
{
    const struct message_save *c = &n->saving.cause;
    struct external_saved s = external_saved(n->external);
    self_record_snapshot(n->self, &(struct self_snapshot){.node = c->node,
                                                          .number = c->number,
                                                          .limit = c->limit,
                                                          .value = c->value,
                                                          .moment = (int64_t)(c->at - (uint64_t)n->realtime_offset),
                                                          .duration = n->options.experiment->limits[c->limit].snapshot,
                                                          .records = (int64_t)s.records,
                                                          .processes = count_recorders(n),
                                                          .first = s.first_ns,
                                                          .last = s.last_ns,
                                                          .over = over});
}

bool node_save_turn(struct node *n, int64_t now)
{
    enum saving_step step = saving_step(&n->saving, now);
    if (step == SAVING_NOTHING)
        return false;
    int64_t begun = clock_now();
    if (step != SAVING_REST)
        external_snapshot(n->external, now);
    bool rest = external_snapshot_rest(n->external, now);
    int64_t period = n->busy_wait ? CLOCK_MS : n->policy.period;
    bool over = saving_done(&n->saving, step, now, clock_now() - begun, period, rest);
    if (over || now >= n->saving.tell_due) {
        n->saving.tell_due = now + NODE_SAVE_TOLD;
        record(n, over);
    }
    return true;
}

void node_save_end(struct node *n, int64_t now)
{
    if (saving_due(&n->saving) == INT64_MAX)
        return;
    external_snapshot(n->external, now);
    record(n, true);
    n->saving.on = false;
}

static bool makes_sense(const struct experiment *e, const struct message_save *save)
{
    return save->limit < e->limit_count && save->left <= (uint64_t)e->limits[save->limit].snapshot;
}

void node_save_answer(struct node *n, const struct message_command *command, int64_t now, struct message_reply *reply)
{
    add_broken(n, reply);
    if (command->verb != VERB_SAVE)
        return;
    if (!makes_sense(n->options.experiment, &command->save)) {
        snprintf(reply->text, sizeof reply->text, "limit %u asks for no such snapshot", command->save.limit);
        message_reply_add(reply, "refused", 1);
        return;
    }
    if (n->draining)
        return;
    if (n->saving.cause.number != command->save.number)
        node_save_end(n, now);
    if (saving_begin(&n->saving, &command->save, now))
        external_saved_begin(n->external);
}

void node_save_tell(struct node *n, const struct message_command *command, int64_t now,
                    const struct message_reply *reply)
{
    if (command->verb != VERB_SNAPSHOT)
        return;
    struct external_saved s = external_saved_lately(n->external);
    self_record_snapshot(n->self, &(struct self_snapshot){.node = "",
                                                          .limit = -1,
                                                          .value = (double)NAN,
                                                          .moment = now,
                                                          .records = (int64_t)s.records,
                                                          .processes = message_reply_get(reply, "saved_processes", 0),
                                                          .first = s.first_ns,
                                                          .last = s.last_ns,
                                                          .over = true});
}
