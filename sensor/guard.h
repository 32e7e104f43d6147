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

enum { GUARD_MAX = 4096 }; /* of one process, whatever it reads for how many experiments */

/** Guards the mapping of `bytes` bytes at `at`: its number, or -1 where there are GUARD_MAX already. One thread. */
int guard_add(void *at, size_t bytes);

/** Ends guard `i`; call before munmap(). -1 is allowed. */
void guard_remove(int i);

/** Whether a read of mapping `i` failed: what was read from it since is not to be believed. */
bool guard_hit(int i);

#endif
