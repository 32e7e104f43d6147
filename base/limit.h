// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Limits of this process (ulimit) that are too small for what it is to do, in sentences for who runs it. */
#ifndef BEZEL_BASE_LIMIT_H
#define BEZEL_BASE_LIMIT_H

#include "base/err.h"

#include <stdint.h>

/**
 * The sentence of code `err`, which a function has just returned. Where errno tells the reason behind it, in the
 * system's words; where a limit of this process is that reason, with its value and how it is raised. Never NULL; valid
 * until the thread's next call. Leaves errno as it is. Thread-safe.
 */
const char *limit_reason(int err);

/**
 * Whether this process may have `files` files open at once. Returns 0, or BEZEL_ESYS after an error in the log that
 * tells how many it may, and how many it needs.
 */
int limit_check_files(unsigned files) BEZEL_MUST_CHECK;

/** The same of a file of `bytes`. */
int limit_check_file_size(uint64_t bytes) BEZEL_MUST_CHECK;

#endif
