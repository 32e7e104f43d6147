// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Eviction frees the dictionary and statistics of a process of the SUT that has ended, once all of it is stored, saved
 * and answered. So a run can have many more processes than live at a time. The process keeps its name, its part of the
 * metadata and the positions of its streams: a packet that arrives later can only be a repetition, and is answered from
 * the positions.
 */
#ifndef BEZEL_COLLECTOR_RECEIVE_EVICT_H
#define BEZEL_COLLECTOR_RECEIVE_EVICT_H

#include "collector/receive/keep.h"

/**
 * Evicts all processes that are ready for it and takes them from the active ones of their nodes. An evicted process
 * that was activated again, to answer its books, leaves the active ones again after the answer. Where memory is short
 * some processes stay as they are. Allocates. `k`, not NULL, notes first what a section of the store is to begin with
 * (keep.h), in the database; else there is no I/O.
 */
void evict_ended(struct model *m, struct keep *k);

#endif
