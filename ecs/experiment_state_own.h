// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the files of the course of an experiment share. experiment_state.h is the others' view of it. Each of these adds
 * to `a` what is to be done, and takes the next step at once where there is nothing to wait for.
 */
#ifndef BEZEL_ECS_EXPERIMENT_STATE_OWN_H
#define BEZEL_ECS_EXPERIMENT_STATE_OWN_H

#include "ecs/experiment_state.h"

/** The way down: stops the SUT; then has the nodes drain; then stops them, and the collector behind them. */
void state_stop(struct experiment_state *s, enum state_ended_by by, int64_t now, struct state_actions *a);
void state_drain(struct experiment_state *s, int64_t now, struct state_actions *a);
void state_close_nodes(struct experiment_state *s, int64_t now, struct state_actions *a);

/** Plans the restart of a daemon that died; false: it died too often lately, and is given up. */
bool state_plan_restart(struct state_daemon *d, int64_t now);

/** What it is time for at `now`. */
void state_tick(struct experiment_state *s, int64_t now, struct state_actions *a);

#endif
