// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Converts between a resource manager's knob controller and its messages. Pure. */
#ifndef BEZEL_RESMGR_MANAGER_MANAGER_KNOBS_H
#define BEZEL_RESMGR_MANAGER_MANAGER_KNOBS_H

#include "mdr/message.h"
#include "resmgr/control/knob_controller.h"

/** Operators' overrides of a knob, on any node: the latest counts, for all nodes. */
struct manager_override {
    uint32_t count;
    int32_t value, baseline;
};

/**
 * Takes the overrides in observation `o` of a node into `overrides`, which has one element for each knob. `before` is
 * the node's previous observation; NULL: there is none since its bezeld started.
 */
void manager_knobs_override(struct manager_override *overrides, const struct message_observation *before,
                            const struct message_observation *o);

/**
 * A sampling instant begins, `elapsed` ns after the one before, without any knob; then manager_knobs_receive() adds the
 * knobs of each node's programs.
 */
void manager_knobs_begin(struct knob_controller *h, int64_t elapsed);
void manager_knobs_receive(struct knob_controller *h, const struct message_observation *o);

/** The knob controller's step, with the overrides. True where there is news to send; adds the number of knobs that
 * moved to *moves. */
bool manager_knobs_step(struct knob_controller *h, const struct manager_override *overrides,
                        const struct policy_state *policy, const struct policy_actions *actions, uint64_t *moves);

/** Adds the knobs' values to a setpoint. */
void manager_knobs_send(const struct knob_controller *h, struct message_setpoint *s);

#endif
