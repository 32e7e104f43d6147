// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Linked views of a run: pages of `bezel view` and other `bezel top` may share the shown time, the window and the
 * filter. Nothing carries them yet.
 */
#ifndef BEZEL_ECS_TOP_TOP_LINK_H
#define BEZEL_ECS_TOP_TOP_LINK_H

#include "ecs/top/top_state.h"

/** Tells the other views of the run what this one shows, where that has changed. */
void top_link_send(const struct top_state *s);

/** Takes what another view shows. Returns whether the state has changed. Does not block. */
bool top_link_receive(struct top_state *s);

#endif
