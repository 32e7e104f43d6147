// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Expiry: aspects whose records carry a latency bound (sensing.expire). A record that is older than its bound when the
 * external sensor takes it is counted, and not shown to the observer; it is cut as any other. Its age is the time at
 * which the poll began that takes it, less its own time. Part of the external sensor; one thread.
 */
#ifndef BEZEL_SENSOR_EXPIRE_H
#define BEZEL_SENSOR_EXPIRE_H

#include "sensor/external.h"

/** Of one process; cumulative over one life of the daemon. */
struct expiry {
    int64_t bound[RING_ASPECTS]; /* ns; 0: none */
    uint64_t taken[RING_ASPECTS], expired[RING_ASPECTS];
    uint64_t told[RING_ASPECTS]; /* of those taken, how many somebody was told of */
};

/** The bound of aspect `name`, ns: that of the last rule that matches it; 0: none. Pure. `rules` may be NULL. */
int64_t expire_bound(const struct experiment_rule *rules, const char *name);

/**
 * Looks up the bound of aspect `id` of `p`, and sees that its records are attended to. Returns BEZEL_ENOMEM where there
 * is no room to count them in, which leaves it without.
 */
int expire_watch(const struct external *x, struct external_process *p, uint32_t id) BEZEL_MUST_CHECK;

/** The observer looks at `p` no longer: what has bounds goes on being counted. */
void expire_unwatch(struct external_process *p);

/** Records of an aspect that is attended to were taken by the poll that began at `now`. */
void expire_take(struct external *x, struct external_process *p, const struct packet_run *run, int64_t now);

/** Whether all that was counted of `p` was told. */
bool expire_is_told(const struct external_process *p);

#endif
