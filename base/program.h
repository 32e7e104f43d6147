// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Finds programs as execvp() does. Errors are errno values; 0 is success. */
#ifndef BEZEL_BASE_PROGRAM_H
#define BEZEL_BASE_PROGRAM_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/** Whether `path` can be executed: 0, or the reason why not. */
int program_check(const char *path) BEZEL_MUST_CHECK;

/** Joins `folder` and `name` unless `name` is absolute. False: `path`, of `size` bytes, has no room for it. */
bool program_join(const char *folder, const char *name, char *path, size_t size) BEZEL_MUST_CHECK;

/**
 * Looks for `name` in the folders of `list`, written as in $PATH, where an empty one is the current directory; NULL is
 * $PATH itself. Folders that are not absolute start from `directory`. Returns 0 with `path`; EACCES where no file that
 * was found may be executed; ENOENT where none was found.
 */
int program_find(const char *list, const char *directory, const char *name, char *path, size_t size) BEZEL_MUST_CHECK;

/** The folder of the executable of this process. False: it is not known. */
bool program_folder(char path[PATH_MAX]);

/**
 * Finds program `name` of this installation: beside the executable of this process, else in $PATH. Returns 0 with its
 * path, or ENOENT.
 */
int program_find_own(const char *name, char *path, size_t size) BEZEL_MUST_CHECK;

#endif
