// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * When a node copies its overwriting rings for a snapshot that a limit requested: again and again, until the snapshot's
 * duration is over. Pure: the caller passes the time, does what is due, and reports how long it took.
 */
#ifndef BEZEL_BEZELD_NODE_SNAPSHOT_H
#define BEZEL_BEZELD_NODE_SNAPSHOT_H

#include "base/clock.h"
#include "mdr/parts.h"

#define SNAPSHOT_EVERY_MAX (100 * CLOCK_MS) /* between two copies at most, however long the polling period */
#define SNAPSHOT_COST      50 /* from one copy to the next, at least so many times its duration: 2 % of a CPU */

struct snapshot {
    struct message_save cause;
    bool on;            /* in progress */
    bool last;          /* the last copy was taken; the window has no room for the rest of it yet */
    int64_t due, until; /* the next step; the end of the duration */
    int64_t record_due; /* when its progress is due to be recorded */
    int64_t processes;  /* whose rings overwrite: the most until now; some end before the snapshot does */
};

enum snapshot_step { SNAPSHOT_NOTHING, SNAPSHOT_COPY, SNAPSHOT_LAST_COPY, SNAPSHOT_REST };

/** Begins snapshot `cause` at `now`. If that one is in progress already, its end stays as it is. Returns whether it
 * began. */
bool snapshot_begin(struct snapshot *s, const struct message_save *cause, int64_t now);

/** The step that is due at `now`. */
enum snapshot_step snapshot_step(const struct snapshot *s, int64_t now);

/**
 * `step` was done, in `took` ns. `rest`: some of the copy found no room in the window yet. `period`: of polling, ns.
 * Returns whether the snapshot is over.
 */
bool snapshot_done(struct snapshot *s, enum snapshot_step step, int64_t now, int64_t took, int64_t period, bool rest);

/** When the next step is due; INT64_MAX: no snapshot is in progress. */
int64_t snapshot_due(const struct snapshot *s);

#endif
