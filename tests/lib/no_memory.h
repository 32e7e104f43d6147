// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Want of memory: allocations fail as the test wants. Link with --wrap for malloc, calloc, realloc, strdup and
 * asprintf, which then fail where the program calls them; those of libraries do not. One thread.
 */
#ifndef BEZEL_TESTS_LIB_NO_MEMORY_H
#define BEZEL_TESTS_LIB_NO_MEMORY_H

#include <stdbool.h>

/** The allocation behind the next `left` ones fails, and those behind it succeed. */
void no_memory_after(long left);

/** From now on none fails. Returns whether one did since no_memory_after(). */
bool no_memory_end(void);

#endif
