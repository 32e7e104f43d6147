// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What stored packets say: counts, times and values of each aspect, latency, losses, and the daemons' own records. */
#ifndef BEZEL_COLLECTOR_ACCOUNT_H
#define BEZEL_COLLECTOR_ACCOUNT_H

#include "collector/facts_run.h"
#include "collector/model.h"

/**
 * Counts the records of stored packet `p` into its process. `received` is when it came, on clock_now()'s scale; 0 where
 * nobody knows: it then has no part in the latency. `all`: what packet_check() said of it.
 */
void account_count(struct model_process *process, const struct packet_header *h, const uint8_t *p,
                   const struct packet_run *all, int64_t received);

/** Adds stored packet `p` to the checksum of its stream. */
void account_sum(struct model_stream *stream, const struct packet_header *h, const uint8_t *p);

/**
 * Writes the rows that a stored packet gives: its loss of `lost` records, and the records of built-in aspects. A row
 * that cannot be written shows in facts_lacks().
 */
void account_rows(struct facts *f, const struct model_process *process, const struct packet_header *h, const uint8_t *p,
                  uint64_t lost);

/**
 * Saves every process that changed since it was saved, and commits. Returns 0 or an error: all are saved again then.
 */
int account_save(struct facts *f, struct model *m) BEZEL_MUST_CHECK;

/**
 * Notes that the collector ends with everything saved (FACTS_FINISHED), where it is: not where metadata or database
 * lack something of what is stored, for want of room say. Returns 0 or an error of the database.
 */
int account_finish(struct facts *f, const struct model *m) BEZEL_MUST_CHECK;

#endif
