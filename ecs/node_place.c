// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/node_impl.h"
#include "sensor/notes.h"

void node_place(struct node *n)
{
    const struct experiment_real_time *want = &n->options.experiment->sensing.real_time;
    char text[PLACEMENT_TEXT_MAX + 1];
    size_t bytes;
    void *memory = window_memory(external_window(n->external), &bytes);
    struct placement_result result = placement_apply(want, memory, bytes);
    int64_t now = clock_now();
    for (int step = 0; step < PLACEMENT_STEPS; step++)
        if (placement_complaint(want, &result, (enum placement_step)step, text))
            notes_tell(n->external, NULL, now, "BEZEL-PLACEMENT", "%s", text);
    n->placement = placement_read();
    if (!placement_wanted(want))
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
