// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Expiry: aspects whose records carry a latency bound (sensing.expire). A record that is older than its bound when the
 * external sensor takes it is counted, and not passed to the observer; it is stored like any other. Its age is the
 * begin of the poll that takes it, minus its timestamp. Part of the external sensor; one thread.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_EXPIRY_H
#define BEZEL_SENSOR_EXTERNAL_EXPIRY_H

#include "sensor/external/external.h"

/** Of one process; cumulative over one life of the daemon. */
struct expiry {
    int64_t bound[RING_ASPECTS]; /* ns; 0: none */
    uint64_t taken[RING_ASPECTS], expired[RING_ASPECTS];
    uint64_t reported[RING_ASPECTS]; /* of those taken, the number in the last report (bezeld/node/node_record.c) */
};

/** The bound of aspect `name` in ns, by the last rule that matches it; 0: none. Pure. `rules` may be NULL. */
int64_t expiry_bound(const struct experiment_rule *rules, const char *name);

/**
 * Looks up the bound of aspect `id` of `p`; if it has one, its records are passed to expiry_take() from now on. Returns
 * 0, or BEZEL_ENOMEM, and the aspect has no bound then.
 */
int expiry_watch(const struct external *x, struct external_process *p, uint32_t id) BEZEL_MUST_CHECK;

/** Ends the observer's watch of `p`. Records of aspects with a bound are still counted. */
void expiry_unwatch(struct external_process *p);

/** Counts the expired records of `run`, which the poll that began at `now` took, and passes the others to the observer.
 */
void expiry_take(struct external *x, struct external_process *p, const struct packet_run *run, int64_t now);

/** Whether all counts of `p` are reported. */
bool expiry_is_reported(const struct external_process *p);

#endif
