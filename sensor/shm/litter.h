// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Litter: segments that killed programs left and nobody will read. A bezeld that has the folder removes them. Without a
 * bezeld, the next program that makes a segment there removes them, so that killed programs do not fill the machine's
 * memory. docs/decisions/litter-goes-with-the-next-program.md defines litter.
 */
#ifndef BEZEL_SENSOR_SHM_LITTER_H
#define BEZEL_SENSOR_SHM_LITTER_H

#include "base/folder.h"

/** The file that the external sensor of a folder holds locked, and touches each second. */
#define LITTER_LOCK_NAME "bezeld.lock"

/**
 * Whether byte `at` of the segment `fd` is locked by somebody else than this descriptor: SEGMENT_LOCK_PROCESS, while
 * its process lives; SEGMENT_LOCK_READER, while an external sensor reads it. Takes
 * no lock.
 */
bool segment_is_locked(int fd, int at);

/** Segments that a bezeld was to read become litter when the folder has had no bezeld for so long: it may restart. */
enum { LITTER_KEPT_S = 600 };

/**
 * Removes this user's litter, unless a bezeld has the folder. Checks a bounded number of files; if there are more, each
 * call begins at another one. Never blocks; async-signal-safe; no cancellation point; keeps errno.
 */
void litter_remove(const struct folder *folder);

/** Removes `file`, an unfinished segment, if the process that was making it is dead. Keeps errno. */
void litter_remove_unfinished(const struct folder *folder, const char *file);

/** Removes `file`, marks for a launcher of this pid namespace, if that is gone. Returns whether it did. */
bool litter_remove_marks(int folder, const char *file);

#endif
