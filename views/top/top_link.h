// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Linked views of a run (views/linked/linked.h): the shown time, the plot's window and the filter go to pages of `bezel
 * view` and other `bezel top` of the run, and come from them. What came from others is not sent on.
 */
#ifndef BEZEL_VIEWS_TOP_TOP_LINK_H
#define BEZEL_VIEWS_TOP_TOP_LINK_H

#include "views/linked/linked.h"
#include "views/top/top_state.h"

struct top_link {
    struct linked *linked; /* NULL: there are no other views */
    struct linked_state known;
};

/** Tells the other views what this one shows, where that has changed. `newest`: the time that following shows. */
void top_link_send(struct top_link *l, const struct top_state *s, int64_t newest);

/** Takes what another view shows. Returns whether the state has changed. Does not block. */
bool top_link_receive(struct top_link *l, struct top_state *s);

#endif
