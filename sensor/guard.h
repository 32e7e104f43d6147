// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Guard: a process may truncate the file of its segment while we read it, and the read then raises SIGBUS. Within a
 * guarded mapping the handler puts a page of zeros under the read, and the mapping counts as hit; anywhere else the
 * signal takes its usual course. The only signal handler of the project: it calls mmap() and nothing else.
 */
#ifndef BEZEL_SENSOR_GUARD_H
#define BEZEL_SENSOR_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/** Installs the handler, once, before the first mapping. */
void guard_init(void);

/** Guards the mapping of `bytes` bytes at `at`. Beyond GUARD_MAX mappings a further one is not guarded. One thread. */
enum { GUARD_MAX = 1024 };
void guard_add(void *at, size_t bytes);

/** Ends it; call before munmap(). */
void guard_remove(void *at);

/** Whether a read of the mapping failed: what was read from it since is not to be believed. */
bool guard_hit(const void *at);

#endif
