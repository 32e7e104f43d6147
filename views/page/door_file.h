// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The file that opens a page: only the user who started `bezel view` can read it (mode 0600), and it sends a browser to
 * the server with the token. It is written anew for each token, and removed at the end. One owner.
 */
#ifndef BEZEL_VIEWS_PAGE_DOOR_FILE_H
#define BEZEL_VIEWS_PAGE_DOOR_FILE_H

#include "base/err.h"

#include <limits.h>
#include <stdint.h>

struct door_file {
    char path[PATH_MAX];
    uint16_t port;
};

/**
 * Names the file: `path`, or with NULL one in a new folder of mode 0700 in $XDG_RUNTIME_DIR if that is this
 * user's, else in $TMPDIR or /tmp. Returns 0, or an error with errno: then the path is that of the folder or file that
 * it is about.
 */
int door_file_init(struct door_file *f, const char *path, uint16_t port) BEZEL_MUST_CHECK;

/**
 * Writes it for `token`. Returns 0 or an error, with errno: EPERM where its file system would let other users read it.
 */
int door_file_write(const struct door_file *f, const char *token) BEZEL_MUST_CHECK;

/** Removes it, and its folder if door_file_init() made one. */
void door_file_remove(const struct door_file *f);

#endif
