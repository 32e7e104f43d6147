// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Snapshots of all nodes: a limit was violated on one node, and all nodes save what their flight recorders hold. */
#include "base/units.h"
#include "ecs/run/run_internal.h"

enum { SNAPSHOTS_SHOWN = 20 }; /* on the console; the report lists all */

static void send_snapshot(struct run *r, uint32_t d)
{
    struct message_command command = {.verb = VERB_SAVE, .save = r->save};
    command.save.left = (uint64_t)snapshot_trigger_left(&r->trigger, clock_now());
    if (command.save.left > 0 && daemons_command(&r->daemons, d, &command) != 0 && r->daemons.daemons[d].process.link)
        console_error(&r->console, "BEZEL-RUN-SNAPSHOT",
                      "cannot send the snapshot command to %s: its flight recorders may overwrite the records",
                      r->daemons.daemons[d].process.name);
}

void run_resend_snapshot(struct run *r, uint32_t d)
{
    send_snapshot(r, d);
}

void run_take_violations(struct run *r, uint32_t d)
{
    struct daemons_status *s = &r->daemons.daemons[d].status;
    const struct message_violation *v = &s->violation;
    uint64_t times = v->count - s->violations_taken;
    int64_t now = clock_now();
    if (d == STATE_COLLECTOR || v->count <= s->violations_taken)
        return;
    s->violations_taken = v->count;
    if (r->state.phase != PHASE_RUNNING ||
        !snapshot_trigger_take(&r->trigger, r->e, v->limit, times, now - v->age, now))
        return;
    r->save =
        (struct message_save){.number = r->trigger.number, .limit = v->limit, .at = (uint64_t)v->at, .value = v->value};
    snprintf(r->save.node, sizeof r->save.node, "%s", r->e->nodes[d - 1].name);
    for (uint32_t i = 1; i <= r->daemons.nodes; i++)
        send_snapshot(r, i);
    if (r->trigger.number > SNAPSHOTS_SHOWN)
        return;
    console_event(&r->console, "BEZEL-RUN-SNAPSHOT",
                  "snapshot %u: %s broke on node %s; flight recorders save what they hold and what follows for %s%s",
                  r->trigger.number, r->e->limits[v->limit].text, r->save.node,
                  units_exact_duration(r->e->limits[v->limit].snapshot).s,
                  r->trigger.number == SNAPSHOTS_SHOWN ? "; the report lists further snapshots" : "");
}
