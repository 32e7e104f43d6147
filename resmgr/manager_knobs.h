// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Knobs between a resource manager's helm and its messages. Pure. */
#ifndef BEZEL_RESMGR_MANAGER_KNOBS_H
#define BEZEL_RESMGR_MANAGER_KNOBS_H

#include "mdr/message.h"
#include "resmgr/helm.h"

/** What operators did to a knob, on whichever node: the last of them counts, for all. */
struct manager_ordered {
    uint32_t orders;
    int32_t value, home;
};

/** A node tells what it finds, `before` is what it told last; NULL: in a former life. `ordered` is one of each knob. */
void manager_knobs_order(struct manager_ordered *ordered, const struct message_observation *before,
                         const struct message_observation *o);

/** An instant, `elapsed` ns after the one before: nothing is found; then what each node tells of its programs' knobs.
 */
void manager_knobs_begin(struct helm *h, int64_t elapsed);
void manager_knobs_hear(struct helm *h, const struct message_observation *o);

/** The helm's step, from what operators ordered. Whether there is something to tell; *turns grows by how many knobs
 * were turned. */
bool manager_knobs_step(struct helm *h, const struct manager_ordered *ordered, const struct policy_state *policy,
                        const struct policy_actions *actions, uint64_t *turns);

/** Adds to a setting what is decided of knobs. */
void manager_knobs_tell(const struct helm *h, struct message_setting *s);

#endif
