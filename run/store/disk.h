// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Writes that are complete or undone, and syncs. Functions return 0 or an errno value, and block as long as the file
 * system does.
 */
#ifndef BEZEL_RUN_STORE_DISK_H
#define BEZEL_RUN_STORE_DISK_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Writes `n` bytes at offset `at`, the end of the file. On failure truncates the file to `at` again. */
int disk_write(int fd, const void *bytes, size_t n, uint64_t at) BEZEL_MUST_CHECK;

/** Brings a file or directory to stable storage. */
int disk_sync(const char *path) BEZEL_MUST_CHECK;

/** Brings the directory that `path` is in to stable storage, and with it the name `path`. */
int disk_sync_parent(const char *path) BEZEL_MUST_CHECK;

/**
 * Appends the bytes of file `from`, from offset `at` to its end, to file `into`, which is made if it is missing.
 * `sync`: they are in stable storage on return. Follows no symbolic links.
 */
int disk_keep_tail(const char *from, uint64_t at, const char *into, bool sync) BEZEL_MUST_CHECK;

/** Writes `path` with a dot before the file's name into `hidden`. `path` must have a '/'. */
void disk_hidden(const char *path, char hidden[PATH_MAX + 1]);

#endif
