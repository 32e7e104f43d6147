// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Guard: a process may truncate the file of its segment while we read it, and the read then raises SIGBUS. In a guarded
 * mapping the handler maps a page of zeros at the address, and marks the mapping as hit. Anywhere else the signal has
 * its default effect. It is the only signal handler of the project; it calls mmap(), and sigaction() for the default
 * effect.
 */
#ifndef BEZEL_BASE_SIGBUS_GUARD_H
#define BEZEL_BASE_SIGBUS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/** Installs the handler, once, before the first mapping. */
void sigbus_guard_init(void);

enum { SIGBUS_GUARD_MAX = 4096 }; /* of one bezeld, with all its sessions */

/** Guards the mapping of `bytes` bytes at `at`. Returns its number, or -1 after SIGBUS_GUARD_MAX. One thread. */
int sigbus_guard_add(void *at, size_t bytes);

/** Ends guard `i`; call before munmap(). -1 is allowed. */
void sigbus_guard_remove(int i);

/** Whether a read of mapping `i` failed: data read from it since is invalid. */
bool sigbus_guard_hit(int i);

#endif
