// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Firings of a node's triggers that ask `bezel run` for something: of each trigger their number in this life of the
 * daemon, and the latest one. Pure: the caller passes the time, in monotonic ns. One owner.
 */
#ifndef BEZEL_BEZELD_NODE_FIRINGS_H
#define BEZEL_BEZELD_NODE_FIRINGS_H

#include "mdr/parts.h"

struct firings {
    uint32_t count;
    struct message_firing list[MESSAGE_FIRINGS_MAX]; /* `at` in monotonic ns; `age` is 0 */
    bool fresh;                                      /* there is one since the last call of firings_report_due() */
    int64_t report_due;                              /* the next unasked report may be sent then */
};

/** Adds firing `f`, whose `count` does not matter. A trigger beyond MESSAGE_FIRINGS_MAX is ignored. */
void firings_add(struct firings *to, const struct message_firing *f);

/** The latest firing of a trigger; NULL: there is none. */
const struct message_firing *firings_find(const struct firings *from, uint32_t trigger);

/**
 * Whether to report firings now, without being asked: there is a new one since the last call, a peer `listens`, and the
 * last such report was not just before. One that is not reported now is in the next answer to QUERY.
 */
bool firings_report_due(struct firings *of, bool listens, int64_t now);

/** Writes the firings for a message at `now`; `realtime_offset` is added to times. Returns their number. */
uint32_t firings_write(const struct firings *from, int64_t realtime_offset, int64_t now,
                       struct message_firing to[MESSAGE_FIRINGS_MAX]);

#endif
