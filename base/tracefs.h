// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The kernel's descriptions of its tracepoints. They are root's. Thread-safe. */
#ifndef BEZEL_BASE_TRACEFS_H
#define BEZEL_BASE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Reads file `name` of tracefs into `text`, as much as fits with the 0: where it is mounted, or else of a mount of our
 * own, which nobody sees and which is gone when this returns. False with errno; ENODEV: it is not mounted, and we may
 * not mount it.
 */
bool tracefs_read(const char *name, char *text, size_t size);

#endif
