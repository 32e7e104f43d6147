// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A small file with the settings that a daemon received while it ran, so that it keeps them when it is started again
 * after a crash. The content is the caller's text, behind the number of the run; a file of another run is ignored. The
 * file is replaced in one step. A symbolic link in its place is not followed.
 */
#ifndef BEZEL_BASE_STATE_FILE_H
#define BEZEL_BASE_STATE_FILE_H

#include "base/err.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum { STATE_FILE_MAX = 32768 /* bytes of text */ };

struct state_file {
    uint8_t run[16];
    const char *about;
    char path[PATH_MAX];
};

/**
 * Names file `name` in folder `dir`, of run `run`; opens nothing. `about` (borrowed) is for the warning: "after a
 * restart, this daemon cannot restore *how it is to poll*".
 */
void state_file_init(struct state_file *f, const char *dir, const char *name, const uint8_t run[16], const char *about);

/** Writes `text`, of at most STATE_FILE_MAX bytes. On failure it logs a warning, and the file stays as it was. */
void state_file_write(const struct state_file *f, const char *text);

/** The text that was written last, to be freed; NULL if this run has none, or it cannot be read. */
char *state_file_read(const struct state_file *f) BEZEL_MUST_CHECK;

/** Removes the file, where there is one. */
void state_file_remove(const struct state_file *f);

#endif
