// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The files of a run directory that go from the machine of the collector to that of `bezel run`: which names they can
 * have, and their checksum. Who receives them trusts none of it. Pure.
 */
#ifndef BEZEL_MDR_RUN_FILE_H
#define BEZEL_MDR_RUN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RUN_FILE_PIECE = 65536,  /* bytes of a checksum's piece; only the last one may be shorter */
    RUN_FILES_MAX = 4 << 20, /* more are not taken */
};

#define RUN_FILE_SIZE_MAX (UINT64_C(1) << 50) /* bytes; a larger one is not taken */

/**
 * Whether `name` can be that of a file of a run: "run.db", or "trace/FOLDER/FILE" with FOLDER and FILE of 1 to 160
 * printable characters of ASCII without '/' that do not begin with '.'.
 */
bool run_file_ok(const char *name);

/** Continues the checksum `sum` of a file (0 at its begin) by its next piece. */
uint64_t run_file_sum(uint64_t sum, const void *piece, size_t n);

#endif
