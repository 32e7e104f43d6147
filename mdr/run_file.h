// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Names of the files that a mirror of a run receives. A name comes from another machine, so the receiver checks it here
 * before it uses it. Pure.
 */
#ifndef BEZEL_MDR_RUN_FILE_H
#define BEZEL_MDR_RUN_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_FILE_SIZE_MAX (UINT64_C(1) << 50) /* bytes; a larger one is not taken */

/**
 * Whether `name` can be that of a file of a run's trace: "trace/FOLDER/FILE" with FOLDER and FILE of 1 to 160 printable
 * characters of ASCII without '/' that do not begin with '.'.
 */
bool run_file_ok(const char *name);

#endif
