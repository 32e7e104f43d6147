// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/node_impl.h"
#include "sensor/notes.h"

#include <string.h>

/*
 * One thread serves all experiments of a bezeld. Who asks first places it, and it stays so: another one that asks for
 * something else would take away what the first relies on, and is told.
 */
static struct {
    bool is;
    struct experiment_real_time want;
} placed;

static bool asks_for_the_same(const struct experiment_real_time *a, const struct experiment_real_time *b)
{
    return a->policy == b->policy && a->priority == b->priority && a->runtime == b->runtime &&
           a->deadline == b->deadline && a->period == b->period && a->lock_memory == b->lock_memory &&
           memcmp(&a->cpu, &b->cpu, sizeof a->cpu) == 0 && memcmp(&a->io_cpu, &b->io_cpu, sizeof a->io_cpu) == 0;
}

/* Takes the steps, and tells what came of them. */
static void place(struct node *n, const struct experiment_real_time *want, int64_t now)
{
    char text[PLACEMENT_TEXT_MAX + 1];
    size_t bytes;
    void *memory = window_memory(external_window(n->external), &bytes);
    struct placement_result result = placement_apply(want, memory, bytes);
    for (int step = 0; step < PLACEMENT_STEPS; step++)
        if (placement_complaint(want, &result, (enum placement_step)step, text))
            notes_tell(n->external, NULL, now, "BEZEL-PLACEMENT", "%s", text);
}

void node_place(struct node *n)
{
    const struct experiment_real_time *want = &n->options.experiment->sensing.real_time;
    char text[PLACEMENT_TEXT_MAX + 1];
    int64_t now = clock_now();
    bool wanted = placement_wanted(want);
    if (!placed.is || asks_for_the_same(want, &placed.want))
        place(n, want, now);
    else if (wanted)
        notes_tell(n->external, NULL, now, "BEZEL-PLACEMENT",
                   "another experiment that this bezeld serves has placed its thread already: it stays so");
    if (wanted && !placed.is) {
        placed.is = true;
        placed.want = *want;
    }
    n->placement = placement_read();
    if (!wanted)
        return;
    placement_describe(&n->placement, text, sizeof text);
    notes_tell(n->external, NULL, now, "BEZEL-PLACED", "the thread that polls: %s", text);
}

void node_place_reply(const struct node *n, struct message_reply *reply)
{
    const struct placement_state *p = &n->placement;
    message_reply_add(reply, "rt_policy", p->policy);
    message_reply_add(reply, "rt_priority", p->priority);
    message_reply_add(reply, "rt_runtime_ns", p->runtime);
    message_reply_add(reply, "cpus", experiment_cpu_count(&p->cpus));
    message_reply_add(reply, "locked_bytes", (int64_t)p->locked_bytes);
    message_reply_add(reply, "timer_slack_ns", p->timer_slack);
}
