// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Changes of a node's limits: which limits are due to be recorded, and violations of limits with `on-violation`, which
 * request a snapshot. Pure: the caller passes the time, in monotonic ns. Only these functions write to the structs. One
 * owner.
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

/** Violations of limits with `on-violation` in this life of the daemon: their number, and the latest one. */
struct limit_broken {
    bool is[EXPERIMENT_LIMITS_MAX]; /* in violation now */
    bool fresh;                     /* there is one since the last call of limit_changes_report_due() */
    uint64_t count;
    uint32_t limit;
    int64_t at;
    double value;
    int64_t report_due; /* the next unasked report may be sent then */
};

struct limit_changes {
    struct limit_recorded recorded[EXPERIMENT_LIMITS_MAX];
    struct limit_broken broken;
    int64_t all_recorded; /* when the totals of all limits were recorded last */
};

/** Whether limit `i`, now in state `l`, is to be recorded: it changed, a gap ended, or it was recorded a second ago. */
bool limit_changes_records(struct limit_changes *changes, uint32_t i, const struct agent_limit *l, int64_t now);

/** Whether the totals of all limits are to be recorded: one `changed`, or they were recorded a second ago. */
bool limit_changes_records_all(struct limit_changes *changes, bool changed, int64_t now);

/** Notes that limit `i` is in state `l`. `asks`: a violation of it requests a snapshot. */
void limit_changes_update(struct limit_changes *changes, uint32_t i, const struct agent_limit *l, bool asks,
                          int64_t now);

/**
 * Whether to report violations now, without being asked: there is a new one since the last call, a peer `listens`, and
 * the last such report was not just before. A violation that is not reported now is in the next answer to QUERY.
 */
bool limit_changes_report_due(struct limit_changes *changes, bool listens, int64_t now);

#endif
