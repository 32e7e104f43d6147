// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Litter: segments that killed programs left and that nobody will read. Where a bezeld has the folder it collects them;
 * where none has, the next program that makes a segment there does, so that killed programs do not fill the memory of
 * the machine. docs/decisions/litter-goes-with-the-next-program.md says what is litter.
 */
#ifndef BEZEL_SENSOR_LITTER_H
#define BEZEL_SENSOR_LITTER_H

#include "base/folder.h"

/** The file that the external sensor of a folder holds locked, and touches each second. */
#define LITTER_LOCK_NAME "bezeld.lock"

/** How long nobody has the folder before segments that a bezeld was to read are litter: it may be started again. */
enum { LITTER_KEPT_S = 600 };

/**
 * Removes this user's litter, unless a bezeld has the folder: looks at a bounded number of files, from another place at
 * each call where there are more. Never blocks; async-signal-safe; no cancellation point; keeps errno.
 */
void litter_remove(const struct folder *folder);

/** Removes `file`, a segment that is being made, where who made it was killed. Keeps errno. */
void litter_remove_unfinished(const struct folder *folder, const char *file);

#endif
