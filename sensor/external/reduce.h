// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Records that end at a reducer (sensing.keep: reduced): the observer evaluates them, and its values are stored in
 * their place. A packet of kind PACKET_REDUCED counts them, so they are acknowledged as the packet is. The observer
 * says when it has handed on the values of all that it took.
 *
 * What was taken, handed on and lost is in the segment, for each aspect (struct segment_reductions), and outlives a
 * killed daemon. It is written before the packet that counts the records is complete in the window, together with the
 * ordinal behind that packet: the next daemon sees there whether the packet was completed. So a record is either in the
 * ring still, or counted as taken; and what was taken and not handed on is lost with the daemon, exactly.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_REDUCE_H
#define BEZEL_SENSOR_EXTERNAL_REDUCE_H

#include "sensor/external/external.h"

/** Of one process. */
struct reduce {
    bool is[RING_ASPECTS];                       /* its records are reduced now */
    uint32_t in_packet[RING_ASPECTS];            /* records that the packet reduces which is being built */
    struct segment_reduction now[RING_ASPECTS];  /* as in the segment, which the process can change */
    struct segment_reduction told[RING_ASPECTS]; /* as in the last report (bezeld/node/node_record.c) */
    bool waits;                                  /* not all that was taken is handed on */
};

/** Takes in what a killed daemon left of `p`, which this one begins to read: what it had not handed on is lost. Returns
 * 0 or BEZEL_ENOMEM. */
int reduce_adopt(struct external *x, struct external_process *p) BEZEL_MUST_CHECK;

/** Asks the observer whether it reduces aspect `id` of `p`, which it watches. Returns 0, or BEZEL_ENOMEM: it does not.
 */
int reduce_watch(struct external *x, struct external_process *p, uint32_t id) BEZEL_MUST_CHECK;

/** From now on all records of `p` are stored. */
void reduce_unwatch(struct external_process *p);

/** A packet of `ring` that reduces records is about to be committed; the stream goes on behind it at `ordinal`. */
void reduce_commit(struct external_process *p, uint32_t ring, uint64_t ordinal);

/** Everything that was taken of `p` is handed on. */
void reduce_hand_on(struct external_process *p);

/** Records of `p` that were taken, of all aspects. */
uint64_t reduce_taken(const struct external_process *p);

/** Whether the last report has all counts of `p`. */
bool reduce_is_told(const struct external_process *p);

#endif
