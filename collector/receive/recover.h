// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Recovers a run directory when a collector starts on it again: the files say which packets are stored, the run
 * database how to read them.
 */
#ifndef BEZEL_COLLECTOR_RECEIVE_RECOVER_H
#define BEZEL_COLLECTOR_RECEIVE_RECOVER_H

#include "run/model/run_model.h"
#include "run/rundb/rundb_live.h"
#include "run/store/store.h"

/**
 * Fills the empty model `m` from the run database and the trace files: truncates torn tails, removes temporary files,
 * and rebuilds positions, counts, metadata and the derived rows. Bytes from a damaged packet on are moved to `damaged/`
 * of the run, and logged. Where the store syncs, all that is found is in stable storage afterwards, because its
 * positions will be sent as acknowledgements. Commits only that the run is not finished any more. Returns 0 or an
 * error, with errno where it is BEZEL_ESYS.
 */
int recover_run(struct rundb *f, struct store *s, struct model *m) BEZEL_MUST_CHECK;

/** Writes all rows derived from packets anew; the model stays as it is. Commits nothing. Returns as recover_run(). */
int recover_rows(struct rundb *f, struct store *s, struct model *m) BEZEL_MUST_CHECK;

#endif
