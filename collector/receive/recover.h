// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Recovers a run directory when a collector starts on it again. The files say which packets are stored, the run
 * database how to read them: the row of a process, with its dictionary, is committed before its first packet is stored.
 * The collector holds the lock of the run directory, so nobody else writes.
 *
 * What may have happened to the collector before, and what follows:
 * - A kill in an append: the file has a torn tail, which was never acknowledged. It is cut off.
 * - A kill while a file was made: its name begins with a dot. It is removed.
 * - A kill between packets and the commit of their rows: all rows that are derived from packets are made anew from the
 *   files, so they need not have been there.
 * - A kill between the commit that lets packets expire and the change of their file: that change is made now.
 * - A loss of power: bytes may be missing or changed, and the database may be older than the files. What it had saved
 *   of a stream, length and checksum, shows that. The finding is logged and stays in the database (RUNDB_DAMAGED),
 *   because the rows that are saved from now on agree with the files, and would hide it. Bytes from the first bad
 *   packet on move to `damaged/`.
 *
 * First the commit "not finished", then the files, at last the rows, which the caller commits. A kill during recovery
 * repeats it: files are cut only where they would be cut again.
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
