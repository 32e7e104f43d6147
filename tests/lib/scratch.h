// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Folders for a test, gone with everything in them when the test's process exits, passed or failed. */
#ifndef BEZEL_TESTS_LIB_SCRATCH_H
#define BEZEL_TESTS_LIB_SCRATCH_H

#include "base/folder.h"

enum { SCRATCH_PATH = 64, SCRATCH_FOLDERS = 64 };

/** Makes a folder in shared memory, mode 0700, and writes its path. Exits with 77, saying why, where it cannot. */
void scratch_make(char path[SCRATCH_PATH]);

/** Has a folder that stands elsewhere removed at the end too. */
void scratch_add(const char *path);

/** Removes it now; its place is free for another. */
void scratch_remove(const char *path);

/** Set-up and tear-down of a test, or of a group, with a folder: its path is `scratch_dir`; open as `scratch_folder`.
 */
int scratch_begin(void **state);
int scratch_end(void **state);
extern char scratch_dir[SCRATCH_PATH];
extern struct folder scratch_folder;

#endif
