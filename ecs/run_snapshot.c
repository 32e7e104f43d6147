// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Snapshots of the whole run: a limit broke on one node, and all save what their flight recorders hold. */
#include "base/units.h"
#include "ecs/run_impl.h"

#include <string.h>

enum { SNAPSHOTS_TOLD = 20 }; /* one by one, as they come; all are in the report */

static void order(struct run *r, uint32_t d)
{
    struct message_command command = {.verb = VERB_SAVE, .save = r->save};
    command.save.left = (uint64_t)trigger_left(&r->trigger, clock_now());
    if (command.save.left > 0 && fleet_order(&r->fleet, d, &command) != 0 && r->fleet.daemons[d].link)
        operator_error(&r->operator, "BEZEL-RUN-SNAPSHOT", "%s cannot be told to save: its records may be overwritten",
                       r->fleet.daemons[d].name);
}

void run_snapshot_again(struct run *r, uint32_t d)
{
    if (d != STATE_COLLECTOR)
        order(r, d);
}

void run_take_broken(struct run *r, uint32_t d)
{
    struct fleet_status *s = &r->fleet.status[d];
    uint64_t times = s->broken - s->broken_taken;
    int64_t now = clock_now();
    if (d == STATE_COLLECTOR || s->broken <= s->broken_taken)
        return;
    s->broken_taken = s->broken;
    if (r->state.phase != PHASE_RUNNING ||
        !trigger_take(&r->trigger, r->e, s->broken_limit, times, now - s->broken_age, now))
        return;
    r->save = (struct message_save){.number = r->trigger.number, .limit = (uint32_t)s->broken_limit};
    r->save.at = (uint64_t)s->broken_at;
    memcpy(&r->save.value, &s->broken_value, sizeof r->save.value);
    snprintf(r->save.node, sizeof r->save.node, "%s", r->e->nodes[d - 1].name);
    for (uint32_t i = 1; i < r->fleet.count; i++)
        order(r, i);
    if (r->trigger.number > SNAPSHOTS_TOLD)
        return;
    operator_event(&r->operator, "BEZEL-RUN-SNAPSHOT",
                   "snapshot %u: %s broke on node %s; what flight recorders hold is saved, and what comes for %s%s",
                   r->trigger.number, r->e->limits[s->broken_limit].text, r->save.node,
                   units_exact_duration(r->e->limits[s->broken_limit].snapshot).s,
                   r->trigger.number == SNAPSHOTS_TOLD ? "; of further ones the report tells" : "");
}
