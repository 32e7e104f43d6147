// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Makes a run directory out of what publish.h put into an engine: byte for byte the files of the run, and its database.
 * What comes is checked as a mirror checks it (collector/remote/mirror_files.h, run/rundb/rundb_apply.h).
 */
#ifndef BEZEL_MEDIATORS_ENGINE_RESTORE_H
#define BEZEL_MEDIATORS_ENGINE_RESTORE_H

#include "mediators/engine/engine.h"

/**
 * Makes `dir`, which must not be there or be empty, out of run `name` of the engine at `url`. Blocks. Returns the exit
 * code of the process, after a message on stderr where it failed or the run is not complete there.
 */
int restore_run(const char *url, const char *name, const char *dir);

#endif
