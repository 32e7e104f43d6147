// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "bezeld/node/node_internal.h"
#include "sensor/external/notes.h"

#include <stdlib.h>

/*
 * An operator's pause of a node. Processes count what they would record, as lost with cause `off`; nothing is polled;
 * limits are judged by what is counted, and the policy decides as before. A restarted daemon goes on with the pause.
 */

static void take(struct node *n, bool on, int64_t now)
{
    n->pause.on = on;
    poll_stats_restart(&n->usage.poll_stats); /* a pause is no time between two polls */
    node_collect(n, now);
}

void node_pause_start(struct node *n)
{
    state_file_init(&n->pause.file, n->options.dir, "pause", n->options.run, "that it is paused");
    char *text = state_file_read(&n->pause.file);
    n->pause.on = text != NULL;
    if (text)
        external_collect(n->external, false); /* what its predecessor left in rings waits for the end of the pause */
    free(text);
}

void node_pause(struct node *n, bool on, int64_t now)
{
    if (n->pause.on == on || n->draining)
        return;
    take(n, on, now);
    if (on) {
        state_file_write(&n->pause.file, "paused\n");
        notes_record(n->external, NULL, now, "BEZEL-PAUSED", "paused by an operator: records are counted as `off`");
    } else {
        state_file_remove(&n->pause.file);
        notes_record(n->external, NULL, now, "BEZEL-RESUMED", "the operator ended the pause");
    }
    log_info(on ? "BEZEL-PAUSED" : "BEZEL-RESUMED", "an operator %s", on ? "paused this node" : "ended the pause");
    schedule_poll_within(&n->schedule, now, n->policy.period);
}
