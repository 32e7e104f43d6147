// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Which aspects and knobs a program declares, as its file says: nothing is started. Thread-safe; blocks on the disk.
 */
#ifndef BEZEL_ECS_CLI_PROGRAM_ASPECTS_H
#define BEZEL_ECS_CLI_PROGRAM_ASPECTS_H

#include "base/err.h"

#include <stddef.h>

enum { PROGRAM_ASPECTS_MAX = 64, PROGRAM_ASPECTS_NAME = 64 };

struct program_aspects {
    size_t aspect_count, knob_count;
    char aspects[PROGRAM_ASPECTS_MAX][PROGRAM_ASPECTS_NAME], knobs[PROGRAM_ASPECTS_MAX][PROGRAM_ASPECTS_NAME];
};

/**
 * Finds them by the names of the functions that BEZEL_ASPECT and BEZEL_KNOB define, in the program's table of symbols.
 * Those of its libraries, and of a program whose symbols were removed, are not found. Returns 0, also where it finds
 * none; or why the file cannot be read, as file_read() does.
 */
int program_aspects_read(const char *path, struct program_aspects *found) BEZEL_MUST_CHECK;

#endif
