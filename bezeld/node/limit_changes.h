// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Changes of a node's limits: which limits are due to be recorded. Pure: the caller passes the time, in monotonic ns.
 * Only these functions write to the structs. One owner.
 */
#ifndef BEZEL_BEZELD_NODE_LIMIT_CHANGES_H
#define BEZEL_BEZELD_NODE_LIMIT_CHANGES_H

#include "resmgr/agent/agent.h"

/** The state of a limit when it was last recorded. */
struct limit_recorded {
    enum limit_state state;
    bool known;
    double value;
    int64_t at; /* 0: never */
};

struct limit_changes {
    struct limit_recorded recorded[EXPERIMENT_LIMITS_MAX];
    int64_t all_recorded; /* when the totals of all limits were recorded last */
};

/** Whether limit `i`, now in state `l`, is to be recorded: it changed, a gap ended, or it was recorded a second ago. */
bool limit_changes_records(struct limit_changes *changes, uint32_t i, const struct agent_limit *l, int64_t now);

/** Whether the totals of all limits are to be recorded: one `changed`, or they were recorded a second ago. */
bool limit_changes_records_all(struct limit_changes *changes, bool changed, int64_t now);

#endif
