// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Limits of this process (ulimit) that are too small for its work, explained to the operator. */
#ifndef BEZEL_BASE_ULIMIT_H
#define BEZEL_BASE_ULIMIT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * The reason of code `err`, which a function has just returned, as text for the operator: the system's text where errno
 * has the reason, followed by the limit of this process, its value and how to raise it where a limit is the reason.
 * Never NULL; valid until the thread's next call. Leaves errno as it is. Thread-safe.
 */
const char *ulimit_reason(int err);

/**
 * Whether this process may have `files` files open at once. Returns 0, or BEZEL_ESYS after logging how many it may have
 * and how many it needs.
 */
int ulimit_check_files(unsigned files) BEZEL_MUST_CHECK;

/** Whether it may have as many as connections of `clients` need, besides `others`; logs a warning if not. */
bool ulimit_covers_clients(unsigned clients, unsigned others);

/** Whether this process may write a file of `bytes`; returns as ulimit_check_files(). */
int ulimit_check_file_size(uint64_t bytes) BEZEL_MUST_CHECK;

/** Whether its first thread may have a stack of `bytes`; returns as ulimit_check_files(). */
int ulimit_check_stack(uint64_t bytes) BEZEL_MUST_CHECK;

#endif
