// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Writes rows made from packets, and the counts of the model, into the run database. */
#ifndef BEZEL_RUN_RUNDB_RUNDB_SAVE_H
#define BEZEL_RUN_RUNDB_RUNDB_SAVE_H

#include "run/model/run_model.h"
#include "run/rundb/rundb_live.h"

/**
 * Writes the rows of a stored packet: its loss of `lost` records (0: none), and its records of built-in aspects. A
 * failed write shows in rundb_lacks().
 */
void rundb_add_packet(struct rundb *f, const struct model_process *process, const struct packet_header *h,
                      const uint8_t *p, uint64_t lost);

/**
 * Saves every node and process that changed since its last save, and commits. Of many fields it saves a share, and sets
 * m->unsaved. After an error the next call saves all.
 */
int rundb_save(struct rundb *f, struct model *m) BEZEL_MUST_CHECK;

/**
 * Sets RUNDB_FINISHED and commits, if everything is saved: neither metadata nor database lack anything that is stored,
 * as they may after a failed write. Returns 0, also where it is not set, or an error of the database.
 */
int rundb_finish(struct rundb *f, const struct model *m) BEZEL_MUST_CHECK;

#endif
