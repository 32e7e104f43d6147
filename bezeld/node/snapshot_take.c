// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "mdr/message.h"

#include <math.h>
#include <stdio.h>

#define RECORD_EVERY CLOCK_S /* between two records of its progress */

static int64_t count_recorders(struct node *n)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        count += p && p->role == ROLE_SUT && p->at->when_full == SEGMENT_OVERWRITE;
    }
    return count;
}

/* The duration of the snapshot that a trigger asks for; 0: it asks for none. */
static int64_t duration_of(const struct experiment *e, uint32_t trigger)
{
    const struct experiment_action *a =
        trigger < e->trigger_count ? experiment_trigger_action(&e->triggers[trigger], ACT_SNAPSHOT) : NULL;
    return a ? a->snapshot : 0;
}

/* As struct builtin_snapshot has it. */
static int64_t cause_of(const struct node *n, uint32_t trigger)
{
    const struct experiment_trigger *t = &n->options.experiment->triggers[trigger];
    return t->condition == WHEN_VIOLATED ? t->limit : -2 - (int64_t)trigger;
}

static void record(struct node *n, bool over)
{
    const struct message_save *c = &n->snapshot.cause;
    struct external_saved s = external_saved(n->external);
    int64_t processes = count_recorders(n);
    if (n->snapshot.processes < processes)
        n->snapshot.processes = processes;
    own_trace_record_snapshot(n->own_trace,
                              &(struct builtin_snapshot){.origin = c->node,
                                                         .number = c->number,
                                                         .limit = cause_of(n, c->trigger),
                                                         .value = c->value,
                                                         .moment = (int64_t)(c->at - (uint64_t)n->realtime_offset),
                                                         .duration = duration_of(n->options.experiment, c->trigger),
                                                         .records = (int64_t)s.records,
                                                         .processes = n->snapshot.processes,
                                                         .first = s.first_ns,
                                                         .last = s.last_ns,
                                                         .state = over});
}

bool snapshot_take_turn(struct node *n, int64_t now)
{
    enum snapshot_step step = snapshot_step(&n->snapshot, now);
    if (step == SNAPSHOT_NOTHING)
        return false;
    int64_t begun = clock_now();
    if (step != SNAPSHOT_REST)
        external_snapshot(n->external, now);
    bool rest = external_snapshot_rest(n->external, now);
    int64_t period = n->schedule.busy_wait ? CLOCK_MS : n->policy.period;
    bool over = snapshot_done(&n->snapshot, step, now, clock_now() - begun, period, rest);
    if (over || now >= n->snapshot.record_due) {
        n->snapshot.record_due = now + RECORD_EVERY;
        record(n, over);
    }
    return true;
}

void snapshot_take_end(struct node *n, int64_t now)
{
    if (snapshot_due(&n->snapshot) == INT64_MAX)
        return;
    external_snapshot(n->external, now);
    record(n, true);
    n->snapshot.on = false;
}

static bool makes_sense(const struct experiment *e, const struct message_save *save)
{
    return save->left <= (uint64_t)duration_of(e, save->trigger);
}

void snapshot_take_answer(struct node *n, const struct message_save *save, int64_t now, struct message_reply *reply)
{
    if (!makes_sense(n->options.experiment, save)) {
        snprintf(reply->text, sizeof reply->text, "trigger %u asks for no such snapshot", save->trigger + 1);
        reply->answer = ANSWER_REFUSED;
        return;
    }
    if (n->draining)
        return;
    if (n->snapshot.cause.number != save->number)
        snapshot_take_end(n, now);
    if (snapshot_begin(&n->snapshot, save, now))
        external_saved_begin(n->external);
}

void snapshot_take_report(struct node *n, uint32_t processes, int64_t now)
{
    struct external_saved s = external_saved_lately(n->external);
    own_trace_record_snapshot(n->own_trace, &(struct builtin_snapshot){.limit = -1,
                                                                       .value = (double)NAN,
                                                                       .moment = now,
                                                                       .records = (int64_t)s.records,
                                                                       .processes = processes,
                                                                       .first = s.first_ns,
                                                                       .last = s.last_ns,
                                                                       .state = true});
}
