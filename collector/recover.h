// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Starting again on a run directory whose collector was killed: the files say which packets are stored, the database
 * says how to read them.
 */
#ifndef BEZEL_COLLECTOR_RECOVER_H
#define BEZEL_COLLECTOR_RECOVER_H

#include "collector/facts_run.h"
#include "collector/model.h"
#include "collector/store.h"

/**
 * Fills the empty model `m` from the database and the trace files: cuts torn tails, removes temporaries, and rebuilds
 * positions, counts, metadata and the derived rows. What is cut from a damaged packet on is kept in `damaged/` of the
 * run, and told to the operator. Where the store syncs, all that is found is in stable storage afterwards, since its
 * positions will be told as acknowledgements. Commits nothing. Returns 0 or an error; errno tells more where it is
 * BEZEL_ESYS.
 */
int recover_run(struct facts *f, struct store *s, struct model *m) BEZEL_MUST_CHECK;

/** Writes all rows that are derived from packets anew, from the files; the model stays as it is. Commits nothing. */
int recover_rows(struct facts *f, struct store *s, struct model *m) BEZEL_MUST_CHECK;

#endif
