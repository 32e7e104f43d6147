// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/rt_setup.h"
#include "sensor/external/notes.h"

#include <string.h>

/*
 * One thread serves all experiments of a bezeld. The first experiment with real-time settings decides them, because it
 * relies on them: another one with different settings gets a note instead.
 */
static struct {
    bool is;
    struct experiment_real_time want;
} applied;

static bool asks_for_the_same(const struct experiment_real_time *a, const struct experiment_real_time *b)
{
    return a->policy == b->policy && a->priority == b->priority && a->runtime == b->runtime &&
           a->deadline == b->deadline && a->period == b->period && a->lock_memory == b->lock_memory &&
           memcmp(&a->cpu, &b->cpu, sizeof a->cpu) == 0 && memcmp(&a->io_cpu, &b->io_cpu, sizeof a->io_cpu) == 0;
}

/* Takes the steps, and records a note for each that was refused. */
static void apply(struct node *n, const struct experiment_real_time *want, int64_t now)
{
    char text[RT_SETUP_TEXT_MAX + 1];
    size_t bytes;
    void *memory = window_memory(external_window(n->external), &bytes);
    struct rt_setup_result result = rt_setup_apply(want, memory, bytes);
    for (int step = 0; step < RT_SETUP_STEPS; step++)
        if (rt_setup_complaint(want, &result, (enum rt_setup_step)step, text))
            notes_record(n->external, NULL, now, "BEZEL-RT-REFUSED", "%s", text);
}

void node_rt_setup(struct node *n)
{
    const struct experiment_real_time *want = &n->options.experiment->sensing.real_time;
    char text[RT_SETUP_TEXT_MAX + 1];
    int64_t now = clock_now();
    bool wanted = rt_setup_wanted(want);
    if (!applied.is || asks_for_the_same(want, &applied.want))
        apply(n, want, now);
    else if (wanted)
        notes_record(n->external, NULL, now, "BEZEL-RT-REFUSED",
                     "another experiment of this bezeld has already set up its thread: `sensing: real-time:` of this "
                     "experiment has no effect");
    if (wanted && !applied.is) {
        applied.is = true;
        applied.want = *want;
    }
    if (!wanted)
        return;
    struct rt_setup_state state = rt_setup_read();
    rt_setup_describe(&state, text, sizeof text);
    notes_record(n->external, NULL, now, "BEZEL-RT-SETUP", "polling thread: %s", text);
}
