// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Writes that are whole or not there, and what brings them to stable storage. Every function returns 0 or an errno
 * value; they block as long as the file system does.
 */
#ifndef BEZEL_COLLECTOR_DISK_H
#define BEZEL_COLLECTOR_DISK_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Writes all `n` bytes at `at`, or leaves the file, which ends there, as long as it was. */
int disk_write(int fd, const void *bytes, size_t n, uint64_t at) BEZEL_MUST_CHECK;

/** Brings a file or directory to stable storage. */
int disk_sync(const char *path) BEZEL_MUST_CHECK;

/** The same of the directory that `path` is in: the name `path` itself. */
int disk_sync_parent(const char *path) BEZEL_MUST_CHECK;

/**
 * Appends to `into` (made where it is missing) the bytes of `from` that begin at `at`; `sync`: in stable storage then.
 */
int disk_keep_tail(const char *from, uint64_t at, const char *into, bool sync) BEZEL_MUST_CHECK;

/** Writes into `hidden` the name `path` with a dot before the file's name; `path` holds a '/'. */
void disk_hidden(const char *path, char hidden[PATH_MAX + 1]);

#endif
